# SPDX-License-Identifier: Apache-2.0

"""What a failed write to Cinder or Glance has changed, as far as is known."""

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions


def failure(
    key: actions.Key,
    error: Exception,
    done: list[str],
    *,
    refused: str | None = None,
    service: str = 'Cinder',
) -> errors.ActionFailed:
    """The failure of an action whose request was not carried out.

    :param key: what was written.
    :param error: one of openstack_client.API_ERRORS.
    :param done: names of the changes that were made before.
    :param refused: what is said of a refusal; None: that the service
        refused to change it, and the error.
    :param service: its name.
    """
    made = f'changed before the failure: {", ".join(done)}; ' if done else ''
    left = '"openstack tier plan" shows what is left to do'
    if not isinstance(openstack_client.failure(error, ''), errors.NotVisible):
        return errors.ActionFailed(
            f'{service} did not confirm a change of {key}: {error}; whether '
            f'it was made is not known; {made}{left}'
        )
    said = refused or f'{service} refused to change {key}: {error}'
    return errors.ActionFailed(
        f'{said}; {made}{left}'
        if done
        else f'{said}; no part of it was changed'
    )
