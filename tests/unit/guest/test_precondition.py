# SPDX-License-Identifier: Apache-2.0

"""Rounds before the first turn, by the real script, shells and fio."""

import dataclasses
import importlib.resources
import random
import subprocess

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.stats import rounds
from tests.unit.guest import test_fleet_script

SCRIPT = importlib.resources.files('rally_scenarios.guest').joinpath(
    'precondition.sh'
)
ROUNDS = precondition.Precondition(
    pattern=fio_pattern.Pattern(
        name='precondition', rw='randwrite', bs='64k', iodepth=1
    ),
    round_seconds=1,
    most_rounds=6,
)


class PreconditionTestCase(test_fleet_script.LocalFleetCase):
    def preconditioned(self, fleet):
        """The fleet with rounds in its orders."""
        fleet.orders = dataclasses.replace(fleet.orders, precondition=ROUNDS)
        return fleet

    def test_guests_write_rounds_and_then_measure(self):
        fleet = self.preconditioned(self.fleet(['fast', 'fast']))
        for number, shell in enumerate(['busybox', 'dash']):
            fleet.start(number, shell=shell)
        fleet.wait()
        for number, outcome in enumerate(fleet.outcomes()):
            self.assertEqual(
                (verdict.GuestVerdict.COMPLETE, ()),
                (outcome.verdict, outcome.reasons),
                fleet.console_path(number).read_text(errors='replace'),
            )
            found = outcome.preconditioned
            self.assertIn(len(found.rounds_kib), (5, 6))
            self.assertGreater(min(found.rounds_kib), 0)
            said = fleet.console(number).event('PRECONDITIONED')
            self.assertEqual(
                ('yes' if found.is_steady else 'no', len(found.rounds_kib)),
                (said.fields['steady'], said.integer('rounds')),
            )
            # It stopped as soon as it was steady.
            self.assertFalse(rounds.judge(found.rounds_kib[:-1]).is_steady)

    def test_a_guest_whose_round_fails_is_broken_and_says_why(self):
        fleet = self.preconditioned(self.fleet(['fast']))
        tools = self.folder / 'tools'
        tools.mkdir()
        (tools / 'fio').write_text(
            '#!/bin/sh\n'
            'case "$*" in *precondition*) echo no space >&2; exit 28 ;; esac\n'
            'exec /usr/bin/env -i PATH=/usr/bin:/bin fio "$@"\n'
        )
        (tools / 'fio').chmod(0o755)
        fleet.start(0, shell='dash', path=f'{tools}:/usr/bin:/bin')
        fleet.wait()
        (outcome,) = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.BROKEN, outcome.verdict)
        self.assertIn(
            'round 1 before the measurement: no space', outcome.reasons[0]
        )


class SameRuleTestCase(test_fleet_script.LocalFleetCase):
    def test_the_guest_and_the_host_judge_alike(self):
        """Around both limits, by the awk of busybox and of this machine."""
        draw = random.Random(20261124)  # noqa: S311
        series = [
            [0] * 5,
            [100] * 4,
            [100, 90, 110, 90, 110],
            [95, 97, 100, 103, 105],
        ]
        for _number in range(150):
            count = draw.randrange(1, 9)
            slope, noise = draw.uniform(-0.04, 0.04), draw.uniform(0, 0.15)
            series.append(
                [
                    round(
                        1e7
                        * (1 + slope * n)
                        * (1 + draw.uniform(-noise, noise))
                    )
                    for n in range(count)
                ]
            )
        text = (
            f'CT_ROUND_WINDOW={rounds.WINDOW}'
            f' CT_ROUND_EXCURSION={rounds.EXCURSION_PERCENT}'
            f' CT_ROUND_SLOPE={rounds.SLOPE_PERCENT}\n' + SCRIPT.read_text()
        ) + ''.join(
            f'is_steady {" ".join(map(str, each))} && echo yes || echo no\n'
            for each in series
        )
        expected = [
            'yes' if rounds.judge(each).is_steady else 'no' for each in series
        ]
        self.assertGreater(expected.count('yes'), 20)
        self.assertGreater(expected.count('no'), 20)
        for shell in ('busybox', 'dash'):
            ran = subprocess.run(
                [*test_fleet_script.SHELLS[shell]],
                input=text,
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertEqual(expected, ran.stdout.split(), shell)
