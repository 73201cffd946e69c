# SPDX-License-Identifier: Apache-2.0

"""What OSDs take their disks for, read from what the monitors keep."""

import ddt
import testtools

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import mclock

SSD = 'osd_mclock_max_capacity_iops_ssd'
HDD = 'osd_mclock_max_capacity_iops_hdd'


class Monitors:
    """They have (section, mask, option, value).

    :param queue: the default of osd_op_queue.
    """

    def __init__(self, *stored, queue='mclock_scheduler'):
        self.stored = stored
        self.queue = queue

    def command(self, prefix, **arguments):
        if prefix == 'config dump':
            return [
                dict(
                    zip(('section', 'mask', 'name', 'value'), one, strict=True)
                )
                for one in self.stored
            ]
        if (prefix, arguments) != ('config help', {'key': 'osd_op_queue'}):
            raise LookupError(prefix, arguments)
        return {'default': self.queue, 'daemon_default': ''}


def osd(osd_id, device_class='ssd'):
    return ceph_state.Osd(
        osd_id=osd_id, device_class=device_class, location={'host': 'h'}
    )


def observe(monitors, *osds, release=18):
    return mclock.observe(
        monitors,
        ceph_state.CephState(
            crush_rules={},
            erasure_code_profiles={},
            pools={},
            users={},
            osds=osds,
            release=release,
        ),
    )


@ddt.ddt
class ObserveTestCase(testtools.TestCase):
    def test_a_figure_of_its_own(self):
        seen = observe(Monitors(('osd.0', '', SSD, '20123.5')), osd(0), osd(1))
        self.assertEqual(
            {
                0: ceph_state.OsdCapacity(
                    medium='ssd', iops=20123.5, is_own=True
                ),
                1: ceph_state.OsdCapacity(medium='ssd', iops=None),
            },
            seen.capacities,
        )

    @ddt.data(
        (('osd', 'host:h', SSD, '4'), 4),
        (('osd', 'class:ssd', SSD, '3'), 3),
        (('osd', '', SSD, '2'), 2),
        (('global', '', SSD, '1'), 1),
    )
    @ddt.unpack
    def test_sections_in_the_order_of_ceph(self, stored, iops):
        weaker = [
            ('osd', 'class:ssd', SSD, '3'),
            ('osd', '', SSD, '2'),
            ('global', '', SSD, '1'),
            ('osd', 'class:hdd', SSD, '9'),
        ]
        seen = observe(
            Monitors(*[one for one in weaker if float(one[3]) < iops], stored),
            osd(0),
        )
        self.assertEqual(
            ceph_state.OsdCapacity(medium='ssd', iops=iops),
            seen.capacities[0],
        )

    @ddt.data(('hdd', HDD, 'hdd'), ('archive', HDD, 'hdd'), ('x', SSD, 'ssd'))
    @ddt.unpack
    def test_the_medium_is_that_of_its_figure(
        self, device_class, name, medium
    ):
        seen = observe(
            Monitors(('osd.0', '', name, '100')), osd(0, device_class)
        )
        self.assertEqual(medium, seen.capacities[0].medium)

    def test_osds_with_another_queue_have_none(self):
        stored = ('osd.0', '', 'osd_op_queue', 'wpq')
        seen = observe(Monitors(stored), osd(0), osd(1))
        self.assertEqual({1}, seen.capacities.keys())
        seen = observe(Monitors(queue='wpq'), osd(0))
        self.assertEqual({}, seen.capacities)
        stored = ('osd', '', 'osd_op_queue', 'mclock_scheduler')
        seen = observe(Monitors(stored, queue='wpq'), osd(0))
        self.assertEqual({0}, seen.capacities.keys())

    def test_thresholds_are_those_of_the_cluster(self):
        self.assertEqual(
            {'hdd': (50, 500), 'ssd': (1000, 80000)},
            observe(Monitors()).plausible_iops,
        )
        seen = observe(
            Monitors(
                (
                    'osd',
                    '',
                    'osd_mclock_iops_capacity_threshold_ssd',
                    '200000',
                ),
                (
                    'global',
                    '',
                    'osd_mclock_iops_capacity_low_threshold_hdd',
                    '70.0',
                ),
            )
        )
        self.assertEqual(
            {'hdd': (70, 500), 'ssd': (1000, 200000)}, seen.plausible_iops
        )

    @ddt.data(None, 16)
    def test_before_ceph_17_nothing_is_read(self, release):
        self.assertIsNone(observe(None, osd(0), release=release))
