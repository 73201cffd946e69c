# SPDX-License-Identifier: Apache-2.0

"""Stands for a service that does not answer, where others can do their part.

Must not know which service it is.
"""

import typing

from cinder_tiers.domain import errors


class Absent:
    """A session that raises an error for every question.

    :param error: the error to raise.
    """

    def __init__(self, error: errors.Unreachable) -> None:
        self._error = error

    def __getattr__(self, name: str) -> typing.Self:
        """Part of it, which does not answer either."""
        del name
        return type(self)(self._error)

    def __call__(
        self, *unused: object, **unused_too: object
    ) -> typing.NoReturn:
        """A question.

        :raises errors.Unreachable: always.
        """
        raise self._error
