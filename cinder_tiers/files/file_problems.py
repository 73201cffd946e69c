# SPDX-License-Identifier: Apache-2.0

"""Problems of a file that a command reads, worded for its user."""

import collections.abc
import contextlib

from cinder_tiers.domain import errors


@contextlib.contextmanager
def told(
    path: str, *, expected: str, remedy: str
) -> collections.abc.Iterator[None]:
    """Raise errors of reading a file as problems of that file.

    :param expected: expected content of the file.
    :param remedy: advice as an imperative.
    :raises errors.ProblemsFound: OSError or ValueError was raised; there is
        one problem for each line of it.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        lines = errors.lines_of(error)
        if isinstance(error, OSError) and error.strerror:
            lines = (error.strerror,)
        raise errors.ProblemsFound(
            errors.Problem(
                where=path, found=line, expected=expected, remedy=remedy
            )
            for line in lines
        ) from error
