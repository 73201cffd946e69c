# SPDX-License-Identifier: Apache-2.0

"""All tests, and what hypothesis is told for them."""

from collections.abc import Callable
from collections.abc import Sequence
import faulthandler
import os

import hypothesis
import testtools

#: Set to 1 for all examples of the properties that are expensive to try.
ALL_EXAMPLES = 'CINDER_TIERS_TEST_ALL_EXAMPLES'
#: Of these examples, what is tried without it.
SHARE = 4
TRIES_ALL = os.environ.get(ALL_EXAMPLES) == '1'


def share(items: Sequence[object], first: int = 0) -> Sequence[object]:
    """Every fourth of what is expensive to try; all of it in tests/long.

    :param items: all of them
    :param first: index of the first one; others begin with the next
    """
    return items if TRIES_ALL else items[first % SHARE :: SHARE]


def draws(count: int) -> int:
    """Return how many draws of a simulation a test makes.

    :param count: of all, which tests/long makes
    """
    return count if TRIES_ALL else count // SHARE


hypothesis.settings.register_profile(
    'cinder-tiers',
    # Of a property that does not say how many.
    max_examples=draws(200),
    # The machine may be slow, or have other work.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    # What a CI finds must be of the change that it looks at; elsewhere each
    # run tries other examples.
    derandomize='CI' in os.environ,
    print_blob=True,
)
hypothesis.settings.load_profile('cinder-tiers')

#: Seconds from the start of a test to that of the next one; 0: no limit.
TIMEOUT_S = int(os.environ.get('OS_TEST_TIMEOUT') or 0)


class WatchedRun(testtools.RunTest):
    """Ends a process that hangs, and shows where each of its threads is.

    An exception in the main thread would wait for the others, and one of
    them may be what hangs.
    """

    def run(self, result: object = None) -> object:
        """Runs the test."""
        if TIMEOUT_S > 0:
            faulthandler.dump_traceback_later(TIMEOUT_S, exit=True)
        return super().run(result)


testtools.TestCase.run_tests_with = WatchedRun


def examples(
    count: int, **settings: object
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Decorate an expensive property with the number of its examples.

    A CI tries the same ones each time, and tests/long all of them.

    :param count: how many are all
    :param settings: further ones of hypothesis
    """
    return hypothesis.settings(
        max_examples=draws(count),
        **settings,
    )
