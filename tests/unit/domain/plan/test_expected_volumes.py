# SPDX-License-Identifier: Apache-2.0

"""Plans for clouds whose volumes are not where the tiers file has them."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import expected_volumes
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.plan import unserved
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given
from tests.unit.domain import inventories
from tests.unit.domain.plan import test_plan

HERE = inventories.FSID
OTHER = 'f' + HERE[1:]
_EC = catalogs.ErasureCoded(k=2, m=1)


@ddt.ddt
class ExpectedVolumesTestCase(testtools.TestCase):
    def cloud(self, *tiers, volumes=3, fsid=HERE, without=(), **types):
        """A cloud in which tiers are applied, with volumes of each.

        :param without: names of pools that are gone.
        :param types: more volume types by name.
        """
        actual = test_plan.applied(given.of(*tiers))
        types = {**actual.cinder.volume_types, **types}
        cluster = actual.ceph['ceph']
        return dataclasses.replace(
            actual,
            cinder=dataclasses.replace(
                actual.cinder,
                volume_types={
                    name: dataclasses.replace(one, volumes=volumes)
                    if one.volumes is None
                    else one
                    for name, one in types.items()
                },
            ),
            ceph={
                'ceph': dataclasses.replace(
                    cluster,
                    fsid=fsid,
                    pools={
                        name: pool
                        for name, pool in cluster.pools.items()
                        if name not in without
                    },
                )
            },
        )

    def empty(self, actual, fsid=OTHER):
        """The same cloud on a cluster that has nothing of tiers."""
        return dataclasses.replace(
            actual, ceph={'ceph': given.empty_cluster(fsid=fsid)}
        )

    def refused(self, actual, backends, *tiers):
        """{object: reason} of what a plan refuses."""
        self.plan = plans.make(
            catalog=given.of(*tiers), actual=actual, backends=backends
        )
        return {
            str(one.key): one.refusal.reason
            for one in self.plan.refused
            if one.refusal.yields_to_consent
        }

    def test_nothing_contradicts_what_is_applied(self):
        tiers = given.three_tiers()
        backends = inventories.backends_of(given.of(*tiers))
        for known in (backends, backends[:1], ()):
            self.assertEqual(
                {}, self.refused(self.cloud(*tiers), known, *tiers)
            )
            self.assertEqual((), self.plan.actions)

    def test_a_fresh_installation_needs_no_consent(self):
        tiers = given.three_tiers()
        nothing = given.nothing(ceph=given.empty_cluster(fsid=HERE))
        backends = inventories.backends_of(given.of(*tiers))
        # cinder.conf is made from the tiers file before or after apply.
        for known in (backends, ()):
            self.assertEqual({}, self.refused(nothing, known, *tiers))
            self.assertNotEqual((), self.plan.actions)

    @ddt.data((), (inventories.rbd_backend('tier-a', 'tier-a'),))
    def test_a_lost_pool(self, backends):
        tier = given.tier('a')
        lost = self.cloud(tier, without=['tier-a'])
        ((name, reason),) = self.refused(lost, backends, tier).items()
        self.assertEqual('pool tier-a (ceph)', name)
        for said in ('tier-a', HERE, '3 volumes of a are expected'):
            self.assertIn(said, reason)
        allowed = consent.grant(self.plan, [name])
        self.assertEqual((), allowed.refused)
        none = self.cloud(tier, volumes=0, without=['tier-a'])
        self.assertEqual({}, self.refused(none, backends, tier))

    def test_volumes_of_a_retired_type_are_in_a_lost_pool_as_well(self):
        tier = given.tier('a')
        retired = cinder_state.VolumeType(
            name='a - retired 7c1f0a9e',
            extra_specs={'volume_backend_name': 'tier-a'},
            volumes=2,
        )
        lost = self.cloud(
            tier, volumes=0, without=['tier-a'], **{retired.name: retired}
        )
        (reason,) = self.refused(lost, (), tier).values()
        self.assertIn('2 volumes of', reason)
        self.assertIn(retired.name, reason)

    def test_a_lost_data_pool(self):
        tier = given.tier('a', rbd=given.rbd(pool='tier-a', protection=_EC))
        lost = self.cloud(tier, without=['tier-a-data'])
        self.assertEqual(
            {'pool tier-a-data (ceph)'}, set(self.refused(lost, (), tier))
        )

    def test_another_data_pool_is_asked_for_once(self):
        before = given.rbd(pool='tier-a', protection=_EC)
        after = dataclasses.replace(before, data_pool_name='elsewhere')
        tier = given.tier('a', rbd=after)
        cloud = self.cloud(given.tier('a', rbd=before))
        self.assertEqual(
            {'pool tier-a (ceph)'}, set(self.refused(cloud, (), tier))
        )

    def test_another_cluster(self):
        tier = given.tier('a', rbd=given.rbd(osd_options={}))
        backends = (inventories.rbd_backend('tier-a', tier.rbd.pool),)
        empty = self.empty(self.cloud(tier))
        refused = self.refused(empty, backends, tier)
        self.assertEqual(
            {'pool tier-database (ceph)', 'cephx user client.cinder (ceph)'},
            set(refused),
        )
        for reason in refused.values():
            self.assertIn(HERE, reason)
            self.assertIn(OTHER, reason)
        for said in (
            'pool tier-database',
            '3 volumes of a are expected there',
            'node@tier-a#tier-a',
        ):
            self.assertIn(said, refused['pool tier-database (ceph)'])
        self.assertIn(
            '3 at present', refused['cephx user client.cinder (ceph)']
        )
        # They serve that one: whose volumes there are does not matter.
        self.assertEqual(
            set(refused),
            set(
                self.refused(
                    self.empty(self.cloud(tier, volumes=0)), backends, tier
                )
            ),
        )

    def test_another_cluster_with_pools_of_the_same_names(self):
        tier = given.tier('a')
        backends = (inventories.rbd_backend('tier-a', 'tier-a'),)
        changed = given.tier(
            'a',
            rbd=given.rbd(
                pool='tier-a',
                options={'nodelete': True},
                primary_affinity=0.5,
            ),
        )
        self.assertEqual(
            {'pool tier-a (ceph)', 'primary affinity ssd (ceph)'},
            set(self.refused(self.cloud(tier, fsid=OTHER), backends, changed)),
        )

    def test_a_rebuilt_cluster_that_backends_serve_already(self):
        tier = given.tier('a')
        backends = (inventories.rbd_backend('tier-a', 'tier-a', fsid=OTHER),)
        empty = self.empty(self.cloud(tier))
        self.assertEqual(
            {'pool tier-a (ceph)'}, set(self.refused(empty, backends, tier))
        )

    def test_a_renamed_pool(self):
        tier = given.tier('a')
        renamed = given.tier('a', rbd=given.rbd(pool='other'))
        backends = (inventories.rbd_backend('tier-a', 'tier-a'),)
        (reason,) = self.refused(self.cloud(tier), backends, renamed).values()
        self.assertIn(f'pool tier-a of the Ceph cluster {HERE}', reason)
        self.assertIn('says pool other', reason)
        # Without volumes it may be made before backends are told.
        empty = self.cloud(tier, volumes=0)
        self.assertEqual({}, self.refused(empty, backends, renamed))
        (note,) = unserved.find_elsewhere(
            given.of(renamed), self.plan, backends, empty.ceph
        )
        self.assertIn('pool other is declared', note.reason)

    def test_two_tiers_whose_pools_were_exchanged(self):
        def tier(name, pool, **options):
            return given.tier(name, rbd=given.rbd(pool=pool, options=options))

        before = tier('a', 'one'), tier('b', 'two', noscrub=True)
        after = tier('a', 'two'), tier('b', 'one', noscrub=True)
        backends = inventories.backends_of(given.of(*before))
        refused = self.refused(self.cloud(*before), backends, *after)
        self.assertEqual({'pool one (ceph)'}, set(refused))
        self.assertIn('backends of tier b store volumes in', *refused.values())
        # Of the other there is nothing to be done, but to be said.
        (note,) = unserved.find_elsewhere(
            given.of(*after), self.plan, backends, self.cloud(*before).ceph
        )
        self.assertEqual('a', note.tier)

    def test_one_of_several_backends_is_enough(self):
        tier = given.tier('a')
        changed = given.tier(
            'a', rbd=given.rbd(pool='tier-a', options={'nodelete': True})
        )
        backends = (
            inventories.rbd_backend('tier-a', 'tier-a'),
            inventories.rbd_backend('tier-a', 'tier-a', fsid=OTHER),
        )
        self.assertEqual({}, self.refused(self.cloud(tier), backends, changed))
        self.assertEqual(1, len(self.plan.actions))

    def test_a_tier_that_was_moved_to_a_cluster_of_others(self):
        here, moved = given.tier('a'), given.tier('b')
        cloud = self.cloud(here)
        cloud.cinder.volume_types['b'] = dataclasses.replace(
            cloud.cinder.volume_types['a'],
            name='b',
            extra_specs={
                'tiers:name': 'b',
                'tiers:priority': '0',
                'volume_backend_name': 'tier-b',
            },
        )
        backends = (
            inventories.rbd_backend('tier-a', 'tier-a'),
            inventories.rbd_backend('tier-b', 'tier-b', fsid=OTHER),
        )
        refused = self.refused(cloud, backends, here, moved)
        self.assertIn('pool tier-b (ceph)', refused)
        self.assertNotIn('cephx user client.cinder (ceph)', refused)

    def test_only_types_in_doubt_are_counted(self):
        tiers = given.three_tiers()
        cloud = self.cloud(*tiers, without=['tier-database'])

        def counted(actual, backends=()):
            return expected_volumes.Doubts(
                given.of(*tiers), actual, backends
            ).volume_types

        self.assertEqual(frozenset(), counted(self.cloud(*tiers)))
        self.assertEqual({'database'}, counted(cloud))
