# SPDX-License-Identifier: Apache-2.0

"""A rule that is added to a CRUSH map is all that changes in it.

data/crush-map-16.2.15.bin is what a cluster gave, and crush-map-16.2.15-more
what it gave back when it had been set with the rule. The odd ones, with
buckets of all algorithms and with weight sets, are of crushtool, which
compiled the text of those with more rules itself.
"""

import pathlib
import struct

import ddt
from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.execute.ceph import crush_map

DATA = pathlib.Path(__file__).with_name('data')
CLASSES = (
    crush_map.RulePart(bucket='default~ssd', copies=1, failure_domain='host'),
    crush_map.RulePart(bucket='default~hdd', copies=-1, failure_domain='host'),
)
BUCKETS = (
    crush_map.RulePart(bucket='host-a', copies=1, failure_domain='osd'),
    crush_map.RulePart(bucket='default', copies=-1, failure_domain='host'),
)
#: {rule of two levels: its part}
LEVELS = {
    'levels': crush_map.RulePart(
        bucket='default', in_each='host', copies=2, failure_domain='osd'
    ),
    'zones': crush_map.RulePart(
        bucket='default', in_each='zone', copies=3, failure_domain='host'
    ),
}
MAP = (DATA / 'crush-map-16.2.15.bin').read_bytes()
#: Where the length of the last of the names of its rules is.
LENGTH_OF_LAST_NAME = MAP.index(b'images-ssd') - 4


@ddt.ddt
class WithRuleTestCase(testtools.TestCase):
    @ddt.data(('16.2.15', CLASSES), ('odd-1', BUCKETS), ('odd-2', BUCKETS))
    @ddt.unpack
    def test_it_is_what_ceph_makes_of_it(self, name, parts):
        before, after = (
            (DATA / f'crush-map-{name}{more}.bin').read_bytes()
            for more in ('', '-more')
        )
        self.assertEqual(after, crush_map.with_rule(before, 'hybrid', parts))

    @ddt.data('odd-1', 'odd-2')
    def test_rules_of_two_levels_are_what_ceph_makes_of_them(self, name):
        found = (DATA / f'crush-map-{name}.bin').read_bytes()
        for rule, part in LEVELS.items():
            found = crush_map.with_rule(found, rule, [part])
        self.assertEqual(
            (DATA / f'crush-map-{name}-levels.bin').read_bytes(), found
        )

    def test_a_map_without_room_for_a_rule_grows(self):
        data, (rules,) = MAP, struct.unpack_from('<I', MAP, 8)
        # Two of the places are taken already.
        for number in range(rules):
            data = crush_map.with_rule(data, f'more-{number}', CLASSES)
        self.assertEqual((rules + 2,), struct.unpack_from('<I', data, 8))
        self.assertEqual(
            len(crush_map.with_rule(MAP, 'name', CLASSES))
            - len(MAP)
            + len(data)
            # The mark that there is a rule.
            + 4,
            len(crush_map.with_rule(data, 'name', CLASSES)),
        )

    def test_a_name_that_is_taken_is_refused(self):
        data = crush_map.with_rule(MAP, 'hybrid', CLASSES)
        self.assertRaises(
            crush_map.NotUnderstood,
            crush_map.with_rule,
            data,
            'hybrid',
            CLASSES,
        )

    @ddt.data(
        crush_map.RulePart(bucket='flash', copies=1, failure_domain='host'),
        crush_map.RulePart(bucket='default', copies=1, failure_domain='shelf'),
        crush_map.RulePart(
            bucket='default', in_each='shelf', copies=2, failure_domain='host'
        ),
        crush_map.RulePart(
            bucket='default', in_each='host', copies=2, failure_domain='shelf'
        ),
    )
    def test_what_the_map_lacks_is_refused(self, part):
        self.assertRaises(
            crush_map.NotUnderstood, crush_map.with_rule, MAP, 'a', [part]
        )

    @given(strategies.integers(0, 900))
    def test_a_map_that_is_cut_off_is_refused(self, length):
        self.assertRaises(
            crush_map.NotUnderstood,
            crush_map.with_rule,
            MAP[:length],
            'hybrid',
            CLASSES,
        )

    @given(strategies.integers(0, len(MAP) - 1), strategies.integers(0, 255))
    @example(LENGTH_OF_LAST_NAME, len('images-ssd') + 1)
    def test_an_odd_map_is_refused_or_kept(self, place, value):
        """What cannot be read is not written; what can, changes by a rule."""
        odd = bytearray(MAP)
        odd[place] = value
        data = bytes(odd)
        try:
            found = crush_map.with_rule(data, 'hybrid', CLASSES)
        except crush_map.NotUnderstood:
            return
        more = len(crush_map.with_rule(MAP, 'hybrid', CLASSES)) - len(MAP)
        self.assertIn(len(found) - len(data), (more, more + 4))
        self.assertTrue(found.startswith(data[:8]))
        # Where names end is a matter of the byte that was changed.
        self.assertTrue(data.endswith(found.rpartition(b'hybrid')[2]))
