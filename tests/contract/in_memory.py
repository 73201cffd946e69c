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

"""A cloud in memory: what tiers are made of, and executors that change it.

For tests of the order of actions, of interruptions and of repetitions, which
the real services cannot be made to fail at will for. It passes
`world_contract`, as the real ones do. Like them it refuses what lacks its
parts, and knows nothing of catalogs.
"""

import dataclasses

from cinder_tiers.domain import actions
from cinder_tiers.domain import errors
from cinder_tiers.domain import osd_options
from cinder_tiers.domain import state


#: The options that its OSDs know.
SCHEMAS = {schema.name: schema for schema in (
    osd_options.Schema(name='bluestore_cache_size_ssd', kind='size',
                       default='3221225472'),
    osd_options.Schema(name='osd_max_backfills', kind='uint', default='1'),
    osd_options.Schema(name='osd_op_queue', kind='str', default='wpq',
                       words=('wpq', 'mclock_scheduler'), at_runtime=False))}


class Effective(dict):
    """What OSDs use: of a class that was told nothing, the defaults."""

    def __getitem__(self, device_class):
        """The options of a class."""
        told = self.get(device_class)
        return state.OsdOptions(name=device_class, values={
            **{name: schema.default for name, schema in SCHEMAS.items()},
            **(told.values if told else {})})


class World:
    """The objects that exist, by key.

    :param osds: the OSDs of its one cluster, named ceph.
    :param existing: {key: object} to begin with.
    """

    def __init__(self, *, osds, existing=()):
        self.osds = tuple(osds)
        self.objects = dict(existing)
        #: Keys of objects on which writes fail.
        self.broken = set()
        #: Keys of objects of which writes are accepted and then ignored.
        self.ignored = set()

    @property
    def executors(self):
        """{kind: executor}; the world is the executor of each kind."""
        return dict.fromkeys(actions.Kind, self)

    def read(self, key):
        """The object; None when it does not exist."""
        return self.objects.get(key)

    def write(self, wanted, *, key, current):
        """Makes an object what is wanted; what is None stays as it is."""
        if key in self.broken:
            raise errors.ActionFailed(f'{key} is broken')
        for lacking in self._parts(wanted, key) - self.objects.keys():
            raise errors.ActionFailed(f'there is no {lacking}')
        if key in self.ignored:
            return
        if isinstance(wanted, state.Pool) and wanted.pg_num is None:
            before = current or dataclasses.replace(
                wanted, pg_num=32, pg_autoscale_mode='on')
            wanted = dataclasses.replace(
                wanted, pg_num=before.pg_num,
                pg_autoscale_mode=before.pg_autoscale_mode)
        self.objects[key] = wanted

    def observe(self):
        """The whole state."""
        def of(kind):
            return {key.name: one for key, one in self.objects.items()
                    if key.kind is kind}

        return state.ActualState(
            cinder=state.CinderState(
                volume_types=of(actions.Kind.VOLUME_TYPE),
                qos_specs=of(actions.Kind.QOS_SPEC),
                quotas=of(actions.Kind.TYPE_QUOTA)),
            ceph={'ceph': state.CephState(
                crush_rules=of(actions.Kind.CRUSH_RULE),
                erasure_code_profiles=of(actions.Kind.ERASURE_CODE_PROFILE),
                pools=of(actions.Kind.POOL), users=of(
                    actions.Kind.CEPHX_USER), osds=self.osds,
                class_options=Effective(of(actions.Kind.OSD_OPTIONS)),
                option_schemas=SCHEMAS)})

    @staticmethod
    def _parts(wanted, key):
        """Objects that Ceph or Cinder needs before it takes this one."""
        def part(kind, name):
            return actions.Key(kind=kind, cluster=key.cluster, name=name)

        if isinstance(wanted, state.TypeQuota):
            return {part(actions.Kind.VOLUME_TYPE, wanted.name)}
        if isinstance(wanted, state.QosSpec):
            return {part(actions.Kind.VOLUME_TYPE, name)
                    for name in wanted.volume_types}
        if isinstance(wanted, state.CrushRule) and wanted.kind == 'erasure':
            return {part(actions.Kind.ERASURE_CODE_PROFILE, wanted.name)}
        if isinstance(wanted, state.Pool):
            parts = {part(actions.Kind.CRUSH_RULE, wanted.crush_rule)}
            if wanted.erasure_code_profile:
                parts.add(part(actions.Kind.ERASURE_CODE_PROFILE,
                               wanted.erasure_code_profile))
            return parts
        return set()
