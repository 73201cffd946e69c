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


"""The part of a plan that is about QoS specs.

Pure. A QoS spec has no place for a mark: each key of it goes to the hypervisor
or to the driver of the storage, and some drivers refuse a key that they do not
know (cinder/volume/drivers/netapp/utils.py). So one is ours when it has the
name for a tier and no volume type but the tier's has it.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain import actions
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import desired
from cinder_tiers.domain import state

#: {consumer: what a change does not reach}.
_KEEPS = {
    'front-end': 'volumes that are attached keep their limits until they are '
                 'attached again',
    'back-end': 'volumes that exist keep their limits until they are retyped',
    'both': 'volumes that exist keep their limits until they are retyped and '
            'attached again'}


def make(*, catalog: catalogs.Catalog, cinder: state.CinderState,
         ) -> collections.abc.Iterator[actions.Action]:
    """Actions that make the QoS specs those of the catalog.

    :param cinder: what exists.
    :returns: tiers in the order of the file, then QoS specs of ours that the
        catalog does not have.
    """
    for tier in catalog.tiers:
        wanted = desired.qos_spec_of(tier)
        if wanted is not None:
            yield from _action(tier, cinder, wanted)
    declared = {tier.name for tier in catalog.tiers if tier.qos}
    for name, volume_type in cinder.volume_types.items():
        spec = cinder.qos_specs.get(desired.qos_spec_name(name))
        if (spec is not None and name not in declared
                and state.NAME in volume_type.extra_specs
                and spec.volume_types == {name}):
            yield _undeclared(name, spec)


def _action(tier: catalogs.Tier, cinder: state.CinderState,
            wanted: state.QosSpec,
            ) -> collections.abc.Iterator[actions.Action]:
    before = cinder.qos_specs.get(wanted.name)
    why = f'tier {tier.name}'
    after = wanted
    if before is not None:
        after = dataclasses.replace(
            wanted, volume_types=before.volume_types | wanted.volume_types)
        if not actions.differences(before, after):
            return
        why = f'{why}; {_KEEPS[wanted.consumer]}'
    yield actions.Action(
        key=actions.Key(kind=actions.Kind.QOS_SPEC, name=wanted.name),
        before=before, after=after, why=why,
        needs=frozenset({actions.Key(kind=actions.Kind.VOLUME_TYPE,
                                     name=tier.name)}),
        refusal=_refusal(tier.name, cinder, before, after))


def _refusal(tier: str, cinder: state.CinderState,
             before: state.QosSpec | None, after: state.QosSpec,
             ) -> actions.Refusal | None:
    for other in cinder.qos_specs.values():
        if other.name != after.name and tier in other.volume_types:
            return actions.Refusal(
                reason=f'volume type {tier} has the QoS spec {other.name}, '
                       f'which is not ours, and can have one only',
                remedy=f'remove qos from the tier, or run "openstack volume '
                       f'qos disassociate --volume-type {tier} {other.name}"')
    if before is None:
        return None
    others = sorted(before.volume_types - {tier})
    if others:
        return actions.Refusal(
            reason=f'other volume types have the QoS spec too: '
                   f'{", ".join(others)}',
            remedy='give them a QoS spec of their own, or remove qos from '
                   'the tier')
    changed = {one.field for one in actions.differences(before, after)}
    # What a killed apply leaves has all values, and waits for its type.
    if not before.volume_types and changed != {'volume_types'}:
        return actions.Refusal(
            reason=f'a QoS spec {before.name} exists with other values, and '
                   f'the volume type of the tier does not have it, so that '
                   f'it may be somebody\'s',
            remedy=f'run "openstack volume qos delete {before.name}", or, to '
                   f'hand it over, "openstack volume qos associate '
                   f'{before.name} {tier}"')
    return None


def _undeclared(tier: str, spec: state.QosSpec) -> actions.Action:
    return actions.Action(
        key=actions.Key(kind=actions.Kind.QOS_SPEC, name=spec.name),
        before=spec, after=None,
        why=f'tier {tier} has it, but the catalog does not declare it',
        refusal=actions.Refusal(
            reason='taking the limits from a tier needs an operator',
            remedy=f'declare qos again, or run "openstack volume qos '
                   f'disassociate --volume-type {tier} {spec.name}" and '
                   f'"openstack volume qos delete {spec.name}"'))
