# SPDX-License-Identifier: Apache-2.0
"""Every client, every request: volumes land where the table says.

The table is tests/cases/placement_in_the_lab.yaml. Its rows are requested in
one batch; each is a test of its own.
"""

import ddt
import testtools

from tests.functional import lab
from tests.functional import placement_requests
from tests.functional import placement_table

TABLE = placement_table.TABLE_OF_RUN


@ddt.ddt
class PlacementMatrixTest(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = lab.user_environment()
        cls.addClassCleanup(lab.remove_what_cinder_left, environment)
        requests = placement_requests.Requests(environment, TABLE)
        cls.addClassCleanup(requests.remove_world)
        requests.make_world()
        lab.wait_until_tiers_are_known()
        cls.outcomes = dict(
            zip(
                (row.__name__ for row in TABLE.rows),
                requests.send_all(),
                strict=True,
            )
        )

    @ddt.data(*TABLE.rows)
    def test(self, row):
        self.assertEqual(row.then, self.outcomes[row.__name__].answer)

    @ddt.data(*(row for row in TABLE.rows if row.client == 'nova'))
    def test_qos_of(self, row):
        """The limit of the volume's type holds in the guest."""
        limit = (
            TABLE.types.get(row.then['type'], {})
            .get('qos', {})
            .get('total_iops_sec')
        )
        self.assertEqual(limit, self.outcomes[row.__name__].total_iops_sec)
