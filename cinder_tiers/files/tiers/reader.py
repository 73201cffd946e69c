# SPDX-License-Identifier: Apache-2.0

"""Reads a tiers file as a catalog, or reports all its problems at once.

It joins the YAML text (`yaml_document`), the included files (`includes`), the
structure (`schema`) and the rules between parts (`domain.validation`).
"""

import collections.abc
import copy
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import catalog as validation
from cinder_tiers.domain.validation import rules
from cinder_tiers.files.tiers import codec
from cinder_tiers.files.tiers import includes
from cinder_tiers.files.tiers import schema
from cinder_tiers.files.tiers import writer
from cinder_tiers.files.tiers import yaml_document

_MAX_BYTES = yaml_document.MAX_SIZE_BYTES


@dataclasses.dataclass(frozen=True, kw_only=True)
class TiersFile:
    """A sound tiers file, with the files that it includes."""

    catalog: catalogs.Catalog
    #: Equivalent text without other files: that of the file itself if it
    #: includes none, else merged, with comments that name the file of each
    #: part.
    text: str
    #: Plain values that were read, and their places.
    whole: includes.Whole


def read_file(
    path: str, *, include_root: str | None = None
) -> catalogs.Catalog:
    """Read a tiers file and its included files as a catalog.

    :param include_root: folder that must contain all included files; None for
        that of the tiers file.
    :raises errors.ProblemsFound: the file cannot be read, or is not sound.
    """
    return read(path, include_root=include_root).catalog


def read(path: str, *, include_root: str | None = None) -> TiersFile:
    """Read a tiers file and its included files, with their merged text.

    :param include_root: see `read_file`.
    :raises errors.ProblemsFound: the file cannot be read, or is not sound.
    """
    whole = includes.read(path, root=include_root)
    catalog = _catalog(
        whole.value, whole.source, whole.problems, files=whole.files
    )
    if len(whole.files) == 1:
        return TiersFile(catalog=catalog, text=whole.text, whole=whole)
    text = writer.lay_out(
        whole.value,
        comments=dict(_origins(whole.value, whole.source)),
        project_names={},
    )
    size_bytes = len(text.encode('utf-8'))
    if size_bytes > _MAX_BYTES:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    rule=rules.INCLUDE,
                    where=path,
                    found=f'{size_bytes} bytes with all that is included',
                    expected=f'at most {_MAX_BYTES}',
                    remedy='include less',
                )
            ]
        )
    return TiersFile(catalog=catalog, text=text, whole=whole)


def with_changes(
    whole: includes.Whole,
    changes: collections.abc.Mapping[catalogs.Path, object],
    source: catalogs.CatalogSource,
) -> catalogs.Catalog:
    """Return the catalog of a tiers file with some values changed.

    The rules for values of the file apply to them as well.

    :param whole: values of a sound file.
    :param changes: {place: value}; every part of a place but the last is a key
        of a mapping, which is created if it is missing.
    :param source: places where the values were written, and no others.
    :raises errors.ProblemsFound: values are invalid; it has all problems.
    """
    value = copy.deepcopy(whole.value)
    for place, one in changes.items():
        holder = value
        for key in place[:-1]:
            if not isinstance(holder.get(key), dict):
                holder[key] = {}
            holder = holder[key]
        holder[place[-1]] = one
    return _catalog(
        value,
        catalogs.CatalogSource(
            file=whole.source.file,
            files={
                **whole.source.files,
                **dict.fromkeys(source.lines, source.file),
            },
            lines={**whole.source.lines, **source.lines},
        ),
        (),
        files=(source.file, *whole.files),
    )


def _origins(
    value: object, source: catalogs.CatalogSource, path: catalogs.Path = ()
) -> collections.abc.Iterator[tuple[catalogs.Path, list[str]]]:
    """Yield (place, comment) of values from other files than their mapping."""
    if not isinstance(value, dict):
        return
    around = source.files.get(path, source.file) if path else None
    for key, one in value.items():
        place = (*path, key)
        if source.files.get(place, source.file) != around:
            yield place, [source.where(place)]
        yield from _origins(one, source, place)


def read_text(text: str, *, file: str) -> catalogs.Catalog:
    """Read the text of a tiers file, which must not include others.

    :param file: name of the file in messages.
    :raises errors.ProblemsFound: the file is not sound; it has all problems,
        in the order of the file.
    """
    read = yaml_document.read(text, file=file)
    problems, value = list(read.problems), read.value
    if isinstance(value, dict) and includes.INCLUDE in value:
        value = dict(value)
        del value[includes.INCLUDE]
        problems.append(
            errors.Problem(
                rule=rules.INCLUDE,
                where=read.source.where((includes.INCLUDE,)),
                found='include, which is not possible here',
                expected='one complete tiers file',
                remedy='use what "openstack tier validate --merged" prints',
            )
        )
    return _catalog(value, read.source, problems, files=(file,))


def _catalog(
    value: object,
    source: catalogs.CatalogSource,
    found: collections.abc.Iterable[errors.Problem],
    *,
    files: collections.abc.Sequence[str],
) -> catalogs.Catalog:
    """Return the catalog of plain values.

    :param found: problems found before.
    :param files: names of files, in the order in which problems are reported.
    :raises errors.ProblemsFound: there are problems; it has all of them.
    """
    sound, structural = schema.check(value, source)
    catalog = codec.read(sound, source=source)
    problems = [*found, *structural, *validation.check(catalog)]
    order = {file: number for number, file in enumerate(files)}

    def place(problem: errors.Problem) -> tuple[int, int]:
        file, _, line = problem.where.rpartition(':')
        return (
            order.get(file, len(order)),
            int(line) if line.isdecimal() else 0,
        )

    if problems:
        raise errors.ProblemsFound(sorted(problems, key=place))
    return catalog
