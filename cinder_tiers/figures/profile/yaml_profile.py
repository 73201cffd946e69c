# SPDX-License-Identifier: Apache-2.0
"""A profile out of plain values, as YAML or JSON gives them.

Keys have the names of fio's options, with their units where fio's have none.
"""

from dataclasses import dataclass

from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile


@dataclass(frozen=True, kw_only=True)
class _Preparation:
    fill_passes: int


@dataclass(frozen=True, kw_only=True)
class _ProfileFile:
    """The keys of a file; what is behind them checks itself."""

    name: str
    source: named_profile.Source
    preparation: _Preparation
    patterns: tuple[fio_pattern.Pattern, ...]
    ioengine: str
    size_mib: int
    ramp_seconds: int
    runtime_seconds: int
    repeats: int
    guests: tuple[int, ...] = ()
    assumptions: tuple[str, ...] = ()


def profile(document: object, *, file: str) -> named_profile.NamedProfile:
    """Make a profile of size ``paper``.

    :param document: content of the file as plain values
    :param file: name of the file in messages
    :raises record.RecordError: the content is invalid; a line with its key for
        each problem
    """
    try:
        found = record.read(_ProfileFile, document, has_defaults=True)
        return named_profile.NamedProfile(
            name=found.name,
            source=found.source,
            patterns=found.patterns,
            method=fio_pattern.Profile(
                region_mib=found.size_mib,
                ramp_seconds=found.ramp_seconds,
                runtime_seconds=found.runtime_seconds,
                ioengine=found.ioengine,
                fill_passes=found.preparation.fill_passes,
            ),
            repeats=found.repeats,
            guests=found.guests,
            assumptions=found.assumptions,
        )
    except ValueError as error:
        raise record.RecordError(
            *(f'{file}: {line}' for line in errors.lines_of(error))
        ) from error
