# SPDX-License-Identifier: Apache-2.0

"""How long a run takes, and how long each part of it may take.

The measured part is known to the second, since it is a schedule.  The rest
depends on the cloud: it is estimated from the rates below, which are
assumptions for a small cloud, and the time limits leave room for a cloud that
is half as fast.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rally_scenarios.bench.fio import pattern as fio_pattern
from rally_scenarios.bench.fleet import schedule

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


@dataclass(frozen=True, kw_only=True)
class Duration:
    """How long the parts of a run take, in seconds."""

    #: until all volumes are there
    volumes: int
    #: until all guests have booted
    boot: int
    #: until all guests have filled their regions, if none began before the
    #: last had booted
    prepare: int
    #: the schedule, from its start signal to its end
    measure: int
    #: until servers and volumes are gone
    delete: int
    #: from when servers are asked for to a start by wall time; None: they
    #: start when all are ready
    after: int | None = None
    #: until all guests have written all rounds that there may be, see
    #: ``precondition``
    precondition: int = 0

    @property
    def wait(self) -> int:
        """From when all have filled their regions to a start by wall time."""
        return max(
            0, (self.after or 0) - self.boot - self.prepare - self.precondition
        )

    @property
    def seconds(self) -> int:
        """All parts together."""
        return (
            self.volumes
            + self.boot
            + self.prepare
            + self.precondition
            + self.wait
            + self.measure
            + self.delete
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
) -> Duration:
    """Estimate how long a run takes.

    :param plan: of all tiers
    :param profile: says how much each guest fills, and how often
    :param guests: of all tiers together
    :param tier_mib_per_second: what a tier takes of large writes, of all its
        guests together, at least 1
    :param by_clock: whether they start by wall time, and boot at once
    :param after_seconds: see ``Duration.after``; None: twice what booting and
        filling should take, and some slack
    :param volumes_per_guest: that are made
    :param measured_per_guest: of these, on how many fio works, with a region
        on each
    :param fill: whether regions are filled
    :param precondition_seconds: for rounds before the first turn, at most
    """
    regions = guests * measured_per_guest
    fill_mib = regions * profile.region_mib * profile.fill_passes * fill
    turns = -(-guests // BOOTS_AT_ONCE) if by_clock else guests
    boot = turns * SECONDS_PER_BOOT
    prepare = -(-fill_mib // tier_mib_per_second)
    if by_clock and after_seconds is None:
        after_seconds = (
            2 * (boot + prepare) + precondition_seconds + _SLACK_SECONDS
        )
    return Duration(
        volumes=guests * volumes_per_guest * SECONDS_PER_VOLUME,
        boot=boot,
        prepare=prepare,
        precondition=precondition_seconds,
        after=after_seconds if by_clock else None,
        measure=plan.seconds
        + (0 if by_clock else START_SECONDS + guests * SECONDS_PER_CLOCK),
        delete=guests * SECONDS_PER_DELETION,
    )


def time_limits_seconds(expected: Duration) -> Mapping[str, int]:
    """How long to wait for each part: twice what is expected, and never short.

    :param expected: as ``estimate`` gave it
    :returns: the keys of the scenario's ``timeouts_seconds``; ``volumes`` is
        for making and for deleting them, ``boot`` for one server's disks and
        for all servers at the end, ``end`` for the last results
    """
    wanted = {
        'volumes': 2 * max(expected.volumes, expected.delete),
        'boot': expected.boot,
        'prepare': 2 * expected.prepare,
        # The leader may boot first and be ready long before the last.
        # Rounds have a time of their own, whatever the cloud is like.
        'ready': 2 * (expected.boot + expected.prepare)
        + expected.precondition,
        # One reading of all consoles takes longer the more guests there are.
        'end': expected.delete // SECONDS_PER_DELETION,
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
