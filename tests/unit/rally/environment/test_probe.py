# SPDX-License-Identifier: Apache-2.0

"""The scenario with an administrator, and with a cluster that is not there."""

import types
import uuid

from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.environment import openstack
from rally_scenarios.plugins.environment import probe
from rally_scenarios.plugins.fleet import scenario as fleet_scenario
from rally_scenarios.plugins import servers
from tests.unit.rally import fake_admin
from tests.unit.rally.fleet import test_run
from tests.unit.rally import fleet_fio_case


def qos(name, **specs):
    return types.SimpleNamespace(
        id=name, name=name, consumer='front-end', specs=specs
    )


class ProbeTest(fleet_fio_case.FleetFioCase):
    args = test_run.ARGS

    def with_admin(self):
        admin = fake_admin.Admin(self.cloud)
        self.scenario = fleet_scenario.FleetFio(
            context={
                **self.scenario.context,
                'owner_id': str(uuid.uuid4()),
                'admin': {'credential': None},
            },
            clients=self.cloud.clients(),
            admin_clients=admin,
            clock=self.cloud.clock,
        )
        return admin

    def result(self):
        (file,) = self.results.iterdir()
        return run_result.read(file.read_bytes())

    def test_an_administrator_sees_qos_backends_and_hosts(self):
        admin = self.with_admin()
        # Volumes of the cloud in memory have no type.
        admin.qos = {None: qos('gold', read_iops_sec='500')}
        admin.backends = {None: 'host@rbd#rbd'}
        self.run_scenario()
        found = self.result()
        self.assertEqual(
            [('gold, front-end: read_iops_sec 500', 'host@rbd#rbd')] * 2,
            [(tier.qos.value, tier.backends.value) for tier in found.tiers],
        )
        self.assertEqual(
            ('API 3.71', 'API 2.104', 'QEMU 7.2.22 on 1 host'),
            tuple(
                found.environment[name].value
                for name in ('cinder', 'nova', 'compute')
            ),
        )

    def test_a_type_without_qos_has_none(self):
        self.with_admin()
        self.run_scenario()
        tier = self.result().tiers[0]
        self.assertEqual('none', tier.qos.value)
        self.assertEqual(
            (None, 'Cinder does not say where its volumes are'),
            (tier.backends.value, tier.backends.reason),
        )

    def test_the_volume_type_as_it_was(self):
        admin = self.with_admin()
        admin.qos = {'gold': qos('q', read_iops_sec='500')}
        admin.encryption = {'provider': 'luks', 'key_size': 256}
        cinder = admin.cinder()
        for types_of, expected in (
            ({'a': 'gold', 'b': 'gold'}, ['fast']),
            ({'a': 'gold', 'b': 'lead'}, []),
            ({'a': 'lead', 'b': 'lead'}, []),
            ({'a': None, 'b': None}, []),
        ):
            cinder.volumes = types.SimpleNamespace(
                get=lambda ident, types_of=types_of: types.SimpleNamespace(
                    volume_type=types_of[ident]
                )
            )
            found = openstack.read_types(cinder, {'fast': ['a', 'b']})
            self.assertEqual(expected, list(found))
        found = openstack.read_types(
            types.SimpleNamespace(
                **{
                    **vars(cinder),
                    'volumes': types.SimpleNamespace(
                        get=lambda _id: types.SimpleNamespace(
                            volume_type='gold'
                        )
                    ),
                }
            ),
            {'fast': ['a']},
        )
        self.assertEqual(
            run_result.TypeAsMeasured(
                extra_specs={'volume_backend_name': 'ssd'},
                qos_consumer='front-end',
                qos_specs={'read_iops_sec': '500'},
                encryption={'provider': 'luks', 'key_size': '256'},
            ),
            found['fast'],
        )

    def test_what_a_service_refuses_is_a_reason(self):
        admin = self.with_admin()

        def refused(*_ids, **_filters):
            raise openstack.cinder_exceptions.Forbidden(403, 'not you')

        (fact,) = openstack.read_tiers(
            types.SimpleNamespace(
                volumes=admin.cinder().volumes,
                qos_specs=types.SimpleNamespace(list=refused),
            ),
            {'fast': []},
        )[0].values()
        self.assertEqual(
            {},
            openstack.read_types(
                types.SimpleNamespace(
                    volumes=types.SimpleNamespace(get=refused)
                ),
                {'fast': ['a']},
            ),
        )
        self.assertIn('not you', fact.reason)

    def test_without_an_administrator_the_reason_says_so(self):
        self.run_scenario()
        found = self.result()
        self.assertIsNone(found.tiers[0].qos)
        self.assertIn('no administrator', found.environment['qos'].reason)
        self.assertIn('names no cluster', found.environment['ceph'].reason)

    def test_a_cluster_that_stops_answering_costs_no_result(self):
        cluster = probe.TaskCluster('/no/such/ceph.conf', 'admin')
        cluster.look_before({'g000': 'x'})
        watch = cluster.look_after({'g000': 'x'})
        self.assertEqual(
            (None, None, {}), (watch.before, watch.after, cluster.images)
        )
        self.assertEqual(
            ['before', 'after'],
            [text.partition(' ')[0] for text in watch.unread],
        )

    def test_a_cluster_that_cannot_be_read_ends_the_run_at_once(self):
        error = self.assertRaises(
            servers.FleetError,
            self.run_scenario,
            ceph={'conf': '/no/such/ceph.conf'},
        )
        self.assertIn(
            "the cluster of the argument 'ceph' cannot be read", str(error)
        )
        self.assertEqual([], self.cloud.everything_made)
