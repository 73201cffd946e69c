# SPDX-License-Identifier: Apache-2.0

"""What stands of a sweep's changes."""

import testtools

from cinder_tiers.loop.sweep import kept


class StandTestCase(testtools.TestCase):
    def stand(self, now, before, *swept, kind=''):
        return kept.stand_of(
            kept.Setting(
                field='values.x',
                before=before,
                swept=frozenset(swept),
                option_kind=kind,
            ),
            now,
        ).name

    def test_a_value_is_known_in_any_spelling(self):
        self.assertEqual(
            'SWEPT', self.stand('0.100000', None, '0.1', kind='float')
        )
        self.assertEqual(
            'SWEPT', self.stand('64K', '131072', '65536', kind='size')
        )
        self.assertEqual('CHANGED', self.stand('64K', None, '65536'))

    def test_the_same_value_in_another_spelling_is_written_again(self):
        self.assertEqual(
            'SWEPT', self.stand('0.1', '0.100000', '5', kind='float')
        )

    def test_a_value_that_somebody_removed_is_theirs(self):
        self.assertEqual('CHANGED', self.stand(None, '5', '7'))

    def test_what_was_not_set_and_is_not_is_as_before(self):
        self.assertEqual('AS_BEFORE', self.stand(None, None, '7'))
