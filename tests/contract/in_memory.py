# SPDX-License-Identifier: Apache-2.0

"""A cloud in memory: what tiers are made of, and executors that change it.

For tests of the order of actions, of interruptions and of repetitions, which
the real services cannot be made to fail at will for. It passes
`world_contract`, as the real ones do. Like them it refuses what lacks its
parts, and knows nothing of catalogs. What does harm it knows by itself: if it
asked the product, both could be wrong in the same way.
"""

import dataclasses
import math

from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import primary_affinity
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.domain.state import usage as usages


#: The options that its OSDs know.
SCHEMAS = {
    schema.name: schema
    for schema in (
        ceph_state.OptionSchema(
            name='bluestore_cache_size_ssd', kind='size', default='3221225472'
        ),
        ceph_state.OptionSchema(
            name='osd_max_backfills', kind='uint', default='1'
        ),
        ceph_state.OptionSchema(
            name='osd_op_queue',
            kind='str',
            default='wpq',
            words=('wpq', 'mclock_scheduler'),
            at_runtime=False,
        ),
    )
}


class Effective(dict):
    """What OSDs use: of a class or host that was told nothing, defaults."""

    def __getitem__(self, name):
        """The options of a class or host."""
        told = self.get(name)
        return ceph_state.OsdOptions(
            name=name,
            values={
                **{name: schema.default for name, schema in SCHEMAS.items()},
                **(told.values if told else {}),
            },
        )


#: Extra specs by which a volume type is known as one of tiers.
MARKS = {'tiers:name', 'tiers:follow_image'}
#: By this, in its description, a namespace of Glance.
MARK = 'Written by "openstack tier apply".'
#: By these the autoscaler of Ceph chooses pg_num, where it is on.
AUTOSCALED_BY = (
    'bulk',
    'pg_autoscale_bias',
    'pg_num_max',
    'pg_num_min',
    'target_size_bytes',
    'target_size_ratio',
)


def is_marked(volume_type):
    """Whether a volume type is one of tiers."""
    return not MARKS.isdisjoint(volume_type.extra_specs)


def moves_data(pool, wanted):
    """Whether Ceph moves objects for a change of a pool."""
    return (
        pool.size != wanted.size
        or pool.crush_rule != wanted.crush_rule
        or wanted.pg_num not in (None, pool.pg_num)
        or pool.pg_autoscale_mode == 'on'
        and any(
            pool.options.get(name) != wanted.options[name]
            for name in AUTOSCALED_BY
            if name in wanted.options
        )
    )


def grants(caps):
    """(daemon, grant) of each capability of a cephx user."""
    return {
        (daemon, ' '.join(grant.split()))
        for daemon, text in caps.items()
        for grant in text.split(',')
    }


def harms(current, wanted):
    """Whether no consent allows a write."""
    if wanted is None:
        return isinstance(current, ceph_state.Pool | ceph_state.CephxUser)
    if isinstance(current, ceph_state.Pool):
        return (current.kind, current.erasure_code_profile) != (
            wanted.kind,
            wanted.erasure_code_profile,
        ) or wanted.stripe_width_bytes not in (
            None,
            current.stripe_width_bytes,
        )
    if isinstance(current, ceph_state.CephxUser):
        return not grants(current.caps) <= grants(wanted.caps)
    return False


def needs_consent(current, wanted):
    """Whether a write is only done for an operator who allows it."""
    if isinstance(current, ceph_state.Pool):
        return moves_data(current, wanted) or (
            wanted.min_size not in (None, current.min_size)
            and bool(current.applications)
            or current.rbd_default_data_pool is not None
            and wanted.rbd_default_data_pool != current.rbd_default_data_pool
        )
    if isinstance(current, glance_state.TagNamespace):
        return MARK not in current.description or (
            wanted is None and bool(current.others)
        )
    if wanted is None:
        return True
    if isinstance(current, cinder_state.VolumeType):
        return (
            not is_marked(current)
            or not is_marked(wanted)
            or not wanted.is_public
            and (current.is_public or not current.projects <= wanted.projects)
        )
    if isinstance(current, ceph_state.CephxUser):
        return bool(wanted.of_others)
    if isinstance(current, cinder_state.QosSpec):
        is_only_associated = (
            current.consumer == wanted.consumer
            and dict(current.specs) == dict(wanted.specs)
            and current.volume_types != wanted.volume_types
        )
        return (
            not current.volume_types
            and not is_only_associated
            or isinstance(wanted, cinder_state.ReplacingQosSpec)
        )
    return False


class World:
    """The objects that exist, by key.

    :param osds: the OSDs of its one cluster, named ceph.
    :param existing: {key: object} to begin with.
    """

    def __init__(self, *, osds, existing=()):
        self.osds = tuple(osds)
        self.objects = dict(existing)
        #: {pool: number of objects}; the others hold none.
        self.objects_in = {}
        #: Pools with objects that clients have open.
        self.watched = set()
        #: {pool: bytes of its objects, one copy}; the others hold none.
        self.bytes_in = {}
        #: None: they are not known.
        self.max_pg_per_osd = self.release = self.min_compat_client = None
        self.read_balancer = self.rook_namespace = None
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
        if key.kind is actions.Kind.PRIMARY_AFFINITY:
            return primary_affinity.observed(self._osds(), key.name)
        if (
            key.kind is actions.Kind.PROJECT_DEFAULTS
            and dataclasses.replace(key, kind=actions.Kind.VOLUME_TYPE)
            in self.objects
        ):
            return self.objects.get(
                key,
                cinder_state.ProjectDefaults(
                    name=key.name, default_for=frozenset()
                ),
            )
        return self.objects.get(key)

    def write(self, wanted, *, key, current, consented=False):
        """Makes an object what is wanted; what is None stays as it is."""
        if key in self.broken:
            raise errors.ActionFailed(f'{key} is broken')
        if current is not None and (
            harms(current, wanted)
            or not consented
            and (
                needs_consent(current, wanted) or self._fills(current, wanted)
            )
        ):
            raise errors.ActionFailed(f'{key}: not permitted by --allow')
        if wanted is None:
            self._delete(key)
            return
        for lacking in self._parts(wanted, key) - self.objects.keys():
            raise errors.ActionFailed(f'there is no {lacking}')
        if isinstance(wanted, ceph_state.CrushRule) and not any(
            osd.is_below(wanted.root) for osd in self.osds
        ):
            raise errors.ActionFailed(f'there is no bucket {wanted.root}')
        if (
            isinstance(wanted, ceph_state.CrushRule)
            and wanted.sub_failure_domain
            and not any(
                {wanted.failure_domain, wanted.sub_failure_domain}
                <= osd.location.keys()
                for osd in self.osds
            )
        ):
            raise errors.ActionFailed(f'{key}: there is no such bucket type')
        if (
            isinstance(wanted, ceph_state.CrushRule)
            and wanted.osds_per_failure_domain
            and (
                (self.release or 20) < 19
                or (self.min_compat_client or 'squid') < 'squid'
            )
        ):
            raise errors.ActionFailed(f'{key}: clients would be cut off')
        if key in self.ignored:
            return
        self.objects[key] = self._as_written(wanted, key, current, consented)
        if wanted == cinder_state.ProjectDefaults(
            name=key.name, default_for=frozenset()
        ):
            del self.objects[key]

    def _fills(self, current, wanted):
        """Whether a write makes a pool full, which then takes no writes."""
        if isinstance(current, ceph_state.CacheTier):
            return any(
                0
                < int(wanted.settings.get(name, 0))
                <= held.get(wanted.cache_pool, 0)
                and int(wanted.settings[name])
                < (int(current.settings.get(name, 0)) or math.inf)
                for name, held in (
                    ('target_max_bytes', self.bytes_in),
                    ('target_max_objects', self.objects_in),
                )
            )
        return isinstance(current, ceph_state.Pool) and any(
            0 < int(wanted.options.get(name, 0)) <= held.get(wanted.name, 0)
            and wanted.options[name] != current.options.get(name)
            for name, held in (
                ('quota_max_bytes', self.bytes_in),
                ('quota_max_objects', self.objects_in),
            )
        )

    def _as_written(self, wanted, key, current, consented):
        """What exists after a write; it holds no intent."""
        if isinstance(wanted, ceph_state.Pool):
            wanted = dataclasses.replace(
                wanted,
                first_min_size=None,
                least_min_size=None,
                is_rule_first=False,
                min_size=wanted.min_size
                or min(current.min_size if current else 1, wanted.size),
            )
        if isinstance(wanted, ceph_state.Pool) and wanted.pg_num is None:
            before = current or dataclasses.replace(
                wanted, pg_num=32, pg_autoscale_mode='on'
            )
            wanted = dataclasses.replace(
                wanted,
                pg_num=before.pg_num,
                pg_autoscale_mode=before.pg_autoscale_mode,
            )
        if isinstance(wanted, ceph_state.Pool):
            wanted = dataclasses.replace(
                wanted,
                stripe_width_bytes=current.stripe_width_bytes
                if current
                else self._stripe_width_bytes(wanted, key),
            )
        if isinstance(wanted, ceph_state.ErasureCodeProfile):
            plugin = wanted.plugin or (
                'isa' if (self.release or 0) >= 20 else 'jerasure'
            )
            wanted = dataclasses.replace(
                wanted,
                plugin=plugin,
                technique=wanted.technique or 'reed_sol_van',
            )
        if isinstance(wanted, ceph_state.PrimaryAffinity):
            wanted = dataclasses.replace(
                wanted, by_osd=dict.fromkeys(current.by_osd, wanted.value)
            )
        if isinstance(wanted, ceph_state.OsdOptions):
            # Each option is set, or removed, by itself.
            told = self.objects.get(key)
            wanted = dataclasses.replace(
                wanted,
                values={
                    name: value
                    for name, value in {
                        **(told.values if told else {}),
                        **wanted.values,
                    }.items()
                    if value is not None
                },
            )
        if isinstance(wanted, ceph_state.CacheTier) and current:
            wanted = dataclasses.replace(
                wanted, settings={**current.settings, **wanted.settings}
            )
        if isinstance(wanted, cinder_state.QosSpec):
            if (
                isinstance(wanted, cinder_state.ReplacingQosSpec)
                and not consented
            ):
                raise errors.ActionFailed(f'{key}: not permitted by --allow')
            wanted = self._associated(wanted, key)
        if isinstance(wanted, cinder_state.SuccessorType):
            wanted = cinder_state.VolumeType(**vars(wanted))
        if isinstance(wanted, cinder_state.ProjectDefaults):
            wanted = self._defaults(wanted, key, current, consented)
        return wanted

    def _defaults(self, wanted, key, current, consented):
        """The default types of projects; each project has one at most."""
        if not consented and (
            current and current.default_for & wanted.kept_unless_allowed
        ):
            raise errors.ActionFailed(f'{key}: not permitted by --allow')
        of_types = {
            one: found
            for one, found in self.objects.items()
            if one.kind is key.kind and one != key
        }
        for one, found in of_types.items():
            taken = found.default_for & wanted.default_for
            of = self.objects[
                dataclasses.replace(one, kind=actions.Kind.VOLUME_TYPE)
            ]
            if not of.is_ours and not all(
                consented and wanted.replaces.get(project) == one.name
                for project in taken
            ):
                raise errors.ActionFailed(f'{one} is of others')
            if taken:
                self._give_defaults(one, found.default_for - taken)
        for project, name in wanted.replaced_by.items():
            other = dataclasses.replace(key, name=name)
            found = self.objects.get(other)
            self._give_defaults(
                other,
                {project} | (found.default_for if found else frozenset()),
            )
        return cinder_state.ProjectDefaults(
            name=wanted.name, default_for=wanted.default_for
        )

    def _give_defaults(self, key, projects):
        self.objects.pop(key, None)
        if projects:
            self.objects[key] = cinder_state.ProjectDefaults(
                name=key.name, default_for=frozenset(projects)
            )

    def _stripe_width_bytes(self, pool, key):
        """That of a new pool, by its profile."""
        if pool.erasure_code_profile is None:
            return 0
        profile = self.objects[
            dataclasses.replace(
                key,
                kind=actions.Kind.ERASURE_CODE_PROFILE,
                name=pool.erasure_code_profile,
            )
        ]
        return profile.k * (profile.stripe_unit_bytes or 4096)

    def _delete(self, key):
        if key in self.ignored:
            return
        if key.kind is actions.Kind.CACHE_TIER and key in self.objects:
            self._empty_cache(key)
        if (
            key.kind is actions.Kind.VOLUME_TYPE
            and dataclasses.replace(key, kind=actions.Kind.PROJECT_DEFAULTS)
            in self.objects
        ):
            raise errors.ActionFailed(f'{key} is the default of projects')
        self.objects.pop(key, None)
        if key.kind is actions.Kind.VOLUME_TYPE:
            self._take(
                key.name,
                [
                    one.name
                    for one in self.objects
                    if one.kind is actions.Kind.QOS_SPEC
                ],
            )

    def _empty_cache(self, key):
        """Moves what only a cache has to the pool behind it.

        Which of two objects of a name is the newer one, nobody knows.
        """
        tier = self.objects[key]
        held = sum(self.objects_in.get(one, 0) for one in tier.cache_pools)
        if tier.mode == 'readonly' or not held:
            return
        if len(tier.cache_pools) > 1 or not (
            tier.overlay and tier.mode in ('writeback', 'proxy', 'readproxy')
        ):
            raise errors.ActionFailed(f'{key} may hold older objects')
        if tier.cache_pool in self.watched:
            self.objects[key] = dataclasses.replace(tier, mode='proxy')
            raise errors.ActionFailed(f'{key}: objects are in use')
        self.objects_in = {
            **self.objects_in,
            tier.cache_pool: 0,
            tier.name: self.objects_in.get(tier.name, 0) + held,
        }

    def _associated(self, wanted, key):
        """A QoS spec; its types are taken from those that it replaces."""
        if isinstance(wanted, cinder_state.ReplacingQosSpec):
            for name in wanted.volume_types:
                self._take(name, wanted.replaces)
        for other, spec in self.objects.items():
            if (
                other.kind is actions.Kind.QOS_SPEC
                and other != key
                and spec.volume_types & wanted.volume_types
            ):
                raise errors.ActionFailed(f'{other} has a type of {key}')
        # What exists holds no intent.
        return cinder_state.QosSpec(
            name=wanted.name,
            consumer=wanted.consumer,
            specs=wanted.specs,
            volume_types=wanted.volume_types,
        )

    def _take(self, volume_type, qos_specs):
        """Takes a volume type from QoS specs."""
        for name in qos_specs:
            key = actions.Key(kind=actions.Kind.QOS_SPEC, name=name)
            if key in self.objects:
                spec = self.objects[key]
                self.objects[key] = dataclasses.replace(
                    spec, volume_types=spec.volume_types - {volume_type}
                )

    def _osds(self):
        """The OSDs with the affinities that were written."""
        told = {
            osd_id: float(value)
            for one in self.objects.values()
            if isinstance(one, ceph_state.PrimaryAffinity)
            for osd_id, value in one.by_osd.items()
        }
        return tuple(
            dataclasses.replace(
                osd,
                primary_affinity=told.get(osd.osd_id, osd.primary_affinity),
            )
            for osd in self.osds
        )

    def _usage(self, pools):
        return usages.ClusterUsage(
            pools={
                name: usages.PoolUsage(
                    stored_bytes=self.bytes_in.get(name, 0),
                    objects=self.objects_in.get(name, 0),
                    used_bytes=self.bytes_in.get(name, 0) * pool.size,
                    max_avail_bytes=10**15,
                )
                for name, pool in pools.items()
            },
            osds={},
            nearfull_ratio=0.85,
            backfillfull_ratio=0.9,
            full_ratio=0.95,
        )

    def observe(self):
        """The whole state."""

        def of(kind):
            return {
                key.name: one
                for key, one in self.objects.items()
                if key.kind is kind
            }

        return actual_state.ActualState(
            cinder=cinder_state.CinderState(
                volume_types=of(actions.Kind.VOLUME_TYPE),
                qos_specs=of(actions.Kind.QOS_SPEC),
                quotas={
                    name: one
                    for name, one in of(actions.Kind.TYPE_QUOTA).items()
                    if name in of(actions.Kind.VOLUME_TYPE)
                },
                encryptions=of(actions.Kind.TYPE_ENCRYPTION),
                project_defaults=of(actions.Kind.PROJECT_DEFAULTS),
                tag_namespaces=of(actions.Kind.TAG_NAMESPACE),
            ),
            ceph={
                'ceph': ceph_state.CephState(
                    crush_rules=of(actions.Kind.CRUSH_RULE),
                    erasure_code_profiles=of(
                        actions.Kind.ERASURE_CODE_PROFILE
                    ),
                    pools=of(actions.Kind.POOL),
                    users=of(actions.Kind.CEPHX_USER),
                    osds=self._osds(),
                    cache_tiers=of(actions.Kind.CACHE_TIER),
                    objects_in=self.objects_in,
                    class_options=Effective(of(actions.Kind.OSD_OPTIONS)),
                    host_options=Effective(of(actions.Kind.HOST_OSD_OPTIONS)),
                    option_schemas=SCHEMAS,
                    usage=self._usage(of(actions.Kind.POOL)),
                    max_pg_per_osd=self.max_pg_per_osd,
                    release=self.release,
                    min_compat_client=self.min_compat_client,
                    read_balancer=self.read_balancer,
                    rook_namespace=self.rook_namespace,
                )
            },
        )

    @staticmethod
    def _parts(wanted, key):
        """Objects that Ceph or Cinder needs before it takes this one."""

        def part(kind, name):
            return actions.Key(kind=kind, cluster=key.cluster, name=name)

        if isinstance(
            wanted,
            cinder_state.TypeQuota
            | cinder_state.TypeEncryption
            | cinder_state.ProjectDefaults,
        ):
            return {part(actions.Kind.VOLUME_TYPE, wanted.name)}
        if isinstance(wanted, cinder_state.QosSpec):
            return {
                part(actions.Kind.VOLUME_TYPE, name)
                for name in wanted.volume_types
            }
        if isinstance(wanted, ceph_state.CacheTier):
            return {
                part(actions.Kind.POOL, wanted.name),
                part(actions.Kind.POOL, wanted.cache_pool),
            }
        if (
            isinstance(wanted, ceph_state.CrushRule)
            and wanted.kind == 'erasure'
        ):
            return {part(actions.Kind.ERASURE_CODE_PROFILE, wanted.name)}
        if isinstance(wanted, ceph_state.Pool):
            parts = {part(actions.Kind.CRUSH_RULE, wanted.crush_rule)}
            if wanted.erasure_code_profile:
                parts.add(
                    part(
                        actions.Kind.ERASURE_CODE_PROFILE,
                        wanted.erasure_code_profile,
                    )
                )
            return parts
        return set()
