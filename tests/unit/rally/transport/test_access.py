# SPDX-License-Identifier: Apache-2.0

"""The way to guests, from the argument of a task to servers and addresses."""

import pathlib
import shutil
import tempfile
import types
import unittest

import ddt
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_openstack.common.services.network import neutron

from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import access as guest_access
from tests.unit.rally import fake_cloud
from tests.unit.rally import fleet_fio_case
from tests.unit.rally import local_sshd

# What would run in a guest, in a folder of the test.
ELSEWHERE = """#!/bin/sh
exec sh -c "$(printf %s "$SSH_ORIGINAL_COMMAND" |
              sed 's,/run/cinder-tiers,{folder},g')"
"""


def contexts(private_key=None, **more):
    """What Rally's contexts keypair, network and allow_ssh leave."""
    return {
        'user': {
            'keypair': {
                'name': 'c_rally_key',
                'private': private_key or local_sshd.new_key()[0],
            },
            'secgroup': {'name': 'c_rally_ssh'},
        },
        'tenant': {
            'networks': [
                {'id': 'net-1', 'name': 'name of net-1'},
                {'id': 'net-2', 'name': 'name of net-2'},
            ]
        },
        **more,
    }


@ddt.ddt
class GuestAccessTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cloud = fake_cloud.Cloud(images={}, multiattach_types=())
        self.cloud.networks = {'net-1': '192.0.2.1', 'net-2': '192.0.2.2'}

    def access(self, given, context=None):
        clients = self.cloud.clients()
        return guest_access.GuestAccess(
            given,
            context=context or contexts(),
            nova=clients.nova('2.60'),
            neutron=neutron.NeutronService(
                clients=clients,
                name_generator=lambda: 's_rally_name',
                atomic_inst=None,
            ),
        )

    def test_the_console_needs_nothing(self):
        access = self.access(None, context={'owner_id': 'x'})
        self.assertEqual({'nics': 'none'}, access.server_options)
        self.assertFalse(access.transport([]).can_ask_again)

    def test_many_consoles_get_their_copies_slowly_enough(self):
        self.assertEqual(
            [5, 9, 44, 204],
            [
                self.access({'kind': 'console', 'copies': 3, **given})
                .delivery(guests=guests, pause_seconds=2)
                .pop('copy_pause_seconds')
                for guests, given in (
                    (2, {}),
                    (100, {}),
                    (100, {'readers': 1}),
                    (100, {'requests_per_second': 1}),
                )
            ],
        )
        self.assertEqual(
            3,
            self.access({'kind': 'console', 'copies': 3}).delivery(
                guests=2, pause_seconds=2
            )['copies'],
        )

    def test_how_many_are_read_at_once_is_told_for_each_transport(self):
        self.assertEqual(
            [8, 3, 5],
            [
                self.access(given).readers
                for given in (
                    None,
                    {'kind': 'console', 'readers': 3},
                    {'kind': 'ssh', 'user': 'debian', 'readers': 5},
                )
            ],
        )

    def test_ssh_takes_what_rallys_contexts_made(self):
        self.assertEqual(
            {
                'nics': [{'net-id': 'net-1'}],
                'key_name': 'c_rally_key',
                'security_groups': ['c_rally_ssh'],
            },
            self.access({'kind': 'ssh', 'user': 'debian'}).server_options,
        )
        for network in ('net-2', 'name of net-2'):
            self.assertEqual(
                [{'net-id': 'net-2'}],
                self.access(
                    {'kind': 'ssh', 'user': 'debian', 'network': network}
                ).server_options['nics'],
            )

    def test_orders_come_by_config_drive_unless_a_task_says_otherwise(self):
        options = [
            self.access({'kind': 'ssh', 'user': 'a', **orders}).server_options
            for orders in (
                {},
                {'orders': 'config-drive'},
                {'orders': 'metadata'},
            )
        ]
        made = [self.created_with(each) for each in options]
        self.assertEqual([True, True, False], made)

    def created_with(self, options):
        """Whether a server that is created so has a config drive."""
        self.cloud.volumes_by_id['volume'] = types.SimpleNamespace(
            status='available', servers=set(), volume_type=None
        )
        server_id = servers.create_server(
            self.cloud.clients().nova('2.60'),
            name='s_rally_name',
            flavor_id='1',
            volume_ids=['volume'],
            user_data='CT_GUEST=g000\n',
            options=options,
        )
        return self.cloud.servers_by_id[server_id].config_drive

    def test_all_that_is_missing_is_named_at_once(self):
        error = self.assertRaises(
            servers.FleetError,
            self.access,
            {'kind': 'ssh', 'user': 'debian', 'network': 'net-9'},
            context={'tenant': contexts()['tenant']},
        )
        self.assertIn('add the context keypair', str(error))
        self.assertIn(
            "no network net-9: expected one of the project's, which"
            ' are: name of net-1, name of net-2',
            str(error),
        )

    @ddt.data(
        ({'kind': 'ssh'}, "without 'user'"),
        ({'kind': 'ssh', 'user': 'a', 'copies': 2}, "'ssh' with copies"),
        ({'kind': 'console', 'user': 'a'}, "'console' with user"),
        (
            {'kind': 'console', 'orders': 'metadata'},
            "'console' with orders",
        ),
    )
    @ddt.unpack
    def test_what_does_not_belong_together_is_refused(self, given, message):
        error = self.assertRaises(ValueError, guest_access.check, given)
        self.assertIn(message, str(error))

    def booted(self, access):
        volume = types.SimpleNamespace(
            status='available', servers=set(), volume_type=None
        )
        self.cloud.volumes_by_id['volume'] = volume
        server = (
            self.cloud.clients()
            .nova('2.60')
            .servers.create(
                's_rally_name',
                None,
                '1',
                config_drive=True,
                userdata='CT_GUEST=g000\n',
                block_device_mapping_v2=[{'uuid': 'volume', 'boot_index': 0}],
                **access.server_options,
            )
        )
        return servers.Guest(name='g000', tier='fast', server_id=server.id)

    def test_floating_addresses_are_given_back(self):
        access = self.access(
            {
                'kind': 'ssh',
                'user': 'debian',
                'port': 1,
                'floating_network': 'outside',
            }
        )
        guest = self.booted(access)
        transport = access.transport([guest])
        self.assertEqual(
            [f'port-of-{guest.server_id}'], list(self.cloud.floating.values())
        )
        self.assertTrue(transport.can_ask_again)
        access.delete()
        self.assertEqual({}, self.cloud.floating)

    def test_a_server_without_an_address_is_named(self):
        access = self.access({'kind': 'ssh', 'user': 'debian'})
        guest = self.booted(access)
        self.cloud.servers_by_id[guest.server_id].addresses = {}
        error = self.assertRaises(
            servers.FleetError, access.transport, [guest]
        )
        self.assertIn(
            'has no address in the network name of net-1', str(error)
        )


@unittest.skipIf(
    local_sshd.PROGRAM is None, 'sshd is not installed (bindep.txt)'
)
class ScenarioTest(fleet_fio_case.FleetFioCase):
    """The scenario, with a real sshd as the guest's."""

    args = {
        'fleets': [{'tier': 'database', 'image': 'db'}],
        'flavor': '1',
        'patterns': fleet_fio_case.PATTERNS,
        'guests_per_tier': 1,
        'listen_every_seconds': 0,
    }

    def setUp(self):
        super().setUp()
        folder = tempfile.mkdtemp(prefix='ctiers-')
        self.addCleanup(shutil.rmtree, folder)
        self.folder = pathlib.Path(folder)
        private, public = local_sshd.new_key()
        self.sshd = self.useFixture(local_sshd.LocalSshd(self.folder, public))
        self.sshd.stop()
        script = self.folder / 'elsewhere'
        script.write_text(ELSEWHERE.format(folder=self.folder))
        self.sshd.start(f'ForceCommand sh {script}')
        self.scenario.context.update(contexts(private))
        self.cloud.networks = {'net-1': '127.0.0.1'}
        self.cloud.guests_keep['g000'] = self.folder

    def test_a_fleet_is_measured_by_ssh(self):
        self.run_scenario(
            transport={
                'kind': 'ssh',
                'user': self.sshd.user,
                'port': self.sshd.port,
            },
            timeouts_seconds={'ready': 10, 'prepare': 10},
        )
        table = next(
            found
            for found in self.scenario._output['complete']
            if found['title'] == tables.TIER_TABLE_TITLE
        )
        self.assertEqual(
            [('randwrite-4k', 'complete'), ('write-1m', 'complete')],
            [(row[1], row[-1]) for row in table['data']['rows']],
        )
        server = self.cloud.everything_made[-1]
        self.assertEqual(
            ('c_rally_key', ['c_rally_ssh'], '1', 'kept'),
            (
                server.key_name,
                server.security_groups,
                server.orders['CT_COPIES'],
                server.orders['CT_RESULTS'],
            ),
        )
        self.assertEqual(
            ({}, {}), (self.cloud.servers_by_id, self.cloud.volumes_by_id)
        )
