# SPDX-License-Identifier: Apache-2.0

"""A profile as the result file has it: what was run, and what was decided."""

from dataclasses import dataclass

from rally_scenarios.bench.fio import pattern as fio_pattern
from rally_scenarios.bench.profile import profile as named_profile


@dataclass(frozen=True, kw_only=True)
class ProfileUsed:
    """What was run; assumptions and the like as in ``named_profile``.

    :ivar name: of the profile
    :ivar size: paper, lab or smoke
    :ivar source: where its numbers are from
    :ivar method: how patterns were measured, after all changes
    :ivar patterns: in the order in which they ran
    :ivar repeats: how often each of them ran
    :ivar assumptions: what the source does not say and was decided here
    :ivar left_out: patterns of the source that this size leaves out
    :ivar changed: what the task changed
    """

    name: str
    size: named_profile.Size
    source: named_profile.Source
    method: fio_pattern.Profile
    patterns: tuple[fio_pattern.Pattern, ...]
    repeats: int
    assumptions: tuple[str, ...]
    left_out: tuple[str, ...]
    changed: tuple[str, ...]


def of(profile: named_profile.NamedProfile) -> ProfileUsed:
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
