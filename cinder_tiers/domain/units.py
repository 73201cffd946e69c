# SPDX-License-Identifier: Apache-2.0

"""Sizes as people read them.

Pure. Must not know what has the size.
"""

_UNITS = ('KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')


def size_text(size_bytes: float) -> str:
    """A size with a binary unit, in about three digits.

    >>> size_text(0), size_text(1536), size_text(5 * 2 ** 30)
    ('0 B', '1.5 KiB', '5 GiB')
    >>> size_text(1023 * 2 ** 30), size_text(-2 ** 41)
    ('1023 GiB', '-2 TiB')

    :param size_bytes: in bytes.
    """
    value, unit = float(size_bytes), 'B'
    for larger in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    digits = f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'
    return f'{digits} {unit}'
