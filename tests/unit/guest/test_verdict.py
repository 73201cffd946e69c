# SPDX-License-Identifier: Apache-2.0

import json

import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from tests.unit.figures import recorded
from tests.unit.guest import console_text as console

SMALL = fio_pattern.Pattern(
    name='randwrite-4k', rw='randwrite', bs='4k', iodepth=16
)
LARGE = fio_pattern.Pattern(name='write-1m', rw='write', bs='1m', iodepth=4)
# Slots of 6 + 5 + 4 = 15 s.
PLAN = schedule.plan(
    ['database', 'general'],
    [SMALL, LARGE],
    fio_pattern.Profile(region_mib=8, ramp_seconds=5, runtime_seconds=6),
)
SLOTS = [
    (0, 0, recorded.text('randwrite-4k')),
    (1, 15000, recorded.text('write-1m')),
]
V = verdict.GuestVerdict


def outcome(lines, *, guest='g000', late_after_ms=500):
    heard = frames.GuestConsole(run=console.RUN, guest=guest)
    heard.feed(''.join(lines))
    return verdict.judge(
        heard,
        guest=guest,
        tier='database',
        plan=PLAN,
        late_after_ms=late_after_ms,
    )


def verdicts(found):
    return [slot.verdict for slot in found.slots]


class VerdictTest(testtools.TestCase):
    def test_a_guest_that_did_everything_is_complete_on_the_leaders_clock(
        self,
    ):
        found = outcome(
            console.whole_run(SLOTS, start_ms=50000, offset_ms=200)
        )
        self.assertEqual(
            (V.COMPLETE, (), 200, 7, 30),
            (
                found.verdict,
                found.reasons,
                found.clock_offset_ms,
                found.clock_error_ms,
                found.clock_samples,
            ),
        )
        first, second = (slot.measured for slot in found.slots)
        self.assertEqual(
            (50000, 50010, 59000, 10),
            (
                first.planned_ms,
                first.started_ms,
                first.ended_ms,
                first.start_error_ms,
            ),
        )
        self.assertEqual(65000, second.planned_ms)
        self.assertEqual('write-1m', second.result.jobname)

    def test_a_start_by_wall_time_has_no_offset_between_guests(self):
        lines = [
            line
            if ' GO ' not in line
            else console.event(
                4,
                'GO start=1795303741000 offset=-1795303691000 samples=0'
                ' by=clock reading=10000 sync=chrony bound=1413',
            )
            for line in console.whole_run(SLOTS, start_ms=50000, offset_ms=0)
        ]
        found = outcome(lines)
        self.assertEqual(
            (
                V.COMPLETE,
                None,
                0,
                11.413,
                'the start was by wall time; chrony keeps its clock',
            ),
            (
                found.verdict,
                found.clock_offset_ms,
                found.clock_samples,
                found.clock_error_ms,
                found.clock_reason,
            ),
        )
        first = found.slots[0].measured
        self.assertEqual(
            (1795303741000, 1795303741010, 11.413),
            (first.planned_ms, first.started_ms, first.clock_error_ms),
        )

    def test_a_wall_clock_of_which_nothing_is_known_is_no_common_clock(self):
        for fields in (
            '',
            ' reading=10000 sync=magic bound=-',
            ' reading=-5 sync=chrony bound=7',
            ' reading=5 sync=nobody bound=1e9',
        ):
            found = outcome(
                [
                    line
                    if ' GO ' not in line
                    else console.event(
                        4,
                        'GO start=50000 offset=200 samples=0 by=clock'
                        + fields,
                    )
                    for line in console.whole_run(SLOTS)
                ]
            )
            self.assertEqual(
                (V.COMPLETE, None, None, None),
                (
                    found.verdict,
                    found.clock_offset_ms,
                    found.clock_error_ms,
                    found.slots[0].measured.clock_error_ms,
                ),
            )
            self.assertIn('the start was by wall time; ', found.clock_reason)

    def with_series(self, log):
        """The first slot, fio's output written 100 ms before its end."""
        document = json.loads(recorded.text('randwrite-4k'))
        document['timestamp_ms'] = 10**9
        text = json.dumps(document).encode() + b'\n@series\n' + log
        return outcome(console.whole_run([(0, 0, text), SLOTS[1]])).slots[0]

    def test_values_of_each_second_are_on_the_leaders_clock(self):
        """Its fio ended at 59000 ms; the wall clock said 10^9 then."""
        found = self.with_series(b'999998000, 400, 1\n999999000, 600, 1\n')
        self.assertEqual(((56000, 400), (57000, 600)), found.measured.series)
        self.assertEqual((), self.with_series(b'').measured.series)

    def test_bandwidth_and_latencies_are_on_the_leaders_clock(self):
        found = self.with_series(
            b'999998000, 400, 1\n999999000, 600, 1\n'
            b'\n@bandwidth\n999998000, 8, 1\n999999000, 16, 1\n'
            b'\n@latencies\n1000\n\n999998000,1 20:3\n999999000,1 20:1 30:1\n'
        ).measured
        self.assertEqual(((56000, 8192), (57000, 16384)), found.bw_series)
        self.assertEqual(
            [(56000, 57000, 3), (57000, 58000, 2)],
            [
                (each.begin_ms, each.end_ms, each.clat.count)
                for each in found.latencies.windows
            ],
        )

    def test_latencies_of_another_time_or_run_are_a_damaged_result(self):
        for log in (
            b'1000\n900000000,1 20:3\n',
            b'1000\n1000060000,1 20:3\n',
            b'1000\n999998000,1 20:300000000\n',
            b'1000\nrm -rf /\n',
        ):
            found = self.with_series(
                b'999998000, 400, 1\n\n@bandwidth\n\n@latencies\n' + log
            )
            self.assertEqual(V.DAMAGED, found.verdict)
            self.assertIn('randwrite-4k', found.reason)

    def test_values_of_another_time_are_a_damaged_result(self):
        for log in (
            b'900000000, 400, 1\n',
            b'1000060000, 400, 1\n',
            b'rm -rf /\n',
        ):
            found = self.with_series(log)
            self.assertEqual(V.DAMAGED, found.verdict)
            self.assertIn('randwrite-4k', found.reason)

    def test_a_silent_guest_is_lost(self):
        found = outcome([])
        self.assertEqual(
            (V.LOST, ('no output was received from it',), None),
            (found.verdict, found.reasons, found.clock_offset_ms),
        )

    def test_a_guest_that_fell_silent_keeps_the_slot_that_it_finished(self):
        lines = console.whole_run(SLOTS)
        end_of_first = next(
            n for n, line in enumerate(lines) if 'START slot=1' in line
        )
        found = outcome(lines[: end_of_first + 1])
        self.assertEqual([V.COMPLETE, V.LOST], verdicts(found))
        self.assertEqual(('last reported START',), found.reasons)

    def test_a_fio_that_failed_on_one_pattern_leaves_the_other(self):
        lines = [
            line
            for line in console.whole_run(SLOTS)
            if 'END slot=1' not in line and ' data 1 ' not in line
        ]
        lines.append(
            console.event(
                90, 'FIO-FAILED slot=1 planned=1 real=1 end=2 rc=28 : no space'
            )
        )
        found = outcome(lines)
        self.assertEqual([V.COMPLETE, V.FIO_FAILED], verdicts(found))
        self.assertEqual(
            ('fio ended with 28 on write-1m: no space',), found.reasons
        )

    def test_a_result_that_lost_a_line_is_damaged_and_gives_no_figure(self):
        lines = [
            line
            for line in console.whole_run(SLOTS)
            if ' data 0 2/' not in line
        ]
        found = outcome(lines)
        self.assertEqual([V.DAMAGED, V.COMPLETE], verdicts(found))
        self.assertIn(
            '1 of 6 lines are missing, the first is line 2', found.reasons[0]
        )
        self.assertIsNone(found.slots[0].measured)

    def test_the_result_of_another_job_is_damaged(self):
        found = outcome(
            console.whole_run([(0, 0, recorded.text('write-1m')), SLOTS[1]])
        )
        self.assertEqual([V.DAMAGED, V.COMPLETE], verdicts(found))
        self.assertIn("fio ran job 'write-1m'", found.reasons[0])

    def test_lost_times_are_damage_even_if_the_result_is_whole(self):
        lines = [
            line
            for line in console.whole_run(SLOTS)
            if 'END slot=0' not in line
        ]
        self.assertEqual([V.DAMAGED, V.COMPLETE], verdicts(outcome(lines)))

    def test_a_start_too_far_from_its_time_is_late_but_shown(self):
        found = outcome(console.whole_run(SLOTS), late_after_ms=9)
        self.assertEqual([V.LATE, V.LATE], verdicts(found))
        self.assertEqual(10, found.slots[0].measured.start_error_ms)
        self.assertIn('started 10 ms after its time', found.reasons[0])

    def test_so_is_one_before_its_time(self):
        """It had the tier of those that ran before it."""
        lines = [
            console.frame(
                line.split(' ', 2)[2]
                .strip()
                .replace('real=50210', 'real=49600')
            )
            for line in console.whole_run(SLOTS)
        ]
        found = outcome(lines)
        self.assertEqual([V.LATE, V.COMPLETE], verdicts(found))
        self.assertEqual(-600, found.slots[0].measured.start_error_ms)

    def test_running_into_the_next_slot_is_late(self):
        """Its slot ends at 50000 + 200 + 15000 on its own clock."""
        lines = [
            line
            if 'END slot=0' not in line
            else console.event(
                6, 'END slot=0 planned=50200 real=50210 end=65300'
            )
            for line in console.whole_run(SLOTS)
        ]
        found = outcome(lines)
        self.assertEqual([V.LATE, V.COMPLETE], verdicts(found))
        self.assertIn('ended 100 ms into the next slot', found.reasons[0])

    def test_a_guest_says_itself_why_it_did_not_take_part(self):
        for words, expected in (
            ('LATE : the leader gave the start', V.LATE),
            ('BROKEN rc=1 : the leader gave the start', V.BROKEN),
            ('FAILED : the leader gave the start', V.BROKEN),
        ):
            found = outcome(
                [console.event(1, 'BOOT at=1'), console.event(2, words)]
            )
            self.assertEqual(
                (expected, ('the leader gave the start',)),
                (found.verdict, found.reasons),
            )

    def test_the_worst_slot_decides(self):
        lines = [
            line
            for line in console.whole_run(SLOTS)
            if ' data 1 1/' not in line
        ]
        self.assertEqual(V.DAMAGED, outcome(lines, late_after_ms=9).verdict)


def complete(outcomes, slot):
    """What the guests did that are complete in a slot."""
    return verdict.complete(verdict.by_slot(outcomes).get(slot.number, ()))


class CompleteTest(testtools.TestCase):
    def test_only_complete_guests_are_in_the_figures(self):
        healthy = [
            outcome(console.whole_run(SLOTS, guest=name), guest=name)
            for name in ('g000', 'g001')
        ]
        late = outcome(
            console.whole_run(SLOTS, guest='g002'),
            guest='g002',
            late_after_ms=1,
        )
        found = complete([*healthy, late, outcome([])], PLAN.slots[0])
        self.assertEqual(['g000', 'g001'], [each.guest for each in found])
        self.assertAlmostEqual(1001 / 2.001, found[0].result.iops)

    def test_without_a_complete_guest_there_is_no_figure(self):
        self.assertEqual([], complete([outcome([])], PLAN.slots[0]))

    def test_a_tiers_guests_are_not_in_another_tiers_slot(self):
        found = outcome(console.whole_run(SLOTS))
        self.assertEqual([], complete([found], PLAN.slots[2]))


class HeardOutTest(testtools.TestCase):
    """Whether to listen on."""

    lines = console.whole_run(SLOTS)[:-1]

    def heard_out(self, *more, lines=None):
        heard = frames.GuestConsole(run=console.RUN, guest='g000')
        heard.feed(''.join(lines or self.lines) + ''.join(more))
        return verdict.is_complete(heard)

    def test_who_is_done_and_lacks_nothing_is_not_waited_for(self):
        self.assertTrue(self.heard_out(console.event(9, 'DONE copies=2')))

    def test_who_is_not_done_is(self):
        self.assertFalse(self.heard_out())

    def test_a_missing_line_is_waited_for_until_the_last_copy(self):
        lines = [line for line in self.lines if ' data 1 2/' not in line]
        done = console.event(9, 'DONE copies=3')
        repeated = console.event(10, 'REPEATED copy=2')
        self.assertFalse(self.heard_out(done, repeated, lines=lines))
        self.assertTrue(
            self.heard_out(
                done,
                repeated,
                console.event(11, 'REPEATED copy=3'),
                lines=lines,
            )
        )
        self.assertTrue(
            self.heard_out(console.event(9, 'DONE copies=1'), lines=lines)
        )

    def test_who_failed_prints_no_copy(self):
        self.assertTrue(
            self.heard_out(
                console.event(4, 'FAILED : no disk'), lines=self.lines[:1]
            )
        )
