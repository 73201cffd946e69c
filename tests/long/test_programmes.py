# SPDX-License-Identifier: Apache-2.0

"""Programmes of benchmarks/ whose result can be wrong, at a size that tells.

They need no lab; here they have the time.
"""

import json
import pathlib
import subprocess
import sys

import fixtures
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
#: Examples of a request that the doors meet; the unit tests try fewer.
EXAMPLES = 3000
#: Processor time beside that of a sound catalog of 500 tiers: two to four
#: times what the slowest hostile one takes, a tenth of what it would take
#: without a bound of its own.
MOST_RATIO = 50
#: Percent of 1,000 comparisons that claim something while they are followed:
#: 5, and two standard deviations of it.
MOST_FALSE_OF_FOLLOWED = 6.4
#: Of what each protocol concludes, and three standard deviations of it.
MOST_FALSE = {'gate': 6, 'effects': 6.5, 'headroom': 8.8, 'tune': 17}
#: What no rule can know: the two gates of a single run know nothing of how
#: much the new side varies, or of spells as long as the baseline; one run
#: nothing of others; and where half of the measurements are a quarter slower,
#: a limit in between holds in one of two.
KNOWN_FALSE = (
    ('gate, first 9', 'spells'),
    ('gate, first 9', 'of one side'),
    ('headroom, runs: 1', None),
    ('headroom', 'of one side'),
    ('headroom', 'bimodal'),
    ('headroom', 'half and half'),
    ('headroom', '1 of 8 slow'),
)


class ProgrammesTest(testtools.TestCase):
    def run_it(self, name, *arguments):
        """The values that a programme writes, when it ends well."""
        file = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'values.json'
        )
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                f'benchmarks.{name}',
                *arguments,
                '--json',
                str(file),
            ],
            cwd=TOP,
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return json.loads(file.read_text('utf-8'))

    def test_no_catalog_is_far_more_expensive_than_a_sound_one(self):
        found = self.run_it('hostile_catalogs')
        self.assertEqual(
            {},
            {
                text: row
                for text, row in found.items()
                if row['ratio'] > MOST_RATIO
            },
        )

    def test_the_invariants_hold_for_thousands_of_examples(self):
        found = self.run_it('invariants', '--examples', str(EXAMPLES))
        self.assertEqual((EXAMPLES, {}), (found['examples'], found['broken']))

    def test_hundreds_of_guests_leave_what_is_documented(self):
        """As doc/source/user/large-clouds.rst has it, and some more."""
        found = self.run_it('large_fleet')
        run = found['run']
        self.assertEqual(300 * 18, run['guest_turns'])
        self.assertLess(run['file_bytes'], 3.5 * 2**20)
        self.assertLess(run['rally_bytes'], 50_000)
        self.assertLess(run['lines'], 130)
        self.assertLess(
            run['peak_mib'] - run['before_mib'] - run['consoles_mib'], 550
        )
        for command in ('result', 'report'):
            self.assertEqual(0, found[command]['status'])
            self.assertLess(found[command]['peak_mib'], 600)

    def test_what_is_acted_upon_is_seldom_false(self):
        found = self.run_it('protocols')
        wrong = {}
        for name, row in found.items():
            for noise, values in row.items():
                # Of a promise and of a proposal: what comes of it.
                false = values if isinstance(values, float) else values[-1]
                if false > MOST_FALSE[name.split()[0].rstrip(',')] and not any(
                    name.startswith(begin) and each in (None, noise)
                    for begin, each in KNOWN_FALSE
                ):
                    wrong[name, noise] = values
        self.assertEqual({}, wrong)

    def test_few_comparisons_claim_what_is_not_so(self):
        found = self.run_it('false_claims')
        percents = {
            (noise, runs): sum(by_repeats.values()) / len(by_repeats)
            for noise, row in found['false'].items()
            for runs, by_repeats in row.items()
        }
        self.assertEqual(
            {}, {cell: each for cell, each in percents.items() if each > 5}
        )
        followed = found['followed']
        self.assertEqual(
            {},
            {
                noise: each
                for noise, each in followed.items()
                if each['false'] > MOST_FALSE_OF_FOLLOWED
                or each['one']['found'] < 80
                or each['all']['found'] < 90
            },
        )
