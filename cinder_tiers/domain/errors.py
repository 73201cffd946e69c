# SPDX-License-Identifier: Apache-2.0

"""Errors that a user can act on.

Every expected failure of the product is one of these, so that a door or a
command can distinguish it from a bug. Must not know how errors are shown.
"""

import collections.abc
import dataclasses
import itertools

from cinder_tiers.domain import text as escaping

#: As many problems of one input are listed. A file of 1 MB can have 200,000,
#: which nobody reads, and which take seconds and 30 MB to tell.
MOST_PROBLEMS = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong, and the way out of it."""

    #: `file:line` or the name of an object.
    where: str
    found: str
    expected: str
    #: What to do next, as an imperative.
    remedy: str
    #: Id of the rule of a tiers file that was broken, of
    #: `domain.validation.rules`; empty where there are no rules.
    rule: str = ''

    def __str__(self) -> str:
        return (
            f'{self.where}: {self.found}; expected {self.expected}; '
            f'{self.remedy}'
        )


class LinesError(Exception):
    r"""An error of lines, which other people's text cannot end or begin.

    >>> str(LinesError('tier a\n::error::b', 'Try again.'))
    'tier a\\n\\x3a:error::b\nTry again.'

    :param lines: what is not printable in a line is escaped.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(escaping.printable, lines))

    def __str__(self) -> str:
        return '\n'.join(self.args)


def lines_of(error: Exception) -> tuple[str, ...]:
    """The text of an error, each line of it apart."""
    return error.args if isinstance(error, LinesError) else (str(error),)


class TiersError(LinesError):
    """An expected failure; its text is fit for the user as it is."""


class ProblemsFound(TiersError):
    """Input is wrong; nothing has been changed.

    :param problems: all that were found, at least one. Of more than
        `MOST_PROBLEMS` the first are kept, and one more problem says so, with
        the place of the first that is not listed.
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
    """A service could not be asked: absent, slow, or it refused us."""


class NotVisible(Unreachable):
    """A service answered: there is no such thing, or not for this user."""


class ActionFailed(TiersError):
    """A write was not done, or was not found to be in effect."""


class Refused(ActionFailed):
    """A plan has refused actions; nothing has been changed."""


class NotAsBefore(ActionFailed):
    """Raised when a sweep leaves values changed, at least in part."""


def with_more(error: Exception, *more: str) -> TiersError:
    """An error with more lines, and with the same exit status.

    >>> with_more(Unreachable('Ceph did not answer'), 'Try again.')
    Unreachable('Ceph did not answer', 'Try again.')
    """
    kind: type[TiersError] = ActionFailed
    for one in (NotAsBefore, Unreachable):
        if isinstance(error, one):
            kind = one
    return kind(*lines_of(error), *more)
