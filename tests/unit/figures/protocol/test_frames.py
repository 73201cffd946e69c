# SPDX-License-Identifier: Apache-2.0

import gzip

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.figures.protocol import frames
import tests
from tests.unit.figures import recorded
from tests.unit.guest import console_text as console

OUTPUT = recorded.text('randwrite-4k')
# Narrow lines, so that the damage has many of them to choose from.
LINES = console.result(3, OUTPUT, width=60)


def heard(text, *, guest='g000', run=console.RUN):
    found = frames.GuestConsole(run=run, guest=guest)
    found.feed(text)
    return found


def reason(text, slot=3):
    try:
        heard(text).result(slot)
    except frames.DamagedResult as error:
        return str(error)
    raise AssertionError('the result was taken for whole')


class ResultTest(testtools.TestCase):
    def test_a_whole_result_comes_out_as_it_went_in(self):
        self.assertEqual(OUTPUT, heard(''.join(LINES)).result(3))

    def test_order_repetition_carriage_returns_and_chatter_do_not_matter(self):
        text = ''.join(
            f'[ 12.3] kernel: something\nlogin: {line[:-1]}\r\n'
            for line in reversed(LINES)
        )
        found = heard(text)
        found.feed(text)
        self.assertEqual((OUTPUT, 0), (found.result(3), found.damaged_lines))

    def test_a_console_read_while_a_line_is_being_printed_is_not_damaged(self):
        """Every reading shows a little more, and forgets the beginning."""
        text = ''.join(LINES)
        found = heard('')
        for end in range(40, len(text) + 40, 37):
            found.feed(text[max(0, end - 600) : end])
        self.assertEqual(OUTPUT, found.result(3))

    def test_a_lost_line_is_named(self):
        self.assertEqual(
            f'1 of {len(LINES)} lines are missing, the first is line 8',
            reason(''.join(LINES[:7] + LINES[8:])),
        )

    def test_a_changed_line_counts_as_lost(self):
        line = LINES[7].replace(LINES[7][80], '#', 1)
        found = heard(''.join(LINES[:7]) + line + ''.join(LINES[8:]))
        self.assertEqual(1, found.damaged_lines)
        self.assertRaises(frames.DamagedResult, found.result, 3)

    def test_two_copies_damaged_in_different_places_give_the_whole(self):
        first = LINES[:7] + LINES[8:-1]
        second = LINES[3:]
        found = heard(''.join(first))
        self.assertEqual({3: (8, len(LINES))}, found.missing.lines)
        found.feed(''.join(second))
        self.assertEqual(
            (OUTPUT, frames.Missing()), (found.result(3), found.missing)
        )

    def test_what_is_there_and_wrong_is_not_missing(self):
        """To ask again would bring the same."""
        other = console.result(3, recorded.text('write-1m'), width=60)
        self.assertFalse(heard(''.join(LINES[:5] + other[:2])).missing)

    def test_a_result_of_which_nothing_came_is_damaged(self):
        self.assertEqual('nothing of it arrived', reason('boot\n'))

    def test_two_results_for_one_slot_are_refused(self):
        other = console.result(3, recorded.text('write-1m'), width=60)
        self.assertIn('different results', reason(''.join(LINES + other)))

    def test_one_line_in_two_intact_versions_is_refused(self):
        """Only a hostile guest can do that."""
        forged = console.frame(LINES[0].split(' ', 2)[2][:-5] + 'AAAA')
        self.assertIn('different results', reason(''.join(LINES) + forged))

    def test_lines_of_another_run_or_guest_do_not_count(self):
        lines = ''.join(LINES)
        for found in (heard(lines, run='f' * 16), heard(lines, guest='g001')):
            self.assertRaises(frames.DamagedResult, found.result, 3)

    def test_a_bomb_is_not_unpacked(self):
        bomb = gzip.compress(b'\0' * (64 * 1024**2), mtime=0)
        self.assertIn(
            'unpacks to more than',
            reason(''.join(console.result(3, b'', packed=bomb))),
        )

    def test_what_is_no_whole_gzip_data_is_refused(self):
        packed = gzip.compress(OUTPUT, mtime=0)
        for wrong, message in (
            (b'no gzip', 'not gzip data'),
            (packed[:-9], 'truncated or followed'),
            (packed + b'x', 'truncated or followed'),
        ):
            self.assertIn(
                message, reason(''.join(console.result(3, b'', packed=wrong)))
            )

    def test_a_claim_of_too_many_lines_is_not_believed(self):
        text = console.frame(
            f'{console.RUN} g000 data 3 1/4501 {"0" * 16} AAAA'
        )
        self.assertEqual(
            'it has 4501 lines: expected at most 4500', reason(text)
        )

    def test_a_result_that_is_too_long_is_not_asked_for_again(self):
        found = heard(
            console.event(1, 'END slot=3')
            + ''.join(
                console.frame(
                    f'{console.RUN} g000 data 3 {seq}/4501 {"0" * 16} AAAA'
                )
                for seq in (1, 1, 2)
            )
        )
        self.assertFalse(found.missing)
        self.assertEqual(1, found.damaged_lines)

    def test_of_many_lines_that_are_missing_the_first_are_named(self):
        text = console.frame(
            f'{console.RUN} g000 data 3 2/4500 {"0" * 16} AAAA'
        )
        self.assertEqual((1, *range(3, 402)), heard(text).missing.lines[3])
        self.assertIn('4499 of 4500 lines are missing', reason(text))

    @tests.examples(300)
    @given(strategies.data())
    def test_a_damaged_console_gives_the_result_or_a_named_error(self, data):
        """Lines lost, doubled, moved, cut, glued and overwritten."""
        lines = list(LINES)
        for _ in range(data.draw(strategies.integers(1, 4))):
            at = data.draw(strategies.integers(0, len(lines) - 1))
            column = data.draw(strategies.integers(0, 120))
            kind = data.draw(
                strategies.sampled_from(
                    ['lose', 'double', 'move', 'cut', 'glue', 'overwrite']
                )
            )
            if kind == 'lose':
                lines[at] = ''
            elif kind == 'double':
                lines.insert(at, lines[at])
            elif kind == 'move':
                lines.append(lines.pop(at))
            elif kind == 'cut':
                lines[at] = lines[at][:column] + '\n'
            elif kind == 'glue':
                lines[at] = lines[at].rstrip('\n')
            else:
                noise = data.draw(strategies.text(max_size=20))
                lines[at] = (
                    lines[at][:column]
                    + noise
                    + lines[at][column + len(noise) :]
                )
        found = heard(''.join(lines))
        try:
            self.assertEqual(OUTPUT, found.result(3))
        except frames.DamagedResult as error:
            self.assertIn('missing', str(error))

    @tests.examples(300)
    @given(
        strategies.text(),
        strategies.text(alphabet='0123456789abcdef /=:@ctiersdataevent\r\n'),
    )
    def test_any_text_at_all_is_borne(self, chatter, rest):
        found = heard(f'{chatter}\n@ctiers {rest}')
        found.feed(console.frame(f'{console.RUN} g000 {rest}'))
        self.assertRaises(frames.DamagedResult, found.result, 3)


class EventTest(testtools.TestCase):
    def test_an_event_comes_with_its_fields_and_its_words(self):
        found = heard(
            console.event(
                7, 'FIO-FAILED slot=2 rc=1 : fio: pid=3, err=28: no space'
            )
        )
        event = found.event('FIO-FAILED')
        self.assertEqual(
            (7, 2, 1, 'fio: pid=3, err=28: no space'),
            (
                event.number,
                event.integer('slot'),
                event.integer('rc'),
                event.text,
            ),
        )
        self.assertIsNone(event.integer('end'))

    def test_a_field_that_is_no_number_is_none(self):
        event = heard(console.event(1, 'END slot=x end=1e9 real=')).events[0]
        self.assertEqual(
            (None, None, None),
            tuple(event.integer(key) for key in ('slot', 'end', 'real')),
        )

    def test_events_come_in_the_order_of_their_numbers(self):
        found = heard(console.event(2, 'READY') + console.event(1, 'BOOT'))
        self.assertEqual(['BOOT', 'READY'], [e.name for e in found.events])

    def test_events_between_those_that_came_are_missing(self):
        found = heard(
            console.event(1, 'BOOT')
            + console.event(5, 'END slot=2')
            + console.event(4, 'START slot=2')
        )
        self.assertEqual(
            frames.Missing(events=(2, 3), lines={2: ()}), found.missing
        )
        self.assertEqual(3, found.missing.count)

    def test_a_number_that_no_guest_reaches_is_not_counted_up_to(self):
        found = heard(console.event(999999, 'END slot=999999999999'))
        self.assertEqual(999, len(found.missing.events))

    def test_an_event_with_a_wrong_digest_did_not_happen(self):
        found = heard(console.event(1, 'DONE').replace('DONE', 'GONE'))
        self.assertEqual(((), 1), (found.events, found.damaged_lines))

    def test_a_flood_of_events_and_of_damage_is_cut_off(self):
        found = heard(
            ''.join(console.event(n, 'READY') for n in range(1, 3000))
        )
        found.feed(''.join(f'@ctiers {n}\n' for n in range(3000)))
        self.assertEqual(
            (1000, 1000), (len(found.events), found.damaged_lines)
        )
