# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""When which tier runs which pattern.

Tiers share disks, network and the hosts' cores, so they take turns: every
slot belongs to one tier and one pattern, slots follow one another at a fixed
distance, and within a slot all guests of the tier start together.  The whole
schedule is in every guest's orders before it boots; only its beginning, T0,
is agreed later.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rally_scenarios.bench import fio_profile

# fio's own start and end (under emulation 1 to 2 s) and what is still in
# flight then.  A fio that needs longer runs into the next slot, and shows.
GAP_SECONDS = 4


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One tier's turn with one pattern.

    :ivar number: position in the schedule, from 0
    :ivar tier: name of the tier whose guests run
    :ivar pattern: what they run
    """

    number: int
    tier: str
    pattern: fio_profile.Pattern


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """All turns, one after another.

    :ivar slots: in order of time, ``slots[n].number == n``
    :ivar slot_seconds: distance of the beginnings of two slots
    """

    slots: tuple[Slot, ...]
    slot_seconds: int

    @property
    def seconds(self) -> int:
        """From T0 to the end of the last slot."""
        return len(self.slots) * self.slot_seconds

    def of_tier(self, tier: str) -> tuple[Slot, ...]:
        """The slots of one tier; empty when it has none."""
        return tuple(slot for slot in self.slots if slot.tier == tier)


def plan(tiers: Sequence[str], patterns: Sequence[fio_profile.Pattern],
         profile: fio_profile.Profile) -> Schedule:
    """Lay out all patterns of the first tier, then of the next, and so on.

    :param tiers: names, each once, at least one
    :param patterns: their names each once, at least one
    :param profile: its times give the length of a slot
    :raises ValueError: no tier, no pattern, or a name twice
    """
    for what, names in (("tier", list(tiers)),
                        ("pattern", [p.name for p in patterns])):
        if not names:
            raise ValueError(f"no {what} to measure: expected at least one")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{what} named twice: {', '.join(twice)}")
    turns = [(tier, pattern) for tier in tiers for pattern in patterns]
    return Schedule(
        slots=tuple(Slot(number=number, tier=tier, pattern=pattern)
                    for number, (tier, pattern) in enumerate(turns)),
        slot_seconds=(profile.ramp_seconds + profile.runtime_seconds
                      + GAP_SECONDS))
