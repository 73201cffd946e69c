# SPDX-License-Identifier: Apache-2.0

"""What a fleet of hundreds leaves must not grow with it without bound.

``python -m benchmarks.large_fleet`` has the figures of 300 guests; here are as
many as show what each one more adds.
"""

import json
import logging
import pathlib
import tracemalloc

import fixtures
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins import servers
from tests.unit.guest import console_text
from tests.unit.guest import generated_results
from tests.unit.loop.report import runs
from tests.unit.rally import large_fleet

#: Of the result file, for a turn of a guest more.
MOST_BYTES = 450
#: Of memory, likewise, until the result is built.
MOST_KIB = 60


class LargeFleetTest(testtools.TestCase):
    def fleet(self, guests_per_tier):
        return large_fleet.LargeFleet(
            guests_per_tier=guests_per_tier,
            repeats=2,
            runtime_seconds=30,
            patterns=2,
        )

    def run_fleet(self, fleet):
        """Lines of the log at INFO, and the text of the result file."""
        folder = self.useFixture(fixtures.TempDir()).path
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        try:
            fleet.run(folder)
        finally:
            self.lines = log.output.splitlines()
            (file,) = self.paths(folder)
            self.text = file.read_text()

    def paths(self, folder):
        return list(pathlib.Path(folder).glob('*.json'))

    def test_what_a_guest_more_adds_is_bounded(self):
        sizes, lines = {}, []
        # More than are drawn, and more than have a line of their own.
        for guests_per_tier in (guest_times.MOST_GUESTS + 1, 22):
            fleet = self.fleet(guests_per_tier)
            self.run_fleet(fleet)
            sizes[fleet.guests * fleet.turns] = len(self.text)
            lines.append(len(self.lines))
            found = run_result.read(self.text)
            self.assertEqual(
                {'complete'}, {guest.verdict for guest in found.guests}
            )
            self.assertEqual(fleet.guests, len(found.guests))
            # All of them are in what is merged.
            for run in found.runs:
                self.assertEqual(guests_per_tier, run.slot.merged.guests)
                self.assertEqual(
                    sum(guest.total_ios for guest in run.slot.guests),
                    run.slot.merged.clat.histogram().count,
                )
        (few, small), (many, large) = sorted(sizes.items())
        self.assertLess((large - small) / (many - few), MOST_BYTES)
        # Those of turns, some for each phase, and few of each kind of trouble.
        self.assertLess(max(lines), 60)

    def test_if_all_are_in_trouble_the_first_ones_show_it(self):
        fleet = self.fleet(20)
        for number in range(fleet.guests):
            name = f'g{number:03d}'
            fleet.cloud.guests_stop.add(name)
            fleet.cloud.guests_do[name] = lambda lines: lines[:5]
        error = self.assertRaises(servers.FleetError, self.run_fleet, fleet)
        self.assertLess(len(str(error)), 4000)
        self.assertIn('60 of 60 guests are not complete: g000', str(error))
        self.assertIn('and 40 more, see the result file', str(error))
        self.assertLess(len(self.lines), 200)
        (console,) = (
            each['data']
            for each in fleet.outputs['complete']
            if each['title'] == fleet_report.CONSOLE_TITLE
        )
        self.assertLess(len(console), 400)
        self.assertIn('g059', console[-1])
        found = run_result.read(self.text)
        self.assertEqual(
            60, len([g for g in found.guests if g.verdict != 'complete'])
        )

    def test_what_a_turn_of_a_guest_takes_in_memory_is_bounded(self):
        pattern = fio_pattern.Pattern(
            name='randwrite-4k', rw='randwrite', bs='4k', iodepth=16
        )
        plan = schedule.plan(
            ['one'],
            [pattern],
            fio_pattern.Profile(
                region_mib=16, ramp_seconds=5, runtime_seconds=60
            ),
            repeats=6,
        )
        text = ''.join(
            console_text.whole_run(
                [
                    (
                        slot.number,
                        slot.begin_seconds * 1000,
                        generated_results.sent(
                            pattern.name,
                            direction='write',
                            block_bytes=4096,
                            iodepth=16,
                            seconds=60,
                            median_ms=20,
                            seed=slot.number,
                        ),
                    )
                    for slot in plan.slots
                ],
                slot_ms=66_000,
            )
        )
        about = {'guest': 'g000', 'tier': 'one', 'late_after_ms': 1000}
        # What is made once.
        once = frames.GuestConsole(run=console_text.RUN, guest='g000')
        once.feed(text)
        verdict.judge(once, plan=plan, **about)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        console = frames.GuestConsole(run=console_text.RUN, guest='g000')
        console.feed(text)
        outcome = verdict.judge(console, plan=plan, **about)
        console.forget_results()
        kept, _most = tracemalloc.get_traced_memory()
        self.assertEqual(verdict.GuestVerdict.COMPLETE, outcome.verdict)
        self.assertLess(kept / len(plan.slots) / 1024, MOST_KIB)

    def test_rows_of_guests_in_rally_are_bounded(self):
        result = runs.run(
            tiers=('general',), patterns=2, repeats=3, guests=100, seconds=2
        )
        rows = tables.complete_outputs(result)[-1]['data']['rows']
        self.assertEqual(2 * 6, len(rows))
        by_turn = {}
        for row in rows:
            by_turn.setdefault(row[2], []).append(row[3])
        for run in result.runs:
            iops = [guest.iops for guest in run.slot.guests]
            self.assertEqual(
                sorted([round(min(iops), 1), round(max(iops), 1)]),
                sorted(by_turn[run.name]),
            )
        self.assertLess(len(json.dumps(rows)), 3000)
