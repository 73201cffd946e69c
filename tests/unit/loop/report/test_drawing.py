# SPDX-License-Identifier: Apache-2.0

"""Charts of a report: colours, shades and numbers at their axes."""

import testtools

from cinder_tiers.loop.report import drawing
from cinder_tiers.loop.report import figure
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import runs
from tests.unit.loop.report import test_page


class DrawingTestCase(testtools.TestCase):
    def test_each_colour_of_a_chart_of_lines_has_its_name(self):
        for about, named in (
            ({'patterns': 6}, {'randread-4k', 'randread-8k'}),
            (
                {'patterns': 1, 'steps': (1, 2, 4)},
                {'1 guest', '2 guests', '4 guests'},
            ),
        ):
            page = page_reader.Page(
                test_page.text_of(runs.run(tiers=('one',), **about))
            )
            for chart in (
                'Distribution of completion latencies, randread',
                'IOPS over the seconds of each repeat, randread',
                'Percentiles of completion latency by repeat, randread',
            ):
                ((keys, svg),) = [
                    (keys, light)
                    for keys, (alternative, light) in zip(
                        page.keys(), page.pictures(), strict=True
                    )
                    if alternative.startswith(chart)
                ]
                self.assertEqual(named, set(keys))
                drawn = {
                    node.get('stroke')
                    for node in svg.iter()
                    if node.get('stroke')
                    in {light for light, _dark in drawing.PALETTE}
                }
                self.assertEqual(
                    {drawing.PALETTE[style][0] for style in keys.values()},
                    drawn,
                    chart,
                )

    def test_latencies_and_their_shades_have_no_prefix(self):
        values = (0.2134, 0.85, 1234.5)
        bars = drawing.draw(
            figure.Bars(
                unit='ms',
                bars=tuple(
                    figure.Bar(
                        label=f'bar {value}',
                        style=0,
                        value=value,
                        low=None,
                        high=None,
                    )
                    for value in values
                ),
            )
        )
        shades = drawing.draw(
            figure.HeatMap(
                unit='ms',
                shades=tuple(
                    figure.Shade(row='row', column=f'at {value}', value=value)
                    for value in values
                ),
            )
        )
        dots = drawing.draw(
            figure.Dots(
                unit='ms',
                dots=(figure.Dot(label='dot', style=0, value=0.0004),),
            )
        )
        for picture, told in (
            (bars, {'0.2134', '0.85', '1,235'}),
            (shades, {'0.213', '0.85', '1,230'}),
            (dots, {'0.0004'}),
        ):
            texts = page_reader.texts(picture.svg)
            self.assertTrue(told <= set(texts), texts)
            for text in texts:
                self.assertNotRegex(text, r'^[\d.,]+[a-zµ]$')

    def test_iops_have_a_prefix_only_if_all_are_one_or_more(self):
        for values, told in (
            ((1250.0, 1234567.0), {'1.25k', '1.235M'}),
            ((0.4143, 137.2), {'0.4143', '137.2'}),
        ):
            picture = drawing.draw(
                figure.Bars(
                    unit='IOPS',
                    bars=tuple(
                        figure.Bar(
                            label=f'bar {value}',
                            style=0,
                            value=value,
                            low=None,
                            high=None,
                        )
                        for value in values
                    ),
                )
            )
            texts = page_reader.texts(picture.svg)
            self.assertTrue(told <= set(texts), texts)
