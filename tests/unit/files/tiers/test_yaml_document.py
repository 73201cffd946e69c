# SPDX-License-Identifier: Apache-2.0

"""YAML text as plain values, each with its line."""

import ddt
import testtools

from benchmarks import hostile_catalogs
from cinder_tiers.files.tiers import yaml_document
from tests.unit.files.tiers import test_reader


@ddt.ddt
class DocumentTestCase(testtools.TestCase):
    @ddt.data(
        ('a: &x [1]\nb: *x', 't.yaml:1: the anchor &x'),
        ('a: !!python/object:os.system {}', 't.yaml:1: the YAML tag'),
        ('a: 1\n---\nb: 2', 't.yaml:2: a second document'),
        ('[' * 5000, 't.yaml:1: more than 16 levels'),
        ('a: b: c', 't.yaml:1: mapping values are not allowed'),
        ('a: [1,\n', 't.yaml:2: '),
        ('a: \x00', 't.yaml:1: the character U+0000'),
        ('a: 1\nb: \ud800', 't.yaml:2: the character U+D800'),
        ('a: é\r\n\nb: "\x0b"', 't.yaml:3: the character U+000B'),
        ('a: 1\nb: ' + 'x' * 2_000, 't.yaml:2: a value of 2000 characters'),
        (
            '[\n' + '1,' * 250_000 + ']',
            't.yaml:2: more than 200000 keys and values',
        ),
        ('a' * 3_000_000, 't.yaml: 3000000 bytes'),
    )
    @ddt.unpack
    def test_what_is_no_plain_yaml_is_refused(self, text, found):
        self.assertThat(
            test_reader.problems(text)[0], testtools.matchers.StartsWith(found)
        )

    @ddt.data(
        *('&x {', '!x {', '!!map {', '!!python/object:os.system {'),
    )
    def test_an_anchor_or_a_tag_hides_no_other_problem(self, before):
        found = test_reader.problems(
            'version: 1\ntiers:\n  a: {color: red}\n'
            f'  b: {before}backend: x, tags: 5}}\n'
        )
        self.assertEqual(
            [3, 4, 4],
            [int(one.split(':')[1]) for one in found if 'fallback' not in one],
            found,
        )

    @ddt.data('!!bool x', '!!int x', "!!int ''", '!!float []', '!!float x')
    def test_a_tag_that_the_value_is_not(self, value):
        found = test_reader.problems(
            test_reader.SOUND.replace('{size: 3}', f'{{size: {value}}}')
        )
        self.assertIn('the YAML tag', found[0])

    def test_a_bomb_of_aliases_is_refused_before_it_grows(self):
        self.assertIn(
            'the anchor &a0',
            test_reader.problems(hostile_catalogs.TEXTS['an alias bomb'])[0],
        )

    @ddt.data(*sorted(hostile_catalogs.TEXTS))
    def test_the_most_expensive_text_is_answered(self, name):
        """What it costs is for benchmarks.hostile_catalogs to say."""
        text = hostile_catalogs.TEXTS[name]
        self.assertLess(len(text), yaml_document.MAX_SIZE_BYTES)
        self.assertNotEqual([], test_reader.problems(text))


class IntegerTestCase(testtools.TestCase):
    def test_a_number_with_a_point_is_no_integer(self):
        text = test_reader.SOUND.replace(
            'fallback: true',
            """fallback: true
    tags: [x]
    priority: 20.0
    quotas: {volumes: 1.0e+3}
    qos: {front_end: {total_iops_sec: 500.0}}""",
        ).replace(
            '{size: 3}',
            """{size: 3.0}
      pg_num: 8.0
      cache: {pool: c, mode: writeback, replicated: {size: 2},
              target_max_bytes: 2.0e+11}""",
        )
        found = test_reader.problems(text)
        for place, value in (
            ('general.priority', '20.0'),
            ('volumes', '1000.0'),
            ('total_iops_sec', '500.0'),
            ('replicated.size', '3.0'),
            ('pg_num', '8.0'),
            ('target_max_bytes', '200000000000.0'),
        ):
            self.assertEqual(
                1,
                len(
                    [
                        one
                        for one in found
                        if f'{place} is {value} (a number)' in one
                    ]
                ),
                found,
            )
