# SPDX-License-Identifier: Apache-2.0

"""A plan as the comment of a merge request.

The text of a plan is in plans/comment.md; look at it when it changes.
"""

import dataclasses
import html
import pathlib
import re

import ddt
import testtools

from cinder_tiers.cli.render import plan_markdown
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from tests.unit.cli.render import test_plan_text as given
from tests.unit.cli import tiers_file_case

COMMENT = pathlib.Path(__file__).parents[1] / 'plans' / 'comment.md'
_CODE = re.compile('<code>(.*?)</code>')
EVIL = (
    '@all `</code>` <img src=x onerror=y> [a](http://x) |\n/close #1 !2 ~3 '
    '\x1b[2J\u202e www.x.org :+1: $x$ *b* _i_ \\ &amp; \u00e4'
)


def comment(*chosen, found=given.FOUND):
    return plan_markdown.text(
        plans.Plan(actions=chosen), catalog=given.CATALOG, found=found
    )


def named(action, name):
    return dataclasses.replace(
        action, key=dataclasses.replace(action.key, name=name)
    )


@ddt.ddt
class PlanMarkdownTestCase(testtools.TestCase):
    def test_it_reads_as_it_should(self):
        self.assertEqual(COMMENT.read_text('utf-8'), comment(*given.ALL))

    def test_an_empty_plan_says_so(self):
        self.assertEqual(
            '**No changes: Cinder and Ceph match the tiers file.**\n',
            comment(),
        )

    @ddt.data(*range(len(given.ALL)))
    def test_what_others_name_is_code_and_nothing_else(self, number):
        action = named(given.ALL[number], EVIL)
        action = dataclasses.replace(action, why=EVIL)
        if action.refusal:
            action = dataclasses.replace(
                action,
                refusal=dataclasses.replace(
                    action.refusal, reason=EVIL, remedy=EVIL
                ),
            )
        effect = effects.Effect(
            bytes_to_move=1, statements=(EVIL,), problems=(EVIL,)
        )
        shown = comment(action, found={action.key: effect})
        self.assertTrue(shown.isascii())
        codes = _CODE.findall(shown)
        for one in codes:
            self.assertThat(
                re.sub('&#[0-9]+;', '', one),
                testtools.matchers.MatchesRegex(r'[A-Za-z0-9 (),/+=-]*$'),
            )
        escaped = given.plan_text.cells.printable(EVIL)
        self.assertIn(escaped, html.unescape(' '.join(codes)))
        outside = _CODE.sub('', shown)
        self.assertNotRegex(outside, r'[@`!\[\]&$\\]|//|<(?!br>)')
        self.assertNotIn('onerror', outside)
        # Tables keep their columns.
        for line in outside.splitlines():
            if line.startswith('|'):
                self.assertEqual(6, line.count('|'), line)

    @ddt.data(50, 5000)
    def test_what_is_cut_is_counted(self, count):
        chosen = [
            named(given.ALL[index % 2], f'pool-{index}')
            for index in range(count)
        ]
        found = {one.key: given.MOVES for one in chosen}
        shown = comment(*chosen, found=found)
        self.assertLessEqual(len(shown), plan_markdown.MAX_CHARS)
        rows = shown.count('\n| + create') + shown.count('\n| ~ update')
        reasons = shown.count('  - refused: ')
        if count == 50:
            self.assertEqual((count, count // 2), (rows, reasons))
            self.assertNotIn('Not shown', shown)
            return
        self.assertIn(
            f'**Not shown: {count - rows} of {count} changes, and why '
            f'{count // 2 - reasons} of {count // 2} are refused. A comment '
            'has at most 65,536 characters',
            shown,
        )
        self.assertGreater(reasons, 100)

    def test_the_way_to_allow_it_is_whole(self):
        action = named(given.ALL[1], "'" * 255)
        shown = comment(action, found={action.key: effects.NONE})
        self.assertIn(
            action.consent_argument,
            html.unescape(' '.join(_CODE.findall(shown))),
        )

    def test_one_huge_text_does_not_break_the_limit(self):
        action = dataclasses.replace(
            given.ALL[1],
            refusal=dataclasses.replace(
                given.MOVE, reason='\U0001f4a9' * 10**6
            ),
        )
        shown = comment(action)
        self.assertLess(len(shown), 20_000)
        self.assertIn('...', html.unescape(shown))


class CommandTestCase(tiers_file_case.TiersFileTestCase):
    def test_the_comment_is_all_that_is_printed(self):
        for backend in ('ssd', 'lvm'):
            self.api.add_backend(backend)
        ran = self.run_tier('plan', '-f', 'markdown')
        self.assertEqual((4, ''), (ran.status, ran.stderr))
        self.assertTrue(ran.stdout.startswith('**Plan: '), ran.stdout)
        self.assertIn('| + create | <code>volume type', ran.stdout)
        self.assertEqual(0, self.run_tier('apply').status)
        ran = self.run_tier('plan', '-f', 'markdown')
        self.assertEqual(0, ran.status)
        self.assertTrue(ran.stdout.startswith('**No changes'), ran.stdout)
