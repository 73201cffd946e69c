# SPDX-License-Identifier: Apache-2.0

"""The text of an export, which must be a tiers file whatever the cloud is."""

import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.export import inventory as inventories
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import exported as exported_file
from cinder_tiers.files.tiers import reader

TYPES, BACKENDS = 1000, 200


class ExportedTestCase(testtools.TestCase):
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
