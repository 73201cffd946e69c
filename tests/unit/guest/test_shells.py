# SPDX-License-Identifier: Apache-2.0

"""The guest's script under every POSIX shell of Debian that is installed.

bindep.txt brings mksh and yash; ksh93 and zsh take part where they are.
posh 0.14.1 is left out: its wait fails after its read -r ("invalid option").
"""

import shutil

from cinder_tiers.figures.fleet import verdict
from rally_scenarios.guest import orders
from tests.unit.guest import test_fleet_script


class ShellsTest(test_fleet_script.LocalFleetCase):
    def test_every_shell_runs_the_same_script(self):
        """One guest for each shell, all in one fleet."""
        shells = sorted(
            name
            for name, argv in test_fleet_script.SHELLS.items()
            if shutil.which(argv[0])
        )
        fleet = self.fleet(['fast'] * len(shells), copies=2)
        for number, shell in enumerate(shells):
            fleet.start(number, shell=shell)
        fleet.wait()
        self.assertEqual(
            dict.fromkeys(shells, (verdict.GuestVerdict.COMPLETE, (), 0)),
            {
                shell: (
                    outcome.verdict,
                    outcome.reasons,
                    outcome.damaged_lines,
                )
                for shell, outcome in zip(
                    shells, fleet.outcomes(), strict=True
                )
            },
        )
        for number, shell in enumerate(shells):
            told = fleet.console_path(number).read_text()
            self.assertEqual(
                2, told.count(f' {orders.guest_name(number)} event 1 '), shell
            )
