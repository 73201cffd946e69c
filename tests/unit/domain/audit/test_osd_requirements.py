# SPDX-License-Identifier: Apache-2.0

"""OSDs compared with what tiers require of them, and what an audit says."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model
from cinder_tiers.domain.plan import plan
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan


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


State = audit.State


class OsdRequirementsTestCase(testtools.TestCase):
    """The class ssd has osd.0, osd.2 and osd.4."""

    def audited(self, required, **osds):
        """The findings on a tier on ssd with requirements.

        :param osds: fields of osd.2.
        """
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database',
                    osd_requirements=model.Requirements(**required),
                )
            )
        )
        actual = test_plan.applied(catalog)
        plain = osd_requirements.OsdFacts(
            is_up=True,
            host='a',
            object_store='bluestore',
            rotational=False,
            parts={},
        )
        self.assertEqual((), plan.make(catalog=catalog, actual=actual).actions)
        return audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph=actual.ceph,
                osds={
                    'ceph': {
                        0: plain,
                        2: dataclasses.replace(plain, **osds),
                        4: plain,
                    }
                },
            ),
        )

    def test_osds_that_are_what_is_required_are_compliant(self):
        (found,) = self.audited({'rotational': False})
        self.assertIs(State.COMPLIANT, found.state)

    def test_an_osd_that_is_not_makes_the_tier_non_compliant(self):
        (found,) = self.audited({'rotational': False}, rotational=True)
        self.assertEqual(
            (
                'database',
                State.NON_COMPLIANT,
                'osd requirements',
                {'rotational': 'true (osd.2)'},
                {'rotational': 'false'},
            ),
            (
                found.tier,
                found.state,
                found.aspect,
                found.current,
                found.expected,
            ),
        )

    def test_an_osd_that_is_down_is_unknown(self):
        (found,) = self.audited({'rotational': False}, is_up=False)
        self.assertEqual(
            (State.UNKNOWN, 'osd.2 is down'), (found.state, found.reason)
        )

    def test_what_no_osd_has_is_not_applicable(self):
        (found,) = self.audited({'fast_journal': True})
        self.assertIs(State.NOT_APPLICABLE, found.state)

    def test_osds_that_nobody_could_tell_of_are_unknown(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database',
                    osd_requirements=model.Requirements(rotational=True),
                )
            )
        )
        actual = test_plan.applied(catalog)
        (found,) = audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph=actual.ceph,
                osds={'ceph': audit.Unread(reason='it is down')},
            ),
        )
        self.assertEqual(
            ('database', State.UNKNOWN, 'osd requirements', 'it is down'),
            (found.tier, found.state, found.aspect, found.reason),
        )
