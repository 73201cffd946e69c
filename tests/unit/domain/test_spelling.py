# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cinder_tiers.domain import spelling
from tests.unit.domain import comparing


@ddt.ddt
class DidYouMeanTestCase(testtools.TestCase):
    @ddt.data(('hd', 'hdd'), ('nvm', 'nvme'), ('databse', 'database'))
    @ddt.unpack
    def test_a_slip_is_recognised(self, written, meant):
        known = ['hdd', 'ssd', 'nvme', 'database']
        self.assertEqual(
            f'did you mean {meant!r}? ', spelling.did_you_mean(written, known)
        )

    @ddt.data('sas', 'sata', 'fast')
    def test_another_short_word_is_no_slip(self, written):
        self.assertEqual('', spelling.did_you_mean(written, ['hdd', 'ssd']))

    def test_a_word_that_can_be_near_to_none_is_not_compared(self):
        """It may have megabytes."""
        for length in (20, 21, 22, 40):
            word = ('database' * length)[:length]
            self.assertEqual(
                '', spelling.did_you_mean(word, ['data', 'datab'])
            )
        self.assertNotEqual(
            0,
            comparing.comparisons(
                spelling.did_you_mean, 'databse', ['database']
            ),
        )
        self.assertEqual(
            0,
            comparing.comparisons(
                spelling.did_you_mean, 'da' * 10**6, ['database']
            ),
        )
