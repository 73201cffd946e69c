# SPDX-License-Identifier: Apache-2.0

"""Values of arguments, and what is said of those that are none."""

import argparse
import contextlib
import io

import ddt
import testtools

from cinder_tiers.cli import sweep
from rally_scenarios.cli import arguments
from rally_scenarios.cli import compare
from rally_scenarios.cli import headroom
from rally_scenarios.cli import recommend
from rally_scenarios.cli import report
from rally_scenarios.cli import tune
from rally_scenarios.cli import watch


@ddt.ddt
class ArgumentsTestCase(testtools.TestCase):
    @ddt.data(
        (arguments.positive, '2.5', 2.5),
        (arguments.not_negative, '0', 0.0),
        (arguments.count, '17', 17),
        (arguments.percent, '0', 0.0),
        (arguments.percent, '99.9', 99.9),
        (arguments.number_of_claims, '1', 1),
        (arguments.window_s, '3600', 3600),
        (arguments.power, '0.5', 0.5),
        (arguments.variation, '999', 999.0),
        (arguments.quantity, 'write_p99_ms', 'write_p99_ms'),
        (arguments.duration_s, '90s', 90),
        (arguments.duration_s, '2h', 7200),
        (arguments.duration_s, '1h30min5s', 5405),
    )
    @ddt.unpack
    def test_a_value(self, read, text, value):
        self.assertEqual(value, read(text))

    @ddt.data(
        (arguments.positive, ('0', '-1', 'nan', 'inf', 'x', '', '1e13')),
        (arguments.not_negative, ('-1', 'nan', 'inf', 'x', '')),
        (arguments.count, ('-1', '1.5', '', '\u0661', '1' * 10)),
        (arguments.percent, ('-1', '100', 'nan', 'x')),
        (arguments.number_of_claims, ('0', '-1', '1.5', 'x', '')),
        (arguments.window_s, ('0', '3601', '1.5', 'x', '')),
        (arguments.power, ('0.4', '1', 'nan', 'x')),
        (arguments.variation, ('0', '1000', 'nan', 'x')),
        (
            arguments.duration_s,
            ('', '10', '0s', '1d', '-1s', '9' * 9 + 's', '5min1h', '30m'),
        ),
    )
    @ddt.unpack
    def test_what_is_none_is_told_with_what_was_expected(self, read, texts):
        for text in texts:
            error = self.assertRaises(argparse.ArgumentTypeError, read, text)
            self.assertIn(f'{text!r}: expected a', str(error))

    def test_a_quantity_that_is_none(self):
        for text in ('happiness', 'fairness', ''):
            error = self.assertRaises(
                argparse.ArgumentTypeError, arguments.quantity, text
            )
            self.assertIn(f'{text!r}: expected iops', str(error))

    @ddt.data(
        (compare.CompareResults, ['x'], ('junit', 'reference')),
        (
            recommend.RecommendTier,
            ['x'],
            ('job', 'pattern', 'volumes', 'diagnostics'),
        ),
        (
            recommend.RecommendTier,
            ['--job', 'x', 'x'],
            ('cluster', 'on'),
        ),
        (headroom.ShowHeadroom, ['x', 'x'], ('curve',)),
        (watch.WatchTiers, [], ('metrics',)),
        (report.WriteReport, ['x'], ('output',)),
        (tune.TuneTier, ['--budget', '1h', 'x', 'x'], ('out',)),
    )
    @ddt.unpack
    def test_the_name_of_an_unset_variable_is_a_wrong_argument(
        self, command, others, options
    ):
        parser = command(None, None).get_parser('it')
        for option in options:
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                ended = self.assertRaises(
                    SystemExit, parser.parse_args, [f'--{option}=', *others]
                )
            self.assertEqual(2, ended.code)
            self.assertIn(f"--{option}: '' is empty", told.getvalue())

    @ddt.data(
        (compare.CompareResults, 'least-difference', ['x', 'y']),
        (watch.WatchTiers, 'for', []),
        (sweep.SweepTier, 'out', ['x', '--', 'measure', '--size=--']),
        (tune.TuneTier, 'budget', ['x', 'x', '--', 'measure']),
    )
    @ddt.unpack
    def test_two_dashes_are_no_value(self, command, option, others):
        parser = command(None, None).get_parser('it')
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            ended = self.assertRaises(
                SystemExit, parser.parse_args, [f'--{option}=--', *others]
            )
        self.assertEqual(2, ended.code)
        self.assertIn(
            f"argument --{option}: expected a value, not '--'",
            told.getvalue(),
        )

    def test_those_of_a_measuring_command_are_its_own(self):
        found = (
            sweep.SweepTier(None, None)
            .get_parser('it')
            .parse_args(['x', '--', 'measure', '--size=--'])
        )
        self.assertEqual(['measure', '--size=--'], found.command)
