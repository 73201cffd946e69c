# SPDX-License-Identifier: Apache-2.0

"""A page that any result is in: its text stays text, and it has a size."""

import json

import hypothesis
from hypothesis import strategies
import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.report import content as report_content
from cinder_tiers.loop.report import html
import tests
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import runs
from tests.unit.loop.report import test_page


#: Each example draws charts: shrinking one would take minutes.
UNSHRUNK = tests.examples(
    12,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


SMALL = run_result.write(
    runs.run(tiers=('a', 'b'), patterns=1, repeats=2, seconds=30)
)


#: Texts that would be markup, end an attribute or a comment, or that neither
#: HTML nor XML can have.
HOSTILE = strategies.sampled_from(
    [
        '<script>alert(1)</script>',
        '"><img src=x onerror=alert(1)>',
        "' onload='alert(1)",
        '</style><script>alert(1)</script>',
        '</title><script>alert(1)</script>',
        ']]><!--',
        '-->',
        '{{ 7 * 7 }}{% raw %}',
        '&lt;b&gt;&amp;',
        'javascript:alert(1)',
        '\x00\x08\x1b[2J\x7f',
        '\u202egnp.exe',
        '\ud800',
        '\ufffe\uffff',
        'datum.value',
        'x' * 400,
        '',
    ]
) | strategies.text(max_size=40)


#: A result has each of them once, wherever it speaks of them.
NAMES = ('tier', 'guest')


TEXTS = (
    *('text', 'about', 'run', 'ended_at', 'host', 'kernel'),
    *('paper', 'where'),
)


def texts_replaced(value, draw, names):
    """A plain result with other people's texts in all places that take any.

    :param names: {(key, name): what is in its place}; grows
    """
    if isinstance(value, dict):
        replaced = {}
        for key, each in value.items():
            if key in NAMES and isinstance(each, str):
                name = f'{draw(HOSTILE)}{len(names)}'
                replaced[key] = names.setdefault((key, each), name)
            elif key in TEXTS and isinstance(each, str):
                replaced[key] = draw(HOSTILE)
            else:
                replaced[key] = texts_replaced(each, draw, names)
        return replaced
    if isinstance(value, list):
        return [texts_replaced(each, draw, names) for each in value]
    return value


class HostileTestCase(testtools.TestCase):
    @UNSHRUNK
    @hypothesis.given(strategies.data())
    def test_text_of_a_result_stays_text(self, data):
        plain = json.loads(SMALL)
        plain = texts_replaced(plain, data.draw, {})
        plain['environment']['fio'] = {
            'value': data.draw(HOSTILE),
            'reason': '',
        }
        result = run_result.read(json.dumps(plain))
        text = test_page.text_of(result)
        page = page_reader.Page(text)
        self.assertNotIn('<script', text.lower())
        self.assertEqual(
            {
                *('html', 'head', 'meta', 'title', 'style', 'body', 'header'),
                *('h1', 'h2', 'h3', 'h4', 'nav', 'ul', 'li', 'a', 'main'),
                *('section', 'p', 'div', 'dl', 'dt', 'dd', 'strong'),
                *('figure', 'figcaption', 'img', 'svg'),
                *('rect', 'details', 'summary', 'table', 'thead', 'tbody'),
                *('tr', 'th', 'td', 'footer'),
            },
            {name for name, _attributes in page.elements}
            | {'strong', 'svg', 'rect', 'li', 'img'},
        )
        self.assertEqual([], page.left_open)
        # What is drawn has no element but those of a static picture.
        for _alternative, svg in page.pictures():
            self.assertLessEqual(
                {node.tag for node in svg.iter()},
                {
                    page_reader.SVG + name
                    for name in (
                        *('svg', 'g', 'path', 'line', 'rect', 'text'),
                        *('defs', 'clipPath', 'style'),
                    )
                },
            )

    @UNSHRUNK
    @hypothesis.given(
        strategies.floats(allow_nan=False, allow_infinity=False),
        strategies.sampled_from(['mean', 'low', 'high']),
        strategies.integers(0, 10**100 - 1),
    )
    def test_any_number_is_shown(self, value, name, bandwidth):
        plain = json.loads(SMALL)
        found = plain['tiers'][0]['patterns'][0]
        found['iops'][name] = value
        found['bw_bytes']['mean'] = bandwidth
        page = page_reader.Page(
            test_page.text_of(run_result.read(json.dumps(plain)))
        )
        self.assertLess(3, len(page.pictures()))

    @UNSHRUNK
    @hypothesis.given(
        strategies.lists(
            strategies.sampled_from([0, 1, 0.5, 10**18, 1e18, 5e-324, 7.25]),
            max_size=70,
        ),
        strategies.sampled_from([1, 1000, 10**9]),
    )
    def test_any_numbers_over_time_are_shown(self, values, step_ms):
        plain = json.loads(SMALL)
        slots = plain['tiers'][0]['patterns'][0]['slots']
        whole = [int(value) for value in values]
        for slot in slots:
            slot['series'] = slot['bw_series'] = [
                [1000 * at, value] for at, value in enumerate(values)
            ]
            slot['latency'] = {
                'begin_ms': 0,
                'step_ms': step_ms,
                'ios': whole,
                'p99_ns': whole,
            }
            for guest in slot['guests']:
                guest['latency'] = slot['latency']
                guest['rates'] = {
                    'begin_ms': 0,
                    'step_ms': step_ms,
                    'iops': values,
                    'bw_bytes': whole[:1],
                }
        page = page_reader.Page(
            test_page.text_of(run_result.read(json.dumps(plain)))
        )
        self.assertLess(3, len(page.pictures()))

    def test_numbers_over_time_that_cannot_be_drawn_are_refused(self):
        for place, wrong in (
            ('series', [[0, -1]]),
            ('bw_series', [[0, 10**400]]),
            (
                'latency',
                {'begin_ms': 0, 'step_ms': 0, 'ios': [], 'p99_ns': []},
            ),
            (
                'latency',
                {'begin_ms': 0, 'step_ms': 1, 'ios': [1], 'p99_ns': []},
            ),
            (
                'latency',
                {'begin_ms': 0, 'step_ms': 1, 'ios': [1], 'p99_ns': [-1]},
            ),
        ):
            plain = json.loads(SMALL)
            plain['tiers'][0]['patterns'][0]['slots'][0][place] = wrong
            self.assertRaises(
                record.RecordError, run_result.read, json.dumps(plain)
            )

    def test_a_long_label_of_any_characters_is_drawn(self):
        tiers = ['\U0001f5c4' * 40, '\U0001f5c4' * 41, '倉庫' * 20, 'x' * 99]
        page = page_reader.Page(
            test_page.text_of(runs.run(tiers=tiers, patterns=1, repeats=2))
        )
        svg = next(
            each[1]
            for each in page.pictures()
            if each[0].startswith('Bars of IOPS')
        )
        labels = [
            node.text
            for node in svg.iter(f'{page_reader.SVG}text')
            if '…' in node.text
        ]
        self.assertEqual(4, len(set(labels)), labels)


class SizeTestCase(testtools.TestCase):
    def test_a_large_run_has_less_than_2_mb(self):
        """One pattern of each kind takes at most its share of 16 patterns."""
        kinds = len(runs.KINDS)
        share = html.MOST_BYTES * kinds // 16
        text = html.page(
            report_content.report(
                {
                    '': runs.run(
                        tiers=runs.TIERS, patterns=kinds, repeats=9, guests=3
                    )
                },
                test_page.QUESTION,
            ),
            most_bytes=share,
        )
        self.assertLess(len(text.encode()), share)
        self.assertIn('<h3>Latencies</h3>', text)

    def test_a_page_that_is_too_large_says_what_it_leaves_out(self):
        content = report_content.report(
            {'': runs.run(tiers=('a',), patterns=1)}, test_page.QUESTION
        )
        text = html.page(content, most_bytes=1)
        page = page_reader.Page(text)
        self.assertEqual(1, len(page.pictures()))
        self.assertIn('IOPS over time, Fairness: each guest', text)
