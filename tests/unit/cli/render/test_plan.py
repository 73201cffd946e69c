# SPDX-License-Identifier: Apache-2.0

import logging

import ddt
import testtools

from cinder_tiers.cli import base
from cinder_tiers.cli.render import plan as render
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from tests.unit.domain.plan import test_effects

MOVES = effects.Effect(bytes_to_move=3 * 2**30, statements=('moves 3 GiB',))
STOPS = effects.Effect(problems=('Ceph would stop',))
UNKNOWN = effects.Effect(bytes_to_move=None, statements=('no figures',))


def action(refusal=None):
    return actions.Action(
        key=test_effects.KEY,
        before=test_effects.pool(),
        why='tier a',
        after=test_effects.pool(size=3),
        refusal=refusal,
    )


@ddt.ddt
class EffectsTestCase(testtools.TestCase):
    def row(self, effect):
        return dict(
            zip(
                render.PLAN_COLUMNS,
                render.plan_row(action(), effect),
                strict=True,
            )
        )

    @ddt.data(
        (MOVES, '3 GiB', 3 * 2**30),
        (effects.NONE, '0 B', 0),
        (UNKNOWN, 'unknown', None),
    )
    @ddt.unpack
    def test_programs_see_bytes_and_people_a_unit(self, effect, text, number):
        cell = self.row(effect)['Bytes to move']
        self.assertEqual(
            (text, number), (cell.human_readable(), cell.machine_readable())
        )

    def test_each_statement_is_a_line_of_the_column(self):
        self.assertEqual(
            'a\nproblem: b',
            self.row(effects.Effect(statements=('a',), problems=('b',)))[
                'Effect'
            ],
        )

    @ddt.data(
        (MOVES, False, 'WARNING'),
        (MOVES, True, 'ERROR'),
        (STOPS, False, 'ERROR'),
        (UNKNOWN, False, 'WARNING'),
    )
    @ddt.unpack
    def test_what_stops_volumes_is_as_loud_as_what_is_refused(
        self, effect, refused, level
    ):
        refusal = refused and actions.Refusal(reason='it moves', remedy='no')
        with self.assertLogs('command') as seen:
            self.log(action(refusal or None), effect)
        self.assertEqual(
            [
                f'{level}:command:effect of update pool tier-a (ceph), '
                f'estimated: {effect}'
            ],
            seen.output,
        )

    def test_of_what_has_no_effect_nothing_is_said(self):
        with self.assertNoLogs('command'):
            self.log(action(), effects.NONE)

    def log(self, one, effect):
        base.log_effects(
            logging.getLogger('command'), [one], {one.key: effect}
        )
