# SPDX-License-Identifier: Apache-2.0

"""The search of a tuning, in worlds whose truth is known."""

import contextlib
import functools
import math
import os
import pathlib
import random
import re
import stat
import tempfile

import testtools

from cinder_tiers.loop.tune import decision
from cinder_tiers.loop.tune import history
from cinder_tiers.loop.tune import study

SPACE = {f'option{place}': 5 for place in range(5)}
SLOTS = 52
SLOT_S = 60.0


def world(block, candidate, *, planted=True, noise=0.05, seed=1):
    """The gain of a candidate in a block: always the same."""
    draw = random.Random(f'{seed} {block} {candidate}')
    truth = math.log(2) if planted and candidate[2] == 3 else 0.0
    return truth + draw.gauss(0, noise * math.sqrt(2))


def terms(**changed):
    return study.TuningTerms(**{'space': SPACE, 'seed': 1, **changed})


def outcomes(block, gain):
    """Of a block whose candidates keep all promises."""
    return [
        history.CandidateOutcome(candidate=each, gain=gain(each))
        for each in block.candidates
    ]


def carry_on(found, *, slots=SLOTS, broken=lambda candidate: (), **about):
    """Measures until the end of a study; returns the blocks."""
    blocks = []
    while True:
        block = found.next_block(slots - found.history.seconds / SLOT_S)
        if block is None:
            return blocks
        blocks.append(block)
        found.take(
            block,
            [
                history.CandidateOutcome(
                    candidate=each,
                    gain=world(block.number, each, **about),
                    broken=broken(each),
                )
                for each in block.candidates
            ],
            seconds=SLOT_S * block.slots,
        )


def end_of(found):
    """All that a study says in the end."""
    return found.history


class StudyTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / 'tune.log')
        self.held = contextlib.ExitStack()
        self.addCleanup(self.held.close)

    def study(self, about):
        """That of the file, as another process would find it."""
        self.held.close()
        return study.Study(
            self.held.enter_context(study.opened(self.path)), about
        )

    def test_a_planted_optimum_is_found_within_25_trials_and_confirmed(self):
        for seed in range(3):
            found = study.Study(None, terms(seed=seed))
            blocks = carry_on(found, seed=seed)
            searched = [
                each
                for each in blocks
                if each.part is history.BlockPurpose.SEARCH
            ]
            trials = [
                candidate for each in searched for candidate in each.candidates
            ]
            self.assertIn(3, [candidate[2] for candidate in trials[:25]])
            chosen = found.history.proposed
            self.assertEqual(3, chosen.candidate[2])
            self.assertAlmostEqual(100, chosen.difference.percent, delta=15)
            confirmed = [each for each in blocks if each not in searched]
            self.assertGreaterEqual(len(confirmed), decision.LEAST_BLOCKS)
            self.assertLessEqual(sum(each.slots for each in blocks), SLOTS)

    def test_on_a_flat_world_nothing_is_better(self):
        for seed in range(5):
            found = study.Study(None, terms(seed=seed))
            carry_on(found, planted=False, seed=seed)
            self.assertIsNone(found.history.proposed)

    def test_what_breaks_a_promise_is_never_proposed(self):
        found = study.Study(None, terms())
        carry_on(
            found,
            broken=lambda each: ('p99 of another tier',) * (each[2] == 3),
        )
        self.assertIsNone(found.history.proposed)
        self.assertTrue(all(each[2] != 3 for each in found.history.finalists))
        self.assertTrue(all(each[2] == 3 for each in found.history.broken))

    def test_what_breaks_a_promise_later_is_not_proposed_either(self):
        found = study.Study(None, terms())
        while found.history.finalists is None:
            block = found.next_block(SLOTS - found.history.seconds / SLOT_S)
            if block.part is history.BlockPurpose.CONFIRM:
                break
            found.take(
                block,
                outcomes(block, functools.partial(world, block.number)),
                seconds=SLOT_S * block.slots,
            )
        carry_on(found, broken=lambda each: ('p99 of another tier',))
        self.assertEqual((), found.history.confirmations)
        self.assertEqual(history.End.NOTHING, found.history.end)

    def test_a_candidate_without_a_figure_is_no_gain(self):
        found = study.Study(None, terms())
        block = found.next_block(SLOTS)
        found.take(
            block,
            outcomes(block, lambda each: None),
            seconds=1.0,
        )
        self.assertEqual((), found.history.gains)
        self.assertEqual(2, found.next_block(SLOTS).number)

    def test_a_budget_that_is_too_small_confirms_nothing(self):
        found = study.Study(None, terms())
        self.assertIsNone(found.next_block(5))
        self.assertEqual(history.End.SEARCHING, found.history.end)
        self.assertIsNotNone(found.next_block(SLOTS))

    def test_each_value_is_tried_first(self):
        found = study.Study(None, terms())
        for _ in range(3):
            block = found.next_block(SLOTS)
            found.take(
                block,
                outcomes(block, lambda each: -0.1),
                seconds=1.0,
            )
        tried = [each.candidate for each in found.history.gains]
        # Some of them alone, where nothing hides what they do.
        self.assertGreaterEqual(
            sum(sum(map(bool, each)) == 1 for each in tried), 4
        )
        for place in range(5):
            self.assertLessEqual(
                {1, 2, 3, 4},
                {each.candidate[place] for each in found.history.gains},
            )

    def test_a_small_space_is_searched_until_it_is_known(self):
        """Nothing is measured for the time that is left."""
        found = study.Study(None, terms(space={'option': 3}))
        blocks = []
        while (block := found.next_block(10_000)) is not None:
            blocks.append(block)
            found.take(
                block,
                outcomes(block, lambda each: 0.7 * (each == (1,)) + 0.01),
                seconds=1.0,
            )
        searched = [
            candidate
            for each in blocks
            if each.part is history.BlockPurpose.SEARCH
            for candidate in each.candidates
        ]
        self.assertEqual({(1,), (2,)}, set(searched))
        self.assertLessEqual(len(searched), 6)
        self.assertEqual((1,), found.history.proposed.candidate)

    def test_the_file_is_its_owners(self):
        self.study(terms())
        self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path).st_mode))

    def test_a_link_in_place_of_the_file_is_not_followed(self):
        os.symlink(f'{self.path}.other', self.path)
        self.assertRaises(OSError, self.study, terms())
        self.assertFalse(os.path.exists(f'{self.path}.other'))

    def test_the_file_of_another_tuning_is_refused(self):
        self.study(terms(about='p99_ms'))
        for other in (
            terms(about='iops'),
            terms(about='p99_ms', seed=2),
            terms(about='p99_ms', space={'x': 2}),
        ):
            self.assertRaises(study.StudyError, self.study, other)
        pathlib.Path(self.path).write_text('{"op_code": 77}\n[]\n')
        self.assertRaises(study.StudyError, self.study, terms())

    def test_killed_at_any_write_it_ends_the_same(self):
        """The file is cut off at 12 places, of a line or within one."""
        whole = self.study(terms())
        carry_on(whole, slots=40)
        content = pathlib.Path(self.path).read_bytes()
        wanted = end_of(whole)
        draw = random.Random(5)
        for _ in range(12):
            place = draw.randrange(len(content) // 20, len(content))
            pathlib.Path(self.path).write_bytes(content[:place])
            again = self.study(terms())
            carry_on(again, slots=40)
            self.assertEqual(wanted, end_of(again), place)

    def test_any_change_of_the_file_is_refused_or_harmless(self):
        """Nothing but StudyError comes out, whatever is in it."""
        carry_on(self.study(terms()), slots=40)
        lines = pathlib.Path(self.path).read_text().splitlines()
        draw = random.Random(7)
        refused = 0
        hostile = (
            *('[]', '7', '{}', 'null', '{"op_code": 0}', '[' * 5000),
            *('{"op_code": 1e400}', '\x00', 'cos\nsystem\n(S"id"\ntR.'),
        )
        for turn in range(120):
            changed = list(lines)
            place = draw.randrange(len(changed))
            line = changed[place]
            match turn % 4:
                case 0:
                    changed[place] = draw.choice(hostile)
                case 1:
                    del changed[place]
                case 2:
                    cut = draw.randrange(len(line))
                    changed[place] = (
                        line[:cut] + draw.choice('9-"[{x,') + (line[cut + 1 :])
                    )
                case _:
                    changed[place] = re.sub(
                        r'\d+',
                        lambda _: str(draw.choice([-1, 99, 10**30])),
                        line,
                    )
            pathlib.Path(self.path).write_text('\n'.join(changed) + '\n')
            try:
                found = self.study(terms())
                found.next_block(40 - found.history.seconds / SLOT_S)
            except study.StudyError:
                refused += 1
        self.assertGreater(refused, 40)

    def test_what_is_no_regular_file_or_too_large_is_refused(self):
        os.mkfifo(self.path)
        self.assertRaises(study.StudyError, self.study, terms())
        os.unlink(self.path)
        with open(self.path, 'wb') as stream:
            stream.truncate(study.MAX_SIZE_BYTES + 1)
        error = self.assertRaises(study.StudyError, self.study, terms())
        self.assertIn('at most', str(error))

    def test_more_time_confirms_what_had_too_little(self):
        found = self.study(terms())
        while (
            block := found.next_block(28)
        ).part is history.BlockPurpose.SEARCH:
            found.take(
                block,
                outcomes(block, functools.partial(world, block.number)),
                seconds=SLOT_S * block.slots,
            )
            if len(found.history.blocks) == 3:
                break
        carry_on(found, slots=found.history.seconds / SLOT_S + 2)
        self.assertEqual(history.End.UNCONFIRMED, found.history.end)
        again = self.study(terms())
        carry_on(again, slots=SLOTS)
        self.assertEqual(history.End.BETTER, again.history.end)

    def test_two_processes_do_not_search_at_once(self):
        self.study(terms())
        with (
            testtools.ExpectedException(study.StudyInUseError),
            study.opened(self.path),
        ):
            pass
        self.held.close()
        self.study(terms())

    def test_asked_again_it_proposes_the_same(self):
        found = self.study(terms())
        block = found.next_block(SLOTS)
        self.assertEqual(block, found.next_block(SLOTS))
        again = self.study(terms())
        self.assertEqual(block, again.next_block(SLOTS))
