# SPDX-License-Identifier: Apache-2.0

"""Differences between two runs other than the compared storage.

Pure.  They are shown before any figure: a ratio of two runs is the ratio of
everything that differed between them.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.result import result as run_result

#: Of ``result.ENVIRONMENT``: what a figure depends on, in the order in which
#: a reader should hear of it.
FACTS = (
    'fio',
    'ceph',
    'clone_or_flat',
    'ceph_options',
    'qos',
    'kernel',
    'distribution',
    'disk_bus',
    'cache_mode',
    'write_cache',
    'io_scheduler',
    'hypervisor',
    'cpu_model',
    'compute',
    'cinder',
    'nova',
)
_MAX_CHARS = 120


@dataclasses.dataclass(frozen=True, kw_only=True)
class Circumstance:
    """Something that is not the same in two runs."""

    #: what it is, with the tier that it is of
    about: str
    #: what it was in the first
    first: str
    #: what it was in the second
    second: str

    def __str__(self) -> str:
        return (
            f'{self.about}: {self.first} in the first, {self.second} in the'
            f' second'
        )


def _words(fact: run_result.Fact | None) -> str:
    if fact is None:
        return 'not known'
    if fact.value is None:
        return f'not known ({fact.reason[:_MAX_CHARS]})'
    if len(fact.value) > _MAX_CHARS:
        return f'{fact.value[:_MAX_CHARS]}...'
    return fact.value


def _differs(
    about: str, first: run_result.Fact | None, second: run_result.Fact | None
) -> Iterator[Circumstance]:
    values = [fact and fact.value for fact in (first, second)]
    # What neither run knows may differ, and says nothing.
    if values[0] != values[1]:
        yield Circumstance(
            about=about, first=_words(first), second=_words(second)
        )


def _plain(
    about: str, first: object, second: object
) -> Iterator[Circumstance]:
    if first != second:
        yield Circumstance(about=about, first=str(first), second=str(second))


def _rounds(before: precondition.Precondition | None) -> str:
    """Describe the writes of guests before the first turn."""
    if before is None:
        return 'no rounds'
    pattern = before.pattern
    return (
        f'rounds of {before.round_seconds} s of {pattern.rw} {pattern.bs} with'
        f' iodepth {pattern.iodepth} until steady, at most'
        f' {before.most_rounds}'
    )


def _cpus(guests: Sequence[run_result.GuestResult]) -> run_result.Fact:
    """Return the number of CPUs of each guest, which is that of the flavor."""
    value = guest_system.in_one_text(
        None
        if guest.system is None or guest.system.cpus is None
        else str(guest.system.cpus)
        for guest in guests
    )
    return run_result.Fact(
        value=value, reason='' if value else 'no guest said it'
    )


def _hosts(guests: Sequence[run_result.GuestResult]) -> run_result.Fact:
    """Return the number of guests' hosts, as far as a project may know."""
    hosts = {guest.host for guest in guests}
    known = bool(hosts) and None not in hosts
    return run_result.Fact(
        value=str(len(hosts)) if known else None,
        reason='' if known else 'Nova did not say it of each guest',
    )


def _of_tier(
    run: run_result.RunResult, tier: str
) -> tuple[run_result.GuestResult, ...]:
    return tuple(guest for guest in run.guests if guest.tier == tier)


def of_runs(
    first: run_result.RunResult,
    second: run_result.RunResult,
    tiers: Mapping[str, str],
) -> Iterator[Circumstance]:
    """Yield the differences between two runs.

    :param tiers: {tier of the first run: tier of the second run compared with
        it}
    """
    for name in FACTS:
        yield from _differs(
            name.replace('_', ' '),
            first.environment.get(name),
            second.environment.get(name),
        )
    yield from _plain(
        'guests per tier', first.guests_per_tier, second.guests_per_tier
    )
    yield from _plain(
        'tiers in the run',
        ', '.join(tier.tier for tier in first.tiers),
        ', '.join(tier.tier for tier in second.tiers),
    )
    yield from _plain(
        'tiers are measured',
        *(
            'side by side' if run.side_by_side else 'one after another'
            for run in (first, second)
        ),
    )
    yield from _plain(
        'guests',
        *(
            'kept from a former run'
            if run.run_of_fleet > 1
            else 'made for the run'
            for run in (first, second)
        ),
    )
    yield from _plain(
        'written before the first turn',
        _rounds(first.precondition),
        _rounds(second.precondition),
    )
    for field in dataclasses.fields(first.profile.method):
        yield from _plain(
            field.name.replace('_', ' '),
            getattr(first.profile.method, field.name),
            getattr(second.profile.method, field.name),
        )
    of_second = {tier.tier: tier for tier in second.tiers}
    for tier in first.tiers:
        other = of_second.get(tiers.get(tier.tier, ''))
        if other is None:
            continue
        name = tier.tier
        if other.tier != name:
            name = f'{name} and {other.tier}'
        yield from _differs(
            f'volume types of {name}', tier.volume_types, other.volume_types
        )
        yield from _differs(f'QoS specs of {name}', tier.qos, other.qos)
        yield from _differs(
            f'backends of {name}', tier.backends, other.backends
        )
        yield from _differs(f'image of {name}', tier.image, other.image)
        guests = [
            _of_tier(run, each.tier)
            for run, each in ((first, tier), (second, other))
        ]
        yield from _differs(f'CPUs of a guest of {name}', *map(_cpus, guests))
        yield from _differs(
            f'compute hosts of the guests of {name}', *map(_hosts, guests)
        )
    yield from _pools(first, second)


def _pools(
    first: run_result.RunResult, second: run_result.RunResult
) -> Iterator[Circumstance]:
    """Ceph pools of the same name that are not set up the same."""
    readings = [
        reading
        for run in (first, second)
        if run.ceph and (reading := run.ceph.after or run.ceph.before)
    ]
    if len(readings) < 2:
        return
    one, other = readings
    for name in sorted(one.pools.keys() & other.pools.keys()):
        for field in dataclasses.fields(one.pools[name]):
            yield from _plain(
                f'{field.name.replace("_", " ")} of pool {name}',
                getattr(one.pools[name], field.name),
                getattr(other.pools[name], field.name),
            )
