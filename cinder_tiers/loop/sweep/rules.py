# SPDX-License-Identifier: Apache-2.0

"""Rules of a sweep in addition to those of a tiers file.

A tiers file may declare these values, since it is permanent. A sweep restores
everything, and these values cannot be restored, or stop the tier while it is
measured. Pure.
"""

import collections.abc
import types

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.loop.sweep import design

#: {pool option: (value, or None for any; why it is refused)}
_REFUSED: collections.abc.Mapping[str, tuple[object, str]] = (
    types.MappingProxyType(
        {
            pool_options.EC_OPTIMIZATIONS: (
                True,
                'options that can be reverted; Ceph never switches this '
                'one off again',
            ),
            'csum_type': (
                'none',
                'a checksum; data that is written during the sweep would '
                'have none, and its corruption would go undetected',
            ),
            **dict.fromkeys(
                sorted(pool_options.QUOTAS),
                (
                    None,
                    'options that do not stop writes to the tier; a quota '
                    'does when it is reached',
                ),
            ),
        }
    )
)


def check(
    sweep: design.Sweep,
    sources: collections.abc.Mapping[str, catalogs.CatalogSource],
) -> collections.abc.Iterator[errors.Problem]:
    """Yield values that a sweep must not change.

    :param sources: {treatment: source of its values}.
    """
    for treatment in sweep.treatments:
        for place, value in treatment.changes.items():
            name = str(place[-1])
            refused, why = _REFUSED.get(name, (None, ''))
            if (
                why
                and place[-2] == 'pool_options'
                and refused
                in (
                    None,
                    value,
                )
            ):
                yield errors.Problem(
                    where=sources[treatment.name].where(place),
                    found=f'{name} {design.text(value)}',
                    expected=why,
                    remedy='remove it',
                )
