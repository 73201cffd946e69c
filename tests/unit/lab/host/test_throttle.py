# SPDX-License-Identifier: Apache-2.0
"""Tests of lab.host.throttle."""

import pathlib
import subprocess

import fixtures
import testtools

from lab.host import throttle

SPEED = throttle.DiskSpeed(iops=160, bytes_per_second=60_000_000)


class ChangesTest(testtools.TestCase):
    def test_v1_limits_devices_and_frees_those_no_longer_used(self):
        current = {name: {'7:1', '7:9'} for name in throttle.V1_FILES}
        self.assertEqual(
            [
                ('blkio.throttle.read_iops_device', '7:9 0'),
                ('blkio.throttle.read_iops_device', '7:1 160'),
                ('blkio.throttle.read_bps_device', '7:9 0'),
                ('blkio.throttle.read_bps_device', '7:1 60000000'),
                ('blkio.throttle.write_iops_device', '7:9 0'),
                ('blkio.throttle.write_iops_device', '7:1 160'),
                ('blkio.throttle.write_bps_device', '7:9 0'),
                ('blkio.throttle.write_bps_device', '7:1 60000000'),
            ],
            throttle.changes_v1(current, {'7:1': SPEED}),
        )

    def test_v2_limits_devices_and_frees_those_no_longer_used(self):
        self.assertEqual(
            [
                ('io.max', '7:9 rbps=max wbps=max riops=max wiops=max'),
                (
                    'io.max',
                    '7:1 rbps=60000000 wbps=60000000 riops=160 wiops=160',
                ),
            ],
            throttle.changes_v2({'io.max': {'7:1', '7:9'}}, {'7:1': SPEED}),
        )


class ThrottleTest(testtools.TestCase):
    """A folder stands for what the kernel mounts; it has no kernel in it."""

    def setUp(self):
        super().setUp()
        self.cgroups = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.throttle = throttle.Throttle('lab', self.cgroups)

    def _offer_v1(self):
        (self.cgroups / 'blkio').mkdir()
        (
            self.cgroups / 'blkio' / 'blkio.throttle.write_iops_device'
        ).write_text('')

    def test_v1_is_preferred_where_both_are_mounted(self):
        self._offer_v1()
        (self.cgroups / 'cgroup.controllers').write_text('cpu memory\n')
        self.assertEqual(
            self.cgroups / 'blkio' / 'lab', self.throttle.folder()
        )

    def test_v2_serves_when_it_has_the_io_controller(self):
        (self.cgroups / 'cgroup.controllers').write_text('cpu io memory\n')
        self.assertEqual(self.cgroups / 'lab', self.throttle.folder())

    def test_v2_without_the_io_controller_is_an_error_that_says_so(self):
        (self.cgroups / 'cgroup.controllers').write_text('cpu memory\n')
        error = self.assertRaises(
            throttle.ThrottleError, self.throttle.apply, {'7:1': SPEED}
        )
        self.assertIn('nor io in', str(error))

    def test_removing_where_nothing_was_made_is_no_error(self):
        self.throttle.remove()
        self._offer_v1()
        self.throttle.remove()
        self.assertEqual(
            ['blkio'], [path.name for path in self.cgroups.iterdir()]
        )

    def test_a_cgroup_that_stays_busy_is_an_error_with_its_processes(self):
        self._offer_v1()
        folder = self.cgroups / 'blkio' / 'lab'
        folder.mkdir()
        (folder / 'cgroup.procs').write_text('4711\n4712\n')
        error = self.assertRaises(
            throttle.ThrottleError, self.throttle.remove, 0.2
        )
        self.assertIn('processes in it: 4711 4712', str(error))

    def test_a_wrapped_command_joins_and_keeps_its_process_id(self):
        self._offer_v1()
        folder = self.cgroups / 'blkio' / 'lab'
        folder.mkdir()
        (folder / 'cgroup.procs').write_text('')
        printed = subprocess.check_output(
            self.throttle.wrap(
                ('/bin/sh', '-c', 'echo "$$ $1"', 'sh', 'two words;')
            ),
            text=True,
        )
        joined = (folder / 'cgroup.procs').read_text().strip()
        self.assertEqual(f'{joined} two words;\n', printed)

    def test_a_wrapped_command_does_not_run_outside_its_cgroup(self):
        self._offer_v1()
        done = subprocess.run(
            self.throttle.wrap(('/bin/echo', 'ran')),
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(0, done.returncode)
        self.assertEqual('', done.stdout)


class NameTest(testtools.TestCase):
    def test_two_labs_have_two_cgroups_and_each_always_the_same(self):
        one, other = pathlib.Path('/srv/a'), pathlib.Path('/srv/b')
        self.assertEqual(
            throttle.name_for(one),
            throttle.name_for(pathlib.Path('/srv/a/')),
        )
        self.assertNotEqual(throttle.name_for(one), throttle.name_for(other))
