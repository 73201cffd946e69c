# SPDX-License-Identifier: Apache-2.0

"""Values of arguments, and what is said of those that are none."""

import argparse
import contextlib
import io

import ddt
import testtools

from cinder_tiers.cli import values
from cinder_tiers.loop.compare import compare_command
from cinder_tiers.loop.headroom import headroom_command
from cinder_tiers.loop.recommend import recommend_command
from cinder_tiers.loop.report import report_command
from cinder_tiers.loop.sweep import sweep_command
from cinder_tiers.loop.tune import tune_command
from cinder_tiers.loop.watch import watch_command


@ddt.ddt
class ArgumentsTestCase(testtools.TestCase):
    @ddt.data(
        (values.positive, '2.5', 2.5),
        (values.not_negative, '0', 0.0),
        (values.count, '17', 17),
        (values.percent, '0', 0.0),
        (values.percent, '99.9', 99.9),
        (values.number_of_claims, '1', 1),
        (values.window_s, '3600', 3600),
        (values.power, '0.5', 0.5),
        (values.variation, '999', 999.0),
        (values.quantity, 'write_p99_ms', 'write_p99_ms'),
        (values.duration_s, '90s', 90),
        (values.duration_s, '2h', 7200),
        (values.duration_s, '1h30min5s', 5405),
    )
    @ddt.unpack
    def test_a_value(self, read, text, value):
        self.assertEqual(value, read(text))

    @ddt.data(
        (values.positive, ('0', '-1', 'nan', 'inf', '', '1e13', '1e-300')),
        (values.not_negative, ('-1', 'nan', 'inf', 'x', '')),
        (values.count, ('-1', '1.5', '', '\u0661', '1' * 10)),
        (values.percent, ('-1', '100', 'nan', 'x')),
        (values.number_of_claims, ('0', '-1', '1.5', 'x', '')),
        (values.window_s, ('0', '3601', '1.5', 'x', '')),
        (values.power, ('0.4', '1', 'nan', 'x')),
        (values.variation, ('0', '1000', 'nan', 'x', '1e-300')),
        (
            values.duration_s,
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
                argparse.ArgumentTypeError, values.quantity, text
            )
            self.assertIn(f'{text!r}: expected iops', str(error))

    @ddt.data(
        (compare_command.CompareResults, ['x'], ('junit', 'reference')),
        (
            recommend_command.RecommendTier,
            ['x'],
            ('job', 'pattern', 'volumes', 'diagnostics'),
        ),
        (
            recommend_command.RecommendTier,
            ['--job', 'x', 'x'],
            ('cluster', 'on'),
        ),
        (headroom_command.ShowHeadroom, ['x', 'x'], ('curve',)),
        (watch_command.WatchTiers, [], ('metrics',)),
        (report_command.WriteReport, ['x'], ('output',)),
        (tune_command.TuneTier, ['--budget', '1h', 'x', 'x'], ('out',)),
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
        (compare_command.CompareResults, 'least-difference', ['x', 'y']),
        (watch_command.WatchTiers, 'for', []),
        (sweep_command.SweepTier, 'out', ['x', '--', 'measure', '--size=--']),
        (tune_command.TuneTier, 'budget', ['x', 'x', '--', 'measure']),
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
            sweep_command.SweepTier(None, None)
            .get_parser('it')
            .parse_args(['x', '--', 'measure', '--size=--'])
        )
        self.assertEqual(['measure', '--size=--'], found.command)
