# SPDX-License-Identifier: Apache-2.0

"""Lines of the log that each guest of a fleet may cause, few of each kind.

Of hundreds of guests all may be in the same trouble: the first ones show what
it is, and the others are at the level DEBUG.
"""

import collections
import logging as levels

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Of each kind, at most.
MOST = 20


class FewLines:
    """Gives the level of the next line of a kind."""

    def __init__(self) -> None:
        """Begin without a line."""
        self._lines: collections.Counter[str] = collections.Counter()

    def level(self, kind: str, wanted: int = levels.INFO) -> int:
        """Return the log level of one more line.

        :param kind: subject of the line, for people
        :param wanted: level as long as there are few lines
        :returns: ``wanted`` or DEBUG
        """
        self._lines[kind] += 1
        if self._lines[kind] == MOST + 1:
            LOG.log(
                wanted,
                'More lines on guests, %s: at the level DEBUG',
                kind,
            )
        return wanted if self._lines[kind] <= MOST else levels.DEBUG
