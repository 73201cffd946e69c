# SPDX-License-Identifier: Apache-2.0

"""What a command does not wait for when it starts."""

import subprocess
import sys

import testtools


class ImportsTestCase(testtools.TestCase):
    def test_no_command_waits_for_all_of_scipy(self):
        rooms = (
            'compare.compare_rows',
            'headroom.headroom_rows',
            'report.result_rows',
            'tune.tuning',
            'watch.expectation',
        )
        found = subprocess.run(
            [
                sys.executable,
                '-c',
                'import importlib, sys\n'
                f'for room in {rooms}:\n'
                '    importlib.import_module(f"cinder_tiers.loop.{room}")\n'
                'print(sorted({"scipy.optimize", "scipy.special",'
                ' "scipy.stats"} & sys.modules.keys()))',
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual("['scipy.special']\n", found.stdout)
