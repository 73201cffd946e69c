# SPDX-License-Identifier: Apache-2.0

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
