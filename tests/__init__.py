# SPDX-License-Identifier: Apache-2.0

"""All tests, and what hypothesis is told for them."""

from collections.abc import Callable
import os

import hypothesis

hypothesis.settings.register_profile(
    'cinder-tiers',
    # The machine may be slow, or have other work.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    # What a CI finds must be of the change that it looks at; elsewhere each
    # run tries other examples.
    derandomize='CI' in os.environ,
    print_blob=True,
)
hypothesis.settings.load_profile('cinder-tiers')

#: Set to 1 for all examples of the properties that are expensive to try.
ALL_EXAMPLES = 'CINDER_TIERS_TEST_ALL_EXAMPLES'
#: Of these examples, what is tried without it.
SHARE = 4


def examples(
    count: int, **settings: object
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Decorate an expensive property with the number of its examples.

    A CI tries the same ones each time, and tests/long all of them.

    :param count: how many are all
    :param settings: further ones of hypothesis
    """
    return hypothesis.settings(
        max_examples=count
        if os.environ.get(ALL_EXAMPLES) == '1'
        else count // SHARE,
        **settings,
    )
