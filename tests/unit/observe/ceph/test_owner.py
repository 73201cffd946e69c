# SPDX-License-Identifier: Apache-2.0

import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.observe.ceph import owner
from tests.unit.domain import catalogs as given

#: Of a monitor of Ceph 16.2.15 that was started with the variables POD_NAME
#: and POD_NAMESPACE, which Rook gives to its own; some keys of many.
IN_A_POD = {
    'name': 'a',
    'ceph_version_short': '16.2.15',
    'hostname': 'vm',
    'pod_name': 'rook-ceph-mon-a-5d9',
    'pod_namespace': 'rook-ceph',
}
ELSEWHERE = {'name': 'b', 'ceph_version_short': '16.2.15', 'hostname': 'vm'}


class Monitors:
    cluster = catalogs.Cluster(name='ceph')

    def __init__(self, *metadata):
        self.metadata = metadata

    def command(self, prefix):
        return {'mon metadata': list(self.metadata)}[prefix]


class RookTestCase(testtools.TestCase):
    def test_monitors_in_pods_are_those_of_rook(self):
        for found in ([IN_A_POD], [ELSEWHERE, IN_A_POD]):
            self.assertEqual(
                'rook-ceph', owner.rook_namespace(Monitors(*found))
            )

    def test_others_are_not(self):
        # One that is down tells its name only.
        for found in ([ELSEWHERE], [{'name': 'a'}], []):
            self.assertIsNone(owner.rook_namespace(Monitors(*found)))


class Configured:
    """Monitors with options, as `config dump` of Ceph 16.2.15 has them."""

    cluster = catalogs.Cluster(name='ceph')

    def __init__(self, **values):
        self.values = values

    def command(self, prefix):
        return {
            'config dump': [
                {'section': section, 'name': name, 'value': value, 'mask': ''}
                for section, name, value in (
                    (
                        'mgr',
                        'mgr/orchestrator/orchestrator',
                        self.values['orchestrator'],
                    ),
                    (
                        'osd',
                        'osd_memory_target_autotune',
                        self.values['autotune'],
                    ),
                )
            ]
        }[prefix]


class CephadmTestCase(testtools.TestCase):
    def tunes(self, catalog, **values):
        return owner.cephadm_tunes_memory(
            Configured(
                **{'orchestrator': 'cephadm', 'autotune': 'true', **values}
            ),
            catalog,
        )

    def test_it_tunes_where_both_are_on(self):
        options = {'osd_memory_target': 2**32}
        for catalog in (
            given.of(given.tier(rbd=given.rbd(osd_options=options))),
            given.of(given.tier(), host_osd_options={'a': options}),
        ):
            self.assertTrue(self.tunes(catalog))
            self.assertFalse(self.tunes(catalog, orchestrator='rook'))
            self.assertFalse(self.tunes(catalog, autotune='false'))

    def test_nothing_is_asked_where_it_does_not_matter(self):
        self.assertFalse(
            owner.cephadm_tunes_memory(
                Monitors(),
                given.of(
                    given.tier(rbd=given.rbd(osd_options={'osd_op_queue': 1}))
                ),
            )
        )
