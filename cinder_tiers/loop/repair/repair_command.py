# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair`: puts volumes right that exist."""

import argparse
import collections.abc
import contextlib
import functools
import uuid

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import circumstances
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import repair_rows
from cinder_tiers.observe.cinder import volumes
from cinder_tiers.observe import for_audit
from cinder_tiers import workflow

_STOPS = 'repair begins no further volume, and waits for those that it began'
_LEFT = '; what Cinder has begun, it ends'
#: Volumes of which data move are felt by all others of their tiers.
_AT_ONCE = 2
_MOST_AT_ONCE = 64


class RepairVolumes(base.CatalogLister):
    """Make existing volumes comply with their tiers.

    Shows what it would do with each volume that "tier audit --volumes
    --limits" finds, and why something cannot be done. Asks at a terminal;
    elsewhere changes nothing without --yes. Retypes volumes that have the
    former type of a tier, retypes and moves volumes that are not where their
    tier is, and gives RBD images the back-end limits of their volume types,
    which a running server feels at once. Never touches a volume that the plan
    did not show, or that has changed since. Can be repeated at any time, also
    after it was killed: what is left is what it shows. Needs Cinder's admin
    rights; for limits, a cephx user that may write to the images.
    """

    _epilog = """Exit status: 0 there is nothing to repair, or all of it was
repaired; 4 something is to be repaired, and nothing was changed; 5 something
cannot be repaired, and all else was; 3 it is unknown whether some volumes need
repair, and all else was repaired; 1 an error occurred, a step failed, or you
did not confirm; 2 a wrong argument; 6 a service did not answer; 130
interrupted by Ctrl-C.

Example: openstack tier repair --kind limits --tier database --yes
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--kind',
            choices=[one.value for one in repair.Kind],
            action='append',
            help=(
                'repair only this: "type", former types of tiers; '
                '"placement", volumes on a backend of another tier; "limits", '
                'limits of RBD images; "image", volumes whose image selects '
                'another tier today (may be repeated; default: the first '
                'three)'
            ),
        )
        parser.add_argument(
            '--tier',
            metavar='<tier>',
            type=base.not_empty,
            action='append',
            help='repair only volumes of this tier (may be repeated)',
        )
        parser.add_argument(
            '--volume',
            metavar='<volume>',
            type=_volume_id,
            action='append',
            help='repair only the volume with this ID (may be repeated)',
        )
        parser.add_argument(
            '--concurrency',
            metavar='<number>',
            type=_at_once,
            default=_AT_ONCE,
            help=(
                f'volumes to work on at the same time (default: {_AT_ONCE}, '
                f'at most {_MOST_AT_ONCE})'
            ),
        )
        parser.add_argument(
            '-y',
            '--yes',
            action='store_true',
            help='do not ask for confirmation',
        )
        placement_policy.add_config_file(parser)
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Observes, asks, carries out and shows.

        Expected failures end as CommandError of OSC.
        """
        kinds = frozenset(map(repair.Kind, parsed_args.kind or repair.CERTAIN))
        with base.user_errors():
            catalog = reader.read_file(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            workflow.chosen_tiers(catalog, parsed_args.tier or ())
            with for_audit.sessions(
                catalog,
                {tier.rbd.cluster for tier in catalog.ceph_tiers}
                if repair.Kind.LIMITS in kinds
                else (),
            ) as sessions:
                plan = self._plan(parsed_args, kinds, catalog, sessions)
                self._warn(plan)
                steps = list(plan.steps)
                if not self._is_agreed(steps, parsed_args):
                    return repair_rows.COLUMNS, [
                        repair_rows.plan_row(one) for one in steps
                    ]
                if not parsed_args.yes:
                    # Who was asked may have thought for long.
                    again = self._plan(parsed_args, kinds, catalog, sessions)
                    steps = self._still(steps, again.steps)
                results = self._carry_out(steps, parsed_args, sessions)
        return repair_rows.COLUMNS, [
            repair_rows.result_row(one) for one in results
        ]

    def _plan(
        self,
        parsed_args: argparse.Namespace,
        kinds: frozenset[repair.Kind],
        catalog: catalogs.Catalog,
        sessions: for_audit.Sessions,
    ) -> repair.Plan:
        connection = base.connect(self)
        # Before the images, so that a new volume is not missed among them.
        listed = list(
            workflow.list_volumes(
                connection,
                policy=placement_policy.read(parsed_args.config_file),
            )
        )
        wanted = frozenset(parsed_args.volume or ())
        missing = wanted - {one.volume.volume_id for one in listed}
        if missing:
            raise errors.NotVisible(
                f'Cinder has no volume {", ".join(sorted(missing))}; see '
                '"openstack volume list --all-projects"'
            )
        return repair.plan(
            listed,
            circumstances=circumstances.observe(
                connection,
                volumes.limits(connection, catalog, sessions)
                if repair.Kind.LIMITS in kinds
                else None,
            ),
            kinds=kinds,
            tiers=parsed_args.tier,
            volumes=wanted or None,
        )

    def _still(
        self,
        shown: collections.abc.Sequence[repair.Step],
        now: collections.abc.Iterable[repair.Step],
    ) -> list[repair.Step]:
        """The steps that a person saw and that are as they were."""
        by_id = {one.volume.volume_id: one for one in shown}
        steps = [one for one in now if by_id.get(one.volume.volume_id) == one]
        if len(steps) < len(shown):
            self.log.warning(
                '%d volumes changed meanwhile, and are left alone; run the '
                'command again for them',
                len(shown) - len(steps),
            )
        return steps

    def _warn(self, plan: repair.Plan) -> None:
        for reason, count in sorted(plan.unknown.items()):
            self.exit_status = exit_status.UNKNOWN
            self.log.warning(
                '%s',
                cells.printable(
                    f'Whether {count} volume{"" if count == 1 else "s"} '
                    f'need{"s" if count == 1 else ""} repair is unknown: '
                    f'{reason}'
                ),
            )

    def _is_agreed(
        self,
        steps: collections.abc.Sequence[repair.Step],
        parsed_args: argparse.Namespace,
    ) -> bool:
        """Whether to carry out the plan; sets the exit status if not."""
        to_do = [one for one in steps if not one.refusal]
        if not to_do:
            if steps:
                self.exit_status = exit_status.REFUSED
            return False
        if parsed_args.yes:
            return True
        stdin, stderr = self.app.stdin, self.app.stderr
        if stdin is None or not (stdin.isatty() and stderr.isatty()):
            self.exit_status = exit_status.DIFFERENT
            return False
        for one in steps:
            does = repair_rows.text(one)
            stderr.write(
                cells.printable(
                    f'volume {one.volume.volume_id} of tier {one.tier} '
                    f'({one.volume.size_gib} GiB): '
                    + (f'refused: {one.refusal}' if one.refusal else does)
                )
                + '\n'
            )
        moved_gib = sum(one.moved_gib for one in to_do)
        stderr.write(
            f'Repair {len(to_do)} volume{"" if len(to_do) == 1 else "s"}, '
            f'moving at most {moved_gib} GiB? [y/N] '
        )
        stderr.flush()
        with interruption.at_once():
            if stdin.readline().strip().lower() in ('y', 'yes'):
                return True
        raise errors.ActionFailed(
            'Nothing was changed because the answer was not yes.'
        )

    def _carry_out(
        self,
        steps: collections.abc.Sequence[repair.Step],
        parsed_args: argparse.Namespace,
        sessions: for_audit.Sessions,
    ) -> list[carry_out.Result]:
        with interruption.Interrupt(
            _STOPS, interruption.ENDING, left=_LEFT
        ) as interrupt:
            results = carry_out.carry_out(
                steps,
                connection=base.connect(self),
                sessions={
                    name: one
                    for name, one in sessions.items()
                    if not isinstance(one, audit.Unread)
                },
                at_once=parsed_args.concurrency,
                is_to_stop=lambda: interrupt.came,
                report=functools.partial(
                    self._report, _Progress(steps).of_result
                ),
                say=self._say,
            )
        outcomes = {one.outcome for one in results}
        if carry_out.Outcome.NOT_STARTED in outcomes:
            self.exit_status = exit_status.INTERRUPTED
        elif outcomes & {carry_out.Outcome.FAILED, carry_out.Outcome.CHANGED}:
            self.exit_status = exit_status.ERROR
        elif carry_out.Outcome.REFUSED in outcomes:
            self.exit_status = exit_status.REFUSED
        return results

    def _report(
        self,
        text_of: collections.abc.Callable[[carry_out.Result], str],
        result: carry_out.Result,
    ) -> None:
        self._say(text_of(result))

    def _say(self, line: str) -> None:
        """One line on standard error, unless --quiet."""
        if self.app.options.verbose_level:
            with contextlib.suppress(OSError):
                self.app.stderr.write(f'{cells.printable(line)}\n')


class _Progress:
    """How far a repair is; not of its refused steps."""

    def __init__(self, steps: collections.abc.Sequence[repair.Step]) -> None:
        self._total = sum(not one.refusal for one in steps)
        self._ended = 0

    def of_result(self, result: carry_out.Result) -> str:
        """A line for a result."""
        step = result.step
        where = ''
        if not step.refusal:
            self._ended += 1
            where = f'{self._ended} of {self._total}: '
        return (
            f'{where}volume {step.volume.volume_id}: '
            f'{repair_rows.text(step)}: {result.outcome.value}'
            + (f': {result.reason}' if result.reason else '')
        )


def _volume_id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r}: expected the ID of a volume, a UUID'
        ) from None


def _at_once(text: str) -> int:
    if (
        not text.isascii()
        or not text.isdigit()
        or not (1 <= int(text) <= _MOST_AT_ONCE)
    ):
        raise argparse.ArgumentTypeError(
            f'{text!r}: expected a number from 1 to {_MOST_AT_ONCE}'
        )
    return int(text)
