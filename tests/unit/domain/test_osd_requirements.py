# SPDX-License-Identifier: Apache-2.0

"""OSDs held against what tiers require of them, from plain values."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.domain.catalog import model
from cinder_tiers.domain.validation import catalog as catalog_rules
from tests.unit.domain import catalogs as given

Answer = osd_requirements.RequirementAnswer
Requirements = model.Requirements
DISK = osd_requirements.OsdFacts(
    is_up=True,
    host='near',
    object_store='bluestore',
    rotational=True,
    disks=frozenset({'sda'}),
    parts={},
    schedulers={'sda': 'mq-deadline'},
)
WITH_DB = dataclasses.replace(
    DISK,
    parts={
        'db': osd_requirements.OsdPart(
            disks=frozenset({'nvme0n1'}), rotational=False
        )
    },
)
FILESTORE = osd_requirements.OsdFacts(
    is_up=True,
    host='near',
    object_store='filestore',
    rotational=True,
    file_system='xfs',
    disks=frozenset({'sdb'}),
    parts={
        'journal': osd_requirements.OsdPart(
            disks=frozenset({'sdc'}), rotational=False
        )
    },
)
MADE = dataclasses.replace(
    DISK, alloc_size_bytes=4096, rocksdb_compression='lz4'
)
NOTHING = osd_requirements.OsdFacts(is_up=True, object_store='bluestore')


def on(disk, rotational=False):
    """A part on a disk."""
    return osd_requirements.OsdPart(
        disks=frozenset({disk}), rotational=rotational
    )


def compared(osds, **required):
    """{answer: (current, expected)} of all that is not met."""
    return {
        one.answer: (one.current, one.expected)
        for one in osd_requirements.compare(Requirements(**required), osds)
    }


@ddt.ddt
class CompareTestCase(testtools.TestCase):
    @ddt.data(
        ({'object_store': 'bluestore', 'rotational': True}, DISK),
        ({'rotational': False}, dataclasses.replace(DISK, rotational=False)),
        ({'fast_db': True, 'fast_wal': True}, WITH_DB),
        (
            {'fast_wal': True},
            dataclasses.replace(DISK, parts={'wal': on('sdc')}),
        ),
        ({'file_system': 'xfs', 'fast_journal': True}, FILESTORE),
        ({'io_scheduler': ('none', 'mq-deadline')}, DISK),
        (
            {'alloc_size_bytes': 4096, 'rocksdb_compression': 'lz4'},
            MADE,
        ),
    )
    @ddt.unpack
    def test_what_is_met_is_not_told(self, required, facts):
        self.assertEqual({}, compared({0: facts}, **required))

    @ddt.data(
        ({'object_store': 'filestore'}, DISK, 'bluestore', 'filestore'),
        ({'rotational': False}, DISK, 'true', 'false'),
        ({'file_system': 'btrfs'}, FILESTORE, 'xfs', 'btrfs'),
        ({'fast_db': True}, DISK, 'with the data', 'true'),
        ({'fast_wal': True}, DISK, 'with the data', 'true'),
        (
            {'fast_db': True},
            dataclasses.replace(DISK, parts={'db': on('sda')}),
            'on the data disk, sda',
            'true',
        ),
        (
            {'fast_db': True},
            dataclasses.replace(DISK, parts={'db': on('sdb', True)}),
            'on a rotational disk',
            'true',
        ),
        (
            {'fast_db': True},
            dataclasses.replace(DISK, parts={'wal': on('sdc')}),
            'with the data',
            'true',
        ),
        (
            {'fast_journal': True},
            dataclasses.replace(FILESTORE, parts={'journal': on('sdb', True)}),
            'on the data disk, sdb',
            'true',
        ),
        (
            {'io_scheduler': ('none', 'kyber')},
            DISK,
            'mq-deadline',
            'none or kyber',
        ),
        ({'alloc_size_bytes': 65536}, MADE, '4 KiB', '64 KiB'),
        ({'rocksdb_compression': 'none'}, MADE, 'lz4', 'none'),
    )
    @ddt.unpack
    def test_what_is_not_met_is_told_with_the_osds(
        self, required, facts, current, expected
    ):
        (name,) = (one.removesuffix('_bytes') for one in required)
        self.assertEqual(
            {Answer.UNMET: ({name: f'{current} (osd.3)'}, {name: expected})},
            compared({3: facts}, **required),
        )

    @ddt.data(
        ({'rotational': True}, None, 'osd.3 reported no metadata'),
        (
            {'rotational': True},
            dataclasses.replace(DISK, is_up=False),
            'osd.3 is down',
        ),
        ({'rotational': True}, NOTHING, 'osd.3 does not report rotational'),
        (
            {'rotational': True},
            osd_requirements.OsdFacts(is_up=True),
            'osd.3 does not report its object store',
        ),
        (
            {'fast_db': True},
            NOTHING,
            ('osd.3 does not report the location of its db'),
        ),
        (
            {'fast_db': True},
            dataclasses.replace(
                DISK, parts={'db': osd_requirements.OsdPart()}
            ),
            ('osd.3 does not report whether the disk of its db is rotational'),
        ),
        (
            {'io_scheduler': ('none',)},
            NOTHING,
            'osd.3 does not report its disks',
        ),
        (
            {'rocksdb_compression': 'lz4'},
            NOTHING,
            'osd.3 does not report rocksdb_compression',
        ),
    )
    @ddt.unpack
    def test_what_cannot_be_told_says_why(self, required, facts, reason):
        (name,) = required
        (found,) = osd_requirements.compare(
            Requirements(**required), {3: facts}
        )
        self.assertEqual(
            (Answer.UNKNOWN, {name: 'unknown (osd.3)'}, reason),
            (found.answer, found.current, found.reason),
        )
        self.assertNotEqual('', found.remedy)

    def test_an_allocation_unit_asks_for_another_osd(self):
        (found,) = osd_requirements.compare(
            Requirements(alloc_size_bytes=65536),
            dict.fromkeys(range(99), MADE),
        )
        self.assertIn('osd.19 and 79 more', found.current['alloc_size'])
        self.assertEqual('no API can set this', found.reason)
        self.assertIn('recreate these OSDs one after', found.remedy)

    def test_a_compression_asks_for_a_restart(self):
        (found,) = osd_requirements.compare(
            Requirements(rocksdb_compression='zstd'), {1: MADE}
        )
        self.assertIn('from its start', found.reason)
        self.assertIn('bluestore_rocksdb_options_annex', found.remedy)
        self.assertNotIn('recreate', found.remedy)

    def test_a_disk_of_any_name_is_one_word_of_the_command(self):
        far = dataclasses.replace(
            DISK, host='far', schedulers={}, disks=frozenset({'a;reboot'})
        )
        (found,) = osd_requirements.compare(
            Requirements(io_scheduler=('none',)), {1: far}
        )
        self.assertIn(
            'run "grep . \'/sys/block/a;reboot/queue/scheduler\'"',
            found.reason,
        )

    def test_a_scheduler_elsewhere_is_unknown_with_the_command(self):
        far = dataclasses.replace(DISK, host='far', schedulers={})
        (found,) = osd_requirements.compare(
            Requirements(io_scheduler=('none',)),
            {
                1: far,
                2: dataclasses.replace(far, disks=frozenset({'sdb'})),
                3: dataclasses.replace(far, host='away'),
            },
        )
        self.assertEqual(
            (
                'the I/O scheduler of osd.3 can only be read on away: run '
                '"grep . /sys/block/sda/queue/scheduler" there, or run this '
                'audit there; the I/O scheduler of osd.1, osd.2 can only be '
                'read on far: run "grep . /sys/block/sda/queue/scheduler '
                '/sys/block/sdb/queue/scheduler" there, or run this audit '
                'there'
            ),
            found.reason,
        )

    def test_osds_that_differ_are_told_apart(self):
        self.assertEqual(
            {
                Answer.UNMET: (
                    {'fast_db': 'with the data (osd.0, osd.2)'},
                    {'fast_db': 'true'},
                ),
                Answer.UNKNOWN: (
                    {'fast_db': 'unknown (osd.3)'},
                    {'fast_db': 'true'},
                ),
            },
            compared({0: DISK, 1: WITH_DB, 2: DISK, 3: None}, fast_db=True),
        )

    def test_what_is_about_another_store_is_not_applicable(self):
        self.assertEqual(
            {
                Answer.NOT_APPLICABLE: (
                    {'fast_db': 'filestore (osd.1)'},
                    {'fast_db': 'true'},
                )
            },
            compared({1: FILESTORE}, fast_db=True),
        )
        # In a class of both stores it is about the others.
        self.assertEqual(
            {},
            compared(
                {0: WITH_DB, 1: FILESTORE}, fast_db=True, fast_journal=True
            ),
        )

    def test_each_disk_of_an_osd_has_a_scheduler(self):
        facts = dataclasses.replace(
            DISK,
            disks=frozenset({'sda', 'sdb'}),
            schedulers={'sda': 'none', 'sdb': 'bfq'},
        )
        self.assertEqual(
            {
                Answer.UNMET: (
                    {'io_scheduler': 'bfq, none (osd.0)'},
                    {'io_scheduler': 'none'},
                )
            },
            compared({0: facts}, io_scheduler=('none',)),
        )


@ddt.ddt
class RulesTestCase(testtools.TestCase):
    def found(self, one, other, **changes):
        """Problems of two tiers on one class, with requirements."""
        return [
            problem.found
            for problem in catalog_rules.check(
                given.of(
                    given.tier(
                        'a',
                        fallback=True,
                        rbd=given.rbd(
                            pool='tier-a', osd_requirements=Requirements(**one)
                        ),
                    ),
                    given.tier(
                        'b',
                        rbd=given.rbd(
                            pool='tier-b',
                            osd_requirements=Requirements(**other),
                            **changes,
                        ),
                    ),
                )
            )
        ]

    @ddt.data(
        (
            {'rotational': True},
            {'rotational': False},
            "tier 'b' requires rotational false, tier 'a' rotational true",
        ),
        (
            {'object_store': 'bluestore'},
            {'object_store': 'filestore'},
            "tier 'b' requires object_store filestore, tier 'a' object_store "
            'bluestore',
        ),
        (
            {'file_system': 'xfs'},
            {'file_system': 'btrfs'},
            "tier 'b' requires file_system btrfs, tier 'a' file_system xfs",
        ),
        (
            {'io_scheduler': ('none', 'bfq')},
            {'io_scheduler': ('kyber',)},
            "tier 'b' requires io_scheduler kyber, tier 'a' io_scheduler none "
            'or bfq',
        ),
        (
            {'object_store': 'filestore'},
            {'fast_wal': True},
            "tier 'b' requires fast_wal true, tier 'a' object_store filestore",
        ),
        (
            {'fast_db': True},
            {'object_store': 'filestore'},
            "tier 'a' requires fast_db true, tier 'b' object_store filestore",
        ),
        (
            {'object_store': 'bluestore', 'file_system': 'xfs'},
            {},
            "tier 'a' requires file_system xfs and object_store bluestore",
        ),
    )
    @ddt.unpack
    def test_an_osd_must_be_able_to_be_all_that(self, one, other, expected):
        self.assertEqual([expected], self.found(one, other))

    @ddt.data(
        ({'rotational': False}, {'rotational': False}),
        ({'rotational': False}, {'fast_db': True}),
        ({'io_scheduler': ('none', 'bfq')}, {'io_scheduler': ('bfq',)}),
    )
    @ddt.unpack
    def test_requirements_that_agree_are_sound(self, one, other):
        self.assertEqual([], self.found(one, other))

    def test_osds_of_another_class_may_be_others(self):
        self.assertEqual(
            [],
            self.found(
                {'rotational': False}, {'rotational': True}, device_class='hdd'
            ),
        )
