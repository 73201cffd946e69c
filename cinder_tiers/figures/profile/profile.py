# SPDX-License-Identifier: Apache-2.0
"""An fio experiment with a name: patterns, times, repeats, where it is from.

A profile says what a paper or a user measured.  Its smaller sizes follow from
it by the rules below, the same for all, so that two sets of numbers cannot
drift apart.

This module must not know files: ``profile_document`` and ``job_file`` read
them.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import enum
from typing import Any

from cinder_tiers.figures.fio import pattern as fio_pattern

# Engines that wait for each I/O: with them iodepth has no effect.
SYNCHRONOUS_ENGINES = ('sync', 'psync', 'vsync', 'pvsync', 'pvsync2', 'mmap')

# guest/frames.py takes 1000 events of a guest, two for each run.
MAX_SLOTS = 400


class ProfileSize(enum.Enum):
    """Scale at which a profile is run."""

    PAPER = 'paper'  # exact numbers
    LAB = 'lab'  # a small cloud, minutes for a pattern
    SMOKE = 'smoke'  # does it work at all


@dataclass(frozen=True, kw_only=True)
class _SizeLimits:
    """The most of each that a size takes over; the rest is cut off."""

    region_mib: int
    ramp_seconds: int
    runtime_seconds: int
    startdelay_seconds: int
    repeats: int


# Ramp: hard disks with their journal on flash show their own speed after 2 to
# 4 s (tasks/quick.yaml).  Runtime: steadiness needs 30 s in common, fio does
# not always log the last one, and guests start apart.  Repeats: an interval
# needs two at least.
_LIMITS = {
    ProfileSize.LAB: _SizeLimits(
        region_mib=256,
        ramp_seconds=5,
        runtime_seconds=33,
        startdelay_seconds=1,
        repeats=3,
    ),
    ProfileSize.SMOKE: _SizeLimits(
        region_mib=64,
        ramp_seconds=4,
        runtime_seconds=8,
        startdelay_seconds=0,
        repeats=2,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Origin of the numbers of a profile."""

    #: key of the paper, such as ``meyer2016``, the job file, or ``task``
    paper: str
    #: section, table or figure
    where: str
    #: the tool that was used where it was not fio, else empty
    stands_for: str = ''


#: Of patterns that a task lists itself: they are of no profile.
LISTED_BY_TASK = Source(paper='task', where='patterns')


@dataclass(frozen=True, kw_only=True)
class NamedProfile:
    """An experiment."""

    #: what tasks call it
    name: str
    #: where its numbers are from
    source: Source
    #: in the order in which they run
    patterns: tuple[fio_pattern.Pattern, ...]
    #: how they are measured
    method: fio_pattern.Profile
    #: how often each pattern runs, at least 1
    repeats: int = 1
    #: fleet sizes that the source used; empty if it does not say. For the
    #: reader: the fleet's size is an argument of the scenario.
    guests: tuple[int, ...] = ()
    #: what the source does not say and was decided here
    assumptions: tuple[str, ...] = ()
    #: which size this is; of no meaning where a task lists its patterns
    size: ProfileSize = ProfileSize.PAPER
    #: patterns of the source that this size leaves out
    left_out: tuple[str, ...] = ()
    #: what a task changed, in words, such as ``runtime_seconds 300 -> 60``
    changed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what the parts cannot know of each other.

        :raises ValueError: names everything that is wrong
        """
        wrong = list(self._wrong())
        if wrong:
            raise ValueError('; '.join(wrong))

    def _wrong(self) -> Iterator[str]:
        if not self.patterns:
            yield 'no patterns: expected at least one'
        if not 1 <= self.repeats <= 100:
            yield f'repeats {self.repeats}: expected 1 to 100'
        if len(self.patterns) * self.repeats > MAX_SLOTS:
            yield (
                f'{len(self.patterns)} patterns x {self.repeats} repeats:'
                f' expected at most {MAX_SLOTS} runs, what is believed of'
                f' one guest'
            )
        names = [pattern.name for pattern in self.patterns]
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f'pattern named twice: {name}'
        for pattern in self.patterns:
            for check in (check_engine, fio_pattern.measure_argv):
                try:
                    check(pattern, self.method)
                except ValueError as error:
                    yield str(error)


def check_engine(
    pattern: fio_pattern.Pattern, method: fio_pattern.Profile
) -> None:
    """Check that a pattern's engine supports the pattern's iodepth.

    :raises ValueError: the engine waits for each I/O
    """
    engine = pattern.ioengine or method.ioengine
    if pattern.iodepth > 1 and engine in SYNCHRONOUS_ENGINES:
        raise ValueError(
            f'pattern {pattern.name!r}: iodepth {pattern.iodepth} with the'
            f' engine {engine}, which waits for each I/O: expected iodepth 1,'
            f' or an engine such as libaio'
        )


def _fits(pattern: fio_pattern.Pattern, region_mib: int) -> bool:
    """Return whether what is in flight leaves room to choose another block."""
    return 2 * pattern.in_flight_bytes <= region_mib * 1024**2


def _is_cut_away(
    pattern: fio_pattern.Pattern,
    patterns: Sequence[fio_pattern.Pattern],
    region_mib: int,
) -> bool:
    """Return whether a size does not fit, but another one of its load does.

    A sweep of sizes is cut off where the region ends: with its size cut to
    the region, the pattern would be measured under a size that it has not.
    """
    if pattern.size_mib is None or pattern.size_mib <= region_mib:
        return False
    load = dataclasses.replace(pattern, name='x', size_mib=None)
    return any(
        each.size_mib is not None
        and each.size_mib <= region_mib
        and dataclasses.replace(each, name='x', size_mib=None) == load
        for each in patterns
    )


def _first_and_last_of_each_rw(
    patterns: Sequence[fio_pattern.Pattern],
) -> list[fio_pattern.Pattern]:
    kept: list[fio_pattern.Pattern] = []
    for rw in dict.fromkeys(pattern.rw for pattern in patterns):
        same = [pattern for pattern in patterns if pattern.rw == rw]
        kept += {same[0].name: same[0], same[-1].name: same[-1]}.values()
    return [pattern for pattern in patterns if pattern in kept]


def _cut_pattern(
    pattern: fio_pattern.Pattern, limits: _SizeLimits, region_mib: int
) -> fio_pattern.Pattern:
    size_mib = pattern.size_mib and min(pattern.size_mib, region_mib)
    return dataclasses.replace(
        pattern,
        size_mib=size_mib,
        startdelay_seconds=min(
            pattern.startdelay_seconds, limits.startdelay_seconds
        ),
    )


def at_size(profile: NamedProfile, size: ProfileSize) -> NamedProfile:
    """Return the profile at another size.

    ``paper`` is the profile itself.  ``lab`` and ``smoke`` cut region, ramp,
    runtime, start delay and repeats down to their limits, never up.  A region
    keeps room for twice the I/Os in flight of the pattern with the fewest;
    patterns whose I/Os in flight take more than half of it are left out, and
    so are the steps of a sweep of sizes that do not fit.  Of the rest,
    ``smoke`` keeps the first and the last of each ``rw``: the ends of a sweep.

    :param profile: a profile of size ``paper``
    :raises ValueError: it has another size, or no pattern would be left
    """
    if profile.size is not ProfileSize.PAPER:
        raise ValueError(
            f'profile {profile.name!r} is already at size'
            f' {profile.size.value}, expected paper'
        )
    if size is ProfileSize.PAPER:
        return profile
    limits = _LIMITS[size]
    least_bytes = min(p.in_flight_bytes for p in profile.patterns)
    region_mib = max(limits.region_mib, -(-2 * least_bytes // 1024**2))
    method = dataclasses.replace(
        profile.method,
        region_mib=min(profile.method.region_mib, region_mib),
        **{
            name: min(getattr(profile.method, name), getattr(limits, name))
            for name in ('ramp_seconds', 'runtime_seconds')
        },
    )
    kept = [
        pattern
        for pattern in profile.patterns
        if _fits(pattern, method.region_mib)
        and not _is_cut_away(pattern, profile.patterns, method.region_mib)
    ]
    if size is ProfileSize.SMOKE:
        kept = _first_and_last_of_each_rw(kept)
    if not kept:
        raise ValueError(
            f'profile {profile.name!r} has no pattern that fits a region of'
            f' {method.region_mib} MiB, size {size.value}: use size paper'
        )
    return dataclasses.replace(
        profile,
        size=size,
        method=method,
        patterns=tuple(
            _cut_pattern(pattern, limits, method.region_mib)
            for pattern in kept
        ),
        repeats=min(profile.repeats, limits.repeats),
        left_out=tuple(
            pattern.name for pattern in profile.patterns if pattern not in kept
        ),
    )


def changed(
    profile: NamedProfile, *, repeats: int | None = None, **method: Any
) -> NamedProfile:
    """The profile with values of a task in place of its own.

    :param repeats: None: the profile's
    :param method: fields of ``fio_pattern.Profile`` that are to change
    :raises ValueError: the values are wrong, or the patterns do not fit them
    """
    before = {name: str(getattr(profile.method, name)) for name in method}
    patterns = profile.patterns
    if 'ioengine' in method:
        # Those of a job file have engines of their own.
        before['ioengine'] = ', '.join(
            sorted(
                {each.ioengine or profile.method.ioengine for each in patterns}
            )
        )
        patterns = tuple(
            dataclasses.replace(each, ioengine=None) for each in patterns
        )
    words = [
        f'{name} {before[name]} -> {value}'
        for name, value in method.items()
        if before[name] != str(value)
    ]
    if repeats is not None and repeats != profile.repeats:
        words.append(f'repeats {profile.repeats} -> {repeats}')
    return dataclasses.replace(
        profile,
        method=dataclasses.replace(profile.method, **method),
        patterns=patterns,
        repeats=profile.repeats if repeats is None else repeats,
        changed=(*profile.changed, *words),
    )


@dataclass(frozen=True, kw_only=True)
class ProfileUsed:
    """Profile that was run; other fields as in ``NamedProfile``."""

    #: of the profile
    name: str
    #: paper, lab or smoke
    size: ProfileSize
    #: where its numbers are from
    source: Source
    #: how patterns were measured, after all changes
    method: fio_pattern.Profile
    #: in the order in which they ran
    patterns: tuple[fio_pattern.Pattern, ...]
    #: how often each of them ran
    repeats: int
    #: what the source does not say and was decided here
    assumptions: tuple[str, ...]
    #: patterns of the source that this size leaves out
    left_out: tuple[str, ...]
    #: what the task changed
    changed: tuple[str, ...]


def from_profile(profile: NamedProfile) -> ProfileUsed:
    """A profile as it is written."""
    return ProfileUsed(
        name=profile.name,
        size=profile.size,
        source=profile.source,
        method=profile.method,
        patterns=profile.patterns,
        repeats=profile.repeats,
        assumptions=profile.assumptions,
        left_out=profile.left_out,
        changed=profile.changed,
    )
