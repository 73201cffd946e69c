# SPDX-License-Identifier: Apache-2.0

"""Audits of tiers, from plain values."""

import dataclasses

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan

State = audit.State
CATALOG = given.of(
    given.tier(
        'database',
        tags=('database',),
        priority=20,
        overflow='general',
        rbd=given.rbd(primary_affinity=1),
        qos=catalogs.Qos(front_end={'total_iops_sec': '500'}),
    ),
    given.tier(
        'general',
        fallback=True,
        rbd=given.rbd(
            pool='tier-general',
            device_class='hdd',
            options={'compression_mode': 'none'},
            rbd_options={'rbd_cache': False},
        ),
    ),
    given.tier(
        'archive',
        tags=('archive',),
        priority=10,
        rbd=given.rbd(
            pool='tier-archive',
            device_class='hdd',
            cache=given.cache(),
            protection=catalogs.ErasureCoded(k=2, m=1),
        ),
        quotas=catalogs.Quotas(volumes=9),
    ),
    images_pool='images',
)


def applied(catalog=CATALOG):
    """The cloud in which a catalog is applied, with mappings to change."""
    actual = test_plan.applied(catalog)
    actual.ceph['ceph'].pools.update(given.empty_cluster().pools)
    specs = [
        qos_spec_kind.qos_spec_of(tier) for tier in catalog.tiers if tier.qos
    ]
    quotas = [
        type_quota.type_quota_of(tier) for tier in catalog.tiers if tier.quotas
    ]
    return dataclasses.replace(
        actual,
        cinder=dataclasses.replace(
            actual.cinder,
            qos_specs={one.name: one for one in specs},
            quotas={one.name: one for one in quotas},
        ),
    )


def held(actual, catalog=CATALOG):
    """The findings of an audit that could read all, without warnings."""
    return [
        one
        for one in audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects=actual.projects,
                ceph=actual.ceph,
            ),
        )
        if one.state is not State.WARNING
    ]


def put(mapping, key, **changes):
    mapping[key] = dataclasses.replace(mapping[key], **changes)


def put_spec(actual, name, **specs):
    types = actual.cinder.volume_types
    put(types, name, extra_specs={**types[name].extra_specs, **specs})


#: {what happens behind our back: (change, tier, aspects that it touches)}
DRIFT = {
    'extra spec': (
        lambda actual: put_spec(
            actual, 'database', **{cinder_state.PRIORITY: '1'}
        ),
        'database',
        ['extra specs'],
    ),
    'type that follows closed': (
        lambda actual: put(
            actual.cinder.volume_types, 'image-tier', is_public=False
        ),
        None,
        ['access'],
    ),
    'type closed': (
        lambda actual: put(
            actual.cinder.volume_types, 'general', is_public=False
        ),
        'general',
        ['access'],
    ),
    'type gone': (
        lambda actual: actual.cinder.volume_types.pop('archive'),
        'archive',
        ['volume type'],
    ),
    'type of nobody': (
        lambda actual: actual.cinder.volume_types.update(
            old=cinder_state.VolumeType(
                name='old', extra_specs={cinder_state.NAME: 'old'}
            )
        ),
        None,
        ['volume type', 'tier'],
    ),
    'qos': (
        lambda actual: put(
            actual.cinder.qos_specs,
            'tier-database',
            specs={'total_iops_sec': '1'},
        ),
        'database',
        ['qos spec'],
    ),
    'quota': (
        lambda actual: put(actual.cinder.quotas, 'archive', volumes=10),
        'archive',
        ['default quota'],
    ),
    'pool and its options': (
        lambda actual: put(
            actual.ceph['ceph'].pools,
            'tier-general',
            size=2,
            options={'compression_mode': 'force'},
            rbd_options={'rbd_cache': 'true'},
        ),
        'general',
        ['pool', 'pool options', 'rbd options'],
    ),
    'data pool': (
        lambda actual: put(
            actual.ceph['ceph'].pools,
            'tier-archive-data',
            ec_overwrites=False,
        ),
        'archive',
        ['pool'],
    ),
    'cache tier': (
        lambda actual: put(
            actual.ceph['ceph'].cache_tiers, 'tier-archive-data', mode='proxy'
        ),
        'archive',
        ['cache tier'],
    ),
    'cache tier of others': (
        lambda actual: actual.ceph['ceph'].cache_tiers.update(
            {
                'tier-general': ceph_state.CacheTier(
                    name='tier-general',
                    cache_pool='theirs',
                    mode='writeback',
                    overlay=True,
                )
            }
        ),
        'general',
        ['cache tier'],
    ),
    'primary affinity': (
        lambda actual: actual.ceph.update(
            ceph=dataclasses.replace(
                actual.ceph['ceph'],
                osds=tuple(
                    dataclasses.replace(osd, primary_affinity=osd.osd_id / 8)
                    for osd in actual.ceph['ceph'].osds
                ),
            )
        ),
        'database',
        ['primary affinity'],
    ),
    'rule': (
        lambda actual: put(
            actual.ceph['ceph'].crush_rules,
            'tier-database',
            device_class='hdd',
        ),
        'database',
        ['crush rule', 'pool'],
    ),
    'profile': (
        lambda actual: actual.ceph['ceph'].erasure_code_profiles.pop(
            'tier-archive-data'
        ),
        'archive',
        ['erasure code profile'],
    ),
}
#: What changes, and is nobody's business.
HARMLESS = {
    'foreign type': lambda actual: actual.cinder.volume_types.update(
        foreign=cinder_state.VolumeType(name='foreign', extra_specs={})
    ),
    'foreign spec': lambda actual: put_spec(
        actual, 'database', multiattach='<is> True'
    ),
    'other pool': lambda actual: put(
        actual.ceph['ceph'].pools, 'images', size=2
    ),
    'free option': lambda actual: put(
        actual.ceph['ceph'].pools,
        'tier-database',
        options={'compression_mode': 'force'},
    ),
}


def with_retired_type(**access):
    """A catalog with a private tier, and its cloud, in which it is applied.

    :param access: of a retired type of that tier.
    """
    catalog = given.of(
        given.other_tier('a', access=('one',)), follow_image_types=()
    )
    wanted = volume_type_kind.volume_type_of(
        catalog.tiers[0], projects=frozenset('1')
    )
    return catalog, dataclasses.replace(
        given.nothing(
            volume_types=[
                wanted,
                dataclasses.replace(wanted, name='a - retired 1', **access),
            ]
        ),
        projects={'one': frozenset('1')},
    )


@ddt.ddt
class AuditTestCase(testtools.TestCase):
    def test_a_tier_as_declared_is_one_compliant_finding(self):
        self.assertEqual(
            [
                (f'tier {name}', State.COMPLIANT, audit.ALL)
                for name in ('database', 'general', 'archive')
            ],
            [
                (one.object_name, one.state, one.aspect)
                for one in held(applied())
            ],
        )

    @ddt.data(*DRIFT)
    def test_what_differs_is_told_by_tier_and_aspect(self, what):
        change, tier, aspects = DRIFT[what]
        actual = applied()
        change(actual)
        found = [
            one for one in held(actual) if one.state is not State.COMPLIANT
        ]
        self.assertEqual(
            [(tier, State.NON_COMPLIANT, aspect) for aspect in aspects],
            [(one.tier, one.state, one.aspect) for one in found],
        )
        for one in found:
            self.assertNotEqual(one.current, one.expected)
            self.assertNotEqual(('', ''), (one.reason, one.remedy))

    def test_current_and_expected_are_the_fields_that_differ(self):
        actual = applied()
        DRIFT['qos'][0](actual)
        found = held(actual)[0]
        self.assertEqual(
            ({'specs.total_iops_sec': '1'}, {'specs.total_iops_sec': '500'}),
            (found.current, found.expected),
        )
        self.assertIn('tier apply', found.remedy)

    def test_a_retired_type_that_is_open_is_a_finding_of_its_tier(self):
        catalog, actual = with_retired_type(is_public=True)
        (found,) = [
            one
            for one in held(actual, catalog)
            if one.state is not State.COMPLIANT
        ]
        self.assertEqual(
            ('a', State.NON_COMPLIANT, 'access'),
            (found.tier, found.state, found.aspect),
        )
        self.assertIn('volume type a - retired 1 differs', found.reason)
        self.assertIn("--allow 'volume type a - retired 1'", found.remedy)

    def test_a_refused_change_says_why_and_what_can_be_done(self):
        actual = applied()
        DRIFT['pool and its options'][0](actual)
        found = next(one for one in held(actual) if one.aspect == 'pool')
        self.assertIn('tier apply refuses: it would move', found.reason)
        self.assertIn(
            'declare the current settings in the tiers file', found.remedy
        )
        self.assertIn("--allow 'pool tier-", found.remedy)

    def test_capabilities_are_missed_by_the_tiers_that_need_them(self):
        actual = applied()
        users = actual.ceph['ceph'].users
        less = {
            daemon: text.replace('profile rbd pool=tier-general,', '')
            for daemon, text in users['client.cinder'].caps.items()
        }
        users['client.cinder'] = ceph_state.CephxUser(
            name='client.cinder', caps=less
        )
        self.assertEqual(
            [
                ('database', State.COMPLIANT),
                ('general', State.NON_COMPLIANT),
                ('archive', State.COMPLIANT),
            ],
            [(one.tier, one.state) for one in held(actual)],
        )
        users.clear()
        self.assertEqual({'cephx user'}, {one.aspect for one in held(actual)})

    @hypothesis.given(
        strategies.frozensets(strategies.sampled_from(sorted(DRIFT))),
        strategies.frozensets(strategies.sampled_from(sorted(HARMLESS))),
    )
    def test_all_is_compliant_exactly_when_the_plan_is_empty(
        self, drift, harmless
    ):
        actual = applied()
        for what in sorted(drift):
            DRIFT[what][0](actual)
        for what in sorted(harmless):
            HARMLESS[what](actual)
        made = plan.make(catalog=CATALOG, actual=actual)
        found = held(actual)
        self.assertEqual(
            not made.actions, audit.worst(found) is State.COMPLIANT
        )
        self.assertEqual(
            {DRIFT[what][1] for what in drift},
            {one.tier for one in found if one.state is not State.COMPLIANT},
        )


class NotAllKnownTestCase(testtools.TestCase):
    """What could not be read is unknown, and the rest is audited."""

    def observed(self, actual, **changes):
        return dataclasses.replace(
            audit.Observed(
                cinder=actual.cinder,
                projects=actual.projects,
                ceph=actual.ceph,
            ),
            **changes,
        )

    def states(self, catalog, observed):
        return [
            (one.object_name, one.state.value, one.aspect)
            for one in audit.audit(catalog=catalog, observed=observed)
            if one.state is not State.WARNING
        ]

    def test_a_cluster_that_does_not_answer(self):
        tiers = (
            given.tier('near'),
            given.tier('far', rbd=given.rbd(cluster='b', pool='tier-far')),
        )
        catalog = dataclasses.replace(
            given.of(*tiers),
            clusters={
                name: catalogs.Cluster(name=name) for name in ('ceph', 'b')
            },
        )
        actual = test_plan.applied(given.of(*tiers))
        observed = self.observed(
            actual,
            ceph={**actual.ceph, 'b': audit.Unread(reason='it is down')},
        )
        self.assertEqual(
            [
                ('tier near', 'compliant', 'all'),
                ('tier far', 'unknown', 'cluster b'),
            ],
            self.states(catalog, observed),
        )
        put_spec(actual, 'far', **{cinder_state.TAGS: 'x'})
        put(actual.ceph['ceph'].pools, 'tier-near', min_size=1)
        self.assertEqual(
            [
                ('tier near', 'non-compliant', 'pool'),
                ('tier far', 'unknown', 'cluster b'),
                ('tier far', 'non-compliant', 'extra specs'),
            ],
            self.states(catalog, observed),
        )

    def test_a_ceph_cluster_with_two_names(self):
        tiers = (
            given.tier('near'),
            given.tier('far', rbd=given.rbd(cluster='b', pool='tier-far')),
        )
        catalog = dataclasses.replace(
            given.of(*tiers),
            clusters={
                name: catalogs.Cluster(name=name) for name in ('ceph', 'b')
            },
        )
        actual = test_plan.applied(given.of(*tiers))
        state = dataclasses.replace(actual.ceph['ceph'], fsid='one')
        self.assertEqual(
            [
                ('tier near', 'non-compliant', 'cluster'),
                ('tier far', 'non-compliant', 'cluster'),
            ],
            self.states(
                catalog,
                self.observed(actual, ceph={'ceph': state, 'b': state}),
            ),
        )
        # Of one that did not answer it is not known.
        self.assertEqual(
            [
                ('tier near', 'compliant', 'all'),
                ('tier far', 'unknown', 'cluster b'),
            ],
            self.states(
                catalog,
                self.observed(
                    actual,
                    ceph={
                        'ceph': state,
                        'b': audit.Unread(reason='it is down'),
                    },
                ),
            ),
        )

    def test_a_cinder_that_refuses(self):
        actual = applied()
        DRIFT['data pool'][0](actual)
        observed = self.observed(
            actual, cinder=audit.Unread(reason='forbidden')
        )
        self.assertEqual(
            [
                ('tier database', 'unknown', 'volume type'),
                ('tier general', 'unknown', 'volume type'),
                ('tier archive', 'unknown', 'volume type'),
                ('tier archive', 'non-compliant', 'pool'),
            ],
            self.states(CATALOG, observed),
        )

    def test_default_types_of_projects(self):
        catalog = given.of(
            given.other_tier('a', default_for=('one', 'two')),
            given.other_tier('b'),
            follow_image_types=(),
        )
        actual = given.nothing(
            volume_types=map(volume_type_kind.volume_type_of, catalog.tiers),
            projects={'one': '1', 'two': '2'},
        )
        (finding, other) = held(actual, catalog)
        self.assertEqual(
            ('tier a', 'project defaults', audit.State.NON_COMPLIANT),
            (finding.object_name, finding.aspect, finding.state),
        )
        self.assertEqual({'default_for': frozenset('12')}, finding.expected)
        self.assertIs(audit.State.COMPLIANT, other.state)
        actual = dataclasses.replace(
            actual,
            cinder=dataclasses.replace(
                actual.cinder,
                project_defaults={
                    'a': cinder_state.ProjectDefaults(
                        name='a', default_for=frozenset('12')
                    )
                },
            ),
        )
        self.assertEqual(
            {audit.State.COMPLIANT},
            {one.state for one in held(actual, catalog)},
        )
        for projects, state in (
            (audit.Unread(reason='forbidden'), 'unknown'),
            ({'one': frozenset(), 'two': frozenset('2')}, 'non-compliant'),
        ):
            self.assertEqual(
                [
                    ('tier a', state, 'project defaults'),
                    ('tier b', 'compliant', 'all'),
                ],
                self.states(catalog, self.observed(actual, projects=projects)),
            )

    def test_a_project_that_two_tiers_claim_stops_no_audit(self):
        catalog = given.of(
            given.other_tier('a', default_for=('one',)),
            given.other_tier('b', default_for=('1',)),
            follow_image_types=(),
        )
        actual = given.nothing(
            volume_types=map(volume_type_kind.volume_type_of, catalog.tiers),
            projects={'one': '1', '1': '1'},
        )
        self.assertEqual(
            [('a', 'project defaults'), ('b', 'project defaults')],
            [(one.tier, one.aspect) for one in held(actual, catalog)],
        )

    def test_a_keystone_that_refuses(self):
        catalog = given.of(
            given.other_tier('a', access=('one',)),
            given.other_tier('b'),
            follow_image_types=(),
        )
        types = [
            volume_type_kind.volume_type_of(tier, projects=frozenset(projects))
            for tier, projects in zip(catalog.tiers, ('1', ''), strict=True)
        ]
        actual = given.nothing(volume_types=types)
        observed = self.observed(
            actual, projects=audit.Unread(reason='forbidden')
        )
        self.assertEqual(
            [('tier a', 'unknown', 'access'), ('tier b', 'compliant', 'all')],
            self.states(catalog, observed),
        )
        put(
            actual.cinder.volume_types,
            'a',
            is_public=True,
            projects=frozenset(),
        )
        self.assertEqual(
            ('tier a', 'non-compliant', 'access'),
            self.states(catalog, observed)[1],
        )

    def test_of_whom_nobody_knows_a_retired_type_is_not_compared(self):
        for access, known in (
            ({'projects': frozenset('12')}, []),
            (
                {'is_public': True, 'projects': frozenset()},
                [('tier a', 'non-compliant', 'access')],
            ),
        ):
            catalog, actual = with_retired_type(**access)
            self.assertEqual(
                [('tier a', 'unknown', 'access'), *known],
                self.states(
                    catalog,
                    self.observed(
                        actual, projects=audit.Unread(reason='forbidden')
                    ),
                ),
            )

    def test_what_cannot_be_applied_is_not_compliant(self):
        catalog = given.of(
            given.other_tier('a', access=('nobody',)),
            given.tier('b', rbd=given.rbd(device_class='nvme')),
            given.tier('c'),
            follow_image_types=(),
        )
        types = [
            volume_type_kind.volume_type_of(tier) for tier in catalog.tiers
        ]
        actual = test_plan.applied(given.of(catalog.tiers[2]))
        actual.cinder.volume_types.clear()
        actual.cinder.volume_types.update({one.name: one for one in types})
        found = audit.audit(catalog=catalog, observed=self.observed(actual))
        self.assertEqual(
            [
                ('a', 'non-compliant', 'access'),
                ('b', 'non-compliant', 'cluster'),
                ('c', 'compliant', 'all'),
            ],
            [(one.tier, one.state.value, one.aspect) for one in found],
        )
        self.assertIn('nobody', found[0].current['found'])

    def test_without_the_images_pool_all_else_is_compared(self):
        actual = applied()
        actual.ceph['ceph'].pools.pop('images')
        DRIFT['rule'][0](actual)
        self.assertEqual(
            [
                ('tier database', 'non-compliant', 'images pool'),
                ('tier database', 'non-compliant', 'crush rule'),
                ('tier database', 'non-compliant', 'pool'),
                ('tier general', 'non-compliant', 'images pool'),
                ('tier archive', 'non-compliant', 'images pool'),
            ],
            self.states(CATALOG, self.observed(actual)),
        )

    def test_a_tier_that_is_not_taken_over_is_not_applicable(self):
        tier = given.tier('gold', access=('nobody',), take_over=False)
        catalog = given.of(tier, given.other_tier('lvm', fallback=True))
        actual = test_plan.applied(given.of())
        lvm = volume_type_kind.volume_type_of(catalog.tiers[1])
        actual.cinder.volume_types['lvm'] = lvm
        observed = audit.Observed(cinder=actual.cinder, projects={}, ceph={})
        gold, other = audit.audit(catalog=catalog, observed=observed)
        self.assertEqual(
            ('gold', State.NOT_APPLICABLE, State.COMPLIANT),
            (gold.tier, gold.state, other.state),
        )
        self.assertIn('take_over: false', gold.reason)
        self.assertIn('a volume type of this name does not exist', gold.reason)
        actual.cinder.volume_types['gold'] = volume_type_kind.volume_type_of(
            tier
        )
        gold = audit.audit(catalog=catalog, observed=observed)[0]
        self.assertEqual(
            (State.NON_COMPLIANT, 'extra specs'), (gold.state, gold.aspect)
        )
        self.assertIn('has the ownership marker', gold.reason)

    def test_nothing_of_a_tier_that_is_not_taken_over_is_looked_at(self):
        tier = given.tier(
            'gold',
            take_over=False,
            rbd=given.rbd(
                pool='gold',
                cache=given.cache(),
                primary_affinity=0.5,
                osd_options={'osd_max_backfills': 1},
                osd_requirements=catalogs.Requirements(rotational=True),
            ),
        )
        catalog = given.of(
            tier,
            given.other_tier('lvm', fallback=True),
            host_osd_options={'gone': {'osd_max_backfills': 1}},
        )
        self.assertEqual((), catalog_rules.check(catalog))
        actual = test_plan.applied(given.of())
        actual.cinder.volume_types['lvm'] = volume_type_kind.volume_type_of(
            catalog.tiers[1]
        )
        self.assertEqual((), plan.make(catalog=catalog, actual=actual).actions)
        gold, _ = audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder, projects={}, ceph=actual.ceph
            ),
        )
        self.assertEqual(
            ('gold', State.NOT_APPLICABLE, 'all'),
            (gold.tier, gold.state, gold.aspect),
        )

    def test_the_worst_state_of_nothing_is_compliant(self):
        self.assertIs(State.COMPLIANT, audit.worst(()))
