# SPDX-License-Identifier: Apache-2.0

"""The design of a sweep: which treatments, how often, in which order.

A treatment is a set of options of one tier with the values that they have
while it is measured. The default, which is the tier as its file declares it,
is measured again in each block, so that a comparison within a block is one of
slots that lie close together in time. Pure. Must not know how a treatment is
applied, nor what is measured.
"""

import collections.abc
import dataclasses
import itertools
import random

from cinder_tiers.domain.catalog import model as catalogs

#: The treatment that changes nothing.
DEFAULT = 'default'

#: Ways in which treatments are made of factors.
ONE_AT_A_TIME = 'one_at_a_time'
PRODUCT = 'product'
#: Treatments that the file names, each with all of its options at once.
TOGETHER = 'together'
WAYS = (ONE_AT_A_TIME, PRODUCT, TOGETHER)

#: More than a person would wait for; a product grows fast.
MOST_TREATMENTS = 256
MOST_SLOTS = 4096
#: How the names of the files of slots begin.
SLOT_STEM = 'slot-'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Treatment:
    """Options of the tier, and of who measures it, for one slot."""

    name: str
    #: {place in the catalog: value}; empty for the default.
    changes: collections.abc.Mapping[catalogs.Path, catalogs.Value] = (
        dataclasses.field(default_factory=dict)
    )
    #: {option: value} for the command that measures, such as iodepth.
    guest: collections.abc.Mapping[str, catalogs.Value] = dataclasses.field(
        default_factory=dict
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreatmentSlot:
    """A measurement of a treatment."""

    #: From 1, in the order in which they are measured.
    number: int
    #: From 1; each block has every treatment once.
    block: int
    #: Name of the treatment.
    treatment: str

    @property
    def stem(self) -> str:
        """Stem of the names of its files, such as slot-0001."""
        return f'{SLOT_STEM}{self.number:04}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
    """Design of a sweep, without its initial catalog."""

    tier: str
    #: Without the default.
    treatments: tuple[Treatment, ...]
    #: How often each treatment is measured.
    blocks: int
    #: Of the order within the blocks.
    seed: int
    #: How long one slot takes, in minutes; None: not given.
    slot_minutes: float | None = None

    @property
    def all_treatments(self) -> tuple[Treatment, ...]:
        """The default and the treatments, in the order of the file."""
        return (Treatment(name=DEFAULT), *self.treatments)

    @property
    def slots(self) -> tuple[TreatmentSlot, ...]:
        """The slots in the order in which they are measured.

        Each block has an order of its own, by chance, so that neither a
        drift over time nor what one treatment leaves behind for the next one
        falls on the same treatments each time. The same seed gives the same
        order.
        """
        found: list[TreatmentSlot] = []
        for block in range(1, self.blocks + 1):
            names = [one.name for one in self.all_treatments]
            # Not for secrets: the order must come again with the seed.
            random.Random(f'{self.seed} {block}').shuffle(names)  # noqa: S311
            before = len(found)
            found.extend(
                TreatmentSlot(
                    number=before + position,
                    block=block,
                    treatment=name,
                )
                for position, name in enumerate(names, 1)
            )
        return tuple(found)

    @property
    def minutes(self) -> float | None:
        """Duration of all slots; None if the time of one is not given."""
        if self.slot_minutes is None:
            return None
        return self.slot_minutes * self.blocks * (len(self.treatments) + 1)


#: {place: values to try}; a place of one element is of the guests.
Factors = collections.abc.Mapping[
    catalogs.Path, collections.abc.Sequence[catalogs.Value]
]


def count_of(factors: Factors, way: str) -> int:
    """Return the number of treatments that `treatments_of` would make."""
    counts = [len(values) for values in factors.values()]
    if way == ONE_AT_A_TIME:
        return sum(counts)
    product = 1
    for count in counts:
        product *= count
    return product


def treatments_of(
    factors: Factors,
    way: str,
    *,
    guest: collections.abc.Container[catalogs.Path] = (),
) -> tuple[Treatment, ...]:
    """Make the treatments of factors.

    >>> place = ('tiers', 'a', 'rbd', 'osd_options', 'osd_max_backfills')
    >>> [one.name for one in treatments_of({place: [1, 4]}, ONE_AT_A_TIME)]
    ['osd_max_backfills=1', 'osd_max_backfills=4']

    :param way: `ONE_AT_A_TIME`: one for each value of each factor;
        `PRODUCT`: one for each combination of a value of every factor.
    :param guest: places that are options of the measuring command.
    """
    chosen: list[tuple[tuple[catalogs.Path, catalogs.Value], ...]]
    if way == ONE_AT_A_TIME:
        chosen = [
            ((place, value),)
            for place, values in factors.items()
            for value in values
        ]
    else:
        chosen = list(
            itertools.product(
                *(
                    [(place, value) for value in values]
                    for place, values in factors.items()
                )
            )
        )
    names = [place[-1] for place in factors]
    # The same limit may be one of both consumers.
    parts = {
        place: f'{place[-2]}.{place[-1]}'
        if names.count(place[-1]) > 1
        else str(place[-1])
        for place in factors
    }
    return tuple(
        Treatment(
            name=' '.join(
                f'{parts[place]}={text(value)}' for place, value in one
            ),
            changes={
                place: value for place, value in one if place not in guest
            },
            guest={
                str(place[-1]): value for place, value in one if place in guest
            },
        )
        for one in chosen
    )


def text(value: catalogs.Value) -> str:
    """A value as it is written in YAML.

    >>> text(True), text(0.5)
    ('true', '0.5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def observing(
    default: catalogs.Catalog,
    treated: collections.abc.Iterable[catalogs.Catalog],
    tier: str,
) -> catalogs.Catalog:
    """Return a catalog that names all OSD options of some treatments.

    Its observed state serves the plans of all of them. It need not be sound,
    and is not for a plan of its own.

    :param default: the catalog of the tiers file.
    :param treated: the catalogs of the treatments.
    :param tier: name of the tier of the treatments.
    """
    options: dict[str, catalogs.Value] = {}
    for one in (*treated, default):
        found = one.tier(tier)
        if found is not None and found.rbd is not None:
            options.update(found.rbd.osd_options)
    return dataclasses.replace(
        default,
        tiers=tuple(
            dataclasses.replace(
                one, rbd=dataclasses.replace(one.rbd, osd_options=options)
            )
            if one.name == tier and one.rbd is not None
            else one
            for one in default.tiers
        ),
    )
