# SPDX-License-Identifier: Apache-2.0

import concurrent.futures
import time

import testtools

from cinder_tiers.loop.repair import pace
from cinder_tiers.loop.repair import repair
from tests.unit.loop.repair import test_repair as cases

POLL_S = 0.01
MOVES = repair.RepairStep(
    kind=repair.RepairKind.PLACEMENT,
    volume=cases.VOLUME,
    tier='fast',
    reason='',
)
STAYS = repair.RepairStep(
    kind=repair.RepairKind.LIMITS, volume=cases.VOLUME, tier='fast', reason=''
)
#: By which the 7 GiB of a volume take so long.
SECONDS = 0.3
RATE = 7 * 2**30 / SECONDS


class PaceTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.said = []

    def wait(self, paced, step=MOVES, is_ended=lambda: False):
        """Seconds that a step waited; why it is not to begin."""
        began = time.monotonic()
        never = paced.wait(step, is_ended=is_ended, say=self.said.append)
        return time.monotonic() - began, never

    def test_without_a_budget_nothing_waits(self):
        paced = pace.Pace(poll_s=POLL_S)
        for _ in range(3):
            self.assertLess(self.wait(paced)[0], SECONDS / 3)
        self.assertEqual([], self.said)

    def test_a_step_begins_when_the_bytes_of_the_one_before_are_due(self):
        paced = pace.Pace(
            bytes_per_second=RATE,
            # Long enough for all of them to ask at the same time.
            trouble=lambda: time.sleep(SECONDS / 10) or '',
            poll_s=POLL_S,
        )
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: self.wait(paced), range(4)))
        self.assertGreaterEqual(time.monotonic() - began, 3 * SECONDS)
        self.assertLess(self.wait(paced, STAYS)[0], SECONDS / 3)
        self.assertIn('--max-bytes-per-second', self.said[0])

    def test_nobody_waits_after_the_end(self):
        paced = pace.Pace(bytes_per_second=1.0, poll_s=POLL_S)
        self.wait(paced)
        deadline = time.monotonic() + SECONDS
        waited, never = self.wait(
            paced, is_ended=lambda: time.monotonic() > deadline
        )
        self.assertEqual('', never)
        self.assertLess(waited, 3 * SECONDS)

    def test_a_trouble_is_waited_for_and_said_once(self):
        deadline = time.monotonic() + SECONDS
        paced = pace.Pace(
            trouble=lambda: 'it is slow' * (time.monotonic() < deadline),
            poll_s=POLL_S,
        )
        waited, never = self.wait(paced, STAYS)
        self.assertEqual('', never)
        self.assertGreaterEqual(waited, SECONDS - POLL_S)
        self.assertEqual(['paused: it is slow', 'continues'], self.said)

    def test_a_trouble_that_stays_ends_the_repair(self):
        paced = pace.Pace(
            trouble=lambda: 'it is slow', most_pause_s=SECONDS, poll_s=POLL_S
        )
        waited, never = self.wait(paced)
        self.assertGreaterEqual(waited, SECONDS)
        self.assertIn('it is slow', never)
        # The others do not wait for it again.
        self.assertEqual(never, self.wait(paced)[1])
        self.assertEqual(1, len(self.said))
