# SPDX-License-Identifier: Apache-2.0

"""The encryption of a tier's volume type.

Cinder neither sets nor changes it once volumes have the type
(cinder/api/contrib/volume_type_encryption.py), so the change of such a type is
refused. A tier without `encryption` leaves an existing one as it is: none is
ever removed. Pure.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference


def type_encryption_of(
    tier: catalogs.Tier,
) -> cinder_state.TypeEncryption | None:
    """Return the encryption of a tier's type; None if none is declared."""
    if tier.encryption is None:
        return None
    return cinder_state.TypeEncryption(
        name=tier.type_name,
        provider=tier.encryption.provider,
        cipher=tier.encryption.cipher,
        key_size_bits=tier.encryption.key_size_bits,
        control_location=tier.encryption.control_location,
    )


def plan(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> kinds.Actions:
    """Yield actions that set the encryptions of the catalog.

    :returns: actions in the order of the file.
    """
    for before, after in _different(catalog, actual.cinder):
        volume_type = actual.cinder.volume_types.get(after.name)
        type_key = actions.Key(kind=actions.Kind.VOLUME_TYPE, name=after.name)
        yield actions.Action(
            key=actions.Key(
                kind=actions.Kind.TYPE_ENCRYPTION, name=after.name
            ),
            before=before,
            after=after,
            why=f'tier {after.name}',
            notes=(
                'existing volumes without encryption stay unencrypted',
                *(volume_type.use if volume_type else ()),
            ),
            needs=frozenset({type_key}),
            completes=type_key,
            refusal=actions.joined(_refusals(before, volume_type)),
        )


def types_whose_usage_matters(
    catalog: catalogs.Catalog, cinder: cinder_state.CinderState
) -> frozenset[str]:
    """Return types whose encryption changes only if nothing uses them."""
    return frozenset(
        after.name
        for _, after in _different(catalog, cinder)
        if after.name in cinder.volume_types
    )


def _different(
    catalog: catalogs.Catalog, cinder: cinder_state.CinderState
) -> collections.abc.Iterator[
    tuple[cinder_state.TypeEncryption | None, cinder_state.TypeEncryption]
]:
    """Yield (existing, declared) encryption of each type that differs."""
    for tier in catalog.ours:
        after = type_encryption_of(tier)
        before = cinder.encryptions.get(tier.type_name)
        if after is not None and (
            before is None or difference.differences(before, after)
        ):
            yield before, after


def _refusals(
    before: cinder_state.TypeEncryption | None,
    volume_type: cinder_state.VolumeType | None,
) -> collections.abc.Iterator[actions.Refusal]:
    if volume_type is None:
        return
    if volume_type.has_volumes:
        yield actions.Refusal(
            reason='volumes have the volume type, and Cinder does not change '
            'the encryption of such a type',
            remedy='declare the current settings in the tiers file, declare a '
            'tier with another name, or first retype the volumes with '
            '"openstack volume set --type"',
        )
    if before is not None and not volume_type.is_ours:
        yield actions.Refusal(
            reason=f'it would change the encryption of a volume type '
            f'{volume_type.name} without the ownership marker',
            remedy='declare the current settings in the tiers file, or use '
            'another name for the tier',
            yields_to_consent=True,
        )


TYPE_ENCRYPTION = kinds.ResourceKind(
    kind=actions.Kind.TYPE_ENCRYPTION,
    resource=cinder_state.TypeEncryption,
    state_field='encryptions',
    plan=plan,
    tiers_affected=kinds.tiers_of_that_name,
    types_whose_usage_matters=types_whose_usage_matters,
)
