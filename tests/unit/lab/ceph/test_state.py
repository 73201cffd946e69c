# SPDX-License-Identifier: Apache-2.0
"""Tests of lab.ceph.state."""

import errno
import pathlib
import uuid

import testtools

from lab.ceph import errors
from lab.ceph import monitor_client
from lab.ceph import state
from lab.ceph import topology

LAYOUT = topology.CephLayout(
    folder=pathlib.Path('/srv/lab/ceph'),
    osds=topology.six_osds(),
    fsid=uuid.uuid4(),
    ports=topology.Ports(),
)


OPTIONS = topology.INITIAL_OPTIONS


class KeyValueMonitor:
    """The monitor's two stores and its users; refuses all else."""

    def __init__(self):
        self.keys = {}
        self.options = {}
        self.users = {}

    def command(self, arguments, data=''):
        arguments = dict(arguments)
        prefix = arguments.pop('prefix')
        if prefix == 'config-key get' and arguments['key'] in self.keys:
            return self.keys[arguments['key']]
        if prefix == 'auth get' and arguments['entity'] in self.users:
            return self.users[arguments['entity']]
        if prefix in ('config-key get', 'auth get'):
            raise monitor_client.MonitorError('not there', errno.ENOENT)
        if (
            prefix == 'auth get-or-create'
            and arguments['entity'] not in self.users
        ):
            words = iter(arguments['caps'])
            caps = ''.join(
                f'\tcaps {daemon} = "{text}"\n'
                for daemon, text in zip(words, words, strict=True)
            )
            self.users[arguments['entity']] = (
                f'[{arguments["entity"]}]\n\tkey = AQ==\n{caps}'
            )
            return self.users[arguments['entity']]
        if prefix == 'config-key set':
            self.keys[arguments['key']] = arguments['val']
            return ''
        if prefix == 'config set':
            where = arguments['who'], arguments['name']
            self.options[where] = arguments['value']
            return ''
        raise monitor_client.MonitorError(f'unknown: {prefix}', errno.EINVAL)


def osd_dump(*osds):
    return {
        'flags': 'sortbitwise,noup',
        'osds': [
            {'osd': number, 'up': up, 'in': is_in}
            for number, up, is_in in osds
        ],
    }


class DaemonStatusTest(testtools.TestCase):
    def test_a_cluster_with_all_up_and_in_is_ready(self):
        found = state.parse_status(
            LAYOUT,
            osd_dump(*((number, 1, 1) for number in range(6))),
            {'available': True},
        )
        self.assertTrue(found.is_ready())

    def test_absent_and_stopped_osds_and_a_passive_manager_are_missing(self):
        found = state.parse_status(
            LAYOUT,
            osd_dump((0, 1, 1), (1, 0, 1), (2, 0, 0), (3, 1, 1), (4, 1, 1)),
            {'available': False},
        )
        self.assertEqual(('osd.1', 'osd.2', 'osd.5', 'mgr.x'), found.missing)
        self.assertFalse(found.is_ready())

    def test_only_an_osd_that_is_up_can_be_told_to_come_in(self):
        found = state.parse_status(
            LAYOUT,
            osd_dump(
                (0, 1, 0),
                (1, 0, 0),
                *((number, 1, 1) for number in range(2, 6)),
            ),
            {'available': True},
        )
        self.assertEqual(('0',), found.out)
        self.assertFalse(found.is_ready())

    def test_what_is_missing_and_the_flags_that_may_be_why_are_told(self):
        found = state.parse_status(
            LAYOUT,
            osd_dump(*((number, 1, 1) for number in range(5))),
            {'available': True},
        )
        self.assertEqual(
            'not up: osd.5; not in: none (flags: sortbitwise,noup)', str(found)
        )


class FirstOptionsTest(testtools.TestCase):
    def test_a_new_cluster_gets_all_of_them(self):
        monitor = KeyValueMonitor()
        state.set_initial_options(monitor, OPTIONS)
        self.assertEqual(OPTIONS, monitor.options)

    def test_what_a_tier_changed_since_is_not_changed_back(self):
        monitor = KeyValueMonitor()
        state.set_initial_options(monitor, OPTIONS)
        monitor.options['osd', 'bluestore_cache_size'] = '1'
        del monitor.options['mgr', 'mgr_stats_period']
        changed = dict(monitor.options)
        state.set_initial_options(monitor, OPTIONS)
        self.assertEqual(changed, monitor.options)


class KeyringTextTest(testtools.TestCase):
    def test_the_keyring_of_a_user_is_what_the_monitor_gives(self):
        monitor = KeyValueMonitor()
        monitor.users['client.cinder'] = '[client.cinder]\n\tkey = AQ==\n'
        self.assertEqual(
            '[client.cinder]\n\tkey = AQ==\n',
            state.keyring_text(monitor, 'client.cinder'),
        )

    def test_an_absent_user_is_an_error_that_says_who_makes_it(self):
        error = self.assertRaises(
            errors.CephError,
            state.keyring_text,
            KeyValueMonitor(),
            'client.cinder',
        )
        self.assertIn('no cephx user client.cinder', str(error))
        self.assertIn('openstack tier apply', str(error))


class HaveRbdUserTest(testtools.TestCase):
    def test_a_new_user_may_use_no_pool(self):
        monitor = KeyValueMonitor()
        state.ensure_rbd_user(monitor, 'client.cinder')
        self.assertEqual(
            '[client.cinder]\n\tkey = AQ==\n\tcaps mon = "profile rbd"\n',
            monitor.users['client.cinder'],
        )

    def test_what_tiers_have_granted_since_stays(self):
        monitor = KeyValueMonitor()
        granted = '[client.cinder]\n\tcaps osd = "profile rbd pool=a"\n'
        monitor.users['client.cinder'] = granted
        state.ensure_rbd_user(monitor, 'client.cinder')
        self.assertEqual(granted, monitor.users['client.cinder'])
