# SPDX-License-Identifier: Apache-2.0

"""The moment that a command which measures announces, in a file.

Faults are counted from it: a command may take minutes to prepare. The file
has a line with seconds since the epoch.
"""

import math
import time

from cinder_tiers.domain import errors
from cinder_tiers.files import read_bounded

_MOST_BYTES = 64
#: It is of about now.
_MOST_APART_S = 7 * 86400.0


def read(path: str) -> float | None:
    """Read the announced moment.

    :param path: path of the file, which the command writes.
    :returns: seconds since the epoch; None: there is none yet.
    :raises errors.TiersError: the file contains something else.
    """
    try:
        content = read_bounded.read(path, max_bytes=_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.TiersError(f'{path}: {error.strerror}') from error
    # It is whole when its line has ended.
    if not content.endswith(b'\n') and len(content) < _MOST_BYTES:
        return None
    try:
        found = float(content)
    except ValueError:
        found = math.nan
    if not abs(found - time.time()) <= _MOST_APART_S:
        raise errors.TiersError(
            f'{path} has {content[:40]!r}; expected a line with the seconds '
            'since the epoch, of about now'
        )
    return found
