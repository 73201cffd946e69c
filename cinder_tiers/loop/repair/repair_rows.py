# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier repair`. Pure."""

from cinder_tiers.cli.render import cells
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import repair

COLUMNS = (
    'Volume',
    'Project',
    'Tier',
    'Kind',
    'Step',
    'Moved GiB',
    'Outcome',
    'Reason',
)


def plan_row(step: repair.RepairStep) -> cells.Row:
    """A step that is not carried out yet."""
    return _row(
        step,
        'refused' if step.refusal else 'planned',
        step.refusal or step.reason,
    )


def result_row(result: carry_out.StepResult) -> cells.Row:
    """A step, and what came of it."""
    return _row(result.step, result.outcome.value, result.reason)


def text(step: repair.RepairStep) -> str:
    """Describe a step, as the end of a line."""
    if step.retype_to:
        keeps = step.kind is repair.RepairKind.TYPE
        return (
            f'retype to {step.retype_to}{"" if keeps else ", moving data"}'
            f'{_shelving(step.shelves) if step.shelves else ""}'
        )
    if step.migrate_to:
        return f'migrate to {step.migrate_to}'
    if step.flattens:
        return 'flatten its image, copying blocks'
    changes = step.limits.changes if step.limits else {}
    return (
        ', '.join(
            f'remove {option}' if value is None else f'set {option} to {value}'
            for option, value in changes.items()
        )
        or 'none'
    )


def _shelving(server: repair.Server) -> str:
    if server.state is repair.ServerState.SHELVED:
        return f', while server {server.server_id} is shelved'
    image = 'saving its local disk as an image, ' if server.saves_image else ''
    words = f', {image}with server {server.server_id} down'
    if server.state is repair.ServerState.STOPPED:
        # Nova starts whatever it unshelves.
        words += ', which then boots for a moment'
    return words


def _row(step: repair.RepairStep, outcome: str, reason: str) -> cells.Row:
    return (
        cells.printable(step.volume.volume_id),
        cells.printable(step.volume.project),
        cells.printable(step.tier),
        step.kind.value,
        cells.printable(text(step)),
        step.moved_gib,
        outcome,
        cells.printable(reason),
    )
