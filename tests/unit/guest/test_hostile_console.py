# SPDX-License-Identifier: Apache-2.0


"""From a console to the report, whatever the console is like.

Thousands of consoles, more than ten thousand in tests/long: what was damaged
on its way gives the true figures or a named verdict, and a guest that lies
with right digests harms nobody but itself.
"""

import json
import math
import re

from hypothesis import given
from hypothesis import strategies
import jsonschema
from rally.common.objects import task as task_objects
import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.fleet import common_clock
from cinder_tiers.figures.fleet import disk_estimate
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.report import disks
from rally_scenarios.plugins.report import tables
import tests
from tests.unit.guest import console_text
from tests.unit.guest import damaged_consoles as consoles
from tests.unit.guest import test_fleet_script

V = verdict.GuestVerdict
LATE_AFTER_MS = 500
DISKS = {'fast': disk_estimate.Disks(disks=3, iops_per_disk=160, replicas=3)}
UNKNOWN = run_result.Fact(value=None, reason='nobody asked')
OUTPUTS = jsonschema.Draft4Validator(
    task_objects.TASK_SCHEMA['definitions']['output']
)
# Of all numbers in a result file, these may be below 0.
MAY_BE_NEGATIVE = {'clock_offset_ms', 'low', 'slope'}

# What a lying guest changes: (line, value in it, by what), likewise in fio's
# output of a slot, and events that it prints besides.
LIES = strategies.lists(
    strategies.tuples(
        strategies.integers(0, 99),
        strategies.integers(0, 99),
        strategies.sampled_from(consoles.NONSENSE),
    ),
    max_size=3,
)
FORGERIES = strategies.lists(
    strategies.tuples(
        strategies.integers(0, 3),
        strategies.integers(0, 999),
        strategies.sampled_from(consoles.NONSENSE),
    ),
    max_size=3,
)
WORDS = strategies.lists(
    strategies.tuples(
        strategies.integers(1, 30),
        strategies.sampled_from(consoles.EVENTS)
        | strategies.text(max_size=40),
    ),
    max_size=2,
)
STARTS = strategies.sampled_from([50000, 50000, 50000, 0, 60000, 10**9])


def judged(position, *texts):
    """One guest, of whose console these texts were read."""
    name = consoles.GUESTS[position]
    heard = frames.GuestConsole(run=console_text.RUN, guest=name)
    for text in texts:
        heard.feed(text)
    return verdict.judge(
        heard,
        guest=name,
        tier='fast',
        plan=consoles.PLAN,
        late_after_ms=LATE_AFTER_MS,
        position=position,
    )


TRUE = tuple(
    judged(position, text) for position, text in enumerate(consoles.CONSOLES)
)


def numbers(value, name=''):
    """All numbers below a plain value, each with its name."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from numbers(each, key)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from numbers(each, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


def assert_honest(test, outcome, truth):
    """What is complete is true, and what is not is named."""
    for found, true in zip(outcome.slots, truth.slots, strict=True):
        if found.verdict is V.COMPLETE:
            test.assertEqual(true, found)
        else:
            test.assertNotEqual('', found.reason)
            test.assertIsNone(found.measured)
    for name in (
        'clock_offset_ms',
        'clock_error_ms',
        'start_ms',
        'kernel',
        'target',
    ):
        test.assertIn(getattr(outcome, name), (None, getattr(truth, name)))


class HostileConsoleTest(testtools.TestCase):
    def written(self, outcomes):
        """The result file of a run, after all that may be seen of it.

        Most consoles of ten thousand end alike but for words.
        """
        outcomes = common_clock.reject_wrong_clocks(
            outcomes, {}, late_after_ms=LATE_AFTER_MS
        )
        for outcome in outcomes:
            for reason in outcome.reasons:
                self.assertTrue(reason.isprintable() and '<' not in reason)
        ending = tuple(
            (
                outcome.guest,
                outcome.clock_offset_ms,
                outcome.clock_samples,
                tuple((slot.verdict, slot.measured) for slot in outcome.slots),
            )
            for outcome in outcomes
        )
        if ending not in WRITTEN:
            WRITTEN[ending] = self.result_of(outcomes)
        return WRITTEN[ending]

    def result_of(self, outcomes):
        result = build.build_result(
            run=console_text.RUN,
            ended_at='2026-11-21T20:00:00+00:00',
            profile=consoles.PROFILE,
            plan=consoles.PLAN,
            guests_per_tier=2,
            outcomes=outcomes,
            images={'fast': UNKNOWN},
            environment=dict.fromkeys(run_result.ENVIRONMENT, UNKNOWN),
            volume_types={'fast': UNKNOWN},
            hosts={each.guest: None for each in outcomes},
        )
        self.assertEqual(result, run_result.read(run_result.write(result)))
        for name, number in numbers(record.plain(result)):
            self.assertTrue(
                math.isfinite(number)
                and (number >= 0 or name in MAY_BE_NEGATIVE),
                (name, number),
            )
        self.assert_fit_to_show(result)
        return result

    def assert_fit_to_show(self, result):
        additive = tables.additive_output(result)
        outputs = {
            'additive': [additive] if additive else [],
            'complete': [
                *tables.complete_outputs(result),
                *disks.outputs(result, DISKS),
            ],
        }
        # That none of it becomes markup: see test_harmless_report.
        text = json.dumps(outputs, allow_nan=False)
        # To the schema it does not matter which words and which numbers.
        shape = re.sub(r'"[^"]*"|[0-9.]+', lambda found: found[0][0], text)
        shape = re.sub('[0-9]', '0', shape)
        if shape not in SHOWN:
            SHOWN.add(shape)
            OUTPUTS.validate(outputs)

    def assert_figures_are_true(self, result):
        """Each figure is the sum of what the complete guests truly did."""
        true = {
            (guest.guest, found.slot.number): found.measured.result
            for guest in TRUE
            for found in guest.slots
        }
        for pattern in result.tiers[0].patterns:
            for slot in pattern.slots:
                complete = [
                    true[guest.guest, slot.number]
                    for guest in slot.guests
                    if guest.verdict == 'complete'
                ]
                self.assertEqual(
                    len(complete), slot.merged.guests if slot.merged else 0
                )
                if complete:
                    self.assertEqual(
                        (
                            sum(each.iops for each in complete),
                            sum(each.clat.count for each in complete),
                        ),
                        (slot.merged.iops, slot.merged.clat.histogram().count),
                    )

    def test_the_undamaged_run_is_complete(self):
        result = self.written(list(TRUE))
        self.assertEqual(
            ['complete'] * 2, [guest.verdict for guest in result.guests]
        )
        self.assert_figures_are_true(result)

    @tests.examples(3000, derandomize=True)
    @given(consoles.damages(), consoles.damages(3))
    def test_damaged_consoles_give_true_figures_or_a_verdict(
        self, first, second
    ):
        found = [
            judged(position, consoles.damaged(text, drawn))
            for position, (text, drawn) in enumerate(
                zip(consoles.CONSOLES, (first, second), strict=True)
            )
        ]
        for outcome, truth in zip(found, TRUE, strict=True):
            assert_honest(self, outcome, truth)
        self.assert_figures_are_true(self.written(found))

    @tests.examples(3000, derandomize=True)
    @given(
        consoles.damages(3),
        strategies.integers(200, 9000),
        strategies.integers(400, 5000),
    )
    def test_a_console_that_forgets_gives_true_figures_or_a_verdict(
        self, drawn, width, step
    ):
        """Read piece by piece, the pieces overlapping or not."""
        found = judged(
            0,
            *consoles.readings(
                consoles.damaged(consoles.CONSOLES[0], drawn), width, step
            ),
        )
        assert_honest(self, found, TRUE[0])
        self.assert_figures_are_true(self.written([found, TRUE[1]]))

    @tests.examples(4000, derandomize=True)
    @given(LIES, FORGERIES, WORDS, STARTS)
    def test_a_guest_that_lies_harms_nobody_else(
        self, events, documents, more, start_ms
    ):
        text = consoles.forged(events, documents, more, start_ms)
        found = judged(1, text)
        self.assertEqual(
            TRUE[0].slots, judged(0, text, consoles.CONSOLES[0]).slots
        )
        result = self.written([TRUE[0], found])
        for slot in result.tiers[0].patterns[0].slots:
            self.assertEqual('complete', slot.guests[0].verdict)
        for pattern in result.tiers[0].patterns:
            for slot in pattern.slots:
                self.assertLessEqual(
                    slot.merged.start_skew_ms, 2 * LATE_AFTER_MS
                )
                self.assertGreaterEqual(slot.merged.iops, slot.guests[0].iops)


class RealConsoleTest(test_fleet_script.LocalFleetCase):
    def judged(self, text):
        heard = frames.GuestConsole(run=test_fleet_script.RUN, guest='g000')
        heard.feed(text)
        return verdict.judge(
            heard,
            guest='g000',
            tier='fast',
            plan=self.local.plan,
            late_after_ms=test_fleet_script.LATE_AFTER_MS,
        )

    def test_a_damaged_console_of_a_guest_is_true_or_named(self):
        self.local = self.fleet(['fast', 'fast'], copies=2)
        self.local.start(0, shell='busybox')
        self.local.start(1, shell='dash')
        self.local.wait()
        own, other = (
            self.local.console_path(number).read_text() for number in range(2)
        )
        truth = self.judged(own)
        self.assertEqual(V.COMPLETE, truth.verdict, own)

        # The made consoles are of the same run, and theirs are not damaged.
        @tests.examples(1000, derandomize=True)
        @given(
            consoles.damages(without=['another guest']), strategies.booleans()
        )
        def damage(drawn, both):
            assert_honest(
                self,
                self.judged(
                    consoles.damaged(own + other if both else own, drawn)
                ),
                truth,
            )

        damage()


WRITTEN: dict[tuple, run_result.RunResult] = {}
SHOWN: set[str] = set()
