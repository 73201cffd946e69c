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

"""A reason to read figures with care, as the result file has it.

``doubts`` finds them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Why figures of a run should be read with care.

    :ivar about: the kind of reason, in a word or two
    :ivar text: what was found, of whom
    """

    about: str
    text: str
