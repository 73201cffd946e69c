# SPDX-License-Identifier: Apache-2.0

"""Known bad practice, found in a cloud that is as its tiers file says."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

TWO_ONE = catalogs.Replicated(size=2, min_size=1, unprotected_writes=True)


class PracticeTestCase(testtools.TestCase):
    def audited(self, catalog, ceph=None, facts=None):
        """The findings of an audit of a cloud with the catalog applied.

        :param ceph: the cluster; None: as it is then.
        :param facts: what else was looked at; None: nothing.
        """
        actual = test_plan.applied(catalog)
        return audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph={'ceph': ceph or actual.ceph['ceph']},
                practice_facts={'ceph': facts} if facts else {},
            ),
        )

    def warnings(self, aspect, catalog, ceph=None, facts=None):
        """{tier: (current, expected)} of the warnings of an aspect."""
        return {
            one.tier: (one.current, one.expected)
            for one in self.audited(catalog, ceph, facts)
            if (one.state, one.aspect) == (audit.State.WARNING, aspect)
        }


@ddt.ddt
class RedundancyTestCase(PracticeTestCase):
    @ddt.data(
        (TWO_ONE, 'min_size 1', 'size 3 or more, min_size 2 or more'),
        (
            catalogs.Replicated(size=3, min_size=1, unprotected_writes=True),
            'min_size 1',
            'min_size 2 or more',
        ),
        (
            catalogs.Replicated(size=1, min_size=1, single_copy=True),
            'min_size 1',
            'size 3 or more, min_size 2 or more',
        ),
    )
    @ddt.unpack
    def test_one_copy_that_is_enough_for_writes(
        self, protection, current, expected
    ):
        catalog = given.of(given.tier(rbd=given.rbd(protection=protection)))
        name = 'pool tier-database'
        self.assertEqual(
            {
                'database': (
                    {name: f'size {protection.size}, {current}'},
                    {name: expected},
                )
            },
            self.warnings(practice.REDUNDANCY, catalog),
        )

    @ddt.data((4, 2, 4, True), (4, 2, 5, False), (2, 1, 2, True))
    @ddt.unpack
    def test_as_many_chunks_as_are_needed_to_read(self, k, m, min_size, found):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    protection=catalogs.ErasureCoded(
                        k=k, m=m, min_size=min_size, unprotected_writes=True
                    )
                )
            )
        )
        ceph = test_plan.applied(catalog).ceph['ceph']
        other_profile = dataclasses.replace(ceph, erasure_code_profiles={})
        for cluster in (ceph, other_profile):
            warned = self.warnings(practice.REDUNDANCY, catalog, cluster)
            self.assertEqual(found, bool(warned))
            if found:
                self.assertEqual(
                    {'pool tier-database-data'}, set(warned['database'][0])
                )

    def test_what_is_there_counts_and_not_what_is_declared(self):
        catalog = given.of(
            given.tier('a', rbd=given.rbd(protection=TWO_ONE, pool='a')),
            given.tier('b'),
        )
        ceph = test_plan.applied(catalog).ceph['ceph']
        ceph.pools['a'] = dataclasses.replace(ceph.pools['a'], min_size=2)
        ceph.pools['tier-b'] = dataclasses.replace(
            ceph.pools['tier-b'], min_size=1
        )
        self.assertEqual(
            {'b'}, set(self.warnings(practice.REDUNDANCY, catalog, ceph))
        )
        ceph.pools.clear()
        self.assertEqual({}, self.warnings(practice.REDUNDANCY, catalog, ceph))

    @ddt.data(
        (4, 2, 2, None),
        (4, 2, 3, 'min_size 2 or less'),
        (6, 2, 5, 'min_size 4 or less'),
        (6, 2, 2, 'min_size from 3 to 4'),
        (6, 2, 3, None),
        (6, 3, 2, None),
    )
    @ddt.unpack
    def test_min_size_must_fit_to_shared_failure_domains(
        self, size, each, min_size, expected
    ):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    failure_domain='host',
                    protection=catalogs.Replicated(
                        size=size,
                        replicas_per_failure_domain=each,
                        sub_failure_domain='osd',
                    ),
                )
            )
        )
        ceph = test_plan.applied(catalog).ceph['ceph']
        name = 'tier-database'
        ceph.pools[name] = dataclasses.replace(
            ceph.pools[name], min_size=min_size
        )
        warned = self.warnings(practice.FAILURE_DOMAINS, catalog, ceph)
        self.assertEqual(
            {
                'database': (
                    {
                        f'pool {name}': f'size {size}, min_size {min_size}, '
                        f'{each} in each host'
                    },
                    {f'pool {name}': expected},
                )
            }
            if expected
            else {},
            warned,
        )

    def test_chunks_that_share_failure_domains_stop_with_one(self):
        for m, expected in ((2, 'at least 7 chunks'), (3, None)):
            catalog = given.of(
                given.tier(
                    rbd=given.rbd(
                        protection=catalogs.ErasureCoded(
                            k=4,
                            m=m,
                            num_failure_domains=3 + (m > 2),
                            osds_per_failure_domain=2,
                        )
                    )
                )
            )
            ceph = test_plan.applied(catalog).ceph['ceph']
            warned = self.warnings(practice.FAILURE_DOMAINS, catalog, ceph)
            self.assertEqual(
                [expected] if expected else [],
                [*warned['database'][1].values()] if warned else [],
            )

    def test_a_cache_counts_that_holds_writes(self):
        for mode, found in (
            (cache_tier.WRITEBACK, {'pool cache'}),
            (cache_tier.READONLY, set()),
        ):
            catalog = given.of(
                given.tier(rbd=given.rbd(cache=given.cache(mode=mode)))
            )
            warned = self.warnings(practice.REDUNDANCY, catalog)
            self.assertEqual(
                found, set(warned['database'][0]) if warned else set()
            )


def rule(name, **changes):
    plain = ceph_state.CrushRule(
        name=name,
        kind='replicated',
        root='default',
        device_class=None,
        failure_domain='host',
    )
    return dataclasses.replace(plain, **changes)


class ImageClonesTestCase(PracticeTestCase):
    catalog = given.of(
        given.tier('fast', rbd=given.rbd(pool='fast')),
        given.tier(
            'slow',
            rbd=given.rbd(
                pool='slow',
                device_class='hdd',
                protection=catalogs.ErasureCoded(k=2, m=1),
            ),
        ),
        images_pool='images',
    )

    def cluster(self, **changes):
        """The cluster, with a rule that the pool of the images has.

        :param changes: fields of the rule.
        """
        ceph = test_plan.applied(self.catalog).ceph['ceph']
        ceph.pools.update(given.empty_cluster().pools)
        ceph.crush_rules['replicated_rule'] = rule(
            'replicated_rule', **changes
        )
        return ceph

    def test_parents_in_the_storage_of_another_tier(self):
        ceph = self.cluster(device_class='hdd')
        self.assertEqual(
            {
                'fast': (
                    {'pool images': 'hdd OSDs below root default'},
                    {'pool images': 'ssd OSDs below root default'},
                )
            },
            self.warnings(practice.IMAGE_CLONES, self.catalog, ceph),
        )

    def test_parents_on_osds_of_all_classes(self):
        warned = self.warnings(
            practice.IMAGE_CLONES, self.catalog, self.cluster()
        )
        self.assertEqual({'fast', 'slow'}, set(warned))
        self.assertEqual(
            'all OSDs below root default', warned['fast'][0]['pool images']
        )
        # Where there is one class only, it is the same storage.
        one_class = dataclasses.replace(
            self.cluster(), osds=given.osds(classes=('ssd',))
        )
        self.assertEqual(
            {}, self.warnings(practice.IMAGE_CLONES, self.catalog, one_class)
        )

    def test_reads_are_of_first_copies(self):
        catalog = given.of(
            given.tier(
                'mixed',
                rbd=given.rbd(
                    pool='mixed',
                    device_class='hdd',
                    primary_device_class='ssd',
                ),
            ),
            # The same class without the other, which must not be mistaken.
            given.tier('slow', rbd=given.rbd(pool='slow', device_class='hdd')),
            images_pool='images',
        )
        for images_class, warned in (('ssd', 'slow'), ('hdd', 'mixed')):
            ceph = test_plan.applied(catalog).ceph['ceph']
            ceph.pools.update(given.empty_cluster().pools)
            ceph.crush_rules['replicated_rule'] = rule(
                'replicated_rule', device_class=images_class
            )
            found = self.warnings(practice.IMAGE_CLONES, catalog, ceph)
            self.assertEqual({warned}, set(found))
        self.assertEqual(
            {'pool images': 'ssd OSDs below root default'}, found['mixed'][1]
        )

    def test_nothing_is_known_of_a_rule_written_by_hand(self):
        self.assertEqual(
            {},
            self.warnings(
                practice.IMAGE_CLONES, self.catalog, self.cluster(root=None)
            ),
        )

    def test_a_cluster_without_images(self):
        self.assertEqual(
            {},
            self.warnings(
                practice.IMAGE_CLONES,
                given.of(*self.catalog.tiers),
                self.cluster(),
            ),
        )


@ddt.ddt
class SharedOsdsTestCase(PracticeTestCase):
    def tiers(self, limit, device_class='ssd'):
        return given.of(
            given.tier(
                'fast',
                rbd=given.rbd(pool='fast'),
                expect={'randread-4k': {limit: 0.5}},
            ),
            given.tier(
                'other',
                rbd=given.rbd(pool='other', device_class=device_class),
            ),
        )

    @ddt.data(
        ('iops_min', True),
        ('guest_iops_min', True),
        ('mib_per_s_min', True),
        ('fairness_min', True),
        ('p99_ms_max', True),
        ('mean_ms_max', True),
        ('iops_max', False),
        ('guest_iops_max', False),
    )
    @ddt.unpack
    def test_a_floor_on_osds_of_another_tier(self, limit, found):
        catalog = self.tiers(limit)
        self.assertEqual(
            {
                'fast': (
                    {
                        f'expect.randread-4k.{limit}': '0.5',
                        'other tiers on its OSDs': 'other',
                    },
                    {'other tiers on its OSDs': 'none'},
                )
            }
            if found
            else {},
            self.warnings(practice.SHARED_OSDS, catalog),
        )

    def test_many_others_are_cut(self):
        catalog = given.of(
            *self.tiers('iops_min').tiers,
            *(
                given.tier(f't{number}', rbd=given.rbd(pool=f't{number}'))
                for number in range(99)
            ),
        )
        current, _ = self.warnings(practice.SHARED_OSDS, catalog)['fast']
        self.assertRegex(
            current['other tiers on its OSDs'], r'^other, t0, .* more$'
        )

    def test_osds_of_its_own(self):
        catalog = self.tiers('iops_min', device_class='hdd')
        self.assertEqual({}, self.warnings(practice.SHARED_OSDS, catalog))
        ceph = test_plan.applied(catalog).ceph['ceph']
        # The rule that the other pool really has.
        ceph.crush_rules['other'] = rule('other')
        self.assertEqual(
            {'fast'}, set(self.warnings(practice.SHARED_OSDS, catalog, ceph))
        )

    def test_first_copies_of_another_tier_share_osds_as_well(self):
        catalog = given.of(
            *self.tiers('iops_min', device_class='hdd').tiers,
            given.tier(
                'mixed',
                rbd=given.rbd(
                    pool='mixed',
                    device_class='hdd',
                    primary_device_class='ssd',
                ),
            ),
        )
        current, _ = self.warnings(practice.SHARED_OSDS, catalog)['fast']
        self.assertEqual('mixed', current['other tiers on its OSDs'])


@ddt.ddt
class PgTargetTestCase(PracticeTestCase):
    catalog = given.of(
        given.tier(rbd=given.rbd(pg_num=None)),
        given.tier('other', rbd=given.rbd(pool='other', device_class='hdd')),
    )

    def targets(self, **changes):
        plain = practice.PgTarget(
            mode='off',
            pg_num=32,
            wanted_pg_num=32,
            share=0.4,
            has_target=False,
            is_bulk=False,
            is_far_off=False,
        )
        return practice.PracticeFacts(
            pg_targets={
                'tier-database': dataclasses.replace(plain, **changes),
                'other': plain,
            }
        )

    @ddt.data(
        # A target of which little is left.
        ({'has_target': True, 'share': 0.01, 'mode': 'on'}, '1.0% of'),
        ({'has_target': True, 'share': 0.02}, '2.0% of'),
        ({'has_target': True, 'share': 0.03}, None),
        # Nothing stored yet, and no target: as Ceph makes any pool.
        ({'share': 0.0, 'mode': 'on'}, None),
        ({'has_target': True, 'is_bulk': True, 'share': 0.0}, None),
        # Far too few and, where it was told how large it will be, too many.
        ({'is_far_off': True, 'wanted_pg_num': 128}, '32 placement'),
        ({'is_far_off': True, 'wanted_pg_num': 8}, None),
        (
            {'is_far_off': True, 'wanted_pg_num': 8, 'is_bulk': True},
            '32 placement',
        ),
        (
            {'is_far_off': True, 'wanted_pg_num': 8, 'has_target': True},
            '32 placement',
        ),
        # It is on its way.
        ({'is_far_off': True, 'wanted_pg_num': 128, 'mode': 'on'}, None),
        ({}, None),
    )
    @ddt.unpack
    def test_what_the_autoscaler_thinks(self, changes, found):
        warned = self.warnings(
            practice.PG_TARGET, self.catalog, facts=self.targets(**changes)
        )
        self.assertEqual({'database'} if found else set(), set(warned))
        if found:
            current, expected = warned['database']
            self.assertTrue(current['pool tier-database'].startswith(found))
            self.assertEqual({'pool tier-database'}, set(expected))

    def passed_over(self, mode, other_class):
        """Warnings where the autoscaler says nothing.

        :param mode: of the autoscaler for the pool of the tier.
        :param other_class: that the rule of the images takes.
        """
        ceph = test_plan.applied(
            self.catalog, pg_autoscale_mode=mode, pg_num=32
        ).ceph['ceph']
        ceph.pools.update(given.empty_cluster().pools)
        ceph.crush_rules['replicated_rule'] = rule(
            'replicated_rule', device_class=other_class
        )
        return self.warnings(
            practice.PG_TARGET,
            self.catalog,
            ceph,
            practice.PracticeFacts(pg_targets={}),
        )

    @ddt.data('on', 'warn')
    def test_a_pool_that_it_passes_over(self, mode):
        warned = self.passed_over(mode, None)
        self.assertEqual({'database', 'other'}, set(warned))
        self.assertEqual(
            {
                'pool tier-database': f'autoscaling {mode}, '
                '32 placement groups',
                'pools with overlapping CRUSH rules': 'images',
            },
            warned['database'][0],
        )

    def test_a_pool_that_it_need_not_look_at(self):
        self.assertEqual({}, self.passed_over('off', None))
        # Absent for another reason, such as OSDs without size.
        self.assertEqual({}, self.passed_over('on', 'ssd'))

    def test_an_autoscaler_that_does_not_answer_is_no_unknown_state(self):
        facts = practice.PracticeFacts(
            pg_targets={}, pg_targets_unread='no manager'
        )
        found = [
            one
            for one in self.audited(self.catalog, facts=facts)
            if one.aspect == practice.PG_TARGET
        ]
        self.assertEqual(
            [audit.State.WARNING] * 2, [one.state for one in found]
        )
        self.assertIn('is not known: no manager', found[0].reason)


@ddt.ddt
class EcRecoveryTestCase(PracticeTestCase):
    @ddt.data(
        ('mclock_scheduler', '16.2.15', True),
        ('mclock_scheduler', '18.2.7', True),
        ('mclock_scheduler', '19.2.6', True),
        ('mclock_scheduler', '20.2.3', True),
        ('mclock_scheduler', '20.2.4', False),
        ('mclock_scheduler', '21.1.0', False),
        ('wpq', '18.2.7', False),
    )
    @ddt.unpack
    def test_mclock_that_does_not_hold_recovery_back(
        self, queue, version, found
    ):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(protection=catalogs.ErasureCoded(k=2, m=1))
            ),
            given.tier('copies'),
        )
        facts = practice.PracticeFacts(
            pg_targets={},
            op_queues={
                'tier-database-data': practice.OpQueue(
                    osd_id=3, queue=queue, version=version
                )
            },
        )
        warned = self.warnings(practice.EC_RECOVERY, catalog, facts=facts)
        self.assertEqual({'database'} if found else set(), set(warned))
        if found:
            self.assertEqual(
                {'osd.3': f'Ceph {version}, osd_op_queue {queue}'},
                warned['database'][0],
            )


@ddt.ddt
class ReadBalanceTestCase(PracticeTestCase):
    catalog = given.of(given.tier())

    def warned(self, score, *, pg_num=32, release=None):
        ceph = dataclasses.replace(
            test_plan.applied(self.catalog, pg_num=pg_num).ceph['ceph'],
            release=release,
        )
        facts = practice.PracticeFacts(
            pg_targets={},
            read_balance={} if score is None else {'tier-database': score},
        )
        return [
            one
            for one in self.audited(self.catalog, ceph, facts)
            if one.aspect == practice.READ_BALANCE
        ]

    @ddt.data((1.49, 0), (1.5, 1), (3, 1), (None, 0))
    @ddt.unpack
    def test_from_what_score_on_primaries_are_unbalanced(self, score, number):
        self.assertEqual(number, len(self.warned(score)))

    def test_what_cannot_be_balanced_is_passed_over(self):
        # Three OSDs.
        self.assertEqual(
            [0, 1], [len(self.warned(3, pg_num=number)) for number in (2, 4)]
        )

    def test_a_read_balancer_that_works_against_the_affinity(self):
        catalog = given.of(
            given.tier(rbd=given.rbd(primary_affinity=0)),
            given.tier(
                'whole',
                rbd=given.rbd(
                    pool='whole', device_class='hdd', primary_affinity=1
                ),
            ),
            given.tier('none'),
        )
        ceph = dataclasses.replace(
            test_plan.applied(catalog).ceph['ceph'],
            # ssd are 0, 2 and 4.
            read_balancer=ceph_state.ReadBalancer(
                mode='read', primaries={0: 2, 1: 5, 4: 1}
            ),
        )
        found = [
            one
            for one in self.audited(catalog, ceph)
            if one.aspect == practice.READ_BALANCE
        ]
        self.assertEqual(['database'], [one.tier for one in found])
        self.assertEqual({'primary_affinity': '0'}, found[0].current)
        self.assertIn(
            'the balancer has the mode read and ssd OSDs were made the '
            'primaries of 3 placement groups',
            found[0].reason,
        )
        self.assertEqual(
            {},
            self.warnings(
                practice.READ_BALANCE,
                catalog,
                dataclasses.replace(ceph, read_balancer=None),
            ),
        )

    def test_what_is_meant_to_be_unbalanced_is_passed_over(self):
        for changes in (
            {'primary_affinity': 0.5},
            {'device_class': 'hdd', 'primary_device_class': 'ssd'},
        ):
            catalog = given.of(given.tier(rbd=given.rbd(**changes)))
            facts = practice.PracticeFacts(
                pg_targets={}, read_balance={'tier-database': 3.0}
            )
            self.assertEqual(
                {},
                self.warnings(practice.READ_BALANCE, catalog, facts=facts),
            )

    @ddt.data(
        ('upmap-read', {}, True),
        ('', {1: 2}, True),
        # An ssd.
        ('', {0: 2}, False),
    )
    @ddt.unpack
    def test_a_read_balancer_that_passes_over_first_copies(
        self, mode, primaries, found
    ):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(device_class='hdd', primary_device_class='ssd')
            ),
            given.tier('plain'),
        )
        ceph = dataclasses.replace(
            test_plan.applied(catalog).ceph['ceph'],
            read_balancer=ceph_state.ReadBalancer(
                mode=mode, primaries=primaries
            ),
        )
        warned = self.warnings(practice.READ_BALANCE, catalog, ceph)
        self.assertEqual({'database'} if found else set(), set(warned))

    @ddt.data((18, 'osdmaptool'), (19, 'mode upmap-read'), (20, 'upmap-read'))
    @ddt.unpack
    def test_the_release_decides_what_can_be_done(self, release, remedy):
        (found,) = self.warned(2.13, release=release)
        self.assertIn(remedy, found.remedy)
        self.assertEqual(
            {'pool tier-database': 'read_balance_score 2.13'}, found.current
        )


class AdviceTestCase(PracticeTestCase):
    def test_advice_comes_after_what_is_compliant_and_changes_no_state(self):
        catalog = given.of(
            given.tier('a', rbd=given.rbd(protection=TWO_ONE, pool='a')),
            given.tier('b'),
        )
        found = self.audited(catalog)
        self.assertEqual(
            [
                ('a', 'compliant', 'all'),
                ('a', 'warning', 'redundancy'),
                ('b', 'compliant', 'all'),
            ],
            [(one.tier, one.state.value, one.aspect) for one in found],
        )
        self.assertNotIn('', (found[1].reason, found[1].remedy))

    def test_a_tier_that_is_not_managed_gets_none(self):
        catalog = given.of(
            given.tier(rbd=given.rbd(protection=TWO_ONE), take_over=False)
        )
        self.assertEqual({}, self.warnings(practice.REDUNDANCY, catalog))

    def test_a_cluster_that_was_not_read_gives_none(self):
        catalog = given.of(given.tier(rbd=given.rbd(protection=TWO_ONE)))
        self.assertEqual([], list(practice.advise(catalog, {}, {})))


@ddt.ddt
class CacheTierTestCase(PracticeTestCase):
    """Of a tier whose pool has a cache tier in front of it."""

    def found(self, release, **fields):
        catalog = given.of(given.tier(rbd=given.rbd(pool='base')))
        front = ceph_state.CacheTier(
            name='base', cache_pool='quick', mode='writeback', overlay=True
        )
        ceph = dataclasses.replace(
            test_plan.applied(catalog).ceph['ceph'],
            **{'release': release, 'cache_tiers': {'base': front}, **fields},
        )
        return self.warnings(practice.DEPRECATED, catalog, ceph)

    @ddt.data(18, 20)
    def test_a_release_that_advises_against_it(self, release):
        key = 'cache of pool base'
        self.assertEqual(
            {'database': ({key: f'quick, on Ceph {release}'}, {key: 'none'})},
            self.found(release),
        )

    @ddt.data(None, 16, 17)
    def test_another_release_gives_no_warning(self, release):
        self.assertEqual({}, self.found(release))

    def test_without_one_there_is_no_warning(self):
        self.assertEqual({}, self.found(18, cache_tiers={}))


class OptionsTestCase(PracticeTestCase):
    """Options in effect that are not known to be safe."""

    def facts(self, **changes):
        return practice.PracticeFacts(pg_targets={}, **changes)

    def test_options_of_osds_are_warned_of_declared_or_not(self):
        catalog = given.of(given.tier())
        ceph = test_plan.applied(catalog).ceph['ceph']
        own, *_ = (
            osd.osd_id for osd in ceph.osds if osd.device_class == 'ssd'
        )
        other, *_ = (
            osd.osd_id for osd in ceph.osds if osd.device_class != 'ssd'
        )
        harm = {
            'osd_max_object_size': '1',
            'osd_debug_drop_ping_probability': '1',
        }
        sound = {
            'osd_max_scrubs': '2',
            # Of no table, and not the tier's.
            'osd_memory_target_autotune': 'true',
        }
        facts = self.facts(osd_options={own: harm | sound, other: harm})
        ((_, (current, expected)),) = self.warnings(
            practice.OPTIONS, catalog, ceph, facts
        ).items()
        self.assertEqual(harm, current)
        self.assertEqual(harm.keys(), expected.keys())
        facts = self.facts(osd_options={own: sound, other: harm})
        self.assertEqual(
            {}, self.warnings(practice.OPTIONS, catalog, ceph, facts)
        )

    def test_options_of_pools_are_warned_of_declared_or_not(self):
        catalog = given.of(given.tier())
        ceph = test_plan.applied(catalog).ceph['ceph']
        name = 'tier-database'
        ceph.pools[name] = dataclasses.replace(
            ceph.pools[name],
            options={'noscrub': 'true', 'bulk': 'true', 'csum_type': 'unset'},
            rbd_options={
                'rbd_qos_iops_limit': '1',
                'rbd_cache': 'true',
                'rbd_of_others': '1',
            },
        )
        self.assertEqual(
            {
                f'noscrub of pool {name}': 'true',
                f'rbd_qos_iops_limit of pool {name}': '1',
            },
            self.warnings(practice.OPTIONS, catalog, ceph, self.facts())[
                'database'
            ][0],
        )

    def test_limits_and_quotas_of_cinder_are_warned_of(self):
        catalog = given.of(given.other_tier('t'))
        actual = given.nothing()
        cinder = dataclasses.replace(
            actual.cinder,
            qos_specs={
                name: cinder_state.QosSpec(
                    name=name,
                    consumer='front-end',
                    specs={'total_iops_sec': '1', 'read_bytes_sec': '0'},
                    volume_types=frozenset(types),
                )
                for name, types in (('gold', {'t'}), ('other', {'x'}))
            },
            quotas={'t': cinder_state.TypeQuota(name='t', volumes=0)},
        )
        (found,) = practice.advise(catalog, {}, {}, cinder)
        self.assertEqual(
            {
                'total_iops_sec of QoS spec gold': '1',
                'default quota of volumes': '0',
            },
            found.current,
        )
        self.assertIn('no guest can live with so little I/O', found.reason)
        self.assertEqual([], list(practice.advise(catalog, {}, {})))
