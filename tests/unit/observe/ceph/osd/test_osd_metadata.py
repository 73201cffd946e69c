# SPDX-License-Identifier: Apache-2.0

"""What OSDs are, from recorded answers and from a folder like /sys/block."""

import errno
import json
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.observe.ceph.osd import osd_metadata

RECORDED = pathlib.Path(__file__).parents[2] / 'data' / 'osds-16.2.15.json'


class Recording:
    """A session that gives recorded answers; other commands are errors."""

    def __init__(self):
        self.answers = json.loads(RECORDED.read_text('utf-8'))['answers']

    def command(self, prefix):
        return self.answers[prefix]


def recorded(osd_id):
    return next(
        one
        for one in Recording().command('osd metadata')
        if one['id'] == osd_id
    )


def part(*disks, rotational=False):
    return osd_requirements.OsdPart(
        disks=frozenset(disks), rotational=rotational
    )


@ddt.ddt
class ParseTestCase(testtools.TestCase):
    def parse(self, osd_id, **changes):
        metadata = {
            name: value
            for name, value in {**recorded(osd_id), **changes}.items()
            if value is not None
        }
        return osd_metadata.parse(metadata, is_up=True)

    def test_bluestore_on_one_disk(self):
        self.assertEqual(
            osd_requirements.OsdFacts(
                is_up=True,
                host='near',
                object_store='bluestore',
                rotational=False,
                disks=frozenset({'loop18'}),
                parts={},
                alloc_size_bytes=4096,
            ),
            self.parse(0),
        )

    def test_a_database_of_its_own_is_not_among_the_disks_of_the_data(self):
        found = self.parse(3)
        self.assertEqual(
            ({'loop21'}, {'db': part('loop22')}, True),
            (found.disks, found.parts, found.rotational),
        )

    def test_a_log_of_its_own(self):
        found = self.parse(
            3,
            bluefs_dedicated_wal='1',
            bluefs_wal_devices='nvme0n1',
            bluefs_wal_rotational='0',
        )
        self.assertEqual(part('nvme0n1'), found.parts['wal'])

    def test_filestore(self):
        self.assertEqual(
            osd_requirements.OsdFacts(
                is_up=True,
                host='near',
                object_store='filestore',
                rotational=True,
                file_system='ext4',
                disks=frozenset({'vda'}),
                parts={'journal': part('vda', rotational=True)},
            ),
            self.parse(4),
        )

    @ddt.data(
        ('0x58465342', 'xfs'), ('0x9123683e', 'btrfs'), ('0x6969', '0x6969')
    )
    @ddt.unpack
    def test_a_file_system_is_known_by_its_number(self, number, name):
        self.assertEqual(
            name, self.parse(4, filestore_f_type=number).file_system
        )

    @ddt.data('unknown', '/dev/dm-3', None)
    def test_where_filestore_names_no_disk_all_disks_count(self, node):
        self.assertEqual(
            {'sda', 'sdb'},
            self.parse(
                4, backend_filestore_dev_node=node, devices='sda,sdb'
            ).disks,
        )

    def test_what_is_not_told_is_not_known(self):
        self.assertEqual(
            osd_requirements.OsdFacts(is_up=True),
            osd_metadata.parse({'id': 7}, is_up=True),
        )
        self.assertIsNone(self.parse(0, bluefs_dedicated_wal=None).parts)

    def test_what_is_no_disk_does_not_get_into_a_path(self):
        self.assertEqual(
            {'sda'},
            self.parse(0, bluestore_bdev_devices='../etc/x,sda,$(id)').disks,
        )


class ObserveTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sys_block = pathlib.Path(folder.name)
        for disk, text in (
            ('loop18', '[none] mq-deadline kyber bfq\n'),
            ('loop21', 'none mq-deadline [bfq]\n'),
            ('vda', 'none\n'),
        ):
            queue = self.sys_block / disk / 'queue'
            queue.mkdir(parents=True)
            (queue / 'scheduler').write_text(text)

    def observe(self, host):
        return osd_metadata.observe(
            Recording(), host=host, sys_block=self.sys_block
        )

    def test_the_scheduler_is_seen_on_the_host_of_the_osd(self):
        found = self.observe('near')
        self.assertEqual(
            ({'loop18': 'none'}, {'loop21': 'bfq'}),
            (found[0].schedulers, found[3].schedulers),
        )

    def test_it_is_not_seen_elsewhere(self):
        self.assertEqual(
            [{}, {}, {}],
            [one.schedulers for one in self.observe('far').values()],
        )

    def test_an_osd_that_is_down_is_told_apart(self):
        found = self.observe('near')
        self.assertEqual(
            {0: True, 3: True, 4: False},
            {osd_id: one.is_up for osd_id, one in found.items()},
        )
        self.assertEqual({}, found[4].schedulers)

    def test_one_word_is_the_scheduler_where_there_is_no_choice(self):
        self.assertEqual(
            {'vda': 'none'},
            osd_metadata.schedulers(['vda', 'sdx'], self.sys_block),
        )


class Databases(Recording):
    """OSDs that answer with (options, annex); None: down, or too old."""

    def __init__(self, **said):
        super().__init__()
        self.said = {int(name[3:]): one for name, one in said.items()}
        self.asked = set()

    def tell(self, osd_id, prefix, *, var):
        self.asked.add(osd_id)
        if prefix != 'config get' or self.said[osd_id] is None:
            raise ceph_session.CephRefused('no', errno=errno.ENOENT)
        options, annex = self.said[osd_id]
        return {var: annex if var.endswith('_annex') else options}


@ddt.ddt
class RocksdbTestCase(testtools.TestCase):
    @ddt.data(
        # As the defaults of releases begin.
        (('compression=kNoCompression,max_write_buffer=9', ''), 'none'),
        (('compression=kLZ4Compression,max_write_buffer=9', ''), 'lz4'),
        (('compression=kNoCompression', 'compression=kZSTD'), 'zstd'),
        (('bottommost_compression=kZSTD', ''), None),
        (('compression=kBZip2Compression', ''), 'kBZip2Compression'),
        (None, None),
    )
    @ddt.unpack
    def test_what_is_said_last_counts(self, said, meant):
        found = osd_metadata.rocksdb_compressions(Databases(osd7=said), [7])
        self.assertEqual(meant and {7: meant} or {}, found)

    def test_a_user_whom_osds_do_not_answer_sees_all_else(self):
        class Refusing(Databases):
            def tell(self, osd_id, prefix, *, var):
                raise ceph_session.CephRefused('no', errno=errno.EACCES)

        found = osd_metadata.observe(Refusing(), rocksdb_of={'ssd'})
        self.assertIsNone(found[0].rocksdb_compression)
        self.assertEqual('bluestore', found[0].object_store)

    def test_only_osds_of_the_class_are_asked(self):
        session = Databases(osd0=('compression=kZSTD', ''))
        self.assertIsNone(osd_metadata.observe(session)[0].rocksdb_compression)
        self.assertEqual(set(), session.asked)
        found = osd_metadata.observe(session, rocksdb_of={'ssd'})
        self.assertEqual('zstd', found[0].rocksdb_compression)
        self.assertEqual({0}, session.asked)
