# SPDX-License-Identifier: Apache-2.0

"""Real programs, started and ended."""

import os
import pathlib
import time

import ddt
import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.layers import process


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@ddt.ddt
class RunTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def test_words_are_words_and_never_a_shells(self):
        self.assertEqual(
            b'$(id); a  b\n',
            process.run(['echo', '$(id); a  b'], timeout_seconds=9),
        )

    def test_much_output_of_several_at_once(self):
        """More than pipes hold."""
        found = process.run_together(
            [['head', '-c', '300000', '/dev/zero']] * 3, timeout_seconds=9
        )
        self.assertEqual([300000] * 3, [len(each) for each in found])

    def test_variables_come_beside_ours(self):
        self.assertEqual(
            b'/srv/ceph.conf\n',
            process.run(
                ['printenv', 'CEPH_CONF'],
                timeout_seconds=9,
                environment={'CEPH_CONF': '/srv/ceph.conf'},
            ),
        )
        self.assertNotIn('CEPH_CONF', os.environ)

    @ddt.data(
        (['ls', '/nowhere/at/all'], 60, '/nowhere/at/all'),
        (['no-such-program-anywhere'], 60, 'cannot be started'),
        (['sleep', '60'], 0.2, 'did not finish within 0.2 s'),
    )
    @ddt.unpack
    def test_what_failed_is_told(self, argv, timeout_seconds, named):
        error = self.assertRaises(
            process.LayerError,
            process.run,
            argv,
            timeout_seconds=timeout_seconds,
        )
        self.assertIn(named, str(error))
        self.assertIn(argv[0], str(error))

    def test_what_a_program_has_started_ends_with_it(self):
        file = self.folder / 'pid'
        self.assertRaises(
            process.LayerError,
            process.run,
            ['sh', '-c', 'sleep 60 & echo $! > "$0"; wait', str(file)],
            timeout_seconds=5,
        )
        deadline = time.monotonic() + 60
        while is_there(int(file.read_text())):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_when_one_cannot_be_started_the_others_are_ended(self):
        file = self.folder / 'pid'
        begun = time.monotonic()
        self.assertRaises(
            process.LayerError,
            process.run_together,
            [
                ['sh', '-c', 'echo $$ > "$0"; exec sleep 60', str(file)],
                ['no-such-program-anywhere'],
            ],
            timeout_seconds=60,
        )
        self.assertLess(time.monotonic() - begun, 30)
        # It may be ended before it writes, or while it does.
        pid = file.read_text() if file.exists() else ''
        self.assertFalse(pid and is_there(int(pid)))

    def test_it_joins_a_cgroup_first(self):
        """A folder with such a file stands for what the kernel mounts."""
        (self.folder / 'cgroup.procs').touch()
        printed = process.run(
            ['sh', '-c', 'echo "$$ $0"', 'two words;'],
            timeout_seconds=30,
            cgroup=str(self.folder),
        )
        joined = (self.folder / 'cgroup.procs').read_text().strip()
        self.assertEqual(f'{joined} two words;\n', printed.decode())

    def test_it_does_not_run_outside_its_cgroup(self):
        error = self.assertRaises(
            process.LayerError,
            process.run,
            ['touch', str(self.folder / 'ran')],
            timeout_seconds=30,
            cgroup=str(self.folder / 'none'),
        )
        self.assertIn('none', str(error))
        self.assertFalse((self.folder / 'ran').exists())

    def test_missing_programs_are_told_with_their_packages(self):
        found = process.missing(
            ['rados', 'fio', 'rados'], path=str(self.folder)
        )
        self.assertEqual(2, len(found))
        self.assertIn('package fio', found[0])
        self.assertIn('package ceph-common', found[1])
