# SPDX-License-Identifier: Apache-2.0

"""`tier sweep` and `tier tune` where hosts lack the memory for a value.

With a real Cinder API, and a cluster in memory behind modules that stand for
those of Ceph.
"""

import contextlib
import errno
import json
import sys
import types
from unittest import mock

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from tests.contract import rbd_in_memory
from tests.unit.execute import placing_cluster
from tests.unit.loop.sweep import test_sweep_command

TIERS = """version: 1
clusters: {ceph: {}}
tiers:
  limited:
    fallback: true
    rbd:
      cluster: ceph
      pool: tier-limited
      device_class: ssd
      replicated: {size: 3}
"""
FILE = """version: 1
tier: limited
slot_minutes: 1
factors:
  osd_options:
    osd_memory_target: [%s]
"""
MEMORY = 'osd_memory_target'


class Cluster(placing_cluster.Cluster):
    """A cluster with options of OSDs, and with hosts of 32 GiB."""

    def __init__(self):
        super().__init__(
            catalogs.Cluster(name='ceph'),
            dict.fromkeys('abc', ('ssd', 'hdd')),
        )
        self.metadata = {'mem_total_kb': str(32 * 2**20)}
        #: {(section and mask, option): value}, of the monitors.
        self.stored = {}
        self.make_pool('images')

    def _config_help(self, key):
        return {
            'name': key,
            'type': 'size' if key == MEMORY else 'str',
            'level': 'basic',
            'default': str(4 * 2**30) if key == MEMORY else 'wpq',
            'daemon_default': '',
            'can_update_at_runtime': key == MEMORY,
        }

    def _config_dump(self):
        return [
            {
                'section': 'osd',
                'mask': who.removeprefix('osd/'),
                'name': name,
                'value': value,
            }
            for (who, name), value in self.stored.items()
        ]

    def _config_set(self, who, name, value):
        self.stored[who, name] = value

    def _config_rm(self, who, name):
        self.stored.pop((who, name), None)

    def _osd_crush_class_ls_osd(self, class_):
        return [osd for osd, _, one in self.osds if one == class_]

    def _osd_metadata(self):
        return [
            {'id': osd, 'hostname': host, **self.metadata}
            for osd, host, _ in self.osds
        ]

    def tell(self, osd_id):
        """`config diff` of an OSD."""
        (_, _, device_class) = self.osds[osd_id]
        value = self.stored.get((f'osd/class:{device_class}', MEMORY))
        layers = {'mon': value, 'final': value}
        return {'diff': {MEMORY: layers} if value else {}}


class Rados(rbd_in_memory.Rados):
    """Stands for the module rados, and for a handle of it."""

    def __init__(self, cluster):
        self._cluster = cluster

    def Rados(self, **_options):
        return self

    def connect(self, timeout):
        pass

    def shutdown(self):
        pass

    def open_ioctx(self, pool):
        return contextlib.nullcontext(pool)

    def mon_command(self, request, _data):
        arguments = json.loads(request)
        del arguments['format']
        if 'class' in arguments:
            arguments['class_'] = arguments.pop('class')
        try:
            answer = self._cluster.command(**arguments)
        except ceph_session.CephRefused as error:
            return -error.errno, b'', str(error)
        return 0, json.dumps(answer).encode(), ''

    def osd_command(self, osd_id, request, _data, timeout):
        if json.loads(request)['prefix'] != 'config diff':
            return -errno.EINVAL, b'', 'unrecognized command'
        return 0, json.dumps(self._cluster.tell(osd_id)).encode(), ''


def rbd():
    """Stands for the module rbd, of pools without options."""
    return types.SimpleNamespace(
        Error=Rados.Error,
        PermissionError=Rados.PermissionError,
        RBD=lambda: types.SimpleNamespace(pool_metadata_list=lambda pool: ()),
    )


class MemoryOfHostsTestCase(test_sweep_command.SweptCloudTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nothing = cls.api.keep()

    def apply(self):
        self.api.return_to(self.nothing)
        self.cluster = Cluster()
        self.enterContext(
            mock.patch.dict(
                sys.modules, {'rados': Rados(self.cluster), 'rbd': rbd()}
            )
        )
        self.catalog.write_text(TIERS, 'utf-8')
        applied = self.tier('apply')
        self.assertEqual(0, applied.status, applied.stderr)

    def sweep_of(self, *values, command=('true',), arguments=()):
        self.file.write_text(FILE % ', '.join(values), 'utf-8')
        return self.sweep(*command, arguments=arguments)

    def tune(self, *values, dry=()):
        self.file.write_text(FILE % ', '.join(values), 'utf-8')
        return self.tier(
            'tune',
            *dry,
            *('limited', str(self.file), '--budget', '2h'),
            *('--out', str(self.folder / 'tuned')),
            *('--', 'true'),
        )

    def assert_refused(self, ran):
        self.assertEqual(5, ran.status, ran.stderr)
        self.assertIn(
            f'osd_memory_target=64G: {self.file}:6: osd_memory_target 64 GiB '
            'of osd options ssd (ceph): on host a the OSDs would need 68 GiB '
            '(osd.0 beside osd.1), and it has 32 GiB of memory; 2 more hosts '
            'likewise',
            ran.stderr,
        )
        self.assertNotIn('osd_memory_target=8G', ran.stderr)
        self.assertEqual({}, self.cluster.stored)
        self.assertEqual([], list(self.state.glob('sweep-*')))

    def test_a_sweep_is_refused_before_it_changes_anything(self):
        self.assert_refused(self.sweep_of('8G', '64G'))
        self.assert_refused(self.sweep_of('64G', arguments=['--dry-run']))
        self.assertFalse((self.folder / 'out').exists())

    def test_a_search_is_refused_before_it_changes_anything(self):
        self.assert_refused(self.tune('8G', '64G'))
        self.assert_refused(self.tune('8G', '64G', dry=['--dry-run']))
        self.assertEqual([], list((self.folder / 'tuned').glob('block-*')))

    def test_what_there_is_room_for_is_measured(self):
        ran = self.sweep_of('8G')
        self.assertIn('osd_memory_target=8G: in effect', ran.stderr)
        self.assertNotIn('of memory', ran.stderr)
        self.assertEqual({}, self.cluster.stored)

    def test_a_host_that_is_not_known_is_told_and_measured(self):
        self.cluster.metadata = {}
        ran = self.sweep_of('16G', arguments=['--dry-run'])
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn(
            'the memory of the host of osd.0, osd.2, osd.4 is not known',
            ran.stderr,
        )
