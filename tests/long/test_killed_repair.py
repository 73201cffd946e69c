# SPDX-License-Identifier: Apache-2.0

"""The command that repairs limits, killed at many moments."""

from tests.contract import test_real_limits


class KilledRepairTestCase(test_real_limits.KilledRepairTestCase):
    kills = range(test_real_limits.VOLUMES - 1, 0, -2)
