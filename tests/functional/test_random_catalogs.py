# SPDX-License-Identifier: Apache-2.0

"""No catalog, whatever it says, harms what others have in the lab.

The catalogs are those of tests/unit/execute/test_plan_apply_always.py, here
with the tiers of the lab before them.
"""

import dataclasses

import hypothesis

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import for_plan as world
from tests.functional import lab
from tests.functional import tier_objects
from tests.unit.execute import test_plan_apply_always as always

#: Of catalogs, applied one after the other; tests/long tries more.
PAIRS = 3
#: Kinds of objects that no apply changes, and fields of a pool.
FIXED = ('placement', 'crush rule', 'erasure code profile')
FIXED_FIELDS = (
    'pool_id',
    'size',
    'pg_num_target',
    'crush_rule',
    'erasure_code_profile',
)


def of_pairs(count):
    """Decorate a test: it is run with so many pairs of catalogs."""

    def decorate(test):
        return hypothesis.settings(
            max_examples=count,
            database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )(
            hypothesis.given(
                first=always.sound_catalogs(), second=always.sound_catalogs()
            )(test)
        )

    return decorate


class RandomCatalogsTest(tier_objects.TierObjectsTestCase):
    def setUp(self):
        super().setUp()
        self.projects = {
            'one': frozenset({self.project(lab.MEMBER)}),
            'two': frozenset({self.project(lab.OTHER)}),
        }

    def project(self, cloud):
        member = lab.connect(self.environment, cloud)
        self.addCleanup(member.close)
        return member.current_project_id

    def named(self, name):
        return name and f'{self.mark}-{name}'

    def in_the_lab(self, catalog):
        """The catalog under names of this test, after the lab's tiers."""
        tiers = [
            dataclasses.replace(
                tier,
                name=self.named(tier.name),
                fallback=False,
                overflow=self.named(tier.overflow),
                priority=tier.priority + 900,
                tags=tuple(map(self.named, tier.tags)),
                rbd=tier.rbd and self.pool_in_the_lab(tier.rbd),
            )
            for tier in catalog.tiers
        ]
        return dataclasses.replace(
            self.lab_catalog,
            tiers=(*self.lab_catalog.tiers, *tiers),
            follow_image_types=(
                *self.lab_catalog.follow_image_types,
                *map(self.named, catalog.follow_image_types),
            ),
        )

    def pool_in_the_lab(self, rbd):
        """The same, but for what is of the OSDs of the lab's tiers."""
        return dataclasses.replace(
            rbd,
            cache=None,
            primary_affinity=None,
            osd_options={},
            pool=self.named(rbd.pool.removeprefix('tier-')),
        )

    def plan(self, catalog):
        return plans.make(
            catalog=catalog,
            actual=dataclasses.replace(
                world.observe(
                    catalog=dataclasses.replace(
                        catalog,
                        tiers=tuple(
                            dataclasses.replace(tier, access=None)
                            for tier in catalog.tiers
                        ),
                    ),
                    clusters={'ceph': self.session},
                    connection=self.connection,
                ),
                projects=self.projects,
            ),
        )

    def try_to_apply(self, catalog):
        """Apply a catalog; return whether nothing was refused."""
        clusters = {'ceph': self.session}
        try:
            results = apply.apply(
                plan=self.plan(catalog),
                settle_s=30.0,
                report=lambda result: None,
                read=world.reader(
                    connection=self.connection, clusters=clusters
                ),
                executors=registry.executors(
                    connection=self.connection,
                    clusters=clusters,
                    read_usage=ceph_usage.attempt,
                ),
            )
        except errors.ActionFailed:
            return False
        self.assertEqual([], [one.reason for one in results if one.reason])
        return True

    def assert_harmless(self, before):
        after = self.world()
        self.assertEqual(
            {},
            {
                key: change
                for key, change in tier_objects.changes(
                    self.before, after
                ).items()
                if self.mark not in key[1] or self.foreign in key[1]
                if key != ('cephx user', self.cinder_user)
            },
        )
        for key, found in before.items():
            self.assertIn(key, after)
            if key[0] in FIXED:
                self.assertEqual(found, after[key])
            if key[0] == 'pool':
                self.assertEqual(
                    [found[name] for name in FIXED_FIELDS],
                    [after[key][name] for name in FIXED_FIELDS],
                )

    def assert_pair_is_harmless(self, first, second):
        """Apply both, one after the other; leave nothing of them."""
        for catalog in map(self.in_the_lab, (first, second)):
            hypothesis.assume(not catalog_rules.check(catalog))
            before = self.world()
            if self.try_to_apply(catalog):
                self.assertEqual((), self.plan(catalog).actions)
            self.assert_harmless(before)
        self.remove(keep=self.foreign)

    @of_pairs(PAIRS)
    def test_what_others_have_and_all_data_stay(self, first, second):
        self.assert_pair_is_harmless(first, second)
