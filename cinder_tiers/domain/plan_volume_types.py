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

"""The part of a plan that is about volume types and their quotas.

Pure. A volume type without our mark belongs to somebody else.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain import actions
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import desired
from cinder_tiers.domain import state


def make(*, catalog: catalogs.Catalog,
         volume_types: collections.abc.Mapping[str, state.VolumeType],
         projects: collections.abc.Mapping[str, frozenset[str]],
         ) -> collections.abc.Iterator[actions.Action]:
    """Actions that make the volume types those of the catalog.

    :param volume_types: {name: volume type} of all that exist.
    :param projects: {project as the catalog names it: its id, as a set}.
    :returns: tiers in the order of the file, then types that follow the
        image, then types with our mark that the catalog does not have.
    """
    for tier in catalog.tiers:
        before = volume_types.get(tier.name)
        after = _tier_type(catalog, tier, before, frozenset().union(
            *(projects[name] for name in tier.projects)))
        yield from _action(
            before, after, why=f'tier {tier.name}',
            mark=f'{state.NAME}={tier.name}', needs=_needs(catalog, tier),
            may_open=tier.access is not None)
    for name in catalog.follow_image_types:
        before = volume_types.get(name)
        yield from _action(
            before, _follow_image_type(name, before),
            why='leaves the choice to the image',
            mark=f'{state.FOLLOW_IMAGE}={state.TRUE}')
    declared = {tier.name for tier in catalog.tiers}
    declared.update(catalog.follow_image_types)
    for name, volume_type in volume_types.items():
        if volume_type.is_ours and name not in declared:
            yield _undeclared(volume_type)


def make_quotas(*, catalog: catalogs.Catalog,
                quotas: collections.abc.Mapping[str, state.TypeQuota],
                ) -> collections.abc.Iterator[actions.Action]:
    """Actions that make the default quotas those of the catalog.

    :param quotas: {name of a volume type: its quota}, of all that exist.
        What a new type gets is not known: Cinder keeps the quotas of a
        deleted type for the next one of its name.
    :returns: in the order of the file.
    """
    for tier in catalog.tiers:
        after = desired.type_quota_of(tier)
        before = quotas.get(tier.name)
        if after is None or (
                before is not None
                and not actions.differences(before, after)):
            continue
        yield actions.Action(
            key=actions.Key(kind=actions.Kind.TYPE_QUOTA, name=tier.name),
            before=before, after=after,
            why=f'tier {tier.name}; projects with a quota of their own keep '
                f'it',
            needs=frozenset({actions.Key(
                kind=actions.Kind.VOLUME_TYPE, name=tier.name)}))


def _needs(catalog: catalogs.Catalog,
           tier: catalogs.Tier) -> frozenset[actions.Key]:
    """A type must not offer what its pools cannot serve yet."""
    needs = set()
    for one in (tier, catalog.tier(tier.overflow)):
        if one is None or one.rbd is None:
            continue
        cluster = catalog.clusters[one.rbd.cluster]
        needs |= {actions.Key(kind=actions.Kind.POOL, cluster=cluster.name,
                              name=pool) for pool in one.rbd.pools}
        needs.add(actions.Key(
            kind=actions.Kind.CEPHX_USER, cluster=cluster.name,
            name=f'client.{cluster.cinder_user}'))
    return frozenset(needs)


def _tier_type(catalog: catalogs.Catalog, tier: catalogs.Tier,
               before: state.VolumeType | None,
               projects: frozenset[str]) -> state.VolumeType:
    wanted = desired.volume_type_of(
        tier, overflow=catalog.tier(tier.overflow), projects=projects)
    if before is None:
        return wanted
    foreign = _foreign_specs(before)
    # It belongs to the catalog: a tier of extra specs names no backend.
    foreign.pop(state.BACKEND, None)
    return dataclasses.replace(
        wanted, extra_specs={**foreign, **wanted.extra_specs},
        description=(before.description if tier.description is None
                     else tier.description))


def _follow_image_type(name: str, before: state.VolumeType | None,
                       ) -> state.VolumeType:
    wanted = desired.follow_image_type(name)
    if before is None:
        return wanted
    foreign = _foreign_specs(before)
    # Cinder would hold a volume to this backend, whatever the image says.
    foreign.pop(state.BACKEND, None)
    return state.VolumeType(name=name, description=before.description,
                            extra_specs={**foreign, **wanted.extra_specs})


def _foreign_specs(volume_type: state.VolumeType) -> dict[str, str]:
    """Extra specs that are not ours to judge, such as multiattach."""
    return {key: value for key, value in volume_type.extra_specs.items()
            if not key.startswith(state.SCOPE)}


def _action(before: state.VolumeType | None, after: state.VolumeType, *,
            why: str, mark: str, may_open: bool = False,
            needs: frozenset[actions.Key] = frozenset(),
            ) -> collections.abc.Iterator[actions.Action]:
    if before is not None and not actions.differences(before, after):
        return
    yield actions.Action(
        key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name=after.name),
        before=before, after=after, why=why, needs=needs,
        refusal=before and _refusal(before, after, mark, may_open))


def _refusal(before: state.VolumeType, after: state.VolumeType, mark: str,
             may_open: bool) -> actions.Refusal | None:
    name = after.name
    if not before.is_ours:
        return actions.Refusal(
            reason=f'a volume type {name} exists without our mark',
            remedy=f'choose another name in the catalog, or hand the type '
                   f'over with "openstack volume type set --property '
                   f'\'{mark}\' {name}"')
    if after.is_public and not before.is_public and not may_open:
        return actions.Refusal(
            reason='it would open a private volume type to all projects',
            remedy='declare "access: public" or the projects that have '
                   'access when it is a tier, or make it public by hand, '
                   'for instance with "cinder type-update --is_public True '
                   'ID"')
    if before.is_public and not after.is_public:
        return actions.Refusal(
            reason='it would take a public volume type from all projects '
                   'but those that are named',
            remedy='to accept that, make it private by hand, for instance '
                   'with "cinder type-update --is_public False ID"; tier '
                   'apply then gives the projects access')
    taken = sorted(before.projects - after.projects)
    if taken and not after.is_public:
        commands = ' and '.join(
            f'"openstack volume type unset --project {project} {name}"'
            for project in taken)
        return actions.Refusal(
            reason=f'it would take the volume type from projects: '
                   f'{", ".join(taken)}',
            remedy=f'name them under access, or, to accept that, run '
                   f'{commands}')
    return None


def _undeclared(volume_type: state.VolumeType) -> actions.Action:
    return actions.Action(
        key=actions.Key(kind=actions.Kind.VOLUME_TYPE,
                        name=volume_type.name),
        before=volume_type, after=None,
        why='carries our mark, but the catalog does not have it',
        refusal=actions.Refusal(
            reason='deleting a volume type needs an operator',
            remedy=f'declare it again, or, when no volume uses it, run '
                   f'"openstack volume type delete {volume_type.name}"'))
