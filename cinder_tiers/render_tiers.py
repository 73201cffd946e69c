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

"""Tiers, and problems of a tiers file, as rows of a table.

Pure. Other people's text, such as a file's, may hold what steers a terminal:
what is not printable is escaped, in each format. Must not know where its
arguments came from, nor how cliff prints.
"""

from cinder_tiers.domain import errors
from cinder_tiers.render import printable
from cinder_tiers.render import Row

PROBLEM_COLUMNS = ('Where', 'Found', 'Expected', 'Remedy')

# Some problems list all that the file declares, which has no end.
_SHOWN_CHARS = 500


def problem_row(problem: errors.Problem) -> Row:
    """A problem under PROBLEM_COLUMNS; long texts are cut."""
    return tuple(printable(
        text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + '...')
        for text in (problem.where, problem.found, problem.expected,
                     problem.remedy))
