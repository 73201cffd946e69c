# SPDX-License-Identifier: Apache-2.0

"""The tag that the metadata of a volume name.

Tenants write metadata. Must not know which tags select a tier.
"""

import collections.abc

from cinder_tiers.domain.placement import decision
from cinder_tiers.domain import tags


def known_tag_in(
    metadata: object,
    policy: decision.Policy,
    known_tags: collections.abc.Container[str],
) -> str | None:
    """Return the tag that metadata name, or '' for any unknown tag.

    The number of different results is bounded, regardless of the metadata.

    :param metadata: see `tag_in`.
    :param policy: see `tag_in`.
    :param known_tags: tags of all tiers, in normal form.
    :returns: result of `tag_in`, but '' for a tag that no tier has.

    >>> policy = decision.Policy(metadata_key='tier')
    >>> known_tag_in({'tier': 'x'}, policy, {'database'})
    ''
    """
    tag = tag_in(metadata, policy)
    return tag if tag is None or tag in known_tags else ''


def tag_in(metadata: object, policy: decision.Policy) -> str | None:
    """Return the tag that metadata name, in normal form.

    :param metadata: {key: value} of a volume, unchecked.
    :param policy: policies of the operator, for the key.
    :returns: tag; None if metadata do not count or lack the key; '' for a
        value that cannot be a tag.

    >>> tag_in({'tier': ' Database'}, decision.Policy(metadata_key='tier'))
    'database'
    """
    if policy.metadata_key is None or not isinstance(
        metadata, collections.abc.Mapping
    ):
        return None
    value = metadata.get(policy.metadata_key)
    if value is None:
        return None
    return tags.normalize_tag(value) if isinstance(value, str) else ''


def may_select(
    metadata: collections.abc.Mapping[str, object],
    policy: decision.Policy,
    known_tags: collections.abc.Container[str],
) -> bool:
    """Return whether metadata may select a tier under an unknown policy.

    :param metadata: {key: value} of a volume.
    :param known_tags: tags of all tiers, in normal form.

    >>> may_select({'a': ' DB'}, decision.Policy(is_known=False), {'db'})
    True
    """
    return not policy.is_known and any(
        isinstance(value, str) and tags.normalize_tag(value) in known_tags
        for value in metadata.values()
    )
