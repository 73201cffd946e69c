# SPDX-License-Identifier: Apache-2.0
"""Whether a machine can carry the lab; all reasons at once."""

import dataclasses
import pathlib
import socket

import fixtures
import testtools

from lab.host import preflight

FIT = preflight.Machine(
    user_id=0,
    distribution=('debian', 'bookworm'),
    available_memory_gib=20.0,
    free_disk_gib=70.0,
    busy_ports={},
    throttle='blkio',
)
ROOT = pathlib.Path('/var/lib/cinder-tiers-lab')


def problems(lab_exists=False, ceph_only=False, **changes):
    return preflight.find_problems(
        dataclasses.replace(FIT, **changes),
        root=ROOT,
        lab_exists=lab_exists,
        ceph_only=ceph_only,
    )


class ProblemsTest(testtools.TestCase):
    def test_a_fit_machine_has_none(self):
        self.assertEqual([], problems())

    def test_not_root(self):
        (line,) = problems(user_id=1000)
        self.assertIn('user id is 1000, expected 0', line)

    def test_another_distribution(self):
        (line,) = problems(distribution=('ubuntu', '24.04'))
        self.assertIn('this is ubuntu 24.04, expected debian bookworm', line)

    def test_debian_13_does_as_well(self):
        self.assertEqual([], problems(distribution=('debian', 'trixie')))

    def test_ceph_alone_runs_on_a_testing_release_as_well(self):
        newer = ('debian', 'forky')
        self.assertEqual([], problems(ceph_only=True, distribution=newer))
        (line,) = problems(distribution=newer)
        self.assertIn(
            'this is debian forky, expected debian bookworm or debian trixie:',
            line,
        )

    def test_too_little_memory(self):
        (line,) = problems(available_memory_gib=3.96)
        self.assertIn('4.0 GiB of memory are available', line)
        self.assertIn('at least 8 GiB', line)

    def test_ceph_alone_needs_less_memory(self):
        self.assertEqual(
            [], problems(ceph_only=True, available_memory_gib=3.96)
        )
        (line,) = problems(ceph_only=True, available_memory_gib=2.0)
        self.assertIn('at least 3 GiB', line)

    def test_too_little_disk(self):
        (line,) = problems(free_disk_gib=1.0)
        self.assertIn('1.0 GiB are free below /var/lib/cinder-tiers-lab', line)

    def test_a_lab_that_exists_holds_its_memory_and_disk_already(self):
        self.assertEqual(
            [],
            problems(
                lab_exists=True, available_memory_gib=1.0, free_disk_gib=1.0
            ),
        )

    def test_a_port_that_is_taken(self):
        (line,) = problems(busy_ports={'keystone': 5000})
        self.assertIn('port 5000 of keystone is taken', line)
        self.assertIn('CINDER_TIERS_LAB_PORT_OFFSET=1000', line)

    def test_no_way_to_hold_a_disk_to_a_speed(self):
        (line,) = problems(throttle=None)
        self.assertIn('blkio', line)

    def test_all_problems_are_told_at_once(self):
        problem = self.assertRaises(
            preflight.UnsuitableMachineError,
            preflight.check,
            dataclasses.replace(
                FIT, user_id=7, free_disk_gib=0, busy_ports={'nova': 8774}
            ),
            root=ROOT,
            lab_exists=False,
        )
        text = str(problem)
        self.assertIn('nothing was changed', text)
        self.assertEqual(3, text.count('\n  * '))


class ObserveTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def observe(self, ports=(), os_release='ID=debian\n', **paths):
        return preflight.observe(
            dict(ports),
            self.folder / 'not' / 'there' / 'yet',
            self.write('os-release', os_release),
            self.write('meminfo', 'MemTotal: 9 kB\nMemAvailable: 2097152 kB'),
            self.folder / 'cgroup',
        )

    def test_a_port_on_which_somebody_listens_is_busy(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            port = server.getsockname()[1]
            seen = self.observe({'glance': port})
        self.assertEqual({'glance': port}, seen.busy_ports)
        self.assertEqual({}, self.observe({'glance': port}).busy_ports)

    def test_quotes_of_os_release_do_not_count(self):
        seen = self.observe(
            os_release='ID=debian\nVERSION_CODENAME=bookworm\n'
        )
        self.assertEqual(('debian', 'bookworm'), seen.distribution)

    def test_memory_is_what_is_available(self):
        self.assertEqual(2.0, self.observe().available_memory_gib)

    def test_disk_is_that_of_the_nearest_folder_that_exists(self):
        self.assertGreater(self.observe().free_disk_gib, 0)

    def test_the_throttle_of_cgroup_v1_and_v2_is_found(self):
        self.assertIsNone(self.observe().throttle)
        self.write('cgroup/cgroup.controllers', 'cpu io memory\n')
        self.assertEqual('io', self.observe().throttle)
        self.write('cgroup/blkio/blkio.throttle.write_iops_device', '')
        self.assertEqual('blkio', self.observe().throttle)
