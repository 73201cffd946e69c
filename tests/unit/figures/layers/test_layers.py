# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.layers import model

THREE_COPIES = model.TierPool(name='p', osds=(3, 4, 5), size=3)
CODED = model.TierPool(name='e', osds=(3, 4, 5), size=3, data_chunks=2)


def pattern(rw='randwrite', bs='4k'):
    return fio_pattern.Pattern(name=f'{rw}-{bs}', rw=rw, bs=bs, iodepth=16)


def measurement(layer, iops, **of_pattern):
    return model.Measurement(
        layer=layer,
        pattern=pattern(**of_pattern),
        figures=None
        if iops is None
        else model.LayerFigures(
            iops=iops, bw_bytes=iops * 4096, p99_ns=None, in_flight=16
        ),
        reason='told' if iops is None else '',
    )


@ddt.ddt
class WorthTest(testtools.TestCase):
    @ddt.data(
        ('raw', 'randwrite', THREE_COPIES, 1),
        ('osd', 'write', CODED, 3),
        ('rados', 'randwrite', THREE_COPIES, 1),
        ('guest', 'write', THREE_COPIES, 1),
        ('librbd', 'randread', THREE_COPIES, 3),
        ('rados', 'write', CODED, 2),
        ('rados', 'read', CODED, 3),
        ('rados', 'randwrite', CODED, None),
        ('rados', 'randread', CODED, None),
        ('osd', 'write', None, None),
    )
    @ddt.unpack
    def test_in_disks(self, layer, rw, pool, expected):
        self.assertEqual(
            expected, model.worth_in_disks(layer, pattern(rw), pool)
        )

    def test_the_papers_disks(self):
        """idcf2014: 54 disks of 160 IOPS in 3 replicas write 2,880."""
        pool = model.TierPool(name='p', osds=tuple(range(54)), size=3)
        self.assertAlmostEqual(
            2880, 160 * model.worth_in_disks('guest', pattern(), pool)
        )

    @ddt.data(
        {'osds': ()}, {'size': 0}, {'data_chunks': 4}, {'data_chunks': 0}
    )
    def test_numbers_of_no_pool_are_refused(self, wrong):
        self.assertRaises(
            ValueError,
            model.TierPool,
            **{'name': 'p', 'osds': (1,), 'size': 3, **wrong},
        )


class JudgeTest(testtools.TestCase):
    def judged(self, *found, pool=THREE_COPIES):
        return {each.measured.layer: each for each in model.judge(found, pool)}

    def test_each_layer_against_the_one_below(self):
        """What the lab's tier general did."""
        found = self.judged(
            measurement('guest', 120),
            measurement('raw', 160),
            measurement('osd', 480),
            measurement('rados', 150),
            measurement('librbd', 141),
        )
        self.assertEqual(list(model.LAYERS), list(found))
        self.assertEqual(
            (None, None, 160),
            (
                found['raw'].below,
                found['raw'].percent_of_below,
                found['raw'].disks_allow_iops,
            ),
        )
        self.assertEqual(
            ('raw', 300, 300, 480),
            (
                found['osd'].below,
                found['osd'].percent_of_below,
                found['osd'].percent_by_theory,
                found['osd'].disks_allow_iops,
            ),
        )
        rados = found['rados']
        self.assertAlmostEqual(31.25, rados.percent_of_below)
        self.assertAlmostEqual(100 / 3, rados.percent_by_theory)
        self.assertAlmostEqual(93.75, rados.percent_of_theory)
        self.assertAlmostEqual(94, found['librbd'].percent_of_theory)
        self.assertEqual(
            ['guest'],
            [name for name, each in found.items() if each.loses_most],
        )

    def test_a_layer_that_is_missing_is_passed_over(self):
        found = self.judged(
            measurement('raw', 160),
            measurement('osd', None),
            measurement('rados', 480),
        )
        self.assertEqual('raw', found['rados'].below)
        self.assertEqual(300, found['rados'].percent_of_theory)
        self.assertIsNone(found['osd'].percent_of_below)
        self.assertEqual(480, found['osd'].disks_allow_iops)

    def test_without_a_raw_disk_there_is_no_word_on_disks(self):
        found = self.judged(
            measurement('rados', 100), measurement('librbd', 50)
        )
        self.assertIsNone(found['librbd'].disks_allow_iops)
        self.assertEqual(50, found['librbd'].percent_of_theory)

    def test_theory_says_nothing_of_small_writes_in_chunks(self):
        found = self.judged(
            measurement('osd', 480),
            measurement('rados', 60),
            measurement('librbd', 30),
            pool=CODED,
        )
        self.assertIsNone(found['rados'].percent_of_theory)
        self.assertEqual(50, found['librbd'].percent_of_theory)

    def test_nobody_loses_where_all_do_as_they_should(self):
        found = self.judged(
            measurement('raw', 160),
            measurement('osd', 480),
            measurement('rados', 170),
        )
        self.assertEqual(
            [], [name for name, each in found.items() if each.loses_most]
        )

    def test_a_layer_that_did_nothing_divides_nothing(self):
        found = self.judged(measurement('rados', 0), measurement('librbd', 10))
        self.assertIsNone(found['librbd'].percent_of_theory)

    def test_large_writes_are_compared_by_bandwidth(self):
        """One write more or less is much of few."""
        found = self.judged(
            *[
                model.Measurement(
                    layer=layer,
                    pattern=pattern('write', '4m'),
                    figures=model.LayerFigures(
                        iops=iops,
                        bw_bytes=10 * 1024**2,
                        p99_ns=None,
                        in_flight=4,
                    ),
                )
                for layer, iops in (('rados', 2.7), ('librbd', 1.9))
            ]
        )
        self.assertEqual(100, found['librbd'].percent_of_theory)

    def test_guests_alone(self):
        found = self.judged(measurement('guest', 10), pool=None)
        self.assertIsNone(found['guest'].below)

    def test_patterns_are_judged_apart_in_their_order(self):
        found = model.judge(
            [
                measurement('rados', 5, rw='write', bs='4m'),
                measurement('rados', 150),
                measurement('raw', 160),
            ],
            THREE_COPIES,
        )
        self.assertEqual(
            [
                ('rados', 'write-4m'),
                ('raw', 'randwrite-4k'),
                ('rados', 'randwrite-4k'),
            ],
            [
                (each.measured.layer, each.measured.pattern.name)
                for each in found
            ],
        )


@ddt.ddt
class PatternsTest(testtools.TestCase):
    @ddt.data(
        ([], 'at least one'),
        ([{'name': 'a', 'rw': 'randrw', 'bs': '4k'}], 'rw randrw'),
        ([{'name': 'a', 'rw': 'read', 'bsrange': '4k-8k'}], 'one block size'),
        ([{'name': 'a', 'rw': 'read', 'bs': '4k'}] * 2, 'given 2 times'),
    )
    @ddt.unpack
    def test_what_not_every_layer_can_do_is_refused(self, given, named):
        self.assertIn(
            named, str(self.assertRaises(ValueError, model.patterns, given))
        )
