# SPDX-License-Identifier: Apache-2.0

"""What OSDs and cache tiers are, in an export."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain.export import test_catalog

BACKFILLS = ceph_state.OptionSchema(name='osd_max_backfills', kind='uint')
GOLD = test_catalog.volume_type()
ON_HDD = test_catalog.pool(crush_rule='by-hand')


class ExportStorageCase(testtools.TestCase):
    def tier(self, known, name='gold'):
        """A tier and what is said of it; the plan must be empty."""
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        return exported.catalog.tier(name), [
            one.text for one in exported.remarks if one.tier == name
        ]


@ddt.ddt
class ExportStorageTestCase(ExportStorageCase):
    def test_options_of_osds_are_of_all_tiers_on_them(self):
        told = {'hdd': {'osd_max_backfills': '3', 'osd_odd': 'x'}}
        known = test_catalog.cloud(
            GOLD,
            pools=[ON_HDD],
            configured=told,
            option_schemas={'osd_max_backfills': BACKFILLS},
            class_options={
                'hdd': ceph_state.OsdOptions(
                    name='hdd', values={'osd_max_backfills': '3'}
                )
            },
        )
        tier, remarks = self.tier(known)
        self.assertEqual({'osd_max_backfills': 3}, tier.rbd.osd_options)
        self.assertIn('osd_odd=x', remarks[0])
        known.clusters[0].ceph.class_options['hdd'] = ceph_state.OsdOptions(
            name='hdd', values={'osd_max_backfills': '3 (osd.1), 1 (osd.3)'}
        )
        tier, remarks = self.tier(known)
        self.assertEqual({}, tier.rbd.osd_options)
        self.assertIn('not all of them use it', remarks[0])

    def test_an_affinity_of_all_osds_of_a_class_is_said(self):
        def osds(*values):
            return tuple(
                dataclasses.replace(osd, primary_affinity=value)
                if osd.device_class == 'hdd'
                else osd
                for osd, value in zip(given.osds(), values, strict=True)
            )

        for values, expected, said in (
            ((1,) * 6, None, ''),
            ((0.69999,) * 6, 0.7, ''),
            ((0,) * 6, 0, ''),
            ((0,) * 5 + (0.5,), None, '0 (osd.1, osd.3), 0.5 (osd.5)'),
        ):
            tier, remarks = self.tier(
                test_catalog.cloud(GOLD, pools=[ON_HDD], osds=osds(*values))
            )
            self.assertEqual(expected, tier.rbd.primary_affinity)
            self.assertIn(said, ''.join(remarks))

    def test_options_of_hosts_are_of_the_cluster(self):
        known = test_catalog.cloud(
            GOLD,
            option_schemas={'osd_max_backfills': BACKFILLS},
            configured_hosts={
                host: {'osd_max_backfills': '3'} for host in 'abz'
            },
            host_options={
                'a': ceph_state.OsdOptions(
                    name='a', values={'osd_max_backfills': '3'}
                ),
                'b': ceph_state.OsdOptions(name='b', values={}),
            },
        )
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            {'a': {'osd_max_backfills': 3}},
            exported.catalog.clusters['ceph'].host_osd_options,
        )
        said = ' '.join(one.text for one in exported.remarks)
        self.assertIn(
            (
                'cluster ceph: the option osd_max_backfills=3 of OSDs on '
                'host b is left out: not all of them use it; the value in '
                'effect is not known'
            ),
            said,
        )
        self.assertIn(
            (
                "cluster ceph: the monitors' options for the mask host:z are "
                'left out: no OSD is on a CRUSH host of that name: '
                'osd_max_backfills=3'
            ),
            said,
        )
