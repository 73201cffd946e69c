# SPDX-License-Identifier: Apache-2.0

"""Tags as both sides compare them."""

import ddt
import testtools

from cinder_tiers.domain import tags


@ddt.ddt
class NormalizeTagTestCase(testtools.TestCase):
    @ddt.data(
        ('Database', 'database'),
        (' db\t', 'db'),
        ('', ''),
        ('STRASSE', 'stra\xdfe'),
        ('cafe\u0301', 'CAF\xc9'),
    )
    @ddt.unpack
    def test_equal_for_people_is_equal(self, one, other):
        self.assertEqual(tags.normalize_tag(one), tags.normalize_tag(other))

    @ddt.data('I\u0307', '\u1fb3\u0301', ' \u0345\u0301x ', '\ufb03', '\u2126')
    def test_normalising_twice_changes_nothing(self, tag):
        once = tags.normalize_tag(tag)
        self.assertEqual(once, tags.normalize_tag(once))

    def test_different_words_stay_different(self):
        self.assertNotEqual(
            tags.normalize_tag('database'), tags.normalize_tag('data base')
        )


class SpecTestCase(testtools.TestCase):
    def test_what_is_formatted_is_parsed_back(self):
        wanted = frozenset({'web', 'database'})
        self.assertEqual(wanted, tags.parse_tags(tags.format_tags(wanted)))

    def test_the_format_does_not_depend_on_order(self):
        self.assertEqual('a,b,c', tags.format_tags(frozenset('cab')))

    def test_empty_parts_are_no_tags(self):
        self.assertEqual(frozenset({'a'}), tags.parse_tags(' ,a,,'))
