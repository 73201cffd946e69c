# SPDX-License-Identifier: Apache-2.0

import dataclasses

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.figures.fleet import common_clock
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.fleet import volume_types
import tests
from tests.unit.guest import test_verdict

V = verdict.GuestVerdict
LATE_AFTER_MS = 500
# Host time minus leader's time, and the pause between two readings.
HOST_MS = 7_000_000
PAUSE_MS = 2000
TRUE = [
    test_verdict.outcome(
        test_verdict.console.whole_run(test_verdict.SLOTS, guest=name),
        guest=name,
    )
    for name in ('g000', 'g001', 'g002')
]


def heard(outcome, *, behind_ms=lambda at_ms: 0, phase_ms=0):
    """When a guest was heard by readings at equal times.

    :param behind_ms: of its clock, at a time of this clock
    """
    found = {}
    for slot in outcome.slots:
        for name, at_ms in (
            ('START', slot.measured.started_ms),
            ('END', slot.measured.ended_ms),
        ):
            printed_ms = HOST_MS + at_ms + behind_ms(at_ms)
            readings = (printed_ms - phase_ms) // PAUSE_MS
            after_ms = readings * PAUSE_MS + phase_ms
            found[name, slot.slot.number] = common_clock.FirstSeen(
                said_ms=at_ms + outcome.clock_offset_ms,
                after_ms=after_ms,
                by_ms=after_ms + PAUSE_MS,
            )
    return found


def verdicts(outcomes, first_seen):
    return [
        [slot.verdict for slot in outcome.slots]
        for outcome in common_clock.reject_wrong_clocks(
            outcomes, first_seen, late_after_ms=LATE_AFTER_MS
        )
    ]


class CommonClockTest(testtools.TestCase):
    def behind(self, behind_ms, outcomes=TRUE):
        """Verdicts where the clock of the second guest is behind."""
        return verdicts(
            outcomes,
            {
                outcome.guest: heard(
                    outcome,
                    phase_ms=700 * number,
                    **({'behind_ms': behind_ms} if number == 1 else {}),
                )
                for number, outcome in enumerate(outcomes)
            },
        )

    def test_of_two_clocks_that_differ_neither_is_believed(self):
        for by_ms in (-12000, 12000):
            self.assertEqual(
                [[V.WRONG_CLOCK] * 2] * 2,
                self.behind(lambda at_ms, by_ms=by_ms: by_ms, TRUE[:2]),
                by_ms,
            )
        self.assertEqual(
            [[V.COMPLETE] * 2] * 2, self.behind(lambda at_ms: 0, TRUE[:2])
        )

    def test_a_guest_of_more_turns_has_no_more_of_a_say(self):
        """As the first of guest_steps, which runs in each of them."""
        first, *others = TRUE
        others = [
            dataclasses.replace(each, slots=each.slots[1:]) for each in others
        ]
        for by_ms in (-60000, 60000):

            def told(outcomes, by_ms=by_ms):
                return verdicts(
                    outcomes,
                    {
                        each.guest: heard(
                            each,
                            phase_ms=700 * number,
                            **(
                                {}
                                if number
                                else {'behind_ms': lambda _: by_ms}
                            ),
                        )
                        for number, each in enumerate(outcomes)
                    },
                )

            self.assertEqual(
                [[V.WRONG_CLOCK] * 2, [V.WRONG_CLOCK]],
                told([first, others[0]]),
            )
            self.assertEqual(
                [[V.WRONG_CLOCK] * 2, [V.COMPLETE], [V.COMPLETE]],
                told([first, *others]),
            )

    def test_clocks_that_nobody_sets_may_drift_for_hours(self):
        """200 ppm from the host's: 6 s in 8 hours, and 0.2 s in a block."""
        hour_ms = 3_600_000

        def later(found, hours):
            return dataclasses.replace(
                found,
                slot=dataclasses.replace(
                    found.slot, number=found.slot.number + 10 * hours
                ),
                measured=dataclasses.replace(
                    found.measured,
                    planned_ms=found.measured.planned_ms + hours * hour_ms,
                    started_ms=found.measured.started_ms + hours * hour_ms,
                    ended_ms=found.measured.ended_ms + hours * hour_ms,
                ),
            )

        outcomes = [
            dataclasses.replace(
                each,
                slots=tuple(
                    later(found, hours)
                    for hours in range(9)
                    for found in each.slots
                ),
            )
            for each in TRUE
        ]
        found = verdicts(
            outcomes,
            {
                each.guest: heard(
                    each,
                    behind_ms=lambda at_ms: at_ms // 5000,
                    phase_ms=700 * number,
                )
                for number, each in enumerate(outcomes)
            },
        )
        self.assertEqual({V.COMPLETE}, {each for row in found for each in row})

    @tests.examples(300)
    @given(
        strategies.lists(
            strategies.tuples(
                strategies.integers(0, PAUSE_MS),
                strategies.integers(0, 4500),
                strategies.integers(0, 1900),
            ),
            min_size=3,
            max_size=3,
        )
    )
    def test_right_clocks_are_right_whenever_they_are_read(self, guests):
        """Lines may be late by what printing takes, seldom all of them."""
        last_ms = TRUE[0].slots[1].measured.ended_ms

        def behind_ms(late_ms, least_ms):
            return lambda at_ms: least_ms if at_ms >= last_ms else late_ms

        self.assertEqual(
            [[V.COMPLETE] * 2] * 3,
            verdicts(
                TRUE,
                {
                    outcome.guest: heard(
                        outcome,
                        phase_ms=phase_ms,
                        behind_ms=behind_ms(*lateness),
                    )
                    for outcome, (phase_ms, *lateness) in zip(
                        TRUE, guests, strict=True
                    )
                },
            ),
        )

    @tests.examples(300)
    @given(strategies.integers(10000, 10**6), strategies.integers(0, 2000))
    def test_a_clock_that_stands_still_is_wrong_from_then_on(
        self, still_ms, phase_ms
    ):
        begin_of_second = TRUE[0].slots[1].measured.started_ms

        def behind_ms(at_ms):
            return still_ms if at_ms >= begin_of_second else 0

        first_seen = {outcome.guest: heard(outcome) for outcome in TRUE}
        first_seen['g001'] = heard(
            TRUE[1], behind_ms=behind_ms, phase_ms=phase_ms
        )
        self.assertEqual(
            [[V.COMPLETE] * 2, [V.COMPLETE, V.WRONG_CLOCK], [V.COMPLETE] * 2],
            verdicts(TRUE, first_seen),
        )

    def test_how_far_it_is_off_is_told(self):
        first_seen = {outcome.guest: heard(outcome) for outcome in TRUE}
        first_seen['g001'] = heard(TRUE[1], behind_ms=lambda _at: 60000)
        found = common_clock.reject_wrong_clocks(
            TRUE, first_seen, late_after_ms=LATE_AFTER_MS
        )[1]
        self.assertRegex(
            found.reasons[0],
            r'at least 5[5-9]\d\d\d ms behind'
            r'.* START of randwrite-4k',
        )
        self.assertEqual(TRUE[1].slots[0].measured, found.slots[0].measured)

    def test_a_clock_that_is_ahead_is_found(self):
        self.assertEqual(
            [[V.COMPLETE] * 2, [V.WRONG_CLOCK] * 2, [V.COMPLETE] * 2],
            self.behind(lambda _at: -12000),
        )

    def test_a_pause_in_the_last_slot_is_found_at_its_end(self):
        last_ms = TRUE[0].slots[1].measured.ended_ms
        self.assertEqual(
            [V.COMPLETE, V.WRONG_CLOCK],
            self.behind(lambda at_ms: 12000 * (at_ms >= last_ms))[1],
        )

    def test_a_single_line_that_came_late_is_no_wrong_clock(self):
        """What is behind stays behind."""
        end_ms = TRUE[0].slots[0].measured.ended_ms
        self.assertEqual(
            [[V.COMPLETE] * 2] * 3,
            self.behind(lambda at_ms: 60000 * (at_ms == end_ms)),
        )

    def test_what_is_said_again_and_again_needs_less(self):
        self.assertEqual([V.WRONG_CLOCK] * 2, self.behind(lambda _at: 7000)[1])

    def test_what_nobody_heard_is_not_judged(self):
        self.assertEqual([[V.COMPLETE] * 2] * 3, verdicts(TRUE, {}))
        first_seen = {
            outcome.guest: {
                key: common_clock.FirstSeen(
                    said_ms=said.said_ms, after_ms=None, by_ms=10**9
                )
                for key, said in heard(outcome).items()
            }
            for outcome in TRUE
        }
        self.assertEqual([[V.COMPLETE] * 2] * 3, verdicts(TRUE, first_seen))

    def test_a_guest_that_was_told_another_start_is_named(self):
        other = test_verdict.outcome(
            test_verdict.console.whole_run(
                test_verdict.SLOTS, guest='g003', start_ms=60000
            ),
            guest='g003',
        )
        self.assertEqual(V.COMPLETE, other.verdict)
        found = common_clock.reject_wrong_clocks(
            [*TRUE, other], {}, late_after_ms=LATE_AFTER_MS
        )
        self.assertEqual(
            [V.COMPLETE] * 3 + [V.WRONG_CLOCK],
            [outcome.verdict for outcome in found],
        )
        self.assertEqual(
            ('it was given the start 60000 ms, most guests 50000 ms',),
            found[3].reasons,
        )

    def test_other_verdicts_say_more(self):
        late = test_verdict.outcome(
            test_verdict.console.whole_run(test_verdict.SLOTS, guest='g001'),
            guest='g001',
            late_after_ms=9,
        )
        self.assertEqual(
            [V.LATE] * 2,
            self.behind(lambda _at: 60000, [TRUE[0], late, TRUE[2]])[1],
        )


class PlacingTest(testtools.TestCase):
    def found(self, *types, **expected):
        return [
            outcome.verdict
            for outcome in volume_types.reject_wrong_volume_types(
                TRUE,
                {
                    guest: types if isinstance(types, tuple) else (types,)
                    for guest, types in zip(
                        ('g000', 'g001', 'g002'), types, strict=True
                    )
                },
                expected,
            )
        ]

    def test_a_volume_of_another_type_is_on_the_wrong_tier(self):
        wanted = [V.COMPLETE, V.WRONG_TIER, V.COMPLETE]
        types = ('fast', 'slow', 'fast')
        self.assertEqual(wanted, self.found(*types, database='fast'))
        # Unless it is said, most of them are right.
        self.assertEqual(wanted, self.found(*types))
        self.assertEqual(wanted, self.found(*types, general='slow'))
        self.assertEqual(
            [V.WRONG_TIER, V.COMPLETE, V.WRONG_TIER],
            self.found(*types, database='slow'),
        )

    def test_volumes_that_do_not_agree_are_all_wrong(self):
        self.assertEqual([V.WRONG_TIER] * 3, self.found('a', 'b', None))
        self.assertEqual(
            [V.WRONG_TIER] * 3, self.found('a', 'a', 'a', database='b')
        )

    def test_each_volume_of_a_guest_must_be_on_the_tier(self):
        good, bad = ('fast',) * 4, ('fast', 'fast', 'fast', 'slow')
        self.assertEqual(
            [V.COMPLETE, V.WRONG_TIER, V.COMPLETE],
            self.found(good, bad, good),
        )
        # Even where the same one of all guests is elsewhere.
        self.assertEqual([V.WRONG_TIER] * 3, self.found(bad, bad, bad))
        self.assertEqual(
            [V.WRONG_TIER] * 3, self.found(bad, bad, bad, database='fast')
        )

    def test_a_cloud_without_volume_types_has_no_wrong_tier(self):
        self.assertEqual([V.COMPLETE] * 3, self.found(None, None, None))

    def test_the_reason_names_both_types(self):
        found = volume_types.reject_wrong_volume_types(
            TRUE[:1], {'g000': ['slow']}, {'database': 'fast'}
        )
        self.assertEqual(
            ('its volume has the volume type slow, expected fast',),
            found[0].reasons,
        )

    def test_a_worse_verdict_is_kept(self):
        lost = test_verdict.outcome([])
        self.assertEqual(
            V.LOST,
            volume_types.reject_wrong_volume_types(
                [lost], {'g000': ['slow']}, {'database': 'fast'}
            )[0].verdict,
        )
