# SPDX-License-Identifier: Apache-2.0

"""Values of arguments: what a user typed, as numbers.

Each raises argparse.ArgumentTypeError with what was expected, which argparse
shows with the name of the argument.
"""

import argparse
import re

#: For the help of an argument.
DURATIONS = '90s, 10min, 4h or 1h30min'
_DURATION = re.compile(
    r'(?:([0-9]{1,6})h)?(?:([0-9]{1,6})min)?(?:([0-9]{1,6})s)?', re.ASCII
)
_SHOWN_CHARS = 40


def _wrong(text: str, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(
        f'{text[:_SHOWN_CHARS]!r}: expected {expected}'
    )


def _number(text: str, expected: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise _wrong(text, expected) from error


def positive(text: str) -> float:
    """A number of more than 0."""
    value = _number(text, expected := 'a number of more than 0')
    if not 0 < value < 1e12:
        raise _wrong(text, expected)
    return value


def not_negative(text: str) -> float:
    """A number of 0 or more."""
    value = _number(text, expected := 'a number of 0 or more')
    if not 0 <= value < 1e12:
        raise _wrong(text, expected)
    return value


def count(text: str) -> int:
    """A whole number of 0 or more."""
    if not re.fullmatch('[0-9]{1,9}', text, re.ASCII):
        raise _wrong(text, 'a whole number of 0 or more')
    return int(text)


def percent(text: str) -> float:
    """A difference in percent, from 0 to less than 100."""
    value = _number(text, expected := 'a number from 0 to less than 100')
    if not 0 <= value < 100:
        raise _wrong(text, expected)
    return value


def duration_s(text: str) -> int:
    """A length of time, in seconds.

    >>> duration_s('10min'), duration_s('1h30min')
    (600, 5400)
    """
    found = _DURATION.fullmatch(text)
    hours, minutes, seconds = (
        (int(each or 0) for each in found.groups()) if found else (0, 0, 0)
    )
    total_s = 3600 * hours + 60 * minutes + seconds
    if not total_s:
        raise _wrong(text, f'a time such as {DURATIONS}')
    return total_s
