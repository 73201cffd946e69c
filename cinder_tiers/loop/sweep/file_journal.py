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
import os
import pathlib
import re
import stat

from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.files import file_problems
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.fault import fault as fault_values
from cinder_tiers.loop.sweep import kept as keeping

VERSION = 1
MAX_SIZE_BYTES = 64 * 2**20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Journal:
    """Values that a sweep must restore."""

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
    #: What is changed.
    objects: tuple[keeping.Kept, ...]
    #: Those that are to be mended.
    faults: tuple[fault_values.Target, ...] = ()
    #: In which the sweep ran, and the commands of its faults are to be run;
    #: '': that of the process.
    folder: str = ''


_NAME = re.compile('sweep-[0-9a-f]{16}[.]json', re.ASCII)


def path_in(folder: str, cloud: str) -> str:
    """Path of the journal of a cloud.

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
    """Write a journal; it is on the disk when this returns.

    :param path: path of the file, which must not exist; only its owner may
        read it.
    :raises errors.TiersError: the file cannot be written, or exists.
    """
    text = record.dumps(journal, indent=2, version=VERSION)
    folder = os.path.dirname(path)
    try:
        write_atomic.make_folder(folder)
    except OSError as error:
        raise errors.TiersError(
            f'{folder}, the folder of the journal, cannot be '
            f'made: {error.strerror}; name another one with --state'
        ) from error
    write_atomic.write(
        path, text, replace=False, is_durable=True, follows=False
    )


def read(path: str) -> Journal | None:
    """Reads a journal.

    :returns: None when there is none.
    :raises errors.ProblemsFound: it cannot be read, or is no journal.
    """
    with file_problems.told(
        path,
        expected=f'the journal of a sweep, version {VERSION}',
        remedy='use the release of cinder-tiers that wrote it; it holds the '
        'values to restore, so do not remove it',
    ):
        try:
            _check_owner(path)
            content = read_bounded.read(path, max_bytes=MAX_SIZE_BYTES)
        except FileNotFoundError:
            return None
        found = record.loads(Journal, content, version=VERSION)
        problems = tuple(_wrong(found))
        if problems:
            raise record.RecordError(*problems)
    return found


def _wrong(journal: Journal) -> collections.abc.Iterator[str]:
    """Yields each value that a sweep cannot have written, as a clause."""
    for number, one in enumerate(journal.objects):
        if one.kind not in keeping.KINDS:
            yield (
                f'objects[{number}].kind: found {one.kind.value!r}, expected '
                f'one of {", ".join(kind.value for kind in keeping.KINDS)}'
            )
        # It would be deleted, which no sweep may do to a pool.
        elif not one.existed and not keeping.may_be_made(one.kind):
            yield f'"existed": false of {one.key}, which no sweep creates'
    for number, target in enumerate(journal.faults):
        if target.osd is not None and target.osd < 0:
            yield f'faults[{number}].osd: found {target.osd}, expected 0 up'


def _check_owner(path: str) -> None:
    """A journal has commands that are run, and values that are written.

    In a folder that others may write in, such as one for all who sweep, it
    must not be another user who has put it there.

    :raises ValueError: it is a link.
    :raises errors.ProblemsFound: it is another user's.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise ValueError('a symbolic link')
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
