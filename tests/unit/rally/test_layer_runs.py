# SPDX-License-Identifier: Apache-2.0

"""Measurements with tools that only play what real ones have said.

The recordings are those of ``tests.unit.figures``; real tools at work are in
the functional tests.
"""

import functools
import pathlib

import ddt
import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.layers import host_file
from cinder_tiers.figures.layers import model
from rally_scenarios.plugins.layers import ceph as layers_ceph
from rally_scenarios.plugins.layers import measure
from rally_scenarios.plugins.layers import process
from tests.unit.figures.layers import test_ceph_answers
from tests.unit.figures import recorded

POOL = model.TierPool(
    name='p', osds=(3, 4, 5), size=3, device_classes=('hdd',)
)


def pattern(rw, bs='4k', iodepth=16):
    return fio_pattern.Pattern(
        name=f'{rw}-{bs}', rw=rw, bs=bs, iodepth=iodepth
    )


@ddt.ddt
class LayerRunsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.tools = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.EnvironmentVariable('PATH', f'{self.tools}:/usr/bin:/bin')
        )
        self.failures = []

    def tool(self, name, script):
        (self.tools / name).write_text(f'#!/bin/sh\n{script}\n')
        (self.tools / name).chmod(0o755)

    def says(self, text):
        """A command that prints a text."""
        file = self.tools / f'said-{len(list(self.tools.iterdir()))}'
        file.write_bytes(text)
        return f'cat {file}'

    def rados(self, **cases):
        """A rados that says these recordings of these kinds of bench."""
        self.tool('ceph', 'echo')
        self.tool(
            'rados',
            'for word; do case $word in\n'
            + '\n'.join(
                f'{kind}) {self.says(test_ceph_answers.recorded(name))}; '
                'exit ;;'
                for kind, name in cases.items()
            )
            + '\nesac; done',
        )

    def bench(self, **changed):
        return measure.Bench(
            **{
                'place': layers_ceph.Place(
                    ceph=host_file.Ceph(),
                    pool='p',
                    image_pool='p',
                    name=f'{layers_ceph.PREFIX}0',
                ),
                'pool': POOL,
                'raw': None,
                'method': fio_pattern.Profile(
                    region_mib=16, ramp_seconds=2, runtime_seconds=1
                ),
                **changed,
            }
        )

    def measured(self, layer, *args):
        return measure.measured(
            layer,
            args[1],
            functools.partial(getattr(measure, layer), *args),
            self.failures,
        )

    def test_osds_are_measured_together_and_told_one_by_one(self):
        self.tool(
            'ceph',
            'sleep 0.4; '
            + self.says(test_ceph_answers.recorded('osd-bench-4k')),
        )
        found = self.measured('osd', self.bench(), pattern('randwrite'))
        self.assertAlmostEqual(3 * 161.2585, found.figures.iops, places=3)
        self.assertEqual(
            'osd.3 161 IOPS, osd.4 161 IOPS, osd.5 161 IOPS',
            found.figures.remark,
        )
        self.assertIsNone(found.figures.in_flight)

    def test_osd_bench_has_no_reads_and_that_is_no_failure(self):
        found = self.measured('osd', self.bench(), pattern('read'))
        self.assertEqual(
            (None, 'OSD bench only writes', []),
            (found.figures, found.reason, self.failures),
        )

    def test_processes_of_rados_bench_are_added(self):
        self.rados(write='rados-bench-write-4k')
        unremoved = set()
        found = self.measured(
            'rados', self.bench(processes=2), pattern('randwrite'), unremoved
        )
        self.assertAlmostEqual(2 * 945 / 6.291671, found.figures.iops)
        self.assertEqual(
            (16, None, '', set()),
            (
                found.figures.in_flight,
                found.figures.p99_ns,
                found.figures.remark,
                unremoved,
            ),
        )

    def test_reads_that_come_back_to_the_same_objects_are_told(self):
        self.rados(write='rados-bench-write-4k', rand='rados-bench-rand-4k')
        found = self.measured(
            'rados', self.bench(), pattern('randread'), set()
        )
        self.assertEqual(
            '2590 reads of 1278 objects: caches helped', found.figures.remark
        )

    def test_reads_that_end_before_the_ramp_are_told(self):
        self.rados(write='rados-bench-write-4k', seq='rados-bench-seq-4k')
        found = self.measured('rados', self.bench(), pattern('read'), set())
        self.assertIn('ended before the ramp', found.figures.remark)

    def test_what_a_failed_bench_may_have_left_is_known(self):
        self.tool('rados', "echo 'error: full' >&2; exit 28")
        unremoved = set()
        found = self.measured(
            'rados', self.bench(), pattern('write'), unremoved
        )
        self.assertIn('error: full', found.reason)
        self.assertEqual(1, len(unremoved))
        self.assertIn('rados, write-4k', self.failures[0])

    @ddt.data(b'', b'{}', b'hints = 1\n{"datas":[', b'\xff')
    def test_a_rados_bench_that_says_nothing_of_use(self, text):
        self.tool('rados', self.says(text))
        found = self.measured('rados', self.bench(), pattern('write'), set())
        self.assertIsNone(found.figures)
        self.assertEqual(1, len(self.failures))

    def test_librbd_has_percentiles(self):
        self.tool('fio', self.says(recorded.text('randwrite-4k')))
        found = self.measured(
            'librbd',
            self.bench(),
            fio_pattern.Pattern(
                name='randwrite-4k', rw='randwrite', bs='4k', iodepth=16
            ),
        )
        self.assertAlmostEqual(499.8, found.figures.iops, delta=1)
        self.assertGreater(found.figures.p99_ns, 0)

    def test_a_fio_that_fails_is_told(self):
        self.tool('fio', "echo 'fio: rbd open failed' >&2; exit 1")
        found = self.measured('librbd', self.bench(), pattern('write'))
        self.assertIn('rbd open failed', found.reason)

    def test_a_disk_that_may_not_be_overwritten_is_not_written(self):
        self.tool('fio', f'touch {self.tools}/ran')
        found = self.measured(
            'raw',
            self.bench(
                raw=host_file.RawDisk(device_class='hdd', device='/dev/sdx')
            ),
            pattern('write'),
        )
        self.assertIn('to be overwritten', found.reason)
        self.assertEqual([], self.failures)
        self.assertFalse((self.tools / 'ran').exists())

    def test_a_disk_that_is_not_there_fails_before_all_else(self):
        disk = host_file.RawDisk(
            device_class='hdd',
            may_be_overwritten=True,
            device=str(self.tools / 'sdx'),
        )
        self.assertRaises(
            process.LayerError, measure.check_raw, self.bench(raw=disk)
        )
        found = self.measured('raw', self.bench(raw=disk), pattern('write'))
        self.assertIn('sdx', found.reason)
        self.assertEqual(1, len(self.failures))
