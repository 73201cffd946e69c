# SPDX-License-Identifier: Apache-2.0


"""The shape of a fleet: what its guests work on, and what starts them.

From a task's arguments, checked before anything is made, to values that those
that make the fleet and that report on it share.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from typing import Any
from typing import Literal

from rally.task import scenario as task_scenario
import typing_extensions

from cinder_tiers.figures.result import caveats

AtLeastOne = Annotated[int, task_scenario.Field(ge=1)]
Name = Annotated[str, task_scenario.Field(min_length=1)]
# Their results come home as one, of which a part each is fio's own output.
_MOST_PER_GUEST = 16


class StartArgs(typing_extensions.TypedDict, closed=True):
    """Start signal of all guests.

    by: ``volume``, a small volume attached to all of them, or ``clock``, wall
    time;
    after_seconds: time from the request for servers to a start by wall time.
    """

    by: Literal['volume', 'clock']
    after_seconds: typing_extensions.NotRequired[AtLeastOne]


class VolumeArgs(typing_extensions.TypedDict, closed=True):
    """Volumes on which fio works.

    kind: ``boot``, a part of the boot volume, or ``data``, a second volume;
    source: source of a data volume: ``image``, the tier's, or ``blank``;
    boot_image: boot image of guests with data volumes; else the tier's;
    size_gib: size of a data volume; else that of boot volumes;
    per_guest: number of data volumes on which each guest works at once, 1 by
    default;
    fill: write the region before it is measured, True by default.
    """

    kind: Literal['boot', 'data']
    source: typing_extensions.NotRequired[Literal['image', 'blank']]
    boot_image: typing_extensions.NotRequired[Name]
    size_gib: typing_extensions.NotRequired[AtLeastOne]
    per_guest: typing_extensions.NotRequired[
        Annotated[int, task_scenario.Field(ge=1, le=_MOST_PER_GUEST)]
    ]
    fill: typing_extensions.NotRequired[bool]


@dataclass(frozen=True, kw_only=True)
class TierVolumes:
    """Boot and data volumes of the guests of a tier."""

    #: its name
    tier: str
    #: the tier's image, by name
    image: str
    #: from which they boot, by name
    boot_image: str
    #: volume type of a blank data volume; None: fio works on what was made
    #: from the tier's image, without naming a type
    blank_type: str | None
    #: volume type that the volume fio works on is to have; None if the task
    #: does not say
    expected_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class GuestShape:
    """Shape of all guests of a fleet."""

    #: whether they start by wall time
    by_clock: bool
    #: until then; None: as long as the estimate says
    after_seconds: int | None
    #: whether fio works on a second volume
    has_data: bool
    #: its size
    data_gib: int
    #: on how many at once fio works in each guest, which are boot volumes
    #: unless there are data volumes
    measured_per_guest: int
    #: size of boot volumes
    boot_gib: int
    #: whether the region is written before it is measured
    fill: bool
    #: whether guests of a tier are to be on different hosts
    spread: bool
    #: {tier: its volumes}
    tiers: Mapping[str, TierVolumes]
    #: availability zone of servers; None: Nova's choice
    compute_zone: str | None = None
    #: availability zone of volumes; None: Cinder's choice
    volume_zone: str | None = None

    @property
    def volumes_per_guest(self) -> int:
        """Number of volumes that are created for each guest."""
        return 1 + self.measured_per_guest if self.has_data else 1

    @property
    def images(self) -> list[str]:
        """Names of all images that are needed."""
        return sorted(
            {each.boot_image for each in self.tiers.values()}
            | {
                each.image
                for each in self.tiers.values()
                if each.blank_type is None
            }
        )

    @property
    def image_of_tier(self) -> dict[str, str]:
        """{tier: name of the image that its volumes are made from}.

        If what fio works on is made of none, the one that guests boot from.
        """
        return {
            tier: each.image if each.blank_type is None else each.boot_image
            for tier, each in self.tiers.items()
        }

    @property
    def blank_types(self) -> list[str]:
        """Names of the volume types that are named."""
        return sorted(
            {
                each.blank_type
                for each in self.tiers.values()
                if each.blank_type is not None
            }
        )

    def made_from(self, tier: str) -> str:
        """Describe the volume on which fio works.

        A project cannot see whether a backend clones images or copies them.
        """
        volumes = self.tiers[tier]
        several = (
            f', {self.measured_per_guest} for each guest'
            if self.measured_per_guest > 1
            else ''
        )
        if volumes.blank_type is not None:
            return f'{caveats.BLANK}{several}'
        kind = 'data' if self.has_data else 'boot'
        return (
            f'{kind} volume, clone of image {volumes.image} where the'
            f' backend clones{several}'
        )

    @property
    def filled(self) -> str:
        """Describe whether the region was written before fio reads it."""
        return 'region filled' if self.fill else caveats.NOT_FILLED

    @property
    def expected_types(self) -> dict[str, str]:
        """{tier: its volume type}, of the tiers of which the task says it."""
        return {
            tier: each.expected_type
            for tier, each in self.tiers.items()
            if each.expected_type is not None
        }

    @property
    def clone_or_flat(self) -> str:
        """Describe the volumes of all tiers; equal ones once."""
        alike: dict[str, list[str]] = {}
        for tier in self.tiers:
            alike.setdefault(self.made_from(tier), []).append(tier)
        if len(alike) == 1:
            return f'{next(iter(alike))}, {self.filled}'
        return '; '.join(
            f'{", ".join(tiers)}: {text}, {self.filled}'
            for text, tiers in alike.items()
        )


def _tier(fleet: Mapping[str, Any], volume: Mapping[str, Any]) -> TierVolumes:
    """Return the volumes of one tier.

    :raises ValueError: a volume type is named that would not be used
    """
    blank = volume.get('source') == 'blank'
    if 'volume_type' in fleet and not blank:
        raise ValueError(
            f'tier {fleet["tier"]!r}: volume_type {fleet["volume_type"]!r}'
            f' is of blank data volumes; what is made from an image goes'
            f' where the image leads'
        )
    # Without a type, a blank volume lands on the fall-back tier.
    blank_type = fleet.get('volume_type', fleet['tier']) if blank else None
    return TierVolumes(
        tier=fleet['tier'],
        image=fleet['image'],
        boot_image=volume.get('boot_image', fleet['image']),
        blank_type=blank_type,
        expected_type=fleet.get('expected_volume_type', blank_type),
    )


def from_arguments(
    fleets: Sequence[Mapping[str, Any]],
    *,
    start: Mapping[str, Any] | None,
    volume: Mapping[str, Any] | None,
    volume_size_gib: int | None,
    spread: bool | None,
    zones: Mapping[str, str] | None = None,
) -> GuestShape:
    """The shape that a task asks for.

    :param fleets: the argument of the scenario, as are the others; None says
        nothing
    :raises ValueError: the values do not fit each other
    """
    start, volume = start or {'by': 'volume'}, volume or {'kind': 'boot'}
    by_clock, has_data = start['by'] == 'clock', volume['kind'] == 'data'
    if not by_clock and 'after_seconds' in start:
        raise ValueError(
            'start: after_seconds is of a start by clock; guests'
            ' that share a volume start when all are ready'
        )
    if has_data and 'source' not in volume:
        raise ValueError(
            'volume: a data volume needs a source, image or blank'
        )
    of_data = sorted(
        set(volume) & {'source', 'boot_image', 'size_gib', 'per_guest'}
    )
    if of_data and not has_data:
        raise ValueError(
            f'volume: {", ".join(of_data)} is of data volumes,'
            f' and kind is {volume["kind"]}'
        )
    boot_gib = volume_size_gib or 1
    return GuestShape(
        by_clock=by_clock,
        after_seconds=start.get('after_seconds'),
        has_data=has_data,
        data_gib=volume.get('size_gib', boot_gib),
        boot_gib=boot_gib,
        measured_per_guest=volume.get('per_guest', 1),
        fill=volume.get('fill', True),
        spread=spread is not False,
        tiers={fleet['tier']: _tier(fleet, volume) for fleet in fleets},
        compute_zone=(zones or {}).get('compute'),
        volume_zone=(zones or {}).get('volume'),
    )
