# SPDX-License-Identifier: Apache-2.0

"""`openstack tier response`: what faults did to the load of a tier."""

import argparse

from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values


class ShowResponse(results_command.ResultsLister):
    """Show how the load of a tier responded to faults.

    For each fault that "tier fault" made, and each pattern that was measured
    when it began: IOPS and p99 before, during and after it, the longest stall,
    and when the load was as before; of a mix also of reads and of writes by
    themselves. p99 needs the argument latency_seconds of the task. "Gets
    along" counts from the beginning of the
    fault and looks until it ends, "recovered" and "healthy" count from its
    end. As before is a rolling mean of --window seconds that is not worse than
    all of them before the first fault by more than --bound percent, and stays
    so. What cannot be determined has a reason and no figure. Reads only files
    and needs no credentials.
    """

    _epilog = """Exit status: 0 every load has recovered from every fault; 4
a load has not; 3 for a load that cannot be determined, a fault that was not
made, a slot that was not measured, or a run that is not complete; 1 an error
occurred; 2 a wrong argument. Separate rows of reads and of writes do not
count.

Example: openstack tier response results/sweep.json --bound 20
"""

    name = 'tier response'
    module = 'cinder_tiers.loop.fault.response_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        results.add_sweep(parser, 'tier fault')
        parser.add_argument(
            '--window',
            metavar='<seconds>',
            type=values.window_s,
            default=10,
            help='seconds of a rolling mean (default: 10)',
        )
        parser.add_argument(
            '--bound',
            metavar='<percent>',
            type=values.percent,
            default=10.0,
            help='how much worse than before a mean may be (default: 10)',
        )
