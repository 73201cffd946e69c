# SPDX-License-Identifier: Apache-2.0

import subprocess

import testtools

from lab.ceph import filestore
from lab.host import mount_namespace


class MountNamespaceTest(testtools.TestCase):
    def run_script(self, argv):
        """Run what unshare(1) would run; the namespace needs root."""
        self.assertEqual(('unshare', '--mount'), argv[:2])
        return subprocess.run(
            argv[argv.index('/bin/sh') :], capture_output=True, text=True
        )

    def test_arguments_reach_the_script_and_what_it_becomes(self):
        argv = mount_namespace.command(
            'echo "$1"; shift; exec "$@"', 'a b', 'printf', '%s|', 'c d', '$1'
        )
        self.assertEqual('a b\nc d|$1|', self.run_script(argv).stdout)

    def test_nothing_runs_behind_a_failed_mount(self):
        done = self.run_script(
            mount_namespace.command('false; exec "$@"', 'echo', 'ran')
        )
        self.assertEqual((1, ''), (done.returncode, done.stdout))

    def test_an_osd_does_not_run_without_its_disk(self):
        done = self.run_script(
            filestore.with_mount('/no/disk', '/no/store', ('echo', 'ran'))
        )
        self.assertNotEqual(0, done.returncode)
        self.assertEqual('', done.stdout)
