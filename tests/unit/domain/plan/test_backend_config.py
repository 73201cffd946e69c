# SPDX-License-Identifier: Apache-2.0

"""What `backend-config` says of the block sizes that guests are told."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model
from cinder_tiers.domain.plan import backend_config
from tests.unit.domain import catalogs as given

CODED = model.ErasureCoded(k=2, m=1)
ROTATIONAL = model.Requirements(rotational=True)
SOLID = model.Requirements(rotational=False)


@ddt.ddt
class GeometryTestCase(testtools.TestCase):
    def comments(self, tier=None, **rbd):
        return backend_config.geometry_comments(
            given.of(given.tier(rbd=given.rbd(**rbd), **(tier or {})))
        )

    @ddt.data(
        {'device_class': 'hdd'},
        {'device_class': 'ssd', 'protection': CODED},
        {'device_class': 'slow', 'osd_requirements': ROTATIONAL},
    )
    def test_of_hard_disks_and_erasure_code(self, rbd):
        text = self.comments(**rbd)
        self.assertIn('disk_geometry = 512e in [tier-database]', text)
        self.assertEqual(('# ', 1), (text[:2], text.count('\n')))

    @ddt.data(
        {'device_class': 'ssd'},
        {'device_class': 'hdd', 'osd_requirements': SOLID},
    )
    def test_of_others_nothing_is_said(self, rbd):
        self.assertEqual('', self.comments(**rbd))

    @ddt.data({'backend_name': 'rbd-1'}, {'take_over': False})
    def test_nothing_of_sections_that_are_not_printed(self, tier):
        self.assertEqual('', self.comments(tier, device_class='hdd'))
