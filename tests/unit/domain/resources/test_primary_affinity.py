# SPDX-License-Identifier: Apache-2.0

"""Primary affinity of OSDs."""

import hypothesis
from hypothesis import strategies as st
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.resources import primary_affinity
from tests.unit.domain import catalogs as given
from tests.worlds import in_memory


class NormalTestCase(testtools.TestCase):
    @hypothesis.given(st.integers(0, 10**primary_affinity.DECIMALS))
    def test_a_value_survives_ceph_s_fixed_point(self, number):
        value = number / 10**primary_affinity.DECIMALS
        kept = int(value * 0x10000) / 0x10000
        self.assertEqual(
            primary_affinity.normal(value), primary_affinity.normal(kept)
        )
        self.assertEqual(value, float(primary_affinity.normal(value)))


class AuditTestCase(testtools.TestCase):
    def test_it_is_told_of_the_tiers_that_declare_it(self):
        database, general, archive = given.three_tiers()
        catalog = given.of(
            database,
            general,
            given.tier(
                'slow',
                rbd=given.rbd(
                    pool='slow', device_class='hdd', primary_affinity=0.5
                ),
            ),
        )
        world = in_memory.World(osds=given.osds())
        found = [
            one
            for one in audit.audit(
                catalog=catalog,
                observed=audit.Observed(
                    cinder=world.observe().cinder,
                    projects={},
                    ceph=world.observe().ceph,
                ),
            )
            if one.aspect == 'primary affinity'
        ]
        self.assertEqual(
            [('slow', {'value': '1'}, {'value': '0.5'})],
            [(one.tier, one.current, one.expected) for one in found],
        )

    def test_the_plan_says_that_no_data_moves(self):
        catalog = given.of(given.tier(rbd=given.rbd(primary_affinity=0)))
        made = plan.make(catalog=catalog, actual=given.nothing())
        (action,) = [
            one
            for one in made.actions
            if one.key.kind.value == 'primary affinity'
        ]
        self.assertEqual(
            'tier database; other OSDs become primaries, no data moves',
            action.explanation,
        )
