# SPDX-License-Identifier: Apache-2.0

"""Whether runs that have a pattern of one name did the same.

Pure.  What a pattern does is in the profile of each run; a name alone says
nothing.
"""

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import result as run_result


def named(
    pattern: str, side: Sequence[run_result.RunResult]
) -> dict[fio_pattern.Pattern, str]:
    """{what a profile says of a pattern: the first run that has it}.

    :param pattern: name in the results
    :param side: that may have it
    :raises ValueError: a profile does not have it
    """
    known: dict[fio_pattern.Pattern, str] = {}
    for run in side:
        for tier in run.tiers:
            for each in tier.patterns:
                if each.pattern != pattern:
                    continue
                try:
                    known.setdefault(run.pattern_of(each), run.run)
                except ValueError as error:
                    raise ValueError(f'run {run.run}: {error}') from error
    return known


def not_the_same(
    pattern: str,
    side: Sequence[run_result.RunResult],
    varied: Collection[str] = (),
) -> str:
    """Why runs of a pattern are not runs of the same; empty if they are.

    :param pattern: name in the results
    :param side: that may have it
    :param varied: fields of patterns that differ on purpose
    """
    try:
        known = list(named(pattern, side).items())
    except ValueError as error:
        return str(error)
    one, run = known[0] if known else (None, '')
    for other, other_run in known[1:]:
        changed = [
            f'{field.name} {getattr(one, field.name)} in run {run},'
            f' {getattr(other, field.name)} in run {other_run}'
            for field in dataclasses.fields(other)
            if field.name not in varied
            and getattr(one, field.name) != getattr(other, field.name)
        ]
        if changed:
            return f'the pattern is not the same: {"; ".join(changed)}'
    return ''
