# SPDX-License-Identifier: Apache-2.0

"""Sizes in the notation of people. Pure."""

import re

# Ceph knows 4K and 4Ki (strict_iecstrtoll).
_SIZE = re.compile(r'(\d+)\s*(?:([KMGTPE])I?)?B?', re.IGNORECASE | re.ASCII)
_POWERS = {letter: 1024**power for power, letter in enumerate(('', *'KMGTPE'))}
_UNITS = ('KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')


def size_bytes(text: str) -> int:
    """Return the bytes of a size; all units are binary, as Ceph reads them.

    >>> size_bytes('16K'), size_bytes('4096'), size_bytes('1MiB')
    (16384, 4096, 1048576)

    :raises ValueError: the text is not a size.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError('a number of bytes, such as 4096, 4K or 4Ki')
    return int(match[1]) * _POWERS[(match[2] or '').upper()]


def size_text(size_bytes: float) -> str:
    """Return a size with a binary unit, in about three digits.

    >>> size_text(0), size_text(1536), size_text(5 * 2 ** 30)
    ('0 B', '1.5 KiB', '5 GiB')
    >>> size_text(1023 * 2 ** 30), size_text(-2 ** 41)
    ('1023 GiB', '-2 TiB')

    :param size_bytes: size in bytes.
    """
    value, unit = float(size_bytes), 'B'
    for larger in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    digits = f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'
    return f'{digits} {unit}'


def duration_text(minutes: float) -> str:
    """Return a length of time for people.

    >>> duration_text(90), duration_text(12)
    ('1 h 30 min', '12 min')
    """
    hours, rest = divmod(round(minutes), 60)
    return f'{hours} h {rest} min' if hours else f'{rest} min'
