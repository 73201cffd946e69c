# SPDX-License-Identifier: Apache-2.0

"""Options for some of the OSDs: which those are, in words of an export."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.resources import osd_masks
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain.export import test_catalog
from tests.unit.domain.export import test_pools_reasons


OSDS = (
    ceph_state.Osd(
        osd_id=0,
        device_class='ssd',
        location={'host': 'a', 'rack': 'r1', 'root': 'default'},
    ),
    ceph_state.Osd(
        osd_id=1,
        device_class='hdd',
        location={'host': 'a', 'rack': 'r1', 'root': 'default'},
    ),
    ceph_state.Osd(
        osd_id=2,
        device_class='ssd',
        location={'host': 'b', 'rack': 'r1', 'root': 'default'},
    ),
    ceph_state.Osd(
        osd_id=3,
        device_class='hdd',
        location={'host': 'c', 'rack': 'r2', 'root': 'default'},
    ),
)


@ddt.ddt
class MasksTestCase(testtools.TestCase):
    def test_masks_of_other_places_are_left_out_with_their_osds(self):
        known = test_catalog.cloud(test_catalog.volume_type(), osds=OSDS)
        (one,) = known.clusters
        one = dataclasses.replace(
            one,
            configured_elsewhere={
                'host:a/class:ssd': {'osd_recovery_priority': '6'},
                'root:default': {'osd_max_backfills': '2'},
            },
        )
        text = test_pools_reasons.said(
            export.export(dataclasses.replace(known, clusters=(one,)))
        )
        self.assertIn('mask host:a/class:ssd are left out', text)
        self.assertIn('for osd.0: osd_recovery_priority=6', text)
        self.assertIn(
            'for osd.0, osd.1, osd.2, osd.3: osd_max_backfills=2', text
        )
        self.assertNotIn('no OSD is on', text)

    @ddt.data(
        ('class:ssd', 'host:a/class:ssd', 'osd.0'),
        ('class:ssd', 'host:b', 'osd.2'),
        ('class:ssd', 'root:default', 'osd.0, osd.2'),
        ('class:ssd', 'osd.2', 'osd.2'),
        ('host:a', 'host:a/class:hdd', 'osd.1'),
        ('host:a', 'osd.1', 'osd.1'),
        ('host:a', 'class:ssd', None),
        ('host:a', 'rack:r1', None),
        ('class:ssd', 'host:a/class:hdd', None),
    )
    @ddt.unpack
    def test_who_wins_is_foreseen(self, mask, other, expected):
        osds = [
            osd for osd in OSDS if osd.osd_id in osd_masks.osds_of(mask, OSDS)
        ]
        found = list(
            osd_masks.taking_precedence(
                mask,
                'osd_max_scrubs',
                '4',
                {
                    mask: {'osd_max_scrubs': '2'},
                    other: {'osd_max_scrubs': '3'},
                },
                osds,
            )
        )
        self.assertEqual(int(expected is not None), len(found))
        self.assertIn(
            f'stays 3 for {expected}: ' if expected else '', ''.join(found)
        )
