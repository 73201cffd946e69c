# SPDX-License-Identifier: Apache-2.0

"""What the log says of a run while guests measure."""

import logging

import fixtures
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins.fleet import progress

PLAN = schedule.plan(
    ['database', 'general'],
    [fio_pattern.Pattern(name='randwrite-4k', rw='randwrite', bs='4k')],
    fio_pattern.Profile(
        ioengine='libaio', region_mib=16, ramp_seconds=5, runtime_seconds=60
    ),
    repeats=2,
)


class ProgressTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.progress = progress.RunProgress(PLAN, ['g000', 'g001'])

    def hear(self, guest, name, **fields):
        self.progress.hear(
            guest, frames.Event(number=1, name=name, fields=fields)
        )

    def lines(self):
        return self.log.output.splitlines()

    def test_a_phase_is_told_when_all_are_in_it(self):
        self.hear('g000', 'BOOT')
        self.hear('g000', 'BOOT')
        self.hear('stranger', 'BOOT')
        self.assertEqual([], self.lines())
        self.hear('g001', 'BOOT')
        self.assertEqual(['All 2 guests have booted'], self.lines())

    def test_a_turn_is_told_once_and_never_back(self):
        self.hear('g000', 'START', slot='0')
        self.hear('g001', 'START', slot='0')
        self.hear('g001', 'START', slot='3')
        self.hear('g000', 'START', slot='1')
        first, last = self.lines()
        self.assertEqual(
            'Turn 1 of 4: randwrite-4k on database, repeat 1 of 2; about 5 min'
            ' left',
            first,
        )
        self.assertEqual(
            'Turn 4 of 4: randwrite-4k on general, repeat 2 of 2; about 2 min'
            ' left',
            last,
        )

    def test_turns_that_do_not_exist_are_not_told(self):
        for slot in ('99', '-1', 'x', '9' * 15):
            self.hear('g000', 'START', slot=slot)
        self.hear('g000', 'START')
        self.assertEqual([], self.lines())
