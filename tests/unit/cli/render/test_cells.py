# SPDX-License-Identifier: Apache-2.0

"""Numbers and formulas in cells of tables."""

import testtools

from cinder_tiers.cli.render import cells


class CellsTestCase(testtools.TestCase):
    def test_numbers_are_as_they_were(self):
        for text in (
            '-3',
            '-48.5',
            '+1.5e-06',
            '-20.0 % (-21.9 to -18.0)',
            '-',
            '',
            '3 GiB',
            'a=b',
        ):
            self.assertEqual(text, cells.inert(text))

    def test_formulas_are_texts(self):
        for text in (
            '=1+1',
            '+A1',
            '-A1',
            "-1+cmd|' /C calc'!A0",
            '@SUM(A1)',
            '-1 (=A1 to 2)',
            '\uff1d1+1',
        ):
            self.assertEqual(f"'{text}", cells.inert(text))
