# SPDX-License-Identifier: Apache-2.0

"""Orders of a further run, as a disk that guests of a kept fleet read.

Guests got their first orders as user data, which nobody can change while a
server lives.  ``keep.sh`` finds these on a disk: in units of 64 KiB, first a
line that names the run and has the digest of each guest's unit, then the
script of each guest, filled up with empty lines.

All guests see the disk, and each can write onto the one by which they see it.
So a guest carries out nothing but what has a digest that begins with a secret
of its own, which is in its user data: no guest can give orders to another.
"""

from collections.abc import Sequence
import hashlib
import hmac
import secrets

UNIT_BYTES = 65536
# A part of it, from which none of a longer text can be made.
_DIGEST_CHARS = 16
_KEY_BYTES = 16


def new_key() -> str:
    """A secret from which those of the guests of a fleet are made."""
    return secrets.token_hex(_KEY_BYTES)


def key_of_guest(key: str, number: int) -> str:
    """Derive the secret of a guest, from which no other one can be derived.

    :param key: key of the fleet, see ``new_key``
    :param number: number of the guest, from 0
    """
    return hmac.digest(key.encode(), b'%d' % number, 'sha256').hex()


def disk_content(run: str, scripts: Sequence[str], *, key: str) -> bytes:
    """Return the content of the disk with the next orders.

    :param run: nonce of the run, new for the fleet
    :param scripts: script of each guest, see ``orders.script``
    :param key: key of the fleet, see ``new_key``
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
        hashlib.sha256(
            f'{key_of_guest(key, number)} {run}\n'.encode() + unit
        ).hexdigest()[:_DIGEST_CHARS]
        for number, unit in enumerate(units)
    )
    head = f'ORDERS {run} {len(units)} {digests} .\n'.encode()
    return head.ljust(UNIT_BYTES, b'\0') + b''.join(units)
