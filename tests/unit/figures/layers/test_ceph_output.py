# SPDX-License-Identifier: Apache-2.0

"""Answers of a real Ceph 16.2.15 (Debian 12), recorded in the lab.

Its tier ``general``: three OSDs on disks held to 160 IOPS, three copies.  Of
placement groups only id, state and acting set were kept.
"""

import pathlib
import re

import ddt
import testtools

from cinder_tiers.figures.layers import ceph_output

_FOLDER = pathlib.Path(__file__).parents[1] / 'data' / 'ceph'


def recorded(name):
    return (_FOLDER / f'{name}.txt').read_bytes()


def pool(name='tier-general', **changed):
    return ceph_output.pool(
        name,
        **{
            'pools': recorded('pools'),
            'tree': recorded('tree'),
            'groups': recorded('groups'),
            'profile': None,
            **changed,
        },
    )


@ddt.ddt
class RadosBenchTest(testtools.TestCase):
    def test_what_came_before_the_end_of_the_ramp_is_left_out(self):
        """333 of 1,278 writes were finished after 2 of 8.29 s."""
        found = ceph_output.rados_bench(
            recorded('rados-bench-write-4k'), ramp_seconds=2
        )
        self.assertEqual(
            (1278 - 333, 1278, 4096, True),
            (
                found.operations,
                found.in_all,
                found.block_bytes,
                found.has_ramp,
            ),
        )
        self.assertAlmostEqual(945 / 6.291671, found.iops)
        self.assertAlmostEqual(found.iops * 4096, found.bw_bytes)

    def test_without_a_ramp_it_is_what_the_tool_says_itself(self):
        found = ceph_output.rados_bench(
            recorded('rados-bench-write-4m'), ramp_seconds=0
        )
        self.assertAlmostEqual(9.861053, found.bw_bytes / 1024**2, places=4)

    @ddt.data(1, 2, 60)
    def test_all_is_counted_if_it_ended_before_the_ramp(self, ramp_seconds):
        found = ceph_output.rados_bench(
            recorded('rados-bench-seq-4k'), ramp_seconds=ramp_seconds
        )
        self.assertEqual((1278, False), (found.operations, found.has_ramp))

    def test_reads_in_random_order(self):
        found = ceph_output.rados_bench(
            recorded('rados-bench-rand-4k'), ramp_seconds=1
        )
        self.assertEqual(2590 - 471, found.operations)

    @ddt.data(
        (b'', b'', 'expected JSON'),
        (
            b'"total_writes_made":"1278"',
            b'"total_writes_made":"12780"',
            'bandwidth',
        ),
        (
            b'"total_writes_made":"1278"',
            b'"total_writes_made":"x"',
            'total_writes_made',
        ),
        (
            b'"total_time_run":"8.291671"',
            b'"total_time_run":"nan"',
            'total_time_run',
        ),
        (b'"total_time_run":"8.291671",', b'', 'total_time_run'),
        (b'"write_size":"4096"', b'"write_size":true', 'write_size'),
        (b'"sec":"3"', b'"sec":[]', 'sec'),
        (b'"datas":[', b'"datas":3,"x":[', 'datas'),
    )
    @ddt.unpack
    def test_what_contradicts_itself_is_refused(self, old, new, named):
        text = recorded('rados-bench-write-4k')
        wrong = text.replace(old, new) if old else text[:100]
        self.assertNotEqual(text, wrong)
        self.assertIn(
            named,
            str(
                self.assertRaises(
                    ceph_output.AnswerError,
                    ceph_output.rados_bench,
                    wrong,
                    ramp_seconds=2,
                )
            ),
        )

    def test_no_text_makes_it_fail_otherwise(self):
        text = recorded('rados-bench-rand-4k')
        for end in range(len(text) - 2):
            self.assertRaises(
                ceph_output.AnswerError,
                ceph_output.rados_bench,
                text[:end],
                ramp_seconds=1,
            )


class OsdBenchTest(testtools.TestCase):
    def test_small_and_large_writes(self):
        small = ceph_output.osd_bench(recorded('osd-bench-4k'))
        self.assertEqual(3000, small.operations)
        self.assertAlmostEqual(161.2585, small.iops, places=4)
        large = ceph_output.osd_bench(recorded('osd-bench-4m'))
        self.assertAlmostEqual(2.458, large.iops, places=4)

    def test_several_are_as_one_that_took_as_long(self):
        small = ceph_output.osd_bench(recorded('osd-bench-4k'))
        both = ceph_output.one_after_another([small, small])
        self.assertEqual(6000, both.operations)
        self.assertAlmostEqual(small.iops, both.iops)

    def test_an_osd_is_asked_for_no_more_than_it_takes(self):
        """By default 100 small writes a second for 30 s: it said so."""
        self.assertEqual(
            1500 * 4096, ceph_output.osd_bench_total_bytes(4096, 5)
        )
        self.assertEqual(
            12288000, ceph_output.osd_bench_total_bytes(4096, 3600)
        )
        for block in (1024**2, 3 * 1024**2, 64 * 1024**2):
            total = ceph_output.osd_bench_total_bytes(block, 3600)
            self.assertEqual(0, total % block)
            self.assertGreaterEqual(total, block)
            self.assertLessEqual(total, 64 * 1024**2)

    def test_parts_of_blocks_and_no_time_are_refused(self):
        text = recorded('osd-bench-4k')
        for old, new in (
            (b'12288000', b'12288001'),
            (b'12288000', b'0'),
            (b':4096', b':0'),
            (b'18.603666698000001', b'0'),
            (b'"blocksize":4096,', b''),
        ):
            self.assertIn(old, text)
            self.assertRaises(
                ceph_output.AnswerError,
                ceph_output.osd_bench,
                text.replace(old, new),
            )


class PoolTest(testtools.TestCase):
    def test_a_replicated_pool(self):
        found = pool()
        self.assertEqual(
            ((3, 4, 5), 3, None, ('hdd',)),
            (found.osds, found.size, found.data_chunks, found.device_classes),
        )
        self.assertIsNone(
            ceph_output.erasure_code_profile(recorded('pools'), 'tier-general')
        )

    def test_an_erasure_coded_pool(self):
        name = 'tier-archive-data'
        self.assertEqual(
            name, ceph_output.erasure_code_profile(recorded('pools'), name)
        )
        found = pool(name, profile=recorded('erasure-code-profile'))
        self.assertEqual((3, 2), (found.size, found.data_chunks))

    def test_a_pool_that_is_not_there_is_told_with_those_that_are(self):
        error = self.assertRaises(ceph_output.AnswerError, pool, 'general')
        self.assertIn(
            'tier-archive, tier-archive-data, tier-database', str(error)
        )

    def test_a_pool_with_missing_copies_is_not_measured(self):
        for acting in (b'[3,4]', b'[3,4,2147483647]', b'[3,4,true]'):
            groups = re.sub(
                rb'"acting":\[[0-9,]*\]',
                b'"acting":' + acting,
                recorded('groups'),
                count=1,
            )
            self.assertIn(
                '1 of 32 are not on 3 OSDs',
                str(
                    self.assertRaises(
                        ceph_output.AnswerError, pool, groups=groups
                    )
                ),
            )

    def test_disks_of_several_classes_are_told(self):
        tree = recorded('tree').replace(
            b'"id":4,"device_class":"hdd"', b'"id":4,"device_class":"ssd"'
        )
        self.assertEqual(('hdd', 'ssd'), pool(tree=tree).device_classes)
        self.assertEqual(('none',), pool(tree=b'{"nodes":[]}').device_classes)
