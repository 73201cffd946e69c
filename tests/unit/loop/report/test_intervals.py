# SPDX-License-Identifier: Apache-2.0

"""A heat map of many tiers: its room, and what it paints."""

import dataclasses
from xml.etree import ElementTree

import ddt
import testtools

from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import drawing
from cinder_tiers.loop.report import intervals
from cinder_tiers.loop.report import rows
from tests.unit.loop.report import runs
from tests.unit.loop.report import test_page


@ddt.ddt
class ManyTiersTestCase(testtools.TestCase):
    # Tiers, patterns, and what has a row each.
    @ddt.data((3, 2, 'pattern'), (30, 3, 'tier'), (12, 13, 'pattern'))
    @ddt.unpack
    def test_a_heat_map_has_room_for_its_numbers(self, tiers, patterns, of):
        run = runs.run(
            tiers=tuple(f'tier-{number}' for number in range(tiers)),
            patterns=patterns,
            repeats=1,
            guests=1,
            seconds=2,
        )
        found = intervals.heat_map(rows.rows(run), ())
        for chart in found.charts:
            shades = chart.drawing.shades
            self.assertEqual(tiers * patterns, len(shades))
            self.assertEqual(of == 'tier', shades[0].row == 'tier-0')
            self.assertIn('randread-4k on tier-0 ', chart.alternative)
            # Of a chart beside another one, at 1400 pixels: 620.
            self.assertLess(drawing.draw(chart.drawing).width, 800)

    def test_a_heat_map_paints_what_is_claimed_and_nothing_else(self):
        run = runs.run(patterns=3, factor=1)
        claims = comparison.tiers_of_run(run, test_page.QUESTION).claims
        claimed = {
            (claim.quantity, claim.pattern, claim.second_tier): (
                claim.finding.value
            )
            for claim in claims
            if claim.finding
            in (
                comparison.DifferenceFinding.BETTER,
                comparison.DifferenceFinding.WORSE,
            )
        }
        for at in (len(claims), 3, 0):
            kept = [
                dataclasses.replace(
                    claim, finding=comparison.DifferenceFinding.CANNOT_TELL
                )
                if place >= at
                else claim
                for place, claim in enumerate(claims)
            ]
            found = intervals.heat_map(rows.rows(run), kept)
            painted = {
                (quantity, shade.row, shade.column): shade.finding
                for quantity, chart in zip(
                    ('iops', 'p99_ms'), found.charts, strict=True
                )
                for shade in chart.drawing.shades
                if shade.finding
            }
            self.assertEqual(
                {
                    key: value
                    for key, value in claimed.items()
                    if key
                    in {
                        (claim.quantity, claim.pattern, claim.second_tier)
                        for claim in claims[:at]
                    }
                },
                painted,
            )
        fills = {
            node.get('fill')
            for node in ElementTree.fromstring(
                drawing.draw(found.charts[0].drawing).svg
            ).iter()
        }
        self.assertNotIn('#7fd1ae', fills)
