# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair`: puts volumes right that exist."""

import argparse
import collections.abc
import contextlib
import functools

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import cells
from cinder_tiers.clients import ceph as ceph_session
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
cannot be repaired, and all else was; 1 an error occurred, a step failed, or
you did not confirm; 2 a wrong argument; 3 limits of some volumes are unknown;
6 a service did not answer; 130 interrupted by Ctrl-C.

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
            type=base.not_empty,
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
            _check_tiers(catalog, parsed_args.tier or ())
            with self._sessions(catalog, kinds, parsed_args.tier) as sessions:
                steps = self._plan(parsed_args, kinds, catalog, sessions)
                if not self._is_agreed(steps, parsed_args):
                    return repair_rows.COLUMNS, [
                        repair_rows.plan_row(one) for one in steps
                    ]
                results = self._carry_out(
                    steps, parsed_args, catalog, sessions
                )
        return repair_rows.COLUMNS, [
            repair_rows.result_row(one) for one in results
        ]

    @contextlib.contextmanager
    def _sessions(
        self,
        catalog: catalogs.Catalog,
        kinds: frozenset[repair.Kind],
        tiers: collections.abc.Container[str] | None,
    ) -> collections.abc.Iterator[for_audit.Sessions]:
        """Sessions with the clusters of which images are read."""
        with for_audit.sessions(
            catalog,
            {
                tier.rbd.cluster
                for tier in catalog.ceph_tiers
                if repair.Kind.LIMITS in kinds
                and (tiers is None or tier.name in tiers)
            },
        ) as sessions:
            yield sessions

    def _plan(
        self,
        parsed_args: argparse.Namespace,
        kinds: frozenset[repair.Kind],
        catalog: catalogs.Catalog,
        sessions: for_audit.Sessions,
    ) -> list[repair.Step]:
        connection = base.connect(self)
        limits = (
            volumes.limits(connection, catalog, sessions, parsed_args.tier)
            if repair.Kind.LIMITS in kinds
            else None
        )
        for tier, reason in sorted((limits.unread if limits else {}).items()):
            if reason:
                self.exit_status = exit_status.UNKNOWN
                self.log.warning(
                    '%s',
                    cells.printable(
                        f'Limits of volumes of tier {tier} are unknown: '
                        f'{reason}'
                    ),
                )
        steps = list(
            repair.plan(
                workflow.list_volumes(
                    connection,
                    policy=placement_policy.read(parsed_args.config_file),
                ),
                circumstances=circumstances.observe(connection, limits),
                kinds=kinds,
                tiers=parsed_args.tier,
                volumes=parsed_args.volume,
            )
        )
        for name in parsed_args.volume or ():
            if name not in {one.volume.volume_id for one in steps}:
                self.log.warning(
                    'Volume %s needs no repair of these kinds, or does not '
                    'exist.',
                    cells.printable(name),
                )
        return steps

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
        catalog: catalogs.Catalog,
        sessions: for_audit.Sessions,
    ) -> list[carry_out.Result]:
        with interruption.Interrupt(
            _STOPS, interruption.ENDING, left=_LEFT
        ) as interrupt:
            results = carry_out.carry_out(
                steps,
                connection=base.connect(self),
                images=_images(catalog, sessions),
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
            with contextlib.suppress(BrokenPipeError):
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


def _images(
    catalog: catalogs.Catalog, sessions: for_audit.Sessions
) -> carry_out.Images:
    found: dict[str, ceph_session.Session] = {}
    for tier in catalog.ceph_tiers:
        session = sessions[tier.rbd.cluster]
        if not isinstance(session, audit.Unread):
            found[tier.name] = session
    return carry_out.Images(
        sessions=found,
        pools={tier.name: tier.rbd.pool for tier in catalog.ceph_tiers},
    )


def _check_tiers(
    catalog: catalogs.Catalog, names: collections.abc.Iterable[str]
) -> None:
    problems = [
        errors.Problem(
            where=catalog.source.file,
            found=f'tier {name!r} does not exist',
            expected=f'one of {", ".join(one.name for one in catalog.tiers)}',
            remedy='fix --tier',
        )
        for name in names
        if catalog.tier(name) is None
    ]
    if problems:
        raise errors.ProblemsFound(problems)


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
