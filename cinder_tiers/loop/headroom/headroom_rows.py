# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier headroom`."""

import argparse
import collections.abc
import dataclasses
import functools

from cliff import columns

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import sold
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.compare import circumstances
from cinder_tiers.loop.compare import same_pattern
from cinder_tiers.loop.headroom import curve as load_curve
from cinder_tiers.loop.headroom import headroom as rooms
from cinder_tiers.loop.headroom import load
from cinder_tiers.observe.ceph import client_io
from cinder_tiers.observe.cinder import sold as cinder_sold
from cinder_tiers.observe import for_audit

_IOPS = 'IOPS'
#: What is taken for the latency of a curve where no expectation names one.
_DEFAULT_QUANTITY = 'p99_ms'
#: Beside it, of patterns whose writes are made durable: what a database waits.
_SYNC_QUANTITY = 'sync_p99_ms'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Known:
    """A number, and where it is from; or why there is none."""

    value: float | None
    #: Of where it is from, or why it is not known.
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bound:
    """Load up to which a limit holds."""

    curve: load_curve.Curve
    #: What limits the load, for the column Until.
    until: str
    within: load.GuestsLoad
    #: Whether it is an expectation.
    is_expected: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Answer:
    """A row."""

    curve: load_curve.Curve
    until: str
    basis: str
    within: load.GuestsLoad
    in_use: _Known
    of_volume: _Known
    room: rooms.Headroom
    #: Whether it is about an expectation, which the exit status is about.
    is_expected: bool


_ONE_RUN = 'one run, which does not tell how another day differs'


class _Within(columns.FormattableColumn):
    """The load up to which something holds, with its interval."""

    def human_readable(self) -> str:
        found = self._value
        if found.at_least_iops is not None:
            return f'more than {found.at_least_iops:.4g} {_IOPS}'
        if found.at_most_iops is not None:
            return f'less than {found.at_most_iops:.4g} {_IOPS}'
        if found.iops is None:
            return '-'
        if found.iops.low is None:
            return f'{found.iops.mean:.4g} {_IOPS}'
        # The columns beside it have the unit, too.
        return (
            f'{found.iops.mean:.4g} ({found.iops.low:.4g} to'
            f' {found.iops.high:.4g})'
        )

    def machine_readable(self) -> dict[str, float | None]:
        found = self._value
        iops = found.iops
        return {
            'iops': iops and iops.mean,
            'low_iops': iops and iops.low,
            'high_iops': iops and iops.high,
            'at_least_iops': found.at_least_iops,
            'at_most_iops': found.at_most_iops,
        }


class _Volumes(columns.FormattableColumn):
    """Number of further volumes, with its interval."""

    def human_readable(self) -> str:
        room = self._value
        if room.volumes is None:
            if room.at_least is not None:
                return f'from {room.at_least}'
            return '-' if room.at_most is None else f'up to {room.at_most}'
        if room.at_least is None:
            return str(room.volumes)
        return f'{room.volumes} ({room.at_least} to {room.at_most})'

    def machine_readable(self) -> dict[str, int | None]:
        room = self._value
        return {
            'volumes': room.volumes,
            'at_least': room.at_least,
            'at_most': room.at_most,
        }


def _rests_on(answer: _Answer) -> str:
    if answer.room.reason:
        return answer.room.reason
    runs = len(answer.curve.of_runs)
    return (
        f'{answer.curve.repeats} repeats of {len(answer.curve.steps)} steps '
        f'in {f"{runs} runs" if runs > 1 else _ONE_RUN}; '
        f'{answer.in_use.source}; {answer.of_volume.source}'
    )


_TABLE: results_command.Table = {
    'Curve': lambda answer: answer.curve.name,
    'Until': lambda answer: answer.until,
    'By': lambda answer: answer.basis,
    'Load at most': lambda answer: _Within(answer.within),
    'In use': lambda answer: results.Amount((answer.in_use.value, _IOPS)),
    'Of a volume': lambda answer: results.Amount(
        (answer.of_volume.value, _IOPS)
    ),
    'More volumes': lambda answer: _Volumes(answer.room),
    'Finding': lambda answer: answer.room.finding.value,
    'Rests on': _rests_on,
}


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads, asks Cinder and Ceph, and computes.

    :raises base.CommandFailed: a file cannot be read, or there is no curve of
        the tier.
    :raises errors.LinesError: the tiers file cannot be read, or a service did
        not answer.
    """
    if parsed_args.volumes is not None and not parsed_args.per_volume_iops:
        raise errors.WrongArguments(
            '--volumes requires --per-volume-iops, by which it is '
            'multiplied; give both or neither'
        )
    tier = _Tier(shown, parsed_args)
    read = list(results.read_all(parsed_args.results).values())
    shown.warn(_circumstances(read, parsed_args.tier))
    answers = list(_answers(tier, parsed_args, read))
    found = {one.room.finding for one in answers if one.is_expected}
    return results_command.Found(
        table=_TABLE,
        items=answers,
        said_below='Rests on',
        for_programs={'Curve'}
        if len({one.curve.name for one in answers}) == 1
        else (),
        is_worse=rooms.RoomFinding.NONE_LEFT in found,
        # If nothing is expected, status 0 would promise room.
        is_unknown=not found or rooms.RoomFinding.CANNOT_TELL in found,
    )


class _Tier:
    """Values from Cinder, Ceph and the tiers file, each read once.

    Values given by an argument are not read.
    """

    def __init__(
        self,
        shown: results_command.ResultsCommand,
        parsed_args: argparse.Namespace,
    ) -> None:
        self.shown = shown
        self._args = parsed_args
        self._sold: tuple[sold.SoldType, ...] | None = None
        self._carried: client_io.ClientIo | str | None = None

    @functools.cached_property
    def _catalog(self) -> catalogs.Catalog:
        return reader.read_file(
            self._args.catalog, include_root=self._args.include_root
        )

    def declared(self) -> catalogs.Tier:
        """The tier of the tiers file.

        :raises errors.TiersError: the file cannot be read, or has no such
            tier.
        """
        found = self._catalog.tier(self._args.tier)
        if found is None:
            raise errors.TiersError(
                f'{self._args.catalog} has no tier {self._args.tier!r}: '
                f'expected one of '
                f'{", ".join(one.name for one in self._catalog.tiers)}'
            )
        return found

    def _types(self) -> tuple[sold.SoldType, ...]:
        if self._sold is None:
            self._sold = cinder_sold.observe(
                base.connect(self.shown), self._args.tier
            )
        return self._sold

    def of_volume(self, direction: str | None) -> _Known:
        """Return the allowed IOPS of a new volume."""
        if self._args.per_volume_iops:
            return _Known(
                value=self._args.per_volume_iops,
                source='a volume as given by --per-volume-iops',
            )
        own = self._types()[0]
        limit = own.limits.iops(direction)
        if limit is None:
            return _Known(
                value=None,
                source=f'the volume type {own.name} has no IOPS limit '
                'that does not depend on the size; give one with '
                '--per-volume-iops',
            )
        return _Known(value=limit, source=f'the QoS spec of {own.name}')

    def in_use(self, basis: str, direction: str | None) -> _Known:
        """The load that there is.

        :param basis: `sold` or `carried`.
        """
        return {'sold': self._in_use_sold, 'carried': self._in_use_carried}[
            basis
        ](direction)

    def _in_use_sold(self, direction: str | None) -> _Known:
        if self._args.volumes is not None:
            return _Known(
                value=self._args.volumes * self._args.per_volume_iops,
                source=f'{self._args.volumes} volumes as given by --volumes',
            )
        found = [(one.name, one.iops(direction)) for one in self._types()]
        unlimited = [name for name, iops in found if iops is None]
        if unlimited:
            return _Known(
                value=None,
                source=f'volumes of {", ".join(unlimited)} have no IOPS '
                'limit: what they may do has no sum',
            )
        number = sum(len(one.volumes) for one in self._types())
        return _Known(
            value=sum(iops for _name, iops in found if iops is not None),
            source=f'{number} volumes in Cinder, each at its limit',
        )

    def _in_use_carried(self, direction: str | None) -> _Known:
        if self._args.load is not None:
            return _Known(
                value=self._args.load, source='a load as given by --load'
            )
        if self._carried is None:
            try:
                self._carried = self._observe_carried()
            except errors.TiersError as error:
                self._carried = str(error)
        if isinstance(self._carried, str):
            return _Known(
                value=None, source=f'{self._carried}; or give it with --load'
            )
        counted = self._carried.iops(direction)
        others = self._carried.iops(None) - counted
        source = 'one look at what clients do, "ceph osd pool stats"'
        if others:
            source += f', without {others} IOPS of the other direction'
        return _Known(value=counted, source=source)

    def _observe_carried(self) -> client_io.ClientIo | str:
        declared = self.declared()
        if declared.rbd is None:
            return f'the tier {declared.name} has no Ceph pool'
        # A cache has all I/Os of clients, and those to the pool behind it.
        rbd = declared.rbd.cache.rbd if declared.rbd.cache else declared.rbd
        name = rbd.cluster
        with for_audit.sessions(self._catalog, {name}) as opened:
            session = opened.get(name)
            if session is None:
                return f'the tier {declared.name} is not taken over'
            if isinstance(session, audit.Unread):
                return session.reason
            return client_io.observe(session, rbd.own_pools)


def _circumstances(read: list[run_result.RunResult], tier: str) -> list[str]:
    """Return the differences of the first result to others, once each."""
    first, *others = read
    return list(
        dict.fromkeys(
            str(each)
            for other in others
            for each in circumstances.of_runs(first, other, {tier: tier})
        )
    )


def _answers(
    tier: _Tier,
    parsed_args: argparse.Namespace,
    read: list[run_result.RunResult],
) -> collections.abc.Iterator[_Answer]:
    for name, limits in _limits(tier, parsed_args, read).items():
        direction = _direction(read, parsed_args.tier, name)
        for bound in _bounds(read, parsed_args.tier, name, limits):
            for basis in ('sold', 'carried'):
                in_use = tier.in_use(basis, direction)
                of_volume = tier.of_volume(direction)
                if in_use.value is None or of_volume.value is None:
                    room = rooms.Headroom(
                        finding=rooms.RoomFinding.CANNOT_TELL,
                        reason='; '.join(
                            each.source
                            for each in (in_use, of_volume)
                            if each.value is None
                        ),
                    )
                else:
                    room = rooms.headroom(
                        bound.within,
                        in_use_iops=in_use.value,
                        volume_iops=of_volume.value,
                    )
                yield _Answer(
                    curve=bound.curve,
                    until=bound.until,
                    basis=basis,
                    within=bound.within,
                    in_use=in_use,
                    of_volume=of_volume,
                    room=room,
                    is_expected=bound.is_expected,
                )


def _bounds(
    read: list[run_result.RunResult], tier: str, name: str, limits: '_Limits'
) -> list[Bound]:
    """Return the loads of a curve up to which limits and rules hold."""
    quantities = {
        limit: expectations.limit(limit).quantity for limit, _ in limits
    }
    curves = {
        quantity: _curve(read, tier, name, quantity)
        for quantity in dict.fromkeys(
            [*quantities.values(), _DEFAULT_QUANTITY]
        )
    }
    found = [
        Bound(
            curve=curves[quantities[limit]],
            until=f'{limit} {bound:g}',
            within=load.within(curves[quantities[limit]], bound),
            is_expected=True,
        )
        for limit, bound in limits
    ]
    plain = curves[_DEFAULT_QUANTITY]
    knees = [('knee of p99', plain)]
    syncs = _found_curve(read, tier, name, _SYNC_QUANTITY)
    if syncs is not None:
        knees.append(('knee of sync p99', syncs))
    return [
        *found,
        *(
            Bound(
                curve=curve,
                until=until,
                within=load.knee(curve),
                is_expected=False,
            )
            for until, curve in knees
        ),
        Bound(
            curve=plain,
            until='70 % of the most',
            within=load.operating_point(plain),
            is_expected=False,
        ),
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sellable:
    """Load that a tier carries according to a curve."""

    tier: str
    #: read, write, or None for both, or if not known.
    direction: str | None
    bound: Bound


def sellable(
    paths: list[str], declared: catalogs.Catalog | None
) -> list[Sellable]:
    """Return the load that the tiers of results carry, curve by curve.

    That is the load up to which each latency holds that the tiers file expects
    of the curve; without expectations, 70 % of the maximum.

    :param declared: the catalog; None: nothing is expected.
    :raises base.CommandFailed: a file cannot be read, or no result has a
        curve.
    :raises load_curve.CurveError: the curves of the results differ.
    """
    read = list(results.read_all(paths).values())
    found = []
    for tier, name in dict.fromkeys(
        one for run in read for one in load_curve.names(run)
    ):
        own = declared and declared.tier(tier)
        limits = _declared_limits(own, name) if own else ()
        bounds = _bounds(read, tier, name, limits)
        for bound in bounds:
            if bound.is_expected or not limits and bound is bounds[-1]:
                found.append(
                    Sellable(
                        tier=tier,
                        direction=_direction(read, tier, name),
                        bound=bound,
                    )
                )
    if not found:
        raise base.CommandFailed(
            f'{", ".join(paths)}: no result has a load curve; name results '
            'of the task curve.yaml'
        )
    return found


def _curve_names(
    read: list[run_result.RunResult], parsed_args: argparse.Namespace
) -> list[str]:
    """Names of the curves that are asked for.

    :raises base.CommandFailed: the results have no such curve.
    """
    found = dict.fromkeys(
        pattern.asked.curve
        for run in read
        for tier in run.tiers
        if tier.tier == parsed_args.tier
        for pattern in tier.patterns
        if pattern.asked
    )
    missing = [name for name in parsed_args.curves if name not in found]
    if missing or not found:
        wanted = ', '.join(missing) or 'a paced pattern'
        has = ', '.join(found) or 'no load curve'
        raise base.CommandFailed(
            f'no result has {wanted} of the tier {parsed_args.tier}: '
            f'found {has}; name results of the task curve.yaml'
        )
    return list(dict.fromkeys(parsed_args.curves)) or list(found)


#: (limit of latency, its value in ms)
_Limits = tuple[tuple[str, float], ...]


def _limits(
    tier: _Tier,
    parsed_args: argparse.Namespace,
    read: list[run_result.RunResult],
) -> dict[str, _Limits]:
    """{curve: the limits that it is looked at for}; there may be none.

    :raises base.CommandFailed: the results have no such curve.
    :raises errors.TiersError: the tiers file cannot be read.
    """
    names = _curve_names(read, parsed_args)
    if parsed_args.expect:
        return dict.fromkeys(names, tuple(dict.fromkeys(parsed_args.expect)))
    found = {name: _declared_limits(tier.declared(), name) for name in names}
    bare = [name for name, limits in found.items() if not limits]
    if bare:
        tier.shown.warn(
            [
                f'the tier {parsed_args.tier} expects no latency of '
                f'{", ".join(bare)}: only the knee and 70 % of the most are '
                'shown; name a limit, such as --expect p99_ms_max=50'
            ]
        )
    return found


def _declared_limits(tier: catalogs.Tier, curve: str) -> _Limits:
    """Limits of latency that a tier declares for the pattern of a curve."""
    return tuple(
        (name, float(value))
        for name, value in tier.expect.get(curve, {}).items()
        if results.is_latency(expectations.find(name))
    )


def _check_same(read: list[run_result.RunResult], curve: str) -> None:
    """Check that results of a curve are of the same I/Os.

    :raises load_curve.CurveError: a step has different patterns.
    """
    if len(read) == 1:
        return
    steps = dict.fromkeys(
        pattern.pattern
        for run in read
        for tier in run.tiers
        for pattern in tier.patterns
        if pattern.asked and pattern.asked.curve == curve
    )
    for step in steps:
        reason = same_pattern.not_the_same(step, read)
        if reason:
            raise load_curve.CurveError(
                f'{step}: {reason}; name results of the same task'
            )


def _curve(
    read: list[run_result.RunResult], tier: str, name: str, quantity: str
) -> load_curve.Curve:
    """A curve of all results.

    :raises load_curve.CurveError: they do not have the same, or one does not
        do what the quantity is about.
    """
    found = _found_curve(read, tier, name, quantity)
    if found is None:
        raise load_curve.CurveError(
            f'{tier} {name}: it has no {quantity}: expected a latency of '
            'what the pattern does'
        )
    return found


def _found_curve(
    read: list[run_result.RunResult], tier: str, name: str, quantity: str
) -> load_curve.Curve | None:
    """A curve of all results; None: it does not do what the quantity is of.

    :raises load_curve.CurveError: they do not have the same.
    """
    _check_same(read, name)
    limit = expectations.quantity(quantity)
    parts = [
        found
        for run in read
        if (found := load_curve.of_run(run, tier, name, limit)) is not None
    ]
    return load_curve.joined(parts) if parts else None


def _direction(
    read: list[run_result.RunResult], tier: str, name: str
) -> str | None:
    """Return the direction of a curve; None for both, or if unknown."""
    for run in read:
        for pattern in (
            pattern
            for each in run.tiers
            if each.tier == tier
            for pattern in each.patterns
            if pattern.asked and pattern.asked.curve == name
        ):
            try:
                directions = run.pattern_of(pattern).directions
            except ValueError:
                # A file written by hand need not have its patterns.
                return None
            return directions[0] if len(directions) == 1 else None
    return None
