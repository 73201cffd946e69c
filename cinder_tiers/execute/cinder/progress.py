# SPDX-License-Identifier: Apache-2.0

"""What was changed before a write to Cinder failed."""


def describe(done: list[str]) -> str:
    """What was changed before a failure.

    :param done: names of the changes that were made.
    """
    if not done:
        return 'no part of it was changed'
    return (
        f'changed before the failure: {", ".join(done)}; "openstack tier '
        'plan" shows what is left to do'
    )
