# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Errors that a user can act on.

Every expected failure of the product is one of these, so that a door or a
command can tell it from a bug. Must not know how errors are shown.
"""

import collections.abc
import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong, and the way out of it."""

    #: `file:line` or the name of an object.
    where: str
    found: str
    expected: str
    #: What to do next, as an imperative.
    remedy: str

    def __str__(self) -> str:
        return (f'{self.where}: {self.found}; expected {self.expected}; '
                f'{self.remedy}')


class TiersError(Exception):
    """An expected failure; its text is fit for the user as it is."""


class ProblemsFound(TiersError):
    """Input is wrong; nothing has been changed.

    :param problems: all that were found, at least one.
    """

    def __init__(self, problems: collections.abc.Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__('\n'.join(str(problem) for problem in self.problems))


class Unreachable(TiersError):
    """A service could not be asked: absent, slow, or it refused us."""


class ActionFailed(TiersError):
    """A write was not done, or was not found to be in effect."""
