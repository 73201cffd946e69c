# SPDX-License-Identifier: Apache-2.0

"""As in the functional part, with ten times as many catalogs."""

from tests.functional import test_random_catalogs

PAIRS = 150


class RandomCatalogsTest(test_random_catalogs.RandomCatalogsTest):
    @test_random_catalogs.of_pairs(PAIRS)
    def test_what_others_have_and_all_data_stay(self, first, second):
        self.assert_pair_is_harmless(first, second)
