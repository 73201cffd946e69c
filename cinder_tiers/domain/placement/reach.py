# SPDX-License-Identifier: Apache-2.0

"""Volume types that lead to the backends of tiers without being tiers.

Users of such a type have volumes on the storage of the tier without the
properties and restrictions of the tier's type. Upgrade check and audit use it.
Must not know how types and backends are read.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.placement import backends as matching_rules
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession

_Backends = collections.abc.Iterable[matching_rules.Backend]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Type:
    """A volume type, reduced to the fields that decide on its backends."""

    name: str
    extra_specs: collections.abc.Mapping[str, str]
    #: Ids of the projects that may use it; None for all.
    projects: frozenset[str] | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reach:
    """Backends of tiers to which an unrelated type leads."""

    volume_type: Type
    #: {name of a tier: its backends}, never empty; in the order of the tiers.
    tiers: collections.abc.Mapping[str, tuple[str, ...]]

    @property
    def reason(self) -> str:
        """The backends that the type reaches, and what volumes there lack."""
        return (
            f'{"public" if self.volume_type.projects is None else "private"} '
            f'volume type {self.volume_type.name!r} leads to the backends of '
            f'{_tiers(self.tiers)} and is not the type of '
            f'{"this tier" if len(self.tiers) == 1 else "these tiers"}: '
            'volumes that are created with it, or retyped to it with the '
            'policy "never", are there without the QoS, quota, encryption '
            'and access of the tier'
        )

    @property
    def remedy(self) -> str:
        """Advice for the operator."""
        name = self.volume_type.name
        # Cinder 29.0.0 refuses the update of OpenStackClient (400).
        close = (
            'make it private ("cinder type-update --is-public False" with the '
            f'id of {name!r})'
            if self.volume_type.projects is None
            else 'remove its projects'
        )
        return (
            f'{close} or delete it, after you set another default_volume_type '
            f'if it is the default; or set {cinder_state.BACKEND} of the type '
            'to a backend without a tier'
        )


def _tiers(names: collections.abc.Collection[str]) -> str:
    return f'tier{"s" * (len(names) > 1)} {spelling.listed(names)}'


def find(
    types: collections.abc.Iterable[Type],
    tiers: collections.abc.Mapping[str, Type],
    backends: _Backends | None,
) -> tuple[Reach, ...]:
    """Return each type that leads to backends of a tier without being one.

    A type that follows the image, or was retired, is skipped. One that names
    no backend leads to none of a private tier, because TierFilter prevents it.

    :param types: all existing types.
    :param tiers: {name of a tier: its type}.
    :param backends: backends that report to Cinder's scheduler; None if
        unknown, and a type is judged by the names in its extra specs.
    :returns: types in the order of their names.
    """
    known = None if backends is None else tuple(backends)
    own = {one.name for one in tiers.values()}
    served = {
        name: tuple(
            one
            for one in (_named(tier) if known is None else known)
            if not matching_rules.find_mismatch(
                one,
                _known_specs(tier, one) if known is None else tier.extra_specs,
            )
        )
        for name, tier in tiers.items()
    }
    found = []
    for one in sorted(types, key=lambda one: one.name):
        if (
            one.name in own
            or type_succession.owner_of(one.name) in own
            or tier_specs.follows_image(one.extra_specs)
        ):
            continue
        names = matching_rules.names_backend(one.extra_specs)
        reached = {
            tier: tuple(
                backend.name
                for backend in served[tier]
                if not matching_rules.find_mismatch(
                    backend,
                    _known_specs(one, backend)
                    if known is None
                    else one.extra_specs,
                )
            )
            for tier in tiers
            if names or tiers[tier].projects is None
        }
        reached = {
            tier: several for tier, several in reached.items() if several
        }
        if reached:
            found.append(Reach(volume_type=one, tiers=reached))
    return tuple(found)


def _named(tier: Type) -> collections.abc.Iterator[matching_rules.Backend]:
    """Yield a backend for each name in a tier's type, or a nameless one."""
    names = matching_rules.alternatives(
        tier.extra_specs.get(cinder_state.BACKEND)
    )
    for name in names:
        yield matching_rules.Backend(
            name=name, capabilities={cinder_state.BACKEND: name}
        )
    if not names:
        yield matching_rules.Backend(name=tier.name, capabilities={})


def _known_specs(one: Type, backend: matching_rules.Backend) -> dict[str, str]:
    """Return the extra specs that a backend is known to meet or not."""
    return {
        key: wanted
        for key, wanted in one.extra_specs.items()
        if backend.capabilities.keys()
        >= {*matching_rules.capability_names({key: wanted})}
    }
