# SPDX-License-Identifier: Apache-2.0

"""The Glance namespace that lists the tags of public tiers to tenants.

Pure. It contains nothing of a private tier: no name, no tag, no number. A
namespace without the ownership marker is not managed.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.domain import tags

_DISPLAY_NAME = 'Storage tiers'
_DESCRIPTION = (
    'The tag of an image selects the storage of volumes and servers that are '
    'made from it: "openstack image set --tag TAG IMAGE". '
    f'{glance_state.MARK}'
)
_KEY = actions.Key(
    kind=actions.Kind.TAG_NAMESPACE, name=glance_state.NAMESPACE
)


def _published(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[catalogs.Tier]:
    """Yield tiers whose tags are public."""
    return (tier for tier in catalog.ours if tier.is_public and tier.tags)


def namespace_of(catalog: catalogs.Catalog) -> glance_state.TagNamespace:
    """Return the namespace for a catalog, whether or not it publishes tags."""
    return glance_state.TagNamespace(
        display_name=_DISPLAY_NAME,
        description=_DESCRIPTION,
        is_public=True,
        is_for_images=True,
        tags=frozenset().union(
            *(tier.normal_tags for tier in _published(catalog))
        ),
    )


def plan(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> kinds.Actions:
    """Yield the action that changes the namespace to the catalog's, if any.

    A catalog that does not mention it leaves it as it is.
    """
    before = actual.cinder.tag_namespaces.get(glance_state.NAMESPACE)
    if catalog.publish_tags is None:
        return
    if not catalog.publish_tags:
        if before is not None and before.is_ours:
            yield actions.Action(
                key=_KEY,
                before=before,
                after=None,
                why='publish_tags: false',
                refusal=actions.joined(_would_delete(before)),
            )
        return
    after = namespace_of(catalog)
    if before is None or difference.differences(before, after):
        yield actions.Action(
            key=_KEY,
            before=before,
            after=after,
            why='publish_tags: true',
            notes=('every user of Glance can see it',),
            # A tag must not be shown before it selects something.
            needs=frozenset(
                actions.Key(kind=actions.Kind.VOLUME_TYPE, name=tier.type_name)
                for tier in _published(catalog)
            ),
            refusal=actions.joined(_would_take_over(before)),
        )


def _would_take_over(
    before: glance_state.TagNamespace | None,
) -> collections.abc.Iterator[actions.Refusal]:
    if before is not None and not before.is_ours:
        yield actions.Refusal(
            reason='a namespace of this name exists without the ownership '
            'marker, and its description and tags would be replaced',
            remedy='remove publish_tags from the tiers file, or delete the '
            'namespace: openstack image metadef namespace delete '
            f'{before.name}',
            yields_to_consent=True,
        )


def _would_delete(
    before: glance_state.TagNamespace,
) -> collections.abc.Iterator[actions.Refusal]:
    if before.others:
        yield actions.Refusal(
            reason='it would delete properties and objects that others put '
            f'into it: {", ".join(sorted(before.others))}',
            remedy='move them into another namespace, or remove publish_tags '
            'from the tiers file',
            yields_to_consent=True,
        )


def check(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield tags that a namespace cannot keep.

    They are too long, or the database of Glance treats two of them as equal.
    """
    if not catalog.publish_tags:
        return
    known: dict[str, str] = {}
    for tier in _published(catalog):
        for index, tag in enumerate(tier.tags):
            most = glance_state.MOST_TAG_CHARACTERS
            normal = tags.normalize_tag(tag)
            where = catalog.source.where(('tiers', tier.name, 'tags', index))
            other = known.setdefault(
                cinder_state.as_databases_compare(normal), normal
            )
            if other != normal:
                yield errors.Problem(
                    where=where,
                    found=f'the tag {normal[:most]!r}, and the tag '
                    f'{other[:most]!r}',
                    expected='tags that differ by more than accents with '
                    'publish_tags: databases of Glance take them for one',
                    remedy='rename one, or remove publish_tags',
                )
            if len(normal) > most:
                yield errors.Problem(
                    where=where,
                    found=f'a tag of {len(normal)} characters in lower case, '
                    f'{tag[:20]!r}...',
                    expected=f'at most {most} characters with publish_tags: '
                    'namespaces of Glance take no longer ones',
                    remedy='shorten it, or remove publish_tags',
                )


def _taken_away(
    before: glance_state.TagNamespace, after: glance_state.TagNamespace
) -> collections.abc.Iterator[str]:
    for tag in sorted(before.tags - after.tags):
        yield f'tag {tag}'


def _no_tier(*unused: object) -> tuple[str, ...]:
    """Return no tier: the namespace is for all tiers together."""
    return ()


TAG_NAMESPACE = kinds.ResourceKind(
    kind=actions.Kind.TAG_NAMESPACE,
    resource=glance_state.TagNamespace,
    state_field='tag_namespaces',
    plan=plan,
    check=check,
    tiers_affected=_no_tier,
    taken_away=_taken_away,
)
