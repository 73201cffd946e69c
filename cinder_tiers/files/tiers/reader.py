# SPDX-License-Identifier: Apache-2.0

"""Tiers file -> catalog, or all that is wrong with it at once.

Joins the three views: the YAML text (`yaml_document`), its structure
(`schema`) and the rules between its parts (`domain.validation`).
"""

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import catalog as validation
from cinder_tiers.domain.validation import rules
from cinder_tiers.files import read_bounded
from cinder_tiers.files.tiers import codec
from cinder_tiers.files.tiers import schema
from cinder_tiers.files.tiers import yaml_document

_MAX_BYTES = yaml_document.MAX_SIZE_BYTES


def read_file(path: str) -> catalogs.Catalog:
    """Reads a tiers file.

    :raises errors.ProblemsFound: when it cannot be read or is not sound.
    """
    return read_text(text_of(path), file=path)


def text_of(path: str) -> str:
    """The text of a tiers file.

    :raises errors.ProblemsFound: when it cannot be read.
    """
    try:
        # One byte more than allowed is enough to know.
        found = read_bounded.read(
            path, max_bytes=yaml_document.MAX_SIZE_BYTES + 1
        )
        if len(found) > yaml_document.MAX_SIZE_BYTES:
            raise errors.ProblemsFound(
                [
                    errors.Problem(
                        rule=rules.UNREADABLE,
                        where=path,
                        found='a file that is too big',
                        expected=f'at most {_MAX_BYTES} bytes',
                        remedy='check that this is the right file',
                    )
                ]
            )
        return found.decode('utf-8')
    except OSError as error:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    rule=rules.UNREADABLE,
                    where=path,
                    found=f'cannot be read: {error.strerror}',
                    expected='a tiers file',
                    remedy='name one with --catalog or CINDER_TIERS_CATALOG',
                )
            ]
        ) from error
    except UnicodeDecodeError as error:
        line = found.count(b'\n', 0, error.start) + 1
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    rule=rules.UNREADABLE,
                    where=f'{path}:{line}',
                    found='bytes that are not UTF-8',
                    expected='UTF-8 text',
                    remedy='save the file as UTF-8',
                )
            ]
        ) from error


def read_text(text: str, *, file: str) -> catalogs.Catalog:
    """Reads the text of a tiers file.

    :param file: name for messages.
    :raises errors.ProblemsFound: with all problems, in the order of the file.
    """
    read = yaml_document.read(text, file=file)
    sound, structural = schema.check(read.value, read.source)
    catalog = codec.read(sound, source=read.source)
    problems = [*read.problems, *structural, *validation.check(catalog)]
    if problems:
        raise errors.ProblemsFound(sorted(problems, key=_line))
    return catalog


def _line(problem: errors.Problem) -> int:
    line = problem.where.rpartition(':')[2]
    return int(line) if line.isdecimal() else 0
