# SPDX-License-Identifier: Apache-2.0

"""Check that patterns of one name are the same in several runs.

Pure.  The profile of each run defines its patterns; a name alone says nothing.
"""

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import result as run_result


def named(
    pattern: str, side: Sequence[run_result.RunResult]
) -> dict[fio_pattern.Pattern, str]:
    """Return {pattern in a profile: first run that has it} for a name.

    :param pattern: name of the pattern in the results
    :param side: runs that may have it
    :raises ValueError: a profile lacks the pattern
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
    """Explain why runs of a pattern differ in it; empty if they do not.

    :param pattern: name of the pattern in the results
    :param side: runs that may have it
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
