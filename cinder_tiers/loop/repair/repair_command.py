# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair`: puts volumes right that exist."""

import argparse
import collections.abc
import contextlib
import dataclasses
import time
import uuid

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli import lock
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values
from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import units
from cinder_tiers.execute import lock as locks
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import copying
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import pace
from cinder_tiers.loop.repair import planning
from cinder_tiers.loop.repair import progress
from cinder_tiers.loop.repair import recording
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import repair_rows
from cinder_tiers.observe import cloud_id
from cinder_tiers.observe import for_audit

_STOPS = 'repair begins no further volume, and waits for those that it began'
_LEFT = '; what Cinder has begun, it ends'
_SHELVED = ', but shelved servers stay that until the next --shelve'
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
    did not show, or that has changed since. With --out, the plan is saved for
    review: "tier repair <plan>" carries out that plan, less what has changed
    since. Also takes what "tier recommend --volumes --out" recommends. With
    --record, --undo can take the repair back. Can be repeated at any time,
    also after it was killed: what is left is what it shows. With --shelve,
    data of attached volumes move, too: their servers are down for that. Needs
    Cinder's admin rights; for limits, a cephx user that may write to the
    images; to shelve, Nova's admin rights.
    """

    _epilog = """Exit status: 0 there is nothing to repair, or all of it was
repaired; 4 something is to be repaired, and nothing was changed, or --watch
ended the repair; 5 something cannot be repaired, and all else was; 3 it is
unknown whether some volumes need repair, and all else was repaired; 1 an error
occurred, a step failed, or you did not confirm; 2 a wrong argument; 6 a
service did not answer; 130 interrupted by Ctrl-C.

Examples: openstack tier repair --kind limits --tier database --yes;
openstack tier repair --out plan.json; openstack tier repair plan.json
--record done.json --max-bytes-per-second 200M; openstack tier repair --undo
done.json; openstack tier repair --kind image --volume UUID --shelve
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            'orders',
            metavar='<plan>',
            nargs='?',
            type=base.not_empty,
            help=(
                'do what this file of --out, or of "tier recommend --volumes '
                '--out", says, as far as it is still possible, and nothing '
                'else; of a plan, what has changed since is refused, and no '
                'confirmation is asked for'
            ),
        )
        base.add_name(
            group,
            '--undo',
            '<record>',
            'give volumes that are as a repair left them the type, the '
            'backend or the limits back that they had before; takes a '
            'file of --record, or of --out after it was carried out',
        )
        group.add_argument(
            '--kind',
            choices=[one.value for one in repair.FOUND],
            action='append',
            help=(
                'repair only this: "type", former types of tiers; '
                '"placement", volumes on a backend of another tier; "limits", '
                'limits of RBD images; "image", volumes whose image selects '
                'another tier today; "residency", clones that read blocks of '
                'an image in another pool (may be repeated; default: the '
                'first three)'
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
            type=values.whole_number(
                f'a number from 1 to {_MOST_AT_ONCE}',
                least=1,
                most=_MOST_AT_ONCE,
            ),
            default=_AT_ONCE,
            help=(
                f'volumes to work on at the same time (default: {_AT_ONCE}, '
                f'at most {_MOST_AT_ONCE})'
            ),
        )
        parser.add_argument(
            '--shelve',
            action='store_true',
            help=(
                'also move attached volumes, with TieredRBDDriver: lock and '
                'shelve a server, change its volumes, unshelve and unlock it. '
                'The server is down meanwhile, with snapshots until Ceph has '
                'copied the volumes. Also unshelves and unlocks the servers '
                'that a killed repair left'
            ),
        )
        base.add_name(
            parser,
            '--out',
            '<plan>',
            'save the plan to this file, for "tier repair <plan>", and '
            'change nothing; an older plan is replaced, and no other file',
        )
        base.add_name(
            parser,
            '--record',
            '<record>',
            'write how each volume was, and what was done, to this new '
            'file, for --undo',
        )
        parser.add_argument(
            '--max-bytes-per-second',
            metavar='<size>',
            type=_size_bytes,
            help=(
                'move no more than this on average, such as 200M: Cinder '
                'copies as fast as it can, so that the next volume of which '
                'data move begins later; volumes count with their full size'
            ),
        )
        base.add_name(
            parser,
            '--watch',
            '<folder>',
            'begin no further volume while "tier watch", which must run '
            'with --state of this folder, says that a tier is slower '
            'than it was, breaks an expectation, fails or hangs; end '
            f'after {pace.MOST_PAUSE_S / 3600:.0f} h of that',
        )
        lock.add(parser)
        base.add_yes(parser, '')
        placement_policy.add_config_file(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Observes, asks, carries out and shows.

        Expected failures end as CommandError of OSC.
        """
        with base.user_errors():
            _check(parsed_args)
            asked = _asked(parsed_args)
            catalog = reader.read_file(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            catalog.chosen(parsed_args.tier or ())
            trouble = self._watch(parsed_args.watch, catalog)
            with (
                # Then a locked server was left by a repair that was killed.
                locks.held(
                    url=parsed_args.coordination_url,
                    cloud=self._cloud(),
                    wait_s=parsed_args.wait,
                )
                if asked.shelves and not parsed_args.out
                else contextlib.nullcontext(),
                for_audit.sessions(
                    catalog,
                    {tier.rbd.cluster for tier in catalog.ceph_tiers}
                    if asked.shelves
                    or asked.kinds
                    & {repair.RepairKind.LIMITS, repair.RepairKind.RESIDENCY}
                    else (),
                ) as sessions,
            ):
                self._check_orders(parsed_args, asked.orders)

                def planned() -> repair.RepairPlan:
                    return planning.plan(
                        asked,
                        connection=base.connect(self),
                        policy=placement_policy.read(parsed_args.config_file),
                        catalog=catalog,
                        sessions=sessions,
                    )

                plan = planned()
                self._warn(plan)
                self._say_left_out(asked, plan)
                steps = list(plan.steps)
                if parsed_args.out:
                    order_file.write(
                        parsed_args.out,
                        order.Orders(
                            origin=order.Origin.PLAN,
                            cloud=self._cloud(),
                            steps=tuple(map(order.of_step, steps)),
                        ),
                    )
                if not self._is_agreed(
                    steps, _left_alone(plan.left, steps), parsed_args, asked
                ):
                    return repair_rows.COLUMNS, [
                        repair_rows.plan_row(one) for one in steps
                    ]
                if not (parsed_args.yes or _is_reviewed(asked)):
                    # Who was asked may have thought for long.
                    steps = _still(steps, planned().steps)
                results = self._carry_out(
                    steps,
                    plan.left,
                    parsed_args,
                    sessions,
                    pace.Pace(
                        bytes_per_second=parsed_args.max_bytes_per_second,
                        trouble=trouble,
                    ),
                )
                if still_copied := copying.text(results, _read(sessions)):
                    self._say(still_copied)
        return repair_rows.COLUMNS, [
            repair_rows.result_row(one) for one in results
        ]

    def _watch(
        self, folder: str | None, catalog: catalogs.Catalog
    ) -> collections.abc.Callable[[], str]:
        """Return a check that says why no further step may begin, or ''.

        :raises errors.TiersError: no watch runs.
        """
        if folder is None:
            return str
        module = results_command.load(
            'cinder_tiers.loop.repair.watched',
            command='tier repair --watch',
            extra='rally',
        )
        watched = module.WatchedTiers(folder, catalog)
        for words in (
            *(
                f'tier {name} is not watched, and may become slower unnoticed'
                for name in watched.without
            ),
            *(
                f'what "tier watch" says is unknown yet: {one}'
                for one in watched.unknown()
            ),
        ):
            self.log.warning('%s', cells.printable(words))
        return watched.trouble

    def _check_orders(
        self, parsed_args: argparse.Namespace, orders: order.Orders | None
    ) -> None:
        """Check that a file is for this cloud, and of the right kind.

        :raises errors.TiersError: the file is not.
        """
        if orders is None:
            return
        path = parsed_args.orders or parsed_args.undo
        order_file.check_cloud(path, orders, self._cloud())
        if (parsed_args.orders and orders.origin is order.Origin.RECORD) or (
            parsed_args.undo and orders.origin is order.Origin.RECOMMENDATION
        ):
            raise errors.ProblemsFound(
                [
                    errors.Problem(
                        where=path,
                        found=f'a {orders.origin.value}',
                        expected='a record, or a plan that was carried out'
                        if parsed_args.undo
                        else 'a plan, or a recommendation',
                        remedy='name a file of --record'
                        if parsed_args.undo
                        else 'take it back with --undo, or name another file',
                    )
                ]
            )
        lacking = frozenset(parsed_args.volume or ()) - {
            one.volume for one in orders.steps
        }
        if lacking and orders.origin is not order.Origin.RECOMMENDATION:
            raise errors.NotVisible(
                f'{path} has no step for volume {", ".join(sorted(lacking))}; '
                'omit --volume for all its steps, or make a file that has it'
            )

    def _cloud(self) -> str:
        return cloud_id.identity_of(base.connect(self))

    def _warn(self, plan: repair.RepairPlan) -> None:
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

    def _say_left_out(
        self, asked: planning.Asked, plan: repair.RepairPlan
    ) -> None:
        """Report how many steps of a file do not apply today."""
        if asked.orders is None or asked.tiers or asked.volumes:
            return
        ordered = len(asked.orders.steps)
        left_out = ordered - len(plan.steps) - sum(plan.unknown.values())
        if left_out > 0:
            self._say(
                f'{left_out} of {ordered} volumes of the file need nothing, '
                'or are gone'
            )

    def _is_agreed(
        self,
        steps: collections.abc.Sequence[repair.RepairStep],
        left: collections.abc.Sequence[repair.Server],
        parsed_args: argparse.Namespace,
        asked: planning.Asked,
    ) -> bool:
        """Return whether to execute the plan; if not, set the exit status."""
        to_do = [one for one in steps if not one.refusal]
        for server in left:
            self.log.warning(
                '%s',
                cells.printable(
                    f'Server {server.server_id}, which was '
                    f'{server.state.value}, is locked by a repair that was '
                    'killed'
                    + (
                        ': it becomes that again'
                        if asked.shelves
                        and (parsed_args.yes or _is_reviewed(asked))
                        else ' or still runs; if none runs, run "openstack '
                        'tier repair --shelve --yes"'
                    )
                ),
            )
        if not asked.shelves:
            left = ()
        if not to_do and not left:
            if steps:
                self.exit_status = exit_status.REFUSED
            return False
        if parsed_args.out:
            self.exit_status = exit_status.DIFFERENT
            return False
        if parsed_args.yes or _is_reviewed(asked):
            return True
        stdin, stderr = self.app.stdin, self.app.stderr
        if stdin is None or not (stdin.isatty() and stderr.isatty()):
            self.exit_status = exit_status.DIFFERENT
            self.log.warning(base.NOT_ASKED)
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
        down = {
            one.shelves.server_id
            for one in to_do
            if one.shelves
            and one.shelves.state is not repair.ServerState.SHELVED
        }
        rate = parsed_args.max_bytes_per_second
        minutes = moved_gib * 2**30 / rate / 60 if rate else 0
        self.ask(
            f'Repair {_count(len(to_do), "volume")}, '
            f'moving at most {moved_gib} GiB'
            + (
                f' in {units.duration_text(minutes)} or more'
                if minutes >= 1
                else ''
            )
            + (f', with {_count(len(down), "server")} down' if down else '')
            + (f', and finish {_count(len(left), "server")}' if left else '')
            + '?'
        )
        return True

    def _carry_out(
        self,
        steps: collections.abc.Sequence[repair.RepairStep],
        left: collections.abc.Sequence[repair.Server],
        parsed_args: argparse.Namespace,
        sessions: for_audit.Sessions,
        paced: pace.Pace,
    ) -> list[carry_out.StepResult]:
        unwritten: list[str] = []

        def tell(text: str) -> None:
            unwritten.append(text)
            self.log.error('%s', cells.printable(text))

        with (
            recording.recorded(
                parsed_args.record,
                cloud=self._cloud(),
                steps=steps,
                tell=tell,
            )
            if parsed_args.record
            else contextlib.nullcontext() as note,
            interruption.Interrupt(
                _STOPS,
                interruption.ENDING,
                left=_LEFT + _SHELVED * parsed_args.shelve,
            ) as interrupt,
        ):
            text_of = progress.Progress(steps, time.monotonic).of_result

            def report(result: carry_out.StepResult) -> None:
                if note:
                    note(result)
                self._say(text_of(result))

            def finish(
                some: collections.abc.Iterable[repair.Server],
            ) -> list[str]:
                failures = carry_out.finish(
                    some,
                    connection=base.connect(self),
                    sessions=answering,
                    is_to_stop=lambda: interrupt.came,
                    say=self._say,
                )
                for failure in failures.values():
                    tell(failure)
                return list(failures)

            answering = {
                name: one
                for name, one in sessions.items()
                if not isinstance(one, audit.Unread)
            }
            alone = _left_alone(left, steps) if parsed_args.shelve else []
            not_back = finish(alone)
            results = carry_out.carry_out(
                steps,
                connection=base.connect(self),
                sessions=answering,
                not_back=not_back,
                at_once=parsed_args.concurrency,
                is_to_stop=lambda: interrupt.came,
                report=report,
                say=self._say,
                pace=paced,
            )
            if parsed_args.shelve:
                # Those whose steps did not begin after all.
                finish(one for one in left if one not in alone)
        outcomes = {one.outcome for one in results}
        if repair.StepOutcome.NOT_STARTED in outcomes and interrupt.came:
            self.exit_status = exit_status.INTERRUPTED
        elif unwritten or outcomes & {
            repair.StepOutcome.FAILED,
            repair.StepOutcome.CHANGED,
        }:
            self.exit_status = exit_status.ERROR
        elif repair.StepOutcome.NOT_STARTED in outcomes:
            self.exit_status = exit_status.DIFFERENT
            self.log.error('%s', cells.printable(f'ended: {paced.never}'))
        elif repair.StepOutcome.REFUSED in outcomes:
            self.exit_status = exit_status.REFUSED
        return results

    def _say(self, line: str) -> None:
        """Write one line on standard error, unless --quiet."""
        if self.app.options.verbose_level:
            with contextlib.suppress(OSError):
                self.app.stderr.write(f'{cells.printable(line)}\n')


def _asked(parsed_args: argparse.Namespace) -> planning.Asked:
    """Return the request of the arguments.

    :raises errors.ProblemsFound: a file has no orders.
    """
    path = parsed_args.orders or parsed_args.undo
    orders = order_file.read(path) if path else None
    return planning.Asked(
        kinds=frozenset(
            {one.kind for one in orders.steps}
            if orders
            else map(repair.RepairKind, parsed_args.kind or repair.CERTAIN)
        ),
        tiers=tuple(parsed_args.tier) if parsed_args.tier else None,
        volumes=frozenset(parsed_args.volume or ()),
        orders=orders,
        is_undo=parsed_args.undo is not None,
        shelves=parsed_args.shelve,
    )


def _read(
    sessions: for_audit.Sessions,
) -> list[ceph_session.Session]:
    """Return the sessions with clusters that answered."""
    return [
        one for one in sessions.values() if not isinstance(one, audit.Unread)
    ]


def _left_alone(
    left: collections.abc.Iterable[repair.Server],
    steps: collections.abc.Iterable[repair.RepairStep],
) -> list[repair.Server]:
    """The servers that no step is for."""
    ids = {
        one.shelves.server_id
        for one in steps
        if one.shelves and not one.refusal
    }
    return [one for one in left if one.server_id not in ids]


def _count(number: int, what: str) -> str:
    return f'{number} {what}{"" if number == 1 else "s"}'


def _is_reviewed(asked: planning.Asked) -> bool:
    """Return whether a person has looked at the steps, and is not asked."""
    return (
        asked.orders is not None
        and asked.orders.origin is order.Origin.PLAN
        and not asked.is_undo
    )


def _still(
    shown: collections.abc.Iterable[repair.RepairStep],
    now: collections.abc.Iterable[repair.RepairStep],
) -> list[repair.RepairStep]:
    """The steps that a person saw; those that have changed are refused."""
    by_id = {one.volume.volume_id: one for one in now}
    return [
        one
        if one.refusal or by_id.get(one.volume.volume_id) == one
        else dataclasses.replace(
            one,
            refusal='it has changed since it was shown; run the command again',
        )
        for one in shown
    ]


def _check(parsed_args: argparse.Namespace) -> None:
    """Check that arguments fit together.

    :raises errors.WrongArguments: they do not fit together.
    """
    for name in ('yes', 'record', 'undo', 'watch', 'max_bytes_per_second'):
        if parsed_args.out and getattr(parsed_args, name):
            raise errors.WrongArguments(
                f'--{name.replace("_", "-")} does not go with --out, which '
                'changes nothing'
            )


def _size_bytes(text: str) -> int:
    try:
        found = units.size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'{text[:40]!r}: expected {error}'
        ) from None
    if not found:
        raise argparse.ArgumentTypeError(f'{text!r}: expected more than 0')
    return found


def _volume_id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r}: expected the ID of a volume, a UUID'
        ) from None
