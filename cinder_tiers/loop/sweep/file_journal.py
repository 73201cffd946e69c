# SPDX-License-Identifier: Apache-2.0

"""The journal of a sweep: what is to be brought back, on the disk.

It is written once, before the first change, and is never changed while the
sweep goes on: what treatments may write is known before. It is removed when
everything was read back. So a journal that is there means that something may
have to be brought back, and one that is not that nothing has. JSON; keys are
described in doc/source/admin/sweeps.rst.
"""

import collections.abc
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import stat

import jsonschema

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.files import check_json
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import kept as keeping

#: Without faults, which older releases cannot mend.
VERSION = 1
VERSION_WITH_FAULTS = 2
MAX_SIZE_BYTES = 64 * 2**20

_TEXT = {'type': 'string'}
_OPTIONAL = {'type': ['string', 'null']}
_SCHEMA = {
    'type': 'object',
    'required': ['version', 'cloud', 'tier', 'catalog', 'started', 'objects'],
    'properties': {
        'version': {'enum': [VERSION, VERSION_WITH_FAULTS]},
        'faults': {
            'type': 'array',
            'items': {
                'type': 'object',
                'required': ['name', 'kind', 'cluster', 'pool', 'osd', 'end'],
                'properties': {
                    'name': _TEXT,
                    'kind': {'enum': [one.value for one in faults.Kind]},
                    'cluster': _TEXT,
                    'pool': _TEXT,
                    'osd': {'type': ['integer', 'null'], 'minimum': 0},
                    'end': {'type': 'array', 'items': _TEXT},
                },
            },
        },
        'cloud': _TEXT,
        'tier': _TEXT,
        'sweep_file': _TEXT,
        'catalog_file': _TEXT,
        'catalog': _TEXT,
        'started': _TEXT,
        'by': _TEXT,
        'results': _TEXT,
        'folder': _TEXT,
        'objects': {
            'type': 'array',
            'items': {
                'type': 'object',
                'required': ['kind', 'cluster', 'name', 'existed', 'settings'],
                'properties': {
                    'kind': {'enum': [one.value for one in keeping.KINDS]},
                    'cluster': _OPTIONAL,
                    'name': _TEXT,
                    'existed': {'type': 'boolean'},
                    'settings': {
                        'type': 'array',
                        'items': {
                            'type': 'object',
                            'required': ['field', 'before', 'swept'],
                            'properties': {
                                'field': _TEXT,
                                'before': _OPTIONAL,
                                'swept': {'type': 'array', 'items': _TEXT},
                                'option_kind': _TEXT,
                            },
                        },
                    },
                },
            },
        },
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Journal:
    """What a sweep has to bring back."""

    #: Tells the cloud from others.
    cloud: str
    tier: str
    sweep_file: str
    catalog_file: str
    #: Text of the tiers file, with all that it includes.
    catalog: str
    #: UTC, as 2026-11-23T20:00:00Z.
    started: str
    #: Who: user, host and process.
    by: str
    #: The file with the results.
    results: str
    kept: tuple[keeping.Kept, ...]
    #: Those that are to be mended.
    targets: tuple[faults.Target, ...] = ()
    #: In which the sweep ran, and the commands of its faults are to be run;
    #: '': that of the process, as in journals of former releases.
    folder: str = ''


_NAME = re.compile('sweep-[0-9a-f]{16}[.]json', re.ASCII)
_PARTS = ('kept', 'targets')


def path_in(folder: str, cloud: str) -> str:
    """Path of the journal of a cloud.

    :param folder: of journals.
    :param cloud: tells it from others.
    """
    digest = hashlib.sha256(cloud.encode()).hexdigest()
    return os.path.join(folder, f'sweep-{digest[:16]}.json')


def all_in(folder: str) -> list[str]:
    """Paths of all journals in a folder."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [
        os.path.join(folder, name) for name in names if _NAME.fullmatch(name)
    ]


def write(path: str, journal: Journal) -> None:
    """Writes a journal; it is on the disk when this returns.

    :param path: of the file, which must not exist; only its owner may read
        it.
    :raises errors.TiersError: it cannot be written, or exists.
    """
    text = json.dumps(
        {
            'version': VERSION_WITH_FAULTS if journal.targets else VERSION,
            **{
                name: value
                for name, value in vars(journal).items()
                if name not in _PARTS
            },
            'faults': [
                {
                    'name': one.fault.name,
                    'kind': one.fault.kind.value,
                    'cluster': one.cluster,
                    'pool': one.pool,
                    'osd': one.osd,
                    'end': one.fault.end,
                }
                for one in journal.targets
            ],
            'objects': [
                {
                    'kind': one.key.kind.value,
                    'cluster': one.key.cluster,
                    'name': one.key.name,
                    'existed': one.existed,
                    'settings': [
                        {**vars(setting), 'swept': sorted(setting.swept)}
                        for setting in one.settings
                    ],
                }
                for one in journal.kept
            ],
        },
        indent=2,
    )
    folder = os.path.dirname(path)
    try:
        write_atomic.make_folder(folder)
    except OSError as error:
        raise errors.TiersError(
            f'{folder}, the folder of the journal, cannot be '
            f'made: {error.strerror}; name another one with --state'
        ) from error
    write_atomic.write(
        path, text + '\n', replace=False, is_durable=True, follows=False
    )


def read(path: str) -> Journal | None:
    """Reads a journal.

    :param path: of the file.
    :returns: None when there is none.
    :raises errors.ProblemsFound: it cannot be read, or is no journal.
    """
    try:
        _check_owner(path)
        content = read_bounded.read(path, max_bytes=MAX_SIZE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _problem(path, f'{error.strerror}') from error
    try:
        value = json.loads(content)
        check_json.check(value, _SCHEMA)
    except (ValueError, RecursionError) as error:
        raise _problem(path, 'a file that is not JSON') from error
    except jsonschema.ValidationError as error:
        raise _problem(
            path, f'{error.message[:200]} at {error.json_path}'
        ) from error
    kept = tuple(map(_kept, value['objects']))
    for one in kept:
        # It would be deleted, which no sweep may do to a pool.
        if not one.existed and not keeping.may_be_made(one.key.kind):
            raise _problem(
                path,
                f'"existed": false of {one.key}, which no sweep creates',
            )
    return Journal(
        **{
            one.name: value.get(one.name, '')
            for one in dataclasses.fields(Journal)
            if one.name not in _PARTS
        },
        kept=kept,
        targets=tuple(map(_target, value.get('faults', ()))),
    )


def _check_owner(path: str) -> None:
    """A journal has commands that are run, and values that are written.

    In a folder that others may write in, such as one for all who sweep, it
    must not be another user who has put it there.

    :raises errors.ProblemsFound: it is another user's, or a link.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise _problem(path, 'a symbolic link')
    if found.st_uid not in (0, os.geteuid()):
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=path,
                    found=f'a journal of user {found.st_uid}, with values to '
                    'write and commands to run as this user',
                    expected=f'one of user {os.geteuid()} or of root',
                    remedy='restore as that user, or check its content '
                    'and make it yours (chown)',
                )
            ]
        )


def _target(value: dict) -> faults.Target:
    return faults.Target(
        fault=faults.Fault(
            name=value['name'],
            kind=faults.Kind(value['kind']),
            # When it was to be made no longer matters.
            at_s=0.0,
            for_s=0.0,
            osd=value['osd'],
            end=tuple(value['end']),
        ),
        cluster=value['cluster'],
        pool=value['pool'],
        osd=value['osd'],
    )


def _kept(value: dict) -> keeping.Kept:
    return keeping.Kept(
        key=actions.Key(
            kind=actions.Kind(value['kind']),
            cluster=value['cluster'],
            name=value['name'],
        ),
        existed=value['existed'],
        settings=tuple(
            keeping.Setting(
                field=one['field'],
                before=one['before'],
                swept=frozenset(one['swept']),
                option_kind=one.get('option_kind', ''),
            )
            for one in value['settings']
        ),
    )


def _problem(path: str, found: str) -> errors.ProblemsFound:
    return errors.ProblemsFound(
        [
            errors.Problem(
                where=path,
                found=found,
                expected='the journal of a sweep, version '
                f'{VERSION} or {VERSION_WITH_FAULTS}',
                remedy='use the release of cinder-tiers that wrote it; it '
                'holds the values to restore, so do not remove it',
            )
        ]
    )


def remove(path: str) -> None:
    """Removes a journal, when everything is back.

    :raises errors.TiersError: it cannot be removed.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            pathlib.Path(path).unlink()
            write_atomic.keep_names(os.path.dirname(path))
    except OSError as error:
        raise errors.TiersError(
            f'Everything is as before, but {path} cannot be '
            f'removed: {error.strerror}; remove it'
        ) from error


def names_of(
    kept: collections.abc.Iterable[keeping.Kept],
) -> tuple[str, ...]:
    """The names of all values that a journal holds."""
    return tuple(
        keeping.name_of(one.key, setting.field)
        for one in kept
        for setting in one.settings
    )
