# SPDX-License-Identifier: Apache-2.0

import testtools

from cinder_tiers.observe.ceph import owner

#: Of a monitor of Ceph 16.2.15 that was started with the variables POD_NAME
#: and POD_NAMESPACE, which Rook gives to its own; some keys of many.
IN_A_POD = {
    'name': 'a',
    'ceph_version_short': '16.2.15',
    'hostname': 'vm',
    'pod_name': 'rook-ceph-mon-a-5d9',
    'pod_namespace': 'rook-ceph',
}
ELSEWHERE = {'name': 'b', 'ceph_version_short': '16.2.15', 'hostname': 'vm'}


class Monitors:
    def __init__(self, *metadata):
        self.metadata = metadata

    def command(self, prefix):
        return {'mon metadata': list(self.metadata)}[prefix]


class RookTestCase(testtools.TestCase):
    def test_monitors_in_pods_are_those_of_rook(self):
        for found in ([IN_A_POD], [ELSEWHERE, IN_A_POD]):
            self.assertEqual(
                'rook-ceph', owner.rook_namespace(Monitors(*found))
            )

    def test_others_are_not(self):
        # One that is down tells its name only.
        for found in ([ELSEWHERE], [{'name': 'a'}], []):
            self.assertIsNone(owner.rook_namespace(Monitors(*found)))
