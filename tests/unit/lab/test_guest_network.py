# SPDX-License-Identifier: Apache-2.0
"""What a network of guests changes in the configuration of the lab."""

import pathlib
import tempfile

import testtools

from lab import guest_network
from lab import layout
from lab.openstack import conf_files
from lab.openstack import service_conf
from lab.openstack import services
from lab.processes import supervisord
from lab import restart
from lab import up


class GuestNetworkTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.lab = layout.load_or_create(
            pathlib.Path(folder.name) / 'lab',
            {layout.PORT_OFFSET_VARIABLE: '2000'},
        )

    def sections(self, service):
        return service_conf.sections_of(self.lab, service)

    def test_without_one_neutron_has_nothing_that_serves_guests(self):
        neutron = self.sections('neutron')
        self.assertEqual('', neutron['ml2']['mechanism_drivers'])
        self.assertNotIn('macvtap', neutron)
        self.assertEqual(
            'true',
            self.sections('nova-compute')['DEFAULT']['force_config_drive'],
        )
        self.assertNotIn(
            'service_metadata_proxy', self.sections('nova')['neutron']
        )

    def test_neutron_attaches_guests_to_the_link_of_the_lab(self):
        self.lab.choose_network(True)
        neutron = self.sections('neutron')
        self.assertEqual(
            'lab:ctguest2000',
            neutron['macvtap']['physical_interface_mappings'],
        )
        self.assertEqual('lab', neutron['ml2_type_flat']['flat_networks'])
        # Of the API only, and kept.
        self.assertEqual('ml2', neutron['DEFAULT']['core_plugin'])

    def test_nova_and_neutron_share_a_secret_that_is_no_password(self):
        self.lab.choose_network(True)
        secret = self.sections('neutron')['DEFAULT'][
            'metadata_proxy_shared_secret'
        ]
        nova = self.sections('nova')['neutron']
        self.assertEqual(secret, nova['metadata_proxy_shared_secret'])
        self.assertEqual('true', nova['service_metadata_proxy'])
        self.assertNotIn(secret, self.lab.passwords.values())
        self.assertEqual(10775, self.lab.port('nova-metadata'))
        self.assertEqual(
            10775, self.sections('neutron')['DEFAULT']['nova_metadata_port']
        )

    def test_a_choice_of_it_starts_neutron_and_nova_anew(self):
        def versions():
            for service in ('neutron', 'nova', 'nova-compute'):
                conf_files.path(self.lab, service).write_text(
                    service_conf.as_ini(self.sections(service))
                )
            return [
                program.environment['CINDER_TIERS_LAB_CONFIGURATION']
                for program in (
                    services.api_program(self.lab, 'neutron'),
                    services.api_program(self.lab, 'nova'),
                    *services.worker_programs(self.lab, ['nova-compute']),
                )
            ]

        before = versions()
        self.lab.choose_network(True)
        for old, new in zip(before, versions(), strict=True):
            self.assertNotEqual(old, new)
        self.lab.choose_network(False)
        self.assertEqual(before, versions())

    def stages(self):
        return {stage.name: stage for stage in up.all_stages(self.lab)}

    def test_what_is_in_the_cloud_waits_for_the_network(self):
        without = self.stages()
        self.lab.choose_network(True)
        found = self.stages()
        added = {
            guest_network.LINK_STAGE,
            guest_network.AGENTS_STAGE,
            guest_network.METADATA_STAGE,
        }
        self.assertEqual(added, set(found) - set(without))
        self.assertLessEqual(added, set(found['cloud'].needs))
        for stage in found.values():
            self.assertLessEqual(set(stage.needs), set(found), stage.name)

    def test_each_service_of_it_has_the_stage_that_starts_it(self):
        self.lab.choose_network(True)
        stages = self.stages()
        for name in (*services.NETWORK_WORKERS, 'nova-metadata-api'):
            for stage in restart.find_stages(name):
                self.assertIn(stage, stages, name)

    def test_only_services_with_a_queue_are_waited_for(self):
        self.assertEqual(
            ['q-plugin.cinder-tiers-lab'],
            services.find_queues(self.lab, 'neutron-rpc-server'),
        )
        self.assertEqual(
            [], services.find_queues(self.lab, 'neutron-metadata-agent')
        )

    def test_it_cannot_be_removed_from_a_lab_that_is_down(self):
        self.lab.choose_network(True)
        supervisor = supervisord.Supervisor(self.lab)
        problem = self.assertRaises(
            guest_network.GuestNetworkError,
            guest_network.choose,
            self.lab,
            supervisor,
            False,
        )
        self.assertIn('devstack/lab.sh up', str(problem))
        self.assertTrue(self.lab.has_network)

    def test_no_choice_keeps_the_former_one(self):
        supervisor = supervisord.Supervisor(self.lab)
        guest_network.choose(self.lab, supervisor, None)
        self.assertFalse(self.lab.has_network)
        guest_network.choose(self.lab, supervisor, True)
        guest_network.choose(self.lab, supervisor, None)
        self.assertTrue(self.lab.has_network)
