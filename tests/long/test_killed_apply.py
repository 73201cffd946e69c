# SPDX-License-Identifier: Apache-2.0

"""As in the functional part, killed after each action."""

from tests.functional import test_killed_apply


class KilledApplyTest(test_killed_apply.KilledApplyTest):
    actions_for_a_kill = 1
    random_kills = 4
