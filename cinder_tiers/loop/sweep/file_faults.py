# SPDX-License-Identifier: Apache-2.0

"""The section `faults` of a sweep file -> faults, or all that is wrong."""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import fault as faults

#: Names of the section and of what belongs to it, in the sweep file.
FAULTS, COUNTS_FROM, RECOVERY = 'faults', 'counts_from', 'recovery_minutes'
_COMMANDS = ('begin', 'end')

_WORDS = {
    'description': 'a list of a program and its arguments, each a text',
    'type': 'array',
    'minItems': 1,
    'maxItems': 64,
    'items': {
        'description': 'a text of 1 to 4096 characters',
        'type': 'string',
        'minLength': 1,
        'maxLength': 4096,
        # No program gets it.
        'pattern': r'^[^\x00]*$',
    },
}
#: {key of the sweep file: schema}
PROPERTIES: dict[str, object] = {
    FAULTS: {
        'description': f'a mapping of 1 to {faults.MOST_FAULTS} names to '
        'faults',
        'type': 'object',
        'minProperties': 1,
        'maxProperties': faults.MOST_FAULTS,
        'propertyNames': {
            'description': 'a name of 1 to 80 letters, digits and any of '
            "'_.-'",
            'pattern': '^[A-Za-z0-9_.-]{1,80}$(?!\\n)',
        },
        'additionalProperties': {
            'description': 'a mapping with kind, at_seconds and for_seconds',
            'type': 'object',
            'additionalProperties': False,
            'required': ['kind', 'at_seconds', 'for_seconds'],
            'properties': {
                'kind': {
                    'description': 'one of '
                    f'{", ".join(one.value for one in faults.FaultKind)}',
                    'enum': [one.value for one in faults.FaultKind],
                },
                'at_seconds': {
                    'description': 'a number from 0 to 86400',
                    'type': 'number',
                    'minimum': 0,
                    'maximum': 86400,
                },
                'for_seconds': {
                    'description': 'a number from 1 to 86400',
                    'type': 'number',
                    'minimum': 1,
                    'maximum': 86400,
                },
                'osd': {
                    'description': 'the id of an OSD, an integer of 0 or more',
                    'type': 'integer',
                    'minimum': 0,
                    'maximum': 2**31 - 2,
                },
                **dict.fromkeys(_COMMANDS, _WORDS),
            },
        },
    },
    COUNTS_FROM: {
        'description': f'one of {", ".join(faults.COUNTS_FROM)}',
        'enum': list(faults.COUNTS_FROM),
    },
    RECOVERY: {
        'description': 'a number from 0.1 to 10000',
        'type': 'number',
        'minimum': 0.1,
        'maximum': 10_000,
    },
}


def read(
    value: collections.abc.Mapping, source: catalogs.CatalogSource
) -> tuple[faults.Faults, tuple[errors.Problem, ...]]:
    """Return the faults of a sweep file, and its problems.

    :param value: content of the file, which matches the schema.
    :param source: the lines of the file.
    """
    found = faults.Faults(
        faults=tuple(
            faults.Fault(
                name=name,
                kind=faults.FaultKind(one['kind']),
                at_s=float(one['at_seconds']),
                for_s=float(one['for_seconds']),
                osd=one.get('osd'),
                **{key: tuple(one.get(key, ())) for key in _COMMANDS},
            )
            for name, one in value.get(FAULTS, {}).items()
        ),
        counts_from=value.get(COUNTS_FROM, faults.COMMAND),
        recovery_minutes=float(value.get(RECOVERY, faults.RECOVERY_MINUTES)),
    )
    return found, tuple(_problems(found, source))


def _problems(
    found: faults.Faults, source: catalogs.CatalogSource
) -> collections.abc.Iterator[errors.Problem]:
    for one in found.faults:
        place = (FAULTS, one.name)
        is_command = one.kind is faults.FaultKind.COMMAND
        if one.osd is not None and one.kind not in faults.OF_OSDS:
            yield errors.Problem(
                where=source.where((*place, 'osd')),
                found=f'fault {one.name} of kind {one.kind.value} with osd',
                expected=f'osd only for {_kinds(faults.OF_OSDS)}',
                remedy='remove osd',
            )
        for key in _COMMANDS:
            has = bool(getattr(one, key))
            if has and not is_command:
                yield errors.Problem(
                    where=source.where((*place, key)),
                    found=f'fault {one.name} of kind {one.kind.value} with '
                    f'{key}',
                    expected=f'{key} only for '
                    f'{faults.FaultKind.COMMAND.value}',
                    remedy=f'remove {key}',
                )
            elif is_command and not has:
                yield errors.Problem(
                    where=source.where(place),
                    found=f'fault {one.name} of kind {one.kind.value} '
                    f'without {key}',
                    expected='a command that begins it, and one that ends it '
                    'and may be repeated',
                    remedy=f'add {key}',
                )
    for one, other in faults.overlapping(found.faults):
        yield errors.Problem(
            where=source.where((FAULTS, other.name, 'at_seconds')),
            found=f'fault {other.name} begins at {other.at_s:g} s, before '
            f'{one.name} ends at {one.ends_s:g} s',
            expected='one fault of an OSD at a time: a second one may cost '
            'data',
            remedy='let it begin later, with time to recover between them',
        )


def _kinds(kinds: collections.abc.Iterable[faults.FaultKind]) -> str:
    return ' and '.join(sorted(one.value for one in kinds))
