# SPDX-License-Identifier: Apache-2.0
"""A profile out of plain values, as YAML or JSON gives them.

All faults are reported at once, by file and key.  Keys have the names of
fio's options, with their units where fio's have none.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import typing
from typing import Any

from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile

_T = typing.TypeVar('_T')
_REQUIRED = object()
_TYPE_NAMES = {
    str: 'text',
    int: 'an integer',
    bool: 'true or false',
    list: 'a list',
    dict: 'a mapping',
}

# key: (type, default); what is behind a key is checked by whom it is for.
_PROFILE_KEYS = {
    'name': (str, _REQUIRED),
    'source': (dict, _REQUIRED),
    'preparation': (dict, _REQUIRED),
    'patterns': (list, _REQUIRED),
    'ioengine': (str, _REQUIRED),
    'size_mib': (int, _REQUIRED),
    'ramp_seconds': (int, _REQUIRED),
    'runtime_seconds': (int, _REQUIRED),
    'repeats': (int, _REQUIRED),
    'guests': (list, []),
    'assumptions': (list, []),
}
_SOURCE_KEYS = {
    'paper': (str, _REQUIRED),
    'where': (str, _REQUIRED),
    'stands_for': (str, ''),
}
_PREPARATION_KEYS = {'fill_passes': (int, _REQUIRED)}
_PATTERN_KEYS = {
    'name': (str, _REQUIRED),
    'rw': (str, _REQUIRED),
    'bs': (str, None),
    'bsrange': (str, None),
    'bssplit': (str, None),
    'iodepth': (int, 1),
    'rwmixread_percent': (int, None),
    'ioengine': (str, None),
    'numjobs': (int, 1),
    'rate_iops': (int, None),
    'rate_kib': (int, None),
    'size_mib': (int, None),
    'startdelay_seconds': (int, 0),
    'end_fsync': (bool, False),
    'rate_process': (str, None),
    'fdatasync': (int, None),
    'fsync': (int, None),
    'sync': (str, None),
    'direct': (bool, True),
    'random_distribution': (str, None),
    'thinktime_us': (int, None),
}


class _Reader:
    """Values of one file, and what is wrong with them."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[errors.Problem] = []

    def problem(
        self, key: str, found: str, expected: str, remedy: str
    ) -> None:
        self.problems.append(
            errors.Problem(
                where=f'{self._file}: {key}' if key else self._file,
                found=found,
                expected=expected,
                remedy=remedy,
            )
        )

    def typed(
        self, value: object, kind: type[_T], key: str
    ) -> typing.TypeGuard[_T]:
        """Whether the value is of a type; bool is not an integer."""
        right = isinstance(value, kind) and (
            kind is bool or not isinstance(value, bool)
        )
        if not right:
            self.problem(
                key,
                f'found {str(value)[:60]!r}',
                _TYPE_NAMES[kind],
                'fix it',
            )
        return right

    def fields(
        self,
        value: object,
        keys: Mapping[str, tuple[type, object]],
        place: str,
    ) -> tuple[dict[str, Any], bool]:
        """Values by key, with defaults, and whether none is missing."""
        if not self.typed(value, dict, place or 'the file'):
            return {}, False
        before = len(self.problems)
        prefix = place and f'{place}.'
        for key in value:
            if key not in keys:
                near = spelling.did_you_mean(str(key), keys)
                self.problem(
                    f'{prefix}{key}',
                    'unknown key',
                    f'one of {", ".join(keys)}',
                    f'{near}correct or remove it',
                )
        found = {
            key: default
            for key, (_kind, default) in keys.items()
            if default is not _REQUIRED
        }
        for key, (kind, default) in keys.items():
            if key in value:
                if self.typed(value[key], kind, f'{prefix}{key}'):
                    found[key] = value[key]
            elif default is _REQUIRED:
                self.problem(
                    f'{prefix}{key}',
                    'it is missing',
                    _TYPE_NAMES[kind],
                    'add it',
                )
        return found, len(self.problems) == before

    def each(self, values: list, kind: type[_T], place: str) -> tuple[_T, ...]:
        """The elements of a list that have the type."""
        return tuple(
            value
            for number, value in enumerate(values)
            if self.typed(value, kind, f'{place}[{number}]')
        )

    def made(
        self, kind: type[_T], place: str, values: dict[str, Any]
    ) -> _T | None:
        """An object of a class that checks itself; None if it refuses."""
        try:
            return kind(**values)
        except ValueError as error:
            self.problem(place, str(error), 'what fio can run', 'fix it')
            return None


def _patterns(
    reader: _Reader, values: list
) -> Iterator[fio_pattern.Pattern | None]:
    for number, value in enumerate(values):
        place = f'patterns[{number}]'
        fields, complete = reader.fields(value, _PATTERN_KEYS, place)
        if complete:
            yield reader.made(fio_pattern.Pattern, place, fields)


def _method(reader: _Reader, fields: dict) -> fio_pattern.Profile | None:
    preparation, complete = reader.fields(
        fields.get('preparation', {'fill_passes': 1}),
        _PREPARATION_KEYS,
        'preparation',
    )
    names = {
        'region_mib': 'size_mib',
        'ioengine': 'ioengine',
        'ramp_seconds': 'ramp_seconds',
        'runtime_seconds': 'runtime_seconds',
    }
    if not complete or not set(names.values()) <= set(fields):
        return None
    return reader.made(
        fio_pattern.Profile,
        '',
        {
            **{field: fields[key] for field, key in names.items()},
            **preparation,
        },
    )


def profile(document: object, *, file: str) -> named_profile.NamedProfile:
    """Make a profile of size ``paper``.

    :param document: what the file holds, as plain values
    :param file: how messages call it
    :raises cinder_tiers.domain.errors.ProblemsFound: something is wrong with
        it; all problems, each with its key
    """
    reader = _Reader(file)
    fields, _complete = reader.fields(document, _PROFILE_KEYS, '')
    source: dict = {}
    if 'source' in fields:
        source, _complete = reader.fields(
            fields['source'], _SOURCE_KEYS, 'source'
        )
    patterns = tuple(_patterns(reader, fields.get('patterns', [])))
    method = _method(reader, fields)
    guests = reader.each(fields.get('guests', []), int, 'guests')
    assumptions = reader.each(
        fields.get('assumptions', []), str, 'assumptions'
    )
    made = (
        None
        if reader.problems
        else reader.made(
            named_profile.NamedProfile,
            '',
            {
                'name': fields['name'],
                'repeats': fields['repeats'],
                'source': named_profile.Source(**source),
                'patterns': patterns,
                'method': method,
                'guests': guests,
                'assumptions': assumptions,
            },
        )
    )
    if made is None:
        raise errors.ProblemsFound(reader.problems)
    return made
