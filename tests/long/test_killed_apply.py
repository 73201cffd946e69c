# SPDX-License-Identifier: Apache-2.0

"""As in the functional and the contract part, killed after each action."""

from tests.contract import test_real_killed_apply
from tests.contract import test_real_sweep
from tests.functional import test_killed_apply


class KilledApplyTest(test_killed_apply.KilledApplyTest):
    actions_for_a_kill = 1
    random_kills = 4


class KilledAtEachWriteTest(test_real_killed_apply.KilledAtEachWriteTestCase):
    """All of them; see tests.share."""


class KilledAtEachActionTest(
    test_real_killed_apply.KilledAtEachActionTestCase
):
    """All of them; see tests.share."""


class KilledSweepTest(test_real_sweep.RealSweepTestCase):
    """All of them; see tests.share."""
