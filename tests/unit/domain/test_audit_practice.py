# SPDX-License-Identifier: Apache-2.0

"""Known bad practice, found in a cloud that is as its tiers file says."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

TWO_ONE = catalogs.Replicated(size=2, min_size=1, unprotected_writes=True)


class PracticeTestCase(testtools.TestCase):
    def audited(self, catalog, ceph=None):
        """The findings of an audit of a cloud with the catalog applied.

        :param ceph: the cluster; None: as it is then.
        """
        actual = test_plan.applied(catalog)
        return audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph={'ceph': ceph or actual.ceph['ceph']},
            ),
        )

    def warnings(self, aspect, catalog, ceph=None):
        """{tier: (current, expected)} of the warnings of an aspect."""
        return {
            one.tier: (one.current, one.expected)
            for one in self.audited(catalog, ceph)
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
        self.assertEqual([], list(practice.advise(catalog, {})))
