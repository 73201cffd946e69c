# SPDX-License-Identifier: Apache-2.0

from tests.functional import test_measurement


class MeasurementTest(test_measurement.MeasurementTest):
    """With all patterns; see tests.share."""
