# SPDX-License-Identifier: Apache-2.0

import dataclasses

import testtools

from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import progress
from cinder_tiers.loop.repair import repair
from tests.unit.loop.repair import test_pace as cases


class ProgressTestCase(testtools.TestCase):
    def test_what_is_left_takes_as_long_for_each_gib(self):
        now_s = [100.0]
        steps = [
            cases.STAYS,
            *(
                dataclasses.replace(
                    cases.MOVES,
                    volume=dataclasses.replace(
                        cases.MOVES.volume, size_gib=size_gib
                    ),
                )
                for size_gib in (10, 20, 30)
            ),
            dataclasses.replace(cases.MOVES, refusal='it is attached'),
        ]
        shown = progress.Progress(steps, lambda: now_s[0])
        lines = []
        for step, takes_s in zip(
            (steps[0], steps[4], *steps[1:4]),
            (5, 0, 600, 1200, 1),
            strict=True,
        ):
            now_s[0] += takes_s
            outcome = repair.StepOutcome.DONE
            lines.append(
                shown.of_result(
                    carry_out.StepResult(step=step, outcome=outcome)
                ).partition('volume')[0]
            )
        self.assertEqual(
            [
                '1 of 4: ',
                '',
                '2 of 4, about 50 min left: ',
                '3 of 4, about 30 min left: ',
                '4 of 4: ',
            ],
            lines,
        )
