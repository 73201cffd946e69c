# SPDX-License-Identifier: Apache-2.0

"""As in the functional part, killed at 50 moments."""

from tests.functional import test_killed_sweep


class KilledSweepTest(test_killed_sweep.KilledSweepTest):
    kills = 50
