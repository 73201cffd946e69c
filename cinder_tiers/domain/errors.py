# SPDX-License-Identifier: Apache-2.0

"""Errors that a user can act on.

Every expected failure of the product is one of these, so that API middleware,
filter and commands can distinguish it from a bug. Must not know how errors are
shown.
"""

import collections.abc
import dataclasses
import itertools

from cinder_tiers.domain import text as escaping

#: Number of problems of one input that are listed. A file of 1 MB can have
#: 200,000, which take seconds and 30 MB to show.
MOST_PROBLEMS = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem of an input, and its remedy."""

    #: `file:line` or the name of an object.
    where: str
    found: str
    expected: str
    #: Remedy as an imperative.
    remedy: str
    #: Id of the broken rule of a tiers file in `domain.validation.rules`, or
    #: ''.
    rule: str = ''

    def __str__(self) -> str:
        return (
            f'{self.where}: {self.found}; expected {self.expected}; '
            f'{self.remedy}'
        )


class LinesError(Exception):
    r"""An error whose text is a number of lines.

    Text of other people cannot end or begin a line.

    >>> str(LinesError('tier a\n::error::b', 'Try again.'))
    'tier a\\n\\x3a:error::b\nTry again.'

    :param lines: lines; characters that are not printable are escaped.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(escaping.printable, lines))

    def __str__(self) -> str:
        return '\n'.join(self.args)


def lines_of(error: Exception) -> tuple[str, ...]:
    """Return the lines of the text of an error."""
    return error.args if isinstance(error, LinesError) else (str(error),)


class TiersError(LinesError):
    """An expected failure with a text for the user."""


class ProblemsFound(TiersError):
    """An input is wrong; nothing was changed.

    :param problems: all problems found, at least one. Only the first
        `MOST_PROBLEMS` are kept; one more problem reports the rest, with the
        place of the first of them.
    """

    def __init__(self, problems: collections.abc.Iterable[Problem]) -> None:
        found = list(itertools.islice(problems, MOST_PROBLEMS + 1))
        if len(found) > MOST_PROBLEMS:
            found[-1] = Problem(
                where=found[-1].where,
                found=f'more than {MOST_PROBLEMS} problems; this one and '
                'those after it are not listed',
                expected='none',
                remedy='fix those above, and check again',
                rule=found[-1].rule,
            )
        self.problems = tuple(found)
        super().__init__(*map(str, self.problems))


class WrongArguments(TiersError):
    """Arguments of a command do not fit together; nothing was done."""


class Unreachable(TiersError):
    """A service is absent, did not answer in time, or refused the request."""


class NotVisible(Unreachable):
    """A service answered that something does not exist or is hidden."""


class ActionFailed(TiersError):
    """A write was not done, or is not in effect."""


class Refused(ActionFailed):
    """A plan has refused actions; nothing has been changed."""


class NotAsBefore(ActionFailed):
    """A sweep could not restore all values."""


def with_more(error: Exception, *more: str) -> TiersError:
    """Return an error with more lines and the same exit status.

    >>> with_more(Unreachable('Ceph did not answer'), 'Try again.')
    Unreachable('Ceph did not answer', 'Try again.')
    """
    kind: type[TiersError] = ActionFailed
    for one in (NotAsBefore, Unreachable):
        if isinstance(error, one):
            kind = one
    return kind(*lines_of(error), *more)
