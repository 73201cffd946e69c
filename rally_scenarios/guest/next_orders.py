# SPDX-License-Identifier: Apache-2.0

"""Orders of a further run, as a disk that guests of a kept fleet read.

Guests got their first orders as user data, which nobody can change while a
server lives.  ``keep.sh`` finds these on a disk: in units of 64 KiB, first a
line that names the run and has the digest of each guest's unit, then the
script of each guest, filled up with empty lines.
"""

from collections.abc import Sequence
import hashlib

UNIT_BYTES = 65536
_DIGEST_CHARS = 16


def disk_content(run: str, scripts: Sequence[str]) -> bytes:
    """What is to be on the disk.

    :param run: nonce of the run, which no run of the fleet had before
    :param scripts: of each guest, see ``orders.script``
    :raises ValueError: there is no guest, or a script is longer than a unit
    """
    units = [script.encode('ascii') for script in scripts]
    longest = max(map(len, units), default=0)
    if not 0 < longest <= UNIT_BYTES:
        raise ValueError(
            f'{len(units)} scripts of up to {longest} bytes: expected at least'
            f' one, and at most {UNIT_BYTES} bytes'
        )
    units = [unit.ljust(UNIT_BYTES, b'\n') for unit in units]
    digests = ','.join(
        hashlib.sha256(unit).hexdigest()[:_DIGEST_CHARS] for unit in units
    )
    head = f'ORDERS {run} {len(units)} {digests} .\n'.encode()
    return head.ljust(UNIT_BYTES, b'\0') + b''.join(units)
