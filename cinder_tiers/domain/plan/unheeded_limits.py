# SPDX-License-Identifier: Apache-2.0

"""Tiers with limits by size on backends that do not set them.

Such a tier is as declared, but its volumes have no limit. Pure. Must not know
how backends are listed.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.resources import qos_spec
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unheeded:
    """A tier with limits that no volume gets."""

    tier: str
    #: Names the limits and the backends.
    reason: str
    remedy: str


def find(
    catalog: catalogs.Catalog,
    backends: collections.abc.Sequence[backends_of_cinder.Backend],
) -> collections.abc.Iterator[Unheeded]:
    """Yield each tier with limits by size that one of its backends ignores.

    :param backends: all backends that report to Cinder's scheduler.
    :returns: findings in the order of the file; none for a tier that requires
        the capability, so Cinder places its volumes only where limits are set.
    """
    for tier in catalog.ours:
        keys = qos_spec.limits_by_size_of(tier)
        if not keys or limits_by_size.CAPABILITY in tier.extra_specs:
            continue
        names = [
            one.name
            for one in backends
            if one.capabilities.get(cinder_state.BACKEND) == tier.backend
            and one.capabilities.get(limits_by_size.CAPABILITY) is not True
        ]
        if names:
            yield Unheeded(
                tier=tier.name,
                reason=f'{spelling.listed(names)} '
                f'do{"" if len(names) > 1 else "es"} not report '
                f'{limits_by_size.CAPABILITY}, and the limits under back_end '
                f'have {spelling.listed(keys)}: {qos_spec.PASSED_OVER}',
                remedy='use the driver TieredRBDDriver ("openstack tier '
                'backend-config --driver tiered"), or declare plain limits',
            )
