# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cinder_tiers.domain import spelling


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
