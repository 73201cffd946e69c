# SPDX-License-Identifier: Apache-2.0

"""Cephx users as the commands that make them."""

import json
import os
import shlex
import tempfile

import testtools

from tests.unit.cli import shell
from tests.unit.cli import test_commands


class CephUsersTestCase(testtools.TestCase):
    def printed(self, *arguments, path=test_commands.SAMPLE):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', path, *arguments
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        return ran.stdout

    def commands(self, *arguments, path=test_commands.SAMPLE):
        """What a shell makes of the lines that are not comments."""
        return [
            shlex.split(line)
            for line in self.printed(*arguments, path=path).splitlines()
            if not line.startswith('#')
        ]

    def test_the_command_makes_the_user_and_shows_no_key(self):
        (command,) = self.commands('--for', 'ceph-reader')
        self.assertEqual(
            [
                *('ceph', 'auth', 'get-or-create', 'client.tiers-reader'),
                'mon',
                'allow r, allow command "auth get" with entity=client.cinder',
                'osd',
                ', '.join(
                    f'allow r class-read pool=tier-{name} '
                    'object_prefix rbd_info'
                    for name in ('database', 'general', 'archive')
                ),
                *('mgr', 'allow r'),
                '-o',
                '/etc/ceph/ceph.client.tiers-reader.keyring',
            ],
            command,
        )

    def test_what_to_put_into_the_tiers_file_is_in_a_comment(self):
        printed = self.printed('--for', 'ceph-writer')
        self.assertIn(
            '# In the tiers file: clusters: {ceph: {user: tiers-writer}}\n',
            printed,
        )
        self.assertIn('# ceph auth caps client.tiers-writer ', printed)

    def test_a_cluster_with_a_conf_and_a_user_has_them(self):
        path = test_commands.edited(
            self,
            (
                '    user: admin          #',
                '    conf: /etc/ceph/b.conf\n    user: me  #',
            ),
        )
        (command,) = self.commands('--for', 'ceph-reader', path=path)
        self.assertEqual(
            [
                *('ceph', '--conf', '/etc/ceph/b.conf'),
                *('auth', 'get-or-create', 'client.me'),
            ],
            command[:6],
        )
        self.assertIn(
            '# In /etc/ceph/b.conf: [client.me] keyring = '
            '/etc/ceph/b.client.me.keyring\n',
            self.printed('--for', 'ceph-reader', path=path),
        )

    def test_who_watches_sees_no_volume(self):
        printed = self.printed('--for', 'ceph-watcher')
        self.assertIn(
            '# rbd namespace create tier-database/cinder-tiers-watch\n',
            printed,
        )
        self.assertIn('# rbd pool init tier-archive-data\n', printed)
        caps = json.loads(self.printed('--for', 'ceph-watcher', '-f', 'json'))[
            'ceph'
        ]['caps']
        self.assertEqual(('allow r', 'allow r'), (caps['mon'], caps['mgr']))
        self.assertEqual(
            [
                f'profile rbd pool=tier-{name} namespace=cinder-tiers-watch'
                for name in ('database', 'general', 'archive', 'archive-data')
            ],
            caps['osd'].split(', '),
        )

    def test_json_has_the_capabilities(self):
        printed = json.loads(
            self.printed('--for', 'ceph-writer', '-f', 'json')
        )
        self.assertEqual('client.tiers-writer', printed['ceph']['entity'])
        self.assertEqual({'mon', 'osd', 'mgr'}, printed['ceph']['caps'].keys())

    def test_without_rbd_no_user_is_needed(self):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(
            handle, b'version: 1\ntiers: {a: {fallback: true, backend: lvm}}\n'
        )
        os.close(handle)
        self.assertEqual([], self.commands('--for', 'ceph-reader', path=path))
