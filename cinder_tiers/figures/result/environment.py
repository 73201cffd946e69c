# SPDX-License-Identifier: Apache-2.0

"""Reports of all guests on their systems, as facts of the environment.

Pure.  Each guest's own report is next to its figures in the result file.
"""

from collections.abc import Sequence

from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.result import result as run_result

_OF_SYSTEM = {
    'cpu_model': 'cpu_model',
    'hypervisor': 'hypervisor',
    'distribution': 'distribution',
    'disk_bus': 'disk_bus',
    'write_cache': 'write_cache',
    'io_scheduler': 'io_scheduler',
}


def _steal(outcomes: Sequence[verdict.GuestOutcome]) -> run_result.Fact:
    told = [
        found.measured.cpu
        for outcome in outcomes
        for found in outcome.slots
        if found.measured is not None and found.measured.cpu is not None
    ]
    steal = [
        each.steal_percent for each in told if each.steal_percent is not None
    ]
    if steal:
        return run_result.Fact(value=f'{min(steal):g} to {max(steal):g}')
    return run_result.Fact(
        value=None,
        reason='the hypervisor does not report it to guests'
        if told
        else 'no guest reported what its CPUs did',
    )


def from_guests(
    outcomes: Sequence[verdict.GuestOutcome],
) -> dict[str, run_result.Fact]:
    """Return the facts of ``run_result.ENVIRONMENT`` that guests know.

    :param outcomes: outcomes of all guests, good and bad
    """
    systems = [
        outcome.system or guest_system.GuestSystem() for outcome in outcomes
    ]
    found = {
        name: [getattr(system, field) for system in systems]
        for name, field in _OF_SYSTEM.items()
    }
    found['kernel'] = [outcome.kernel for outcome in outcomes]
    facts = {}
    for name, values in found.items():
        text = guest_system.in_one_text(values)
        facts[name] = run_result.Fact(
            value=text, reason='' if text else 'no guest could see it'
        )
    return {**facts, 'steal_percent': _steal(outcomes)}
