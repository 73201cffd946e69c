# SPDX-License-Identifier: Apache-2.0

"""Limits of images against those of their volume types, from plain values."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from tests.unit.domain.audit import test_volumes
from tests.unit.domain import clouds


POOL = volume_limits.ClusterPool(cluster='ceph', pool='tier-database')


DOWN = volume_limits.ClusterPool(cluster='ceph', pool='tier-general')


LIMITS = volume_limits.VolumeLimits(
    places={clouds.host('database'): POOL, clouds.host('general'): DOWN},
    images={
        POOL: {
            'old': {'rbd_qos_iops_limit': '40'},
            'v': {'rbd_qos_iops_limit': '080', 'rbd_qos_bps_limit': '0'},
        },
        DOWN: 'it is down',
    },
    types={
        clouds.DATABASE.type_id: volume_limits.Spec(
            consumer='back-end', specs={'total_iops_sec_per_gb': '8'}
        )
    },
)


@ddt.ddt
class LimitsTestCase(testtools.TestCase):
    @ddt.data(
        (clouds.DATABASE, 'database', {}, 'compliant', ''),
        (
            clouds.DATABASE,
            'database',
            {'stored_id': 'gone'},
            'unknown',
            'pool tier-database has no image of it',
        ),
        (clouds.GENERAL, 'general', {}, 'unknown', 'it is down'),
        (clouds.ARCHIVE, 'archive', {}, None, ''),
        (clouds.DATABASE, None, {}, None, ''),
    )
    @ddt.unpack
    def test_a_volume_is_counted(self, volume_type, on, fields, state, reason):
        found = [
            one
            for one in test_volumes.run(
                test_volumes.volume(volume_type, on, **fields), limits=LIMITS
            )
            if one.aspect == 'limits'
        ]
        if state is None:
            self.assertEqual([], found)
            return
        (count,) = found
        self.assertEqual((state, reason), (count.state.value, count.reason))
        self.assertEqual({'volumes': 1}, count.current)

    def test_an_image_with_other_limits_than_its_type_is_named(self):
        named, _ = (
            one
            for one in test_volumes.run(
                test_volumes.volume(
                    clouds.DATABASE, 'database', volume_id='old'
                ),
                limits=LIMITS,
            )
            if one.aspect == 'limits'
        )
        self.assertEqual(
            (
                'volume old',
                audit.State.OUT_OF_DATE,
                {'rbd_qos_iops_limit': '40'},
                {'rbd_qos_iops_limit': '80'},
            ),
            (named.object_name, named.state, named.current, named.expected),
        )
        self.assertIn('openstack tier repair', named.remedy)

    @ddt.data(
        ('back-end', {'rbd_qos_iops_limit': '4', 'rbd_qos_iops_burst': '8'}),
        ('both', {'rbd_qos_iops_limit': '4', 'rbd_qos_iops_burst': '8'}),
        ('front-end', {}),
        ('', {}),
    )
    @ddt.unpack
    def test_what_a_spec_gives_to_images(self, consumer, expected):
        self.assertEqual(
            expected,
            volume_limits.of_image(
                volume_limits.Spec(
                    consumer=consumer,
                    specs={
                        'total_iops_sec': '4',
                        'total_iops_sec_max': '8',
                        'read_bytes_sec': '0',
                        'of_another_driver': '1',
                    },
                ),
                1,
            ),
        )

    def attached(self, spec, *servers, **fields):
        """Findings on a volume that servers have, and their counts."""
        limits = volume_limits.VolumeLimits(
            places={},
            images={},
            types={clouds.DATABASE.type_id: spec},
            attached=servers[0]
            if servers and isinstance(servers[0], str)
            else {'v': servers},
        )
        return [
            one
            for one in test_volumes.run(
                test_volumes.volume(clouds.DATABASE, 'database', **fields),
                limits=limits,
            )
            if one.aspect == audit_volumes.ATTACHED
        ]

    def test_a_server_with_the_limits_of_another_day_is_named(self):
        spec = volume_limits.Spec(
            consumer='front-end', specs={'total_iops_sec_per_gb': '8'}
        )
        fine, old = (
            volume_limits.Attached(server=name, has={'total_iops_sec': limit})
            for name, limit in (('fine', '080'), ('old', '40'))
        )
        named, *counts = self.attached(spec, fine, old)
        self.assertEqual(
            (
                'volume v',
                audit.State.OUT_OF_DATE,
                {'server': 'old', 'total_iops_sec': '40'},
                {'total_iops_sec': '80'},
            ),
            (named.object_name, named.state, named.current, named.expected),
        )
        self.assertIn('shelve and unshelve', named.remedy)
        self.assertEqual(
            {
                audit.State.COMPLIANT: {'volumes': 1},
                audit.State.OUT_OF_DATE: {'volumes': 1},
            },
            {one.state: one.current for one in counts},
        )
        # It grew.
        self.assertEqual(
            ['fine', 'old'],
            [
                one.current['server']
                for one in self.attached(spec, fine, old, size_gib=20)
                if one.expected
            ],
        )

    def test_limits_that_moved_to_the_back_end_stay_with_a_server(self):
        named, _ = self.attached(
            volume_limits.Spec(
                consumer='back-end', specs={'total_iops_sec': '40'}
            ),
            volume_limits.Attached(server='s', has={'total_iops_sec': '40'}),
        )
        self.assertEqual({'total_iops_sec': None}, named.expected)

    @ddt.data(
        (('Cinder is down',), {'status': 'in-use'}, 'Cinder is down'),
        (('Cinder is down',), {'status': 'available'}, None),
        (
            (volume_limits.Attached(server='s', has=None),),
            {},
            'Cinder has no record of the limits that Nova got',
        ),
        ((), {'status': 'in-use'}, None),
    )
    @ddt.unpack
    def test_limits_of_servers_that_are_not_known(
        self, servers, fields, reason
    ):
        found = self.attached(
            volume_limits.Spec(
                consumer='front-end', specs={'total_iops_sec': '40'}
            ),
            *servers,
            **fields,
        )
        self.assertEqual(
            [] if reason is None else [('unknown', reason, {'volumes': 1})],
            [(one.state.value, one.reason, one.current) for one in found],
        )

    def test_a_limit_that_is_none_is_named(self):
        (count,) = self.attached(
            volume_limits.Spec(
                consumer='front-end', specs={'total_iops_sec_per_gb': '3k'}
            ),
            volume_limits.Attached(server='s', has={}),
        )
        self.assertIn("total_iops_sec_per_gb '3k'", count.reason)

    @ddt.data(
        *(
            {'total_iops_sec_per_gb': value}
            for value in (
                *('3.5', '3K', '1e3', 'NaN', '-3', '+3', '1_000', ' 3', ''),
                *('\N{ARABIC-INDIC DIGIT THREE}', '9' * 200, '9' * 5000),
            )
        ),
        {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '0'},
        {'total_iops_sec_per_gb_min': '300'},
        {'total_iops_sec': '1e3'},
        {'total_iops_sec': '\N{ARABIC-INDIC DIGIT THREE}'},
    )
    def test_a_spec_whose_limit_no_image_gets_is_named(self, specs):
        limits = dataclasses.replace(
            LIMITS,
            types={
                clouds.DATABASE.type_id: volume_limits.Spec(
                    consumer='back-end', specs=specs
                )
            },
        )
        (count,) = (
            one
            for one in test_volumes.run(
                test_volumes.volume(clouds.DATABASE, 'database'), limits=limits
            )
            if one.aspect == 'limits'
        )
        self.assertEqual('unknown', count.state.value)
        self.assertIn(list(specs)[-1], count.reason)

    def test_each_limit_has_an_option_of_its_own(self):
        self.assertEqual(12, len(set(volume_limits.OPTIONS.values())))
        # What Cinder has, but for the burst of operations.
        self.assertEqual(
            'rbd_qos_iops_burst', volume_limits.OPTIONS['total_iops_sec_max']
        )
        self.assertEqual(
            'rbd_qos_write_bps_burst',
            volume_limits.OPTIONS['write_bytes_sec_max'],
        )
