# SPDX-License-Identifier: Apache-2.0

"""What reading results of a large fleet takes, for charts and without.

Rates and latencies over time of guests are most of such a file.
"""

import argparse
import json
import pathlib
import tempfile
import tracemalloc

from osc_lib import exceptions
import testtools

from cinder_tiers.cli import results
from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import content
from cinder_tiers.loop.report import report_file
from tests.unit.loop.report import runs


class ResultMemoryTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text):
        path = self.folder / 'run.json'
        path.write_text(text)
        return str(path)

    def test_values_over_time_of_guests_are_not_kept(self):
        run = runs.run(
            tiers=('general',), patterns=1, repeats=1, guests=40, seconds=60
        )
        path = self.file(run_result.write(run))
        # What is made once.
        results.read(path)
        kept = {}
        for has_times in (False, True):
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            found = results.read(path, has_times=has_times)
            kept[has_times], _most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            if has_times:
                self.assertEqual(run, found)
        self.assertLess(kept[False], kept[True] / 2)

    def test_nothing_else_is_lost(self):
        run = runs.run(patterns=5, repeats=2, guests=2, seconds=5)
        found = results.read(self.file(run_result.write(run)))
        written, read = (
            json.loads(run_result.write(each)) for each in (run, found)
        )
        slots = [
            slot
            for tier in written['tiers']
            for pattern in tier['patterns']
            for slot in pattern['slots']
        ]
        for slot in slots:
            slot['latency'] = None
            for guest in slot['guests']:
                guest['rates'] = guest['latency'] = None
        self.assertEqual(written, read)

    def test_what_is_wrong_in_them_is_told(self):
        value = json.loads(
            run_result.write(
                runs.run(patterns=1, repeats=1, guests=1, seconds=5)
            )
        )
        slot = value['tiers'][0]['patterns'][0]['slots'][0]
        slot['guests'][0]['rates']['iops'][2] = -1
        slot['latency']['ios'].pop()
        error = self.assertRaises(
            exceptions.CommandError,
            results.read,
            self.file(json.dumps(value)),
        )
        place = 'tiers[0].patterns[0].slots[0]'
        self.assertIn(f'{place}.guests[0].rates: a value over', str(error))
        self.assertIn(f'{place}.latency: 4 times with', str(error))

    def test_a_report_has_them(self):
        path = self.file(
            run_result.write(runs.run(patterns=1, repeats=1, seconds=5))
        )
        made = report_file.report(
            argparse.Namespace(
                results=[path],
                quantities=[],
                directions=[],
                least_difference=0.0,
                expect=[],
            )
        )
        titles = [found.title for found in made.parts[0].figures]
        self.assertTrue(
            any('guest' in each.lower() and 'time' in each for each in titles),
            titles,
        )

    def test_a_report_keeps_them_of_the_repeats_that_are_drawn(self):
        run = runs.run(
            tiers=('general',), patterns=2, repeats=8, guests=20, seconds=60
        )
        path = self.file(run_result.write(run))
        results.read(path, has_times=True)
        kept, made = {}, {}
        for name, only in (('all', None), ('drawn', guest_times.only_drawn)):
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            found = results.read_all([path], has_times=True, kept=only)
            kept[name], _most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            made[name] = content.report(found, comparison.Question(), {})
        self.assertEqual(made['all'], made['drawn'])
        self.assertLess(kept['drawn'], kept['all'] / 1.5)

    def test_numbers_over_time_are_kept_once(self):
        value = json.loads(
            run_result.write(
                runs.run(patterns=1, repeats=1, guests=2, seconds=40)
            )
        )
        slot = value['tiers'][0]['patterns'][0]['slots'][0]
        for guest in slot['guests']:
            guest['rates']['bw_bytes'] = [123456789] * 40
        found = run_result.read(json.dumps(value))
        first, second = found.tiers[0].patterns[0].slots[0].guests
        self.assertEqual(
            1,
            len(
                {
                    id(each)
                    for guest in (first, second)
                    for each in guest.rates.bw_bytes
                }
            ),
        )
