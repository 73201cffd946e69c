# SPDX-License-Identifier: Apache-2.0


"""What holds of plan and apply whatever two catalogs say.

The first is applied to a cloud that has objects of others, then the second.
"""

import dataclasses

from hypothesis import assume
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.execute import apply
import tests
from tests.unit.domain import catalogs as plain
from tests.worlds import in_memory

NAMES = ('a', 'b', 'c', 'theirs', 'own')
PROJECTS = {'one': frozenset('1'), 'two': frozenset('2')}
LIMITS = strategies.dictionaries(
    strategies.sampled_from(('read_iops_sec', 'write_iops_sec')),
    strategies.sampled_from('12'),
    min_size=1,
)


def key(kind, name, cluster=None):
    return actions.Key(kind=kind, name=name, cluster=cluster)


FOREIGN = {
    key(actions.Kind.VOLUME_TYPE, 'theirs'): cinder_state.VolumeType(
        name='theirs',
        is_public=False,
        extra_specs={'x': '1'},
        projects=frozenset('29'),
    ),
    key(actions.Kind.VOLUME_TYPE, 'own'): cinder_state.VolumeType(
        name='own', extra_specs={'volume_backend_name': 'x'}
    ),
    key(actions.Kind.VOLUME_TYPE, 'more'): cinder_state.VolumeType(
        name='more', extra_specs={'volume_backend_name': 'tier-a'}
    ),
    key(actions.Kind.VOLUME_TYPE, 'a - retired 1'): cinder_state.VolumeType(
        name='a - retired 1',
        is_public=False,
        projects=frozenset('1'),
        extra_specs={
            'tiers:name': 'a',
            'tiers:tags': 'a',
            'volume_backend_name': 'tier-a',
        },
    ),
    key(actions.Kind.VOLUME_TYPE, 'own - retired 2'): cinder_state.VolumeType(
        name='own - retired 2', extra_specs={'volume_backend_name': 'x'}
    ),
    key(actions.Kind.QOS_SPEC, 'gold'): cinder_state.QosSpec(
        name='gold',
        consumer='both',
        specs={'x': '1'},
        volume_types=frozenset({'theirs'}),
    ),
    key(actions.Kind.QOS_SPEC, 'tier-theirs'): cinder_state.QosSpec(
        name='tier-theirs',
        consumer='both',
        specs={'x': '1'},
        volume_types=frozenset({'more'}),
    ),
    key(actions.Kind.QOS_SPEC, 'tier-own'): cinder_state.QosSpec(
        name='tier-own',
        consumer='both',
        specs={'x': '1'},
        volume_types=frozenset({'own'}),
    ),
    key(actions.Kind.QOS_SPEC, 'tier-a'): cinder_state.QosSpec(
        name='tier-a',
        consumer='both',
        specs={'x': '1'},
        volume_types=frozenset(),
    ),
    key(actions.Kind.POOL, 'cephfs', 'ceph'): ceph_state.Pool(
        name='cephfs',
        kind='replicated',
        size=3,
        min_size=2,
        pg_num=8,
        pg_autoscale_mode='on',
        crush_rule='replicated_rule',
        applications=frozenset({'cephfs'}),
    ),
}
OF_A_CLASS = strategies.fixed_dictionaries(
    {
        'primary_affinity': strategies.sampled_from((None,) * 3 + (0.7,)),
        'osd_options': strategies.sampled_from(
            ({},) * 4 + ({'osd_max_backfills': 5},)
        ),
        'osd_requirements': strategies.sampled_from(
            (None, catalogs.Requirements(rotational=False))
        ),
    }
)
#: That each cache holds, none of which is in the pool behind it.
OBJECTS_IN_EACH = 3
#: That each pool holds before an apply.
BYTES_IN_EACH = 10**6
QUOTAS = strategies.sampled_from(
    ({},) * 3
    + tuple(
        {'quota_max_bytes': value}
        for value in (0, 5, BYTES_IN_EACH, BYTES_IN_EACH + 1)
    )
)
#: Of hosts, other options than of classes.
OF_HOSTS = strategies.sampled_from(
    ({},) * 2 + ({'a': {'bluestore_cache_size_ssd': '1G'}},)
)
# Strategies of their own, since to make one takes longer than to draw from it.
NOTHING = strategies.none()
EITHER = strategies.booleans()
MODES = strategies.sampled_from((None,) * 4 + ('writeback', 'readonly'))
TARGETS = strategies.integers(1, 2)
STORAGES = strategies.sampled_from(('rbd', 'backend', 'specs'))
FREE_SPECS, SOME_SPECS = (
    strategies.dictionaries(
        strategies.sampled_from(('multiattach', 'vendor_name')),
        strategies.sampled_from(('<is> True', 'x')),
        min_size=min_size,
    )
    for min_size in (0, 1)
)
REPLICATED = (
    catalogs.Replicated(size=2),
    catalogs.Replicated(size=2, min_size=1, unprotected_writes=True),
    catalogs.Replicated(size=3, min_size=2),
)
COPIES = strategies.sampled_from(REPLICATED)
PROTECTIONS = strategies.sampled_from(
    (
        *REPLICATED,
        catalogs.ErasureCoded(k=2, m=1),
        catalogs.ErasureCoded(k=2, m=1, min_size=2, unprotected_writes=True),
    )
)
DEVICE_CLASSES = strategies.sampled_from(('ssd', 'hdd', None))
PG_NUMS = strategies.sampled_from((None, 8, 16))
MAYBE_LIMITS = NOTHING | LIMITS
OURS = strategies.sampled_from((True,) * 7 + (False,))
STILL_OURS = strategies.sampled_from((True,) * 4 + (False,))
DESCRIPTIONS = strategies.sampled_from((None, '', 'text'))
OVERFLOWS = NOTHING | strategies.sampled_from(NAMES)
ACCESS = strategies.sampled_from(
    (None, catalogs.PUBLIC, (), ('one',), ('one', 'two'))
)
DEFAULT_FOR = strategies.sampled_from((None, None, (), ('one',), ('two',)))
TIER_QUOTAS = NOTHING | strategies.builds(
    catalogs.Quotas,
    volumes=strategies.integers(-1, 1),
    size_gib=strategies.integers(-1, 1),
)
FOLLOWING = strategies.sampled_from(
    ((),) * 4 + (('image-tier',),) * 4 + (('more',),)
)
# Seldom a name of a volume type that is not managed.
TIER_NAMES = strategies.sampled_from((NAMES[:3],) * 3 + (NAMES,)).flatmap(
    lambda names: strategies.lists(
        strategies.sampled_from(names), min_size=1, max_size=3, unique=True
    )
)


@strategies.composite
def caches(draw, name):
    mode = draw(MODES)
    return mode and catalogs.Cache(
        rbd=plain.rbd(
            pool=draw(
                strategies.sampled_from(
                    (f'cache-{name}', f'new-{name}', 'cephfs')
                )
            )
        ),
        mode=mode,
        stale_reads=mode == 'readonly',
        settings={'target_max_bytes': draw(TARGETS)},
    )


@strategies.composite
def storages(draw, name):
    """The fields of a tier that say where it lies."""
    kind = draw(STORAGES)
    specs = draw(SOME_SPECS if kind == 'specs' else FREE_SPECS)
    if kind != 'rbd':
        return {
            'extra_specs': specs,
            'backend_name': f'old-{name}' if kind == 'backend' else None,
        }
    device_class = draw(DEVICE_CLASSES)
    rbd = plain.rbd(
        pool=draw(strategies.sampled_from((f'tier-{name}', f'new-{name}'))),
        device_class=device_class,
        pg_num=draw(PG_NUMS),
        protection=draw(PROTECTIONS),
        cache=draw(caches(name)),
        options=draw(QUOTAS),
        **(draw(OF_A_CLASS) if device_class else {}),
    )
    return {'extra_specs': specs, 'rbd': rbd}


@strategies.composite
def tiers(draw, name, priority):
    front = draw(MAYBE_LIMITS)
    if front:
        back = front if draw(EITHER) else None
    else:
        back = draw(MAYBE_LIMITS)
    return catalogs.Tier(
        name=name,
        priority=priority,
        fallback=priority == 0,
        take_over=draw(OURS),
        tags=(name,) if draw(EITHER) else (),
        description=draw(DESCRIPTIONS),
        overflow=draw(OVERFLOWS),
        access=draw(ACCESS),
        default_for=draw(DEFAULT_FOR),
        qos=(
            catalogs.Qos(front_end=front, back_end=back)
            if front or back
            else None
        ),
        quotas=draw(TIER_QUOTAS),
        **draw(storages(name)),
    )


@strategies.composite
def sound_catalogs(draw):
    found = [
        draw(tiers(name, priority))
        for priority, name in enumerate(draw(TIER_NAMES))
    ]
    # Overflow to a tier that is not there would seldom be sound, and of one
    # that is not ours the catalog may say what is not so.
    ours = {tier.name for tier in found if tier.take_over}
    catalog = plain.of(
        *(
            tier
            if tier.overflow in ours
            else dataclasses.replace(tier, overflow=None)
            for tier in allowed_defaults(found)
        ),
        host_osd_options=draw(OF_HOSTS)
        if any(tier.rbd for tier in found)
        else {},
        follow_image_types=draw(FOLLOWING),
    )
    assume(not catalog_rules.check(catalog))
    return catalog


def allowed_defaults(found):
    """Tiers without default_for of others, and of who may not use them."""
    seen = set()
    for tier in found:
        if tier.default_for and (
            not seen.isdisjoint(tier.default_for)
            or not (
                tier.is_public or set(tier.default_for) <= set(tier.projects)
            )
        ):
            tier = dataclasses.replace(tier, default_for=())
        seen.update(tier.default_for or ())
        yield tier


@strategies.composite
def edited(draw, catalog):
    """The same tiers with other pools, limits and access, or given up."""
    found = []
    for tier in catalog.tiers:
        rbd = tier.rbd and dataclasses.replace(tier.rbd, pg_num=draw(PG_NUMS))
        if rbd and isinstance(rbd.protection, catalogs.Replicated):
            rbd = dataclasses.replace(rbd, protection=draw(COPIES))
        limits = draw(MAYBE_LIMITS)
        found.append(
            dataclasses.replace(
                tier,
                rbd=rbd,
                qos=limits and catalogs.Qos(front_end=limits),
                access=draw(
                    strategies.sampled_from((tier.access, None, ('one',)))
                ),
                default_for=draw(DEFAULT_FOR),
                take_over=draw(STILL_OURS),
            )
        )
    return dataclasses.replace(catalog, tiers=tuple(allowed_defaults(found)))


def limit_by_hand(world, names):
    """Gives volume types without limits those of somebody else."""
    gold = key(actions.Kind.QOS_SPEC, 'gold')
    have = {
        name
        for one in world.objects.values()
        if isinstance(one, cinder_state.QosSpec)
        for name in one.volume_types
    }
    found = {
        one.name
        for one in world.objects
        if one.kind is actions.Kind.VOLUME_TYPE
    }
    world.objects[gold] = dataclasses.replace(
        world.objects[gold],
        volume_types=world.objects[gold].volume_types | (found & names - have),
    )


def make_plan(catalog, world):
    return plans.make(
        catalog=catalog,
        actual=dataclasses.replace(world.observe(), projects=PROJECTS),
    )


def try_to_apply(catalog, world):
    """Applies a catalog; returns whether the plan had no refused action."""
    plan = make_plan(catalog, world)
    try:
        apply.apply(
            plan=plan,
            executors=world.executors,
            read=world.read,
            report=lambda result: None,
        )
    except errors.ActionFailed:
        return False
    return True


def has_as_much_access(before, after):
    return after.is_public or (
        not before.is_public and before.projects <= after.projects
    )


def carry_out(plan, world):
    return apply.apply(
        plan=plan,
        executors=world.executors,
        read=world.read,
        report=lambda result: None,
    )


class AlwaysTestCase(testtools.TestCase):
    def assert_harmless(self, before, after):
        """Nothing of others, no data and no access was touched."""
        for one, found in before.items():
            if one.kind is actions.Kind.PROJECT_DEFAULTS:
                # All are of our types, and follow the file.
                continue
            self.assertIn(one, after)
            if one in FOREIGN:
                self.assertEqual(found, after[one])
            if isinstance(found, cinder_state.VolumeType):
                self.assertTrue(has_as_much_access(found, after[one]))
            if isinstance(found, cinder_state.QosSpec):
                self.assertLessEqual(
                    found.volume_types, after[one].volume_types
                )
            if isinstance(found, ceph_state.CacheTier):
                self.assertEqual(
                    (found.cache_pool, found.mode, found.overlay),
                    (
                        after[one].cache_pool,
                        after[one].mode,
                        after[one].overlay,
                    ),
                )
            if isinstance(found, ceph_state.Pool):
                self.assertEqual(
                    (
                        found.size,
                        found.min_size,
                        found.pg_num,
                        found.crush_rule,
                    ),
                    (
                        after[one].size,
                        after[one].min_size,
                        after[one].pg_num,
                        after[one].crush_rule,
                    ),
                )
                for name, held in (
                    ('quota_max_bytes', BYTES_IN_EACH),
                    ('quota_max_objects', 3),
                ):
                    quota = after[one].options.get(name)
                    if quota != found.options.get(name):
                        self.assertTrue(
                            quota == '0' or int(quota) > held, quota
                        )

    @tests.examples(200)
    @given(first=sound_catalogs(), second=sound_catalogs())
    def test_apply_does_no_harm_and_leaves_nothing_to_do(self, first, second):
        world = in_memory.World(osds=plain.osds(), existing=FOREIGN)
        for catalog in (first, second):
            before = dict(world.objects)
            world.bytes_in = {
                one.name: BYTES_IN_EACH
                for one in before
                if one.kind is actions.Kind.POOL
            }
            if try_to_apply(catalog, world):
                self.assertEqual((), make_plan(catalog, world).actions)
            else:
                self.assertEqual(before, world.objects)
            self.assert_harmless(before, world.objects)

    def assert_only_named_are_harmed(self, before, after, plan):
        """What was not named was not touched in a way that is refused.

        A QoS spec loses types to a named one, and with a named type.
        """
        named = {one.key for one in plan.actions if one.consented}
        gone = {one.name for one in named - after.keys()}
        for one in plan.actions:
            if one.key in named and isinstance(
                one.after, cinder_state.QosSpec
            ):
                gone |= one.after.volume_types
        rest = {}
        for one in before.keys() - named:
            found = before[one]
            if isinstance(found, cinder_state.QosSpec):
                lost = found.volume_types - after[one].volume_types
                self.assertLessEqual(lost, gone)
                found = dataclasses.replace(
                    found, volume_types=found.volume_types - lost
                )
            rest[one] = found
        self.assert_harmless(rest, after)

    def assert_cache_goes_when_unused(self, world, catalog, names):
        """While clients use it, it stays; no object is ever lost."""
        in_use = {
            one
            for one, tier in world.objects.items()
            if isinstance(tier, ceph_state.CacheTier)
            and world.watched.intersection(tier.cache_pools)
        }
        held = sum(world.objects_in.values())
        carry_out(consent.grant(make_plan(catalog, world), names), world)
        self.assertLessEqual(in_use, world.objects.keys())
        world.watched = set()
        carry_out(consent.grant(make_plan(catalog, world), names), world)
        self.assertEqual(held, sum(world.objects_in.values()))

    @tests.examples(300)
    @given(
        first=sound_catalogs(),
        data=strategies.data(),
        limited=strategies.sets(strategies.sampled_from(NAMES)),
    )
    def test_consent_counts_for_what_it_names(self, first, data, limited):
        world = in_memory.World(osds=plain.osds(), existing=FOREIGN)
        try_to_apply(first, world)
        limit_by_hand(world, limited)
        caches = {
            pool
            for one in world.observe().ceph['ceph'].cache_tiers.values()
            for pool in one.cache_pools
        }
        world.objects_in = dict.fromkeys(sorted(caches), OBJECTS_IN_EACH)
        world.watched = caches if data.draw(strategies.booleans()) else set()
        second = data.draw(sound_catalogs() | edited(first))
        refused = make_plan(second, world).refused
        can_be_named = [
            str(one.key) for one in refused if one.refusal.yields_to_consent
        ]
        names = (
            can_be_named
            if data.draw(strategies.booleans())
            else [
                name
                for name in can_be_named
                if data.draw(strategies.booleans())
            ]
        )
        plan = consent.grant(make_plan(second, world), names)
        self.assertEqual(set(names), set(consent.names_of(plan)))
        before = dict(world.objects)
        if len(names) < len(refused):
            self.assertRaises(errors.ActionFailed, carry_out, plan, world)
            self.assertEqual(before, world.objects)
            return
        count = data.draw(strategies.integers(0, len(plan.actions)))
        carry_out(plans.Plan(actions=plan.actions[:count]), world)
        if any(
            one.key.kind is actions.Kind.CACHE_TIER and one.after is None
            for one in plan.actions
        ):
            self.assert_cache_goes_when_unused(world, second, names)
        carry_out(consent.grant(make_plan(second, world), names), world)
        self.assertEqual((), make_plan(second, world).actions)
        self.assert_only_named_are_harmed(before, world.objects, plan)
