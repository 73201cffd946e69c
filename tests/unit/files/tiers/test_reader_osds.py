# SPDX-License-Identifier: Apache-2.0

"""What a tiers file says of OSDs, from text to a catalog or what is wrong."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model
from cinder_tiers.files.tiers import reader
from tests.unit.files.tiers import test_reader


@ddt.ddt
class OsdsTestCase(testtools.TestCase):
    @ddt.data(('none', ('none',)), ('[bfq, kyber]', ('bfq', 'kyber')))
    @ddt.unpack
    def test_a_scheduler_is_one_or_some(self, text, expected):
        rbd = (
            reader.read_text(
                test_reader.SOUND + '      osd_requirements: {io_scheduler: '
                f'{text}, rotational: false, fast_db: true}}\n',
                file='t.yaml',
            )
            .tiers[0]
            .rbd
        )
        self.assertEqual(
            model.Requirements(
                io_scheduler=expected, rotational=False, fast_db=True
            ),
            rbd.osd_requirements,
        )

    @ddt.data('4096', '4K', '4Ki', '4KiB', "'4K'")
    def test_an_allocation_unit_in_each_spelling(self, text):
        catalog = reader.read_text(
            test_reader.SOUND
            + f'      osd_requirements: {{alloc_size: {text}}}\n',
            file='t.yaml',
        )
        self.assertEqual(
            model.Requirements(alloc_size_bytes=4096),
            catalog.tiers[0].rbd.osd_requirements,
        )

    @ddt.data(
        ('{alloc_size: 5000}', 'expected a power of two from 4K to 1024K'),
        ('{alloc_size: 2K}', 'expected a power of two from 4K to 1024K'),
        ('{alloc_size: 4096.0}', 'alloc_size is 4096.0 (a number); expected'),
        ('{alloc_size: true}', 'expected a power of two from 4K to 1024K'),
        (
            '{rocksdb_compression: gzip}',
            'expected one of lz4, none, snappy, zlib or zstd',
        ),
        (
            '{object_store: seastore, alloc_size: 64K}',
            'requires alloc_size 64 KiB and object_store seastore',
        ),
        (
            '{}',
            't.yaml:12: tiers.general.rbd.osd_requirements is a mapping; '
            'expected a mapping of required properties of the OSDs',
        ),
        (
            '{fast_db: false}',
            (
                't.yaml:12: tiers.general.rbd.osd_requirements.fast_db is '
                'False (a boolean); expected true; leave it out if it does '
                'not matter'
            ),
        ),
        ('{object_store: blustore}', 'expected one of bluestore, filestore'),
        (
            '{io_scheduler: cfq}',
            'expected one of bfq, kyber, mq-deadline or none, or a list',
        ),
        ('{io_scheduler: [none, 7, none]}', 'io_scheduler.1 is 7'),
        ('{scheduler: none}', "unknown key 'scheduler'"),
        (
            '{rotational: 1}',
            'rotational is 1 (an integer); expected true or false',
        ),
        (
            '{object_store: filestore, fast_wal: true}',
            't.yaml:12: tier '
            "'general' requires fast_wal true and object_store filestore; "
            'expected requirements that one OSD can meet',
        ),
    )
    @ddt.unpack
    def test_requirements_that_are_wrong_are_told(self, text, expected):
        self.assertIn(
            expected,
            '\n'.join(
                test_reader.problems(
                    test_reader.SOUND + f'      osd_requirements: {text}\n'
                )
            ),
        )

    @ddt.data(
        ('primary_affinity: 0', 'an affinity of OSDs', 'it is set for'),
        (
            'osd_requirements: {rotational: false}',
            'requirements of OSDs',
            'audit compares them with',
        ),
    )
    @ddt.unpack
    def test_what_is_of_the_osds_of_a_class_needs_one(self, text, found, done):
        key = text.partition(':')[0]
        self.assertEqual(
            [
                f"t.yaml:11: {key} of tier 'general': {found} without a "
                f'device_class; expected device_class as well: {done} the '
                f'OSDs of a class; add device_class, or remove {key}'
            ],
            test_reader.problems(
                test_reader.SOUND.replace('      device_class: hdd\n', '')
                + f'      {text}\n'
            ),
        )

    @ddt.data(
        ('{a/b: {osd_max_backfills: 1}}', 'expected the name of a CRUSH host'),
        (
            '{a: {mon_max_pg_per_osd: 1}}',
            'expected the name of an option of the OSDs',
        ),
        ('{a: 1}', 'expected a mapping of options of OSDs'),
        ('[a]', 'expected a mapping of CRUSH hosts to options'),
    )
    @ddt.unpack
    def test_options_of_hosts_that_are_wrong_are_told(self, text, expected):
        found = test_reader.problems(
            test_reader.SOUND.replace(
                'ceph: {}', f'ceph: {{host_osd_options: {text}}}'
            )
        )
        self.assertEqual(1, len(found))
        self.assertIn('t.yaml:3: clusters.ceph.host_osd_options', found[0])
        self.assertIn(expected, found[0])

    def test_a_pool_that_is_broken_does_not_make_a_cluster_idle(self):
        self.assertEqual(
            1,
            len(
                test_reader.problems(
                    test_reader.SOUND.replace(
                        '      pool: general\n', ''
                    ).replace(
                        'ceph: {}',
                        'ceph: {host_osd_options: '
                        '{a: {osd_max_backfills: 1}}}',
                    )
                )
            ),
        )
