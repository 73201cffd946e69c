# SPDX-License-Identifier: Apache-2.0

"""Duration of a run, and time limits of its parts.

The turns are known to the second, since they are a schedule.  The rest depends
on the cloud: it is estimated from rates, which are assumed for a small cloud
or taken from an earlier run, and the time limits allow for a cloud that is
half as fast.
"""

from collections.abc import Mapping
import dataclasses
from dataclasses import dataclass
import math
from typing import Any

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule

# Assumed.  Servers that share a start volume boot one after another: a volume
# with multi-attach can be reserved for one of them at a time.  Others boot at
# once, as many as one compute host makes (nova's max_concurrent_builds).
SECONDS_PER_VOLUME = 2
SECONDS_PER_BOOT = 10
BOOTS_AT_ONCE = 10
SECONDS_PER_DELETION = 4
# The leader's comparison of clocks and its signal, see guest.orders.
SECONDS_PER_CLOCK = 1
START_SECONDS = 12

# Below these, limits would cut off what is only slow for once.
_LEAST_SECONDS = {
    'volumes': 300,
    'boot': 300,
    'prepare': 180,
    'ready': 240,
    'end': 30,
}
_SLACK_SECONDS = 60
# Of seconds, guests or MiB: more than any cloud has, and no sum of them gets
# out of bounds.
_MOST = 10**9
# For one volume, guest or MiB: more than a day.
_MOST_RATE = 10**5


def check_amounts(amounts: Any, most: int = _MOST) -> None:
    """Check all numbers of a dataclass: they may come from a file.

    :param most: highest plausible number
    :raises ValueError: names every field that is negative or too high
    """
    wrong = [
        field.name
        for field in dataclasses.fields(amounts)
        if isinstance(value := getattr(amounts, field.name), int | float)
        and not 0 <= value <= most
    ]
    if wrong:
        raise ValueError(f'{", ".join(wrong)}: expected 0 to {most}')


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Speed of a cloud, in seconds unless noted otherwise.

    The defaults are assumed, for a small cloud.
    """

    per_volume: float = SECONDS_PER_VOLUME
    #: for a server to have its disks: of one after another, or of as many as
    #: boot at once; assumed ones have the first sign of life in it
    per_boot: float = SECONDS_PER_BOOT
    #: from when all servers are active until the last guest begins to fill
    #: its region, however many guests there are
    first_sign: float = 0
    #: likewise, for each guest, where guests share hosts
    first_sign_per_guest: float = 0
    #: to fill a MiB, of all guests together; None: as the tier takes it
    per_filled_mib: float | None = None
    #: for what is around the turns, as a share of what is assumed for it
    around: float = 1
    per_deletion: float = SECONDS_PER_DELETION
    #: of which run they are; empty: assumed
    run: str = ''

    def __post_init__(self) -> None:
        """Check that they are rates.

        :raises ValueError: see ``check_amounts``
        """
        check_amounts(self, _MOST_RATE)


ASSUMED = Rates()


@dataclass(frozen=True, kw_only=True)
class Extent:
    """Amounts in a run on which its duration depends."""

    #: of all tiers
    guests: int
    #: that are made, but for the one that gives the start
    volumes: int
    #: that all guests fill together
    fill_mib: int
    #: around the turns, as assumed: the start signal, clocks, and the last
    #: gap, in which the last results are read
    around_seconds: int
    #: whether guests start by wall time, and boot at once
    by_clock: bool

    def __post_init__(self) -> None:
        """Check the numbers.

        :raises ValueError: see ``check_amounts``
        """
        check_amounts(self)

    @property
    def boots(self) -> int:
        """Return the number of boots that follow each other."""
        return (
            -(-self.guests // BOOTS_AT_ONCE) if self.by_clock else self.guests
        )


@dataclass(frozen=True, kw_only=True)
class Duration:
    """Durations of the parts of a run, in seconds."""

    #: until all volumes are there
    volumes: int
    #: until all guests have booted
    boot: int
    #: until all guests have filled their regions, if none began before the
    #: last had booted
    prepare: int
    #: the schedule, from its start signal until all results are read
    measure: int
    #: until servers and volumes are gone
    delete: int
    #: from when servers are asked for to a start by wall time; None: they
    #: start when all are ready
    after: int | None = None
    #: until all guests have written all rounds that there may be, see
    #: ``precondition``
    precondition: int = 0
    #: from when all servers are active until the last guest begins to fill
    #: its region; 0: it is in the time to boot
    first_sign: int = 0
    #: of ``measure``, the turns without the last gap; null: it is not known
    turns: int | None = None
    #: of what it is estimated; null: it is not known
    extent: Extent | None = None
    #: the run that the rates are of; empty: they are assumed
    rates_of: str = ''

    def __post_init__(self) -> None:
        """Check the numbers.

        :raises ValueError: see ``check_amounts``
        """
        check_amounts(self)

    @property
    def wait(self) -> int:
        """Seconds from the last filled region to a start by wall time."""
        return max(
            0,
            (self.after or 0)
            - self.boot
            - self.first_sign
            - self.prepare
            - self.precondition,
        )

    @property
    def seconds(self) -> int:
        """Return the sum of all parts."""
        return (
            self.volumes
            + self.boot
            + self.first_sign
            + self.prepare
            + self.precondition
            + self.wait
            + self.measure
            + self.delete
        )

    def of_kept_fleet(self, *, fills: bool, deletes: bool) -> 'Duration':
        """Return the duration of the run on guests that an earlier run kept.

        The guests get new orders instead of being created.

        :param fills: whether they write their regions again
        :param deletes: whether they are deleted at the end
        """
        return dataclasses.replace(
            self,
            volumes=0,
            boot=0,
            first_sign=0,
            prepare=self.prepare if fills else 0,
            delete=self.delete if deletes else 0,
        )


def estimate(
    plan: schedule.Schedule,
    profile: fio_pattern.Profile,
    *,
    guests: int,
    tier_mib_per_second: int,
    by_clock: bool = False,
    after_seconds: int | None = None,
    volumes_per_guest: int = 1,
    measured_per_guest: int = 1,
    fill: bool = True,
    precondition_seconds: int = 0,
    rates: Rates = ASSUMED,
) -> Duration:
    """Estimate how long a run takes.

    :param plan: schedule of all tiers
    :param profile: profile with the size and number of fills of each guest
    :param guests: number of guests of all tiers together
    :param tier_mib_per_second: large writes that a tier accepts from all its
        guests together, at least 1
    :param by_clock: whether they start by wall time, and boot at once
    :param after_seconds: see ``Duration.after``; None: twice what booting and
        filling should take, and some slack
    :param volumes_per_guest: number of volumes created for each guest
    :param measured_per_guest: number of these on which fio works, with a
        region on each
    :param fill: whether regions are filled
    :param precondition_seconds: maximum duration of rounds before the first
        turn
    :param rates: speed of the cloud
    """
    regions = guests * measured_per_guest
    last = plan.slots[-1]
    turns = (
        last.begin_seconds
        + last.pattern.startdelay_seconds
        + profile.ramp_seconds
        + profile.runtime_seconds
    )
    extent = Extent(
        guests=guests,
        around_seconds=plan.seconds
        - turns
        + (0 if by_clock else START_SECONDS + guests * SECONDS_PER_CLOCK),
        volumes=guests * volumes_per_guest,
        fill_mib=regions * profile.region_mib * profile.fill_passes * fill,
        by_clock=by_clock,
    )
    boot = math.ceil(extent.boots * rates.per_boot)
    first_sign = math.ceil(
        rates.first_sign + guests * rates.first_sign_per_guest
    )
    prepare = math.ceil(
        extent.fill_mib / tier_mib_per_second
        if rates.per_filled_mib is None
        else extent.fill_mib * rates.per_filled_mib
    )
    if by_clock and after_seconds is None:
        after_seconds = (
            2 * (boot + first_sign + prepare)
            + precondition_seconds
            + _SLACK_SECONDS
        )
    return Duration(
        volumes=math.ceil(extent.volumes * rates.per_volume),
        boot=boot,
        first_sign=first_sign,
        prepare=prepare,
        precondition=precondition_seconds,
        after=after_seconds if by_clock else None,
        measure=turns + math.ceil(extent.around_seconds * rates.around),
        turns=turns,
        delete=math.ceil(guests * rates.per_deletion),
        extent=extent,
        rates_of=rates.run,
    )


def time_limits_seconds(*expected: Duration) -> Mapping[str, int]:
    """Return the time limit of each part: twice the estimate, or a minimum.

    A cloud that was fast in an earlier run may be slow today: of an estimate
    from assumed rates and one from its own, the longer one counts.

    :param expected: estimates of ``estimate``, at least one
    :returns: the keys of the scenario's ``timeouts_seconds``; ``volumes`` is
        for creating and for deleting them, ``boot`` for one server's disks and
        for all servers at the end, ``end`` for the last results
    """
    limits = [_limits_seconds(each) for each in expected]
    return {
        name: max(each[name] for each in limits) for name in _LEAST_SECONDS
    }


def _limits_seconds(expected: Duration) -> dict[str, int]:
    wanted = {
        'volumes': 2 * max(expected.volumes, expected.delete),
        'boot': 2 * expected.boot,
        'prepare': 2 * expected.prepare,
        # The leader may boot first and be ready long before the last.
        # Rounds have a time of their own, whatever the cloud is like.
        'ready': 2 * (expected.boot + expected.first_sign + expected.prepare)
        + expected.precondition,
        # One reading of all consoles takes longer the more guests there are.
        'end': expected.extent.guests if expected.extent else 0,
    }
    return {
        name: max(
            least, wanted[name] + (0 if name == 'end' else _SLACK_SECONDS)
        )
        for name, least in _LEAST_SECONDS.items()
    }


def in_words(seconds: int) -> str:
    """A duration as text: minutes below two hours, then hours.

    >>> in_words(400), in_words(36000)
    ('7 min', '10.0 h')
    """
    if seconds < 7200:
        return f'{-(-seconds // 60)} min'
    return f'{seconds / 3600:.1f} h'
