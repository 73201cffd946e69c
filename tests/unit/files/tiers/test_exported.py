# SPDX-License-Identifier: Apache-2.0

"""The text of an export, which must be a tiers file whatever the cloud is."""

import ddt
import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.export import inventory as inventories
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import exported as exported_file
from cinder_tiers.files.tiers import reader
from tests.unit.domain.export import test_catalog

TYPES, BACKENDS = 1000, 200


def read_back(known):
    """The catalog of the text of an export."""
    return reader.read_text(
        exported_file.text_of(export.export(known), known), file='tiers.yaml'
    )


@ddt.ddt
class ExportedTestCase(testtools.TestCase):
    @ddt.data('-10', '-5', '10')
    def test_a_pool_may_recover_before_or_after_others(self, priority):
        known = test_catalog.cloud(
            test_catalog.volume_type(),
            pools=[test_catalog.pool(options={'recovery_priority': priority})],
        )
        self.assertEqual(
            {'recovery_priority': int(priority)},
            read_back(known).tier('gold').rbd.options,
        )

    @ddt.data(
        ('osd_debug_drop_ping_probability', '0.5', False),
        ('bluestore_ignore_data_csum', '1', False),
        ('osd_memory_target', '7000000000', True),
    )
    @ddt.unpack
    def test_an_option_that_no_file_may_have_costs_only_itself(
        self, name, value, cephadm_tunes_memory
    ):
        values = {name: value, 'osd_max_backfills': '3'}
        known = test_catalog.cloud(
            test_catalog.volume_type(),
            pools=[test_catalog.pool(crush_rule='by-hand')],
            option_schemas={
                option: ceph_state.OptionSchema(name=option, kind='float')
                for option in values
            },
            configured={'hdd': values},
            class_options={
                'hdd': ceph_state.OsdOptions(name='hdd', values=values)
            },
            configured_hosts={'a': values},
            host_options={'a': ceph_state.OsdOptions(name='a', values=values)},
            cephadm_tunes_memory=cephadm_tunes_memory,
        )
        catalog = read_back(known)
        self.assertEqual(
            ({'osd_max_backfills': 3}, {'a': {'osd_max_backfills': 3}}),
            (
                catalog.tier('gold').rbd.osd_options,
                catalog.clusters['ceph'].host_osd_options,
            ),
        )
        said = [one.text for one in export.export(known).remarks]
        for whose in ('hdd OSDs', 'OSDs on host a'):
            (remark,) = (
                one
                for one in said
                if f'the option {name}={value} of {whose} is left out' in one
            )
            self.assertIn(
                'cephadm sets it' if cephadm_tunes_memory else 'can lose data',
                remark,
            )

    def test_memory_that_nobody_tunes_is_said(self):
        values = {'osd_memory_target': '7000000000'}
        known = test_catalog.cloud(
            test_catalog.volume_type(),
            option_schemas={
                'osd_memory_target': ceph_state.OptionSchema(
                    name='osd_memory_target', kind='size'
                )
            },
            configured_hosts={'a': values},
            host_options={'a': ceph_state.OsdOptions(name='a', values=values)},
        )
        self.assertEqual(
            {'a': {'osd_memory_target': 7000000000}},
            read_back(known).clusters['ceph'].host_osd_options,
        )

    def test_the_lowest_priority_that_several_have_is_that_of_one(self):
        known = test_catalog.cloud(
            *(
                test_catalog.volume_type(
                    name,
                    'lvm',
                    specs={
                        'tiers:name': name,
                        'tiers:tags': name,
                        'tiers:priority': priority,
                    },
                )
                for name, priority in (
                    ('a', '-1000000'),
                    ('b', '-1000000'),
                    ('c', '-999999'),
                )
            )
        )
        self.assertEqual(
            {'c': -999998, 'a': -999999, 'b': -1000000},
            {tier.name: tier.priority for tier in read_back(known).tiers},
        )

    def test_a_cloud_of_a_thousand_types_is_one_file(self):
        types = {
            f'customer-type-{number:04d}': cinder_state.VolumeType(
                name=f'customer-type-{number:04d}',
                description='Storage of a customer, three copies, with QoS',
                extra_specs={
                    'volume_backend_name': f'rbd-{number % BACKENDS}',
                    'RESKEY:availability_zones': 'az1',
                    'multiattach': '<is> True',
                },
            )
            for number in range(TYPES)
        }
        inventory = inventories.Inventory(
            cinder=cinder_state.CinderState(
                volume_types=types,
                qos_specs={
                    f'tier-{name}': cinder_state.QosSpec(
                        name=f'tier-{name}',
                        consumer='front-end',
                        specs={
                            'read_iops_sec': '500',
                            'write_iops_sec': '500',
                            'read_bytes_sec': '100000000',
                            'write_bytes_sec': '100000000',
                        },
                        volume_types=frozenset({name}),
                    )
                    for name in types
                },
            ),
            backends=tuple(
                backends.Backend(
                    name=f'node@rbd-{number}#rbd-{number}',
                    capabilities={
                        'volume_backend_name': f'rbd-{number}',
                        'storage_protocol': 'iSCSI',
                    },
                )
                for number in range(BACKENDS)
            ),
        )
        text = exported_file.text_of(export.export(inventory), inventory)
        catalog = reader.read_text(text, file='tiers.yaml')
        self.assertEqual(TYPES, len(catalog.tiers))
