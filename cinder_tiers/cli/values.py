# SPDX-License-Identifier: Apache-2.0

"""Types of arguments with a number, a time or a quantity.

Each raises argparse.ArgumentTypeError with the expected form; argparse shows
it with the name of the argument.
"""

import argparse
import collections.abc
import datetime
import re

from cinder_tiers.domain.catalog import expectations

#: Examples for the help of an argument.
DURATIONS = '90s, 10min, 4h or 1h30min'
_DURATION = re.compile(
    r'(?:([0-9]{1,6})h)?(?:([0-9]{1,6})min)?(?:([0-9]{1,6})s)?', re.ASCII
)
_SHOWN_CHARS = 40
#: Nothing was measured earlier; times of other time zones stay in range.
_FIRST_YEAR = 1970


def _wrong(text: str, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(
        f'{text[:_SHOWN_CHARS]!r}: expected {expected}'
    )


def _number(
    expected: str, fits: collections.abc.Callable[[float], bool]
) -> collections.abc.Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError as error:
            raise _wrong(text, expected) from error
        if not fits(value):
            raise _wrong(text, expected)
        return value

    return number


def whole_number(
    expected: str, *, least: int = 0, most: int = 999_999_999
) -> collections.abc.Callable[[str], int]:
    """Return the type of an argument that is an integer in a range."""

    def number(text: str) -> int:
        if not re.fullmatch('[0-9]{1,9}', text, re.ASCII) or not (
            least <= int(text) <= most
        ):
            raise _wrong(text, expected)
        return int(text)

    return number


# A ratio to less than this may be more than a float can hold.
_LEAST = 1e-6
positive = _number(
    'a number of more than 0, from 10^-6 to less than 10^12',
    lambda value: _LEAST <= value < 1e12,
)
not_negative = _number(
    'a number from 0 to less than 10^12', lambda value: 0 <= value < 1e12
)
count = whole_number('a whole number from 0 to 999999999')
number_of_claims = whole_number('a whole number from 1 to 999999999', least=1)
#: Length of a rolling mean, in seconds.
window_s = whole_number('a whole number from 1 to 3600', least=1, most=3600)
#: Probability of finding a difference if there is one.
power = _number(
    'a number from 0.5 to less than 1', lambda value: 0.5 <= value < 1
)
#: A coefficient of variation, in percent.
variation = _number(
    'a number of more than 0, from 10^-6 to less than 1000',
    lambda value: _LEAST <= value < 1000,
)
#: A difference in percent.
percent = _number(
    'a number from 0 to less than 100', lambda value: 0 <= value < 100
)


def quantity(text: str) -> str:
    """Return the name of a quantity by which tiers can be compared."""
    if expectations.find_quantity(text) is None:
        raise _wrong(text, expectations.QUANTITIES_EXPECTED)
    return text


def duration_s(text: str) -> int:
    """Return a duration in seconds.

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


def moment(text: str) -> datetime.datetime:
    """Return a date or a time of ISO 8601; UTC if it has no offset.

    >>> moment('2028-02-29').isoformat()
    '2028-02-29T00:00:00+00:00'
    >>> moment('2028-03-01T01:00+01:00').isoformat()
    '2028-03-01T00:00:00+00:00'

    :returns: time in UTC; 00:00 for a date.
    """
    try:
        found = datetime.datetime.fromisoformat(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=datetime.UTC)
        found = found.astimezone(datetime.UTC)
        if found.year < _FIRST_YEAR:
            raise ValueError
        return found
    except (OverflowError, ValueError) as error:
        raise _wrong(
            text,
            'a date such as 2028-02-29, or a time such as '
            '2028-02-29T12:00+01:00',
        ) from error
