# SPDX-License-Identifier: Apache-2.0

"""`openstack tier result`, run by the real shell on real result files."""

import json
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.loop.report import runs

CATALOG = """version: 1
clusters: {ceph: {user: admin, cinder_user: cinder}}
tiers:
  archive:
    tags: [archive]
    rbd: {cluster: ceph, pool: a, device_class: hdd, replicated: {size: 3}}
    expect:
      randwrite-4k: {iops_min: %s}
  general:
    fallback: true
    rbd: {cluster: ceph, pool: b, device_class: hdd, replicated: {size: 3}}
"""


@ddt.ddt
class ResultTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def show(self, result, *options):
        path = self.folder / 'run.json'
        path.write_text(run_result.write(result))
        return shell.openstack('tier', 'result', str(path), *options)

    def test_a_row_is_what_the_result_has_of_a_pattern(self):
        result = runs.run()
        ran = self.show(result, '-f', 'json')
        self.assertEqual(0, ran.status, ran.stderr)
        rows = json.loads(ran.stdout)
        self.assertEqual(
            [
                (tier.tier, pattern.pattern)
                for tier in result.tiers
                for pattern in tier.patterns
            ],
            [(row['Tier'], row['Pattern']) for row in rows],
        )
        for row in rows:
            self.assertLessEqual(row['IOPS']['low'], row['IOPS']['mean'])
            self.assertLessEqual(row['IOPS']['mean'], row['IOPS']['high'])

    def test_no_line_of_the_table_is_wider_than_a_page(self):
        ran = self.show(runs.run())
        self.assertLessEqual(max(map(len, ran.stdout.splitlines())), 120)

    def test_why_there_is_no_claim_is_told_once(self):
        ran = self.show(runs.run(repeats=1))
        self.assertEqual(1, ran.stderr.count('measured once'))
        self.assertNotIn('one repeat', ran.stderr)

    def test_each_kind_of_caveat_is_a_line(self):
        ran = self.show(runs.run(tiers=('archive', 'archive2'), guests=1))
        kinds = [
            line.split(':')[0]
            for line in ran.stderr.splitlines()
            if line.startswith('read with care, ')
        ]
        self.assertEqual(sorted(set(kinds)), sorted(kinds))
        self.assertTrue(kinds)

    @ddt.data((1, 0), (10**9, 4))
    @ddt.unpack
    def test_what_the_tiers_file_expects_is_judged(self, iops, status):
        catalog = self.folder / 'tiers.yaml'
        catalog.write_text(CATALOG % iops)
        ran = self.show(runs.run(), '--catalog', str(catalog))
        self.assertEqual(status, ran.status, ran.stderr)
        self.assertIn(
            'broken' if status else 'held',
            next(
                line
                for line in ran.stderr.splitlines()
                if 'archive randwrite-4k' in line and 'at least' in line
            ),
        )

    def test_a_file_that_is_no_result_is_named(self):
        path = self.folder / 'x.json'
        path.write_text('{}')
        ran = shell.openstack('tier', 'result', str(path))
        self.assertEqual(1, ran.status)
        self.assertIn(str(path), ran.stderr)
