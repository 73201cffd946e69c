# SPDX-License-Identifier: Apache-2.0

"""The steps of a load curve: one pattern, paced faster from step to step.

A step is a pattern like any other, with fio's ``rate_iops`` and a name of its
own, so that schedules, orders and results need to know nothing of curves.

What is paced: each volume that a guest works on, by its own fio job.  fio
spaces the I/Os of a job evenly, or by chance if the pattern says so
(``rate_process``, fio 3.33 HOWTO "I/O rate"), and lets no more than
``iodepth`` of them be in flight: a tier that is too slow for a step does fewer
I/Os than were asked for.

Evenly spaced I/Os of guests that start together come together: their latency
depends on how many guests there are.  By chance, many guests at a few IOPS and
few guests at many are the same load (the sum of Poisson processes is one).
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from cinder_tiers.figures.fio import pattern as fio_pattern


def _suffix(rate_iops: int) -> str:
    return f'.r{rate_iops}'


def curve_name(pattern: fio_pattern.Pattern) -> str:
    """The pattern that a step is of; of one that is no step, its own name.

    >>> curve_name(fio_pattern.Pattern(name='a.r20', rw='read', bs='4k',
    ...                                rate_iops=20))
    'a'
    >>> curve_name(fio_pattern.Pattern(name='a.r20', rw='read', bs='4k'))
    'a.r20'
    """
    if pattern.rate_iops is None:
        return pattern.name
    return pattern.name.removesuffix(_suffix(pattern.rate_iops))


def asked_iops(pattern: fio_pattern.Pattern) -> int | None:
    """Return the IOPS requested of one volume; None if IOPS set no pace."""
    if pattern.rate_iops is None:
        return None
    return pattern.rate_iops * pattern.numjobs * len(pattern.directions)


def _wrong(pattern: fio_pattern.Pattern) -> Iterator[str]:
    for name in ('rate_iops', 'rate_kib', 'bssplit'):
        if getattr(pattern, name) is not None:
            # Before fio 3.42, bssplit and rate_iops give too few I/Os.
            yield f'it has {name}'
    if pattern.rw in fio_pattern.MIXES:
        # fio paces reads and writes each, which would undo the mix.
        yield f'rw {pattern.rw} reads and writes'
    if pattern.numjobs > 1:
        yield f'it has numjobs {pattern.numjobs}'


def paced(
    patterns: Iterable[fio_pattern.Pattern], steps: Sequence[int]
) -> tuple[fio_pattern.Pattern, ...]:
    """Make a pattern for each step of load.

    :param patterns: patterns of one direction and one process, without a rate
    :param steps: I/Os per second requested of each volume of each guest,
        rising
    :returns: the steps, pattern by pattern, with names such as
        ``randwrite-4k.r20``
    :raises ValueError: the steps do not rise from 1, or patterns cannot be
        paced; names all problems
    """
    if not steps or list(steps) != sorted(set(steps)) or steps[0] < 1:
        raise ValueError(
            f'load_steps {list(steps)}: expected IOPS of each volume from 1,'
            f' each more than the one before'
        )
    patterns = tuple(patterns)
    wrong = [
        f'load_steps with pattern {each.name!r}: {", ".join(found)}: expected'
        f' a pattern that only reads or only writes, in one process, without'
        f' a rate of its own'
        for each in patterns
        if (found := tuple(_wrong(each)))
    ]
    if wrong:
        raise ValueError('; '.join(wrong))
    return tuple(
        dataclasses.replace(
            each, name=f'{each.name}{_suffix(step)}', rate_iops=step
        )
        for each in patterns
        for step in steps
    )
