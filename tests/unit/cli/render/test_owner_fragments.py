# SPDX-License-Identifier: Apache-2.0

"""Fragments for other owners, in the notation of their files."""

import json
import os
import tempfile

import ddt
import testtools
import yaml

from tests.unit.cli import shell
from tests.unit.cli import test_commands


@ddt.ddt
class OwnerFragmentsTestCase(testtools.TestCase):
    def printed(self, *arguments, path=test_commands.SAMPLE):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', path, *arguments
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        return ran.stdout

    @ddt.data(('rook', 4), ('cephadm', 2), ('openstack-ansible', 2))
    @ddt.unpack
    def test_yaml_and_json_are_the_same(self, target, count):
        printed = self.printed('--for', target)
        documents = list(yaml.safe_load_all(printed))
        self.assertEqual(count, len(documents))
        self.assertEqual(
            [
                document
                for one in json.loads(
                    self.printed('--for', target, '-f', 'json')
                )
                for document in one['documents']
            ],
            documents,
        )
        self.assertEqual(
            [], [line for line in printed.splitlines() if len(line) > 79]
        )

    def test_kolla_has_two_files(self):
        first, second = self.printed('--for', 'kolla-ansible').split('\n\n')
        self.assertTrue(first.startswith('# /etc/kolla/globals.yml:\n'))
        self.assertEqual(3, len(yaml.safe_load(first)['cinder_ceph_backends']))
        self.assertTrue(second.startswith('# /etc/kolla/config/cinder.conf:'))
        self.assertEqual(
            ['[DEFAULT]', 'default_volume_type = image-tier'],
            [line for line in second.splitlines() if line[:1] != '#'],
        )

    @ddt.data('rook', 'cephadm', 'kolla-ansible')
    def test_without_rbd_nothing_is_needed(self, target):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(handle, b'version: 1\nfallback: none\ntiers: {}\n')
        os.close(handle)
        self.assertEqual(
            '# No tier has rbd, so nothing is needed.\n',
            self.printed('--for', target, path=path),
        )
