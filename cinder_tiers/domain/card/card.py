# SPDX-License-Identifier: Apache-2.0

"""The card of a tier: its purpose, its promise, and measured figures.

Pure. ``etc/cinder-tiers/card.schema.json`` is the schema of a card, as
``openstack tier show -f json`` prints it. Must not know how a card is written
in the description of a volume type, nor where figures come from.
"""

from collections.abc import Mapping
import dataclasses
from dataclasses import dataclass
import datetime
import decimal
import math
import re
from typing import Any

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import record

#: Digits that count of a figure: of a mean over a few repeats, more mean
#: nothing, and a description has little room.
DIGITS = 4
_FINGERPRINT = re.compile('[0-9a-f]{6}(?:-[0-9a-f]{6}-[0-9a-f]{6})?', re.ASCII)
_TIME = re.compile('[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}:[0-9]{2}Z', re.ASCII)
_MOST_RUNS = 10**6
_MOST_RELEASE = 1000
#: Of a figure, as result files have them.
_MOST = 10**18


def rounded(value: float) -> float:
    """Return a figure, rounded to the digits of a card.

    :param value: 0 or more, and finite.

    >>> rounded(5012.3456), rounded(0.0123456), rounded(98765.4)
    (5012, 0.01235, 98770)
    """
    found = float(f'{value:.{DIGITS}g}')
    return int(found) if found == int(found) else found


def number_text(value: float) -> str:
    """Return a finite number without exponent and without loss of digits.

    >>> number_text(5e-05), number_text(1e21), number_text(12.50)
    ('0.00005', '1000000000000000000000', '12.5')
    """
    text = format(decimal.Decimal(repr(value)), 'f')
    return text.rstrip('0').rstrip('.') if '.' in text else text


def time_text(time: datetime.datetime) -> str:
    """Return a time in UTC to the minute; texts sort like the times.

    :param time: time with a UTC offset.

    >>> time_text(datetime.datetime.fromisoformat('2026-11-29T14:05:59+01:00'))
    '2026-11-29T13:05Z'
    """
    utc = time.astimezone(datetime.UTC)
    return f'{utc.replace(tzinfo=None).isoformat(timespec="minutes")}Z'


def is_time(text: str) -> bool:
    """Return whether a text is a result of `time_text`."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.datetime.fromisoformat(text.removesuffix('Z'))
    except ValueError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A quantity of a pattern, of all guests of the tier together."""

    #: of fio, by its name in the profile
    pattern: str
    #: with its unit: iops, mib_per_s, p99_ms, write_p99_ms and the like
    quantity: str
    #: geometric mean over the runs
    mean: float
    #: lower end of the 95 % interval of the mean
    low: float
    #: upper end
    high: float
    #: how many the interval rests on
    runs: int

    def __post_init__(self) -> None:
        """Check the values, which may come from a description.

        :raises ValueError: a value is invalid; the text names it
        """
        if not expectations.PATTERN.fullmatch(self.pattern):
            raise ValueError(
                f'pattern {self.pattern[:60]!r} is not a valid name'
            )
        expectations.quantity(self.quantity)
        for name in ('low', 'mean', 'high'):
            value = getattr(self, name)
            if (
                not 0 <= value <= _MOST
                or not math.isfinite(value)
                or rounded(value) != value
            ):
                raise ValueError(
                    f'{name} {str(value)[:20]}: expected at least 0, at most '
                    f'10^18, and {DIGITS} digits that count'
                )
        if not self.low <= self.mean <= self.high:
            raise ValueError('a mean is not within its interval')
        if not 2 <= self.runs <= _MOST_RUNS:
            raise ValueError(f'{str(self.runs)[:20]} runs: expected 2 or more')


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Figures that guests on the tier measured."""

    #: minute in which the measurement ended, such as 2026-11-29T14:05Z; of
    #: several, the first
    ended_at: str
    #: major release of Ceph below the tier; null: there is none, or it is not
    #: known
    ceph_release: int | None
    #: of what the figures depend on: QoS and extra specs; then, with Ceph, the
    #: pool with its options; then the OSDs; hexadecimal
    fingerprint: str
    #: the most important first, at least one
    figures: tuple[Figure, ...]

    def __post_init__(self) -> None:
        """Check the values, which may come from a description.

        :raises ValueError: a value is invalid; the text names it
        """
        if not is_time(self.ended_at):
            raise ValueError(f'{self.ended_at[:20]!r}: expected a time in UTC')
        if self.ceph_release is not None and not (
            1 <= self.ceph_release < _MOST_RELEASE
        ):
            raise ValueError('the release of Ceph is not a valid number')
        if not _FINGERPRINT.fullmatch(self.fingerprint):
            raise ValueError('the fingerprint has a wrong form')
        named = [(one.pattern, one.quantity) for one in self.figures]
        if not named or len(set(named)) < len(named):
            raise ValueError('expected figures, each once')


@dataclass(frozen=True, kw_only=True)
class Card:
    """Description of a tier for users who choose among tiers."""

    #: what the tier is for, in the words of the cloud's operator
    purpose: str = ''
    #: {fio pattern: {limit: value}}: what guests get at least (limits that end
    #: in _min), and at most (_max)
    promise: Mapping[str, Mapping[str, float]] = dataclasses.field(
        default_factory=dict
    )
    #: null: nothing that is known to be true of today's tier
    measured: Measured | None = None
    #: minute in which the last measurement ended, when the tier, Ceph or the
    #: OSDs have changed after it; null otherwise
    not_measured_since: str | None = None


def schema() -> dict[str, Any]:
    """Return the JSON schema of a card."""
    return {'title': 'card of a tier of cinder-tiers', **record.schema(Card)}
