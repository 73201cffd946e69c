# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.figures.layers import host_file

DISK = {'device_class': 'hdd', 'device': '/dev/sdx'}


@ddt.ddt
class HostTest(testtools.TestCase):
    def test_what_a_file_says(self):
        found = host_file.host(
            {
                'version': 1,
                'ceph': {'conf': '/srv/ceph.conf', 'user': 'bench'},
                'raw': [
                    {
                        **DISK,
                        'may_be_overwritten': True,
                        'cgroup': '/sys/fs/cgroup/slow',
                    },
                    {'device_class': 'ssd', 'device': '/dev/nvme1n1'},
                ],
            },
            'f',
        )
        self.assertEqual(
            ('/srv/ceph.conf', 'bench'), (found.ceph.conf, found.ceph.user)
        )
        slow = found.raw_disk(('hdd',))
        self.assertEqual(
            ('/dev/sdx', True, '/sys/fs/cgroup/slow'),
            (slow.device, slow.may_be_overwritten, slow.cgroup),
        )
        self.assertFalse(found.raw_disk(('ssd',)).may_be_overwritten)

    def test_little_need_be_said(self):
        found = host_file.host({'version': 1, 'raw': [DISK]}, 'f')
        self.assertEqual(
            ('/etc/ceph/ceph.conf', 'admin'),
            (found.ceph.conf, found.ceph.user),
        )
        self.assertFalse(found.raw[0].may_be_overwritten)

    def test_no_disk_stands_for_osds_of_several_classes(self):
        found = host_file.host({'version': 1, 'raw': [DISK]}, 'f')
        self.assertIsNone(found.raw_disk(('hdd', 'ssd')))
        self.assertIsNone(found.raw_disk(('ssd',)))

    @ddt.data(
        (None, 'the file'),
        ([], 'the file'),
        ({'raw': []}, 'version'),
        ({'version': 2}, 'version: 1'),
        ({'version': 1, 'rawe': []}, "'raw'"),
        ({'version': 1, 'raw': {}}, 'a list of disks'),
        ({'version': 1, 'raw': ['/dev/sdx']}, 'raw[0]'),
        (
            {'version': 1, 'raw': [{'device': '/dev/sdx'}]},
            'raw[0].device_class',
        ),
        ({'version': 1, 'raw': [{'device_class': 'hdd'}]}, 'raw[0].device'),
        (
            {'version': 1, 'raw': [{**DISK, 'device': 'sdx'}]},
            'an absolute path',
        ),
        ({'version': 1, 'raw': [{**DISK, 'device': 3}]}, 'an absolute path'),
        ({'version': 1, 'raw': [{**DISK, 'device_class': 3}]}, 'device_class'),
        ({'version': 1, 'raw': [{**DISK, 'cgroup': 'blkio'}]}, 'cgroup'),
        (
            {'version': 1, 'raw': [{**DISK, 'may_be_overwritten': 'yes'}]},
            'true or false',
        ),
        (
            {'version': 1, 'raw': [{**DISK, 'may_be_overwriten': True}]},
            'did you mean',
        ),
        ({'version': 1, 'raw': [DISK, DISK]}, '2 disks of hdd'),
        ({'version': 1, 'ceph': 'x'}, 'ceph'),
        ({'version': 1, 'ceph': {'user': 'client.admin'}}, 'ceph.user'),
        ({'version': 1, 'ceph': {'user': 'a b'}}, 'ceph.user'),
        ({'version': 1, 'ceph': {'user': None}}, 'ceph.user'),
        ({'version': 1, 'ceph': {'conf': 'ceph.conf'}}, 'ceph.conf'),
    )
    @ddt.unpack
    def test_what_is_wrong_is_told(self, document, named):
        error = self.assertRaises(
            errors.ProblemsFound, host_file.host, document, 'host.yaml'
        )
        self.assertIn(named, str(error))
        self.assertIn('host.yaml', str(error))

    def test_all_problems_are_told_at_once(self):
        error = self.assertRaises(
            errors.ProblemsFound,
            host_file.host,
            {
                'version': 3,
                'ceph': {'user': 1},
                'raw': [{'device_class': 3, 'device': 'x'}],
            },
            'f',
        )
        self.assertEqual(4, len(error.problems), str(error))
