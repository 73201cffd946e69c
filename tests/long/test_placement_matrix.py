# SPDX-License-Identifier: Apache-2.0

"""As in the functional part, with every row of each client."""

from tests.functional import test_placement_matrix


class PlacementMatrixTest(test_placement_matrix.PlacementMatrixTest):
    """All of the table; see tests.share."""
