# SPDX-License-Identifier: Apache-2.0

"""`openstack tier fault`: measures a tier while something fails."""

import collections.abc

from cinder_tiers.cli.render import cells
from cinder_tiers.domain import text as escaping
from cinder_tiers.loop.fault import cells as render
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import sweep_command


class FaultTier(sweep_command.SweepTier):
    """Measure a tier during faults, and undo every fault.

    For each slot of the fault file, runs the command that follows "--" as
    "tier sweep" does, and injects the faults at their times: an OSD out or
    down and back, a deep scrub, or commands of your own. The file may also
    have factors or treatments of a sweep, such as the profiles of mClock.
    Faults are refused, and --allow does not permit them, unless the cluster is
    healthy and, during the fault, could lose one more OSD without losing data
    or stopping I/O. What to undo is saved to disk before the first change:
    after a kill or a crash, --restore undoes it. Holds the lock of "tier
    apply" until it ends.
    """

    _epilog = """Exit status: 0 every slot was measured with its faults, the
cluster was healthy after each, and everything is as before; 3 everything is as
before, but some slots have no sound result; 4 something is not as before; with
--status, a sweep is running or was interrupted; 1 an error occurred; 2 a wrong
argument; 5 the faults are refused, and nothing was changed; 6 a service did
not answer; 130 interrupted, and everything is as before.

Example: openstack tier fault fault.yaml --catalog tiers.yaml --out results
--allow 8c5d6bb0-9d6c-4f0e-8f43-2f6a3a9f6f1e -- sh measure.sh
"""
    has_faults = True
    name_of_file = 'fault file'
    help_of_allow = (
        'inject faults into the Ceph cluster with this fsid ("ceph '
        'fsid"); with --restore: restore this value even though another '
        'user has changed it since; named as in the column Value (may be '
        'repeated)'
    )

    def announce(
        self, prepared: preparation.Prepared, *, length: str | None = None
    ) -> None:
        """Report the duration, and the cluster in which faults are made.

        :param length: the duration, in a line; None: all slots of the sweep.
        """
        super().announce(prepared, length=length)
        if prepared.struck is not None:
            self.log.warning(
                'faults are injected into the Ceph cluster %s (fsid %s), '
                'and degrade it for all of its clients: %s',
                escaping.printable(prepared.struck.cluster),
                escaping.printable(prepared.struck.fsid),
                ', '.join(
                    escaping.printable(
                        f'{one.fault.name} ({one.fault.kind.value}, {one})'
                    )
                    for one in prepared.struck.targets
                ),
            )

    def planned(self, prepared: preparation.Prepared) -> cells.Shown:
        """The table of what is to come: a row for each fault of a slot."""
        return render.PLAN_COLUMNS, list(render.plan_rows(prepared))

    def found(
        self, records: collections.abc.Sequence[record.SlotRecord]
    ) -> cells.Shown:
        """The table of what came of it: a row for each fault of a slot."""
        return render.RECORD_COLUMNS, [
            row for one in records for row in render.record_rows(one)
        ]
