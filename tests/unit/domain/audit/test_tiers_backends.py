# SPDX-License-Identifier: Apache-2.0

"""Audits of tiers whose backends serve other pools than are declared."""

import dataclasses

import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from tests.unit.domain import catalogs as given
from tests.unit.domain import inventories
from tests.unit.domain.plan import test_plan

OTHER = 'f' + inventories.FSID[1:]


class AuditBackendsTestCase(testtools.TestCase):
    def found(self, catalog, backends, *, fsid=inventories.FSID, **changes):
        """(tier, state, aspect, current, expected) of each finding."""
        with_pools = [one for one in catalog.ours if one.rbd]
        actual = test_plan.applied(
            dataclasses.replace(catalog, tiers=tuple(with_pools))
        )
        actual.cinder.volume_types.update(
            {
                one.name: volume_type_kind.volume_type_of(one)
                for one in catalog.ours
            }
        )
        ceph = {
            name: dataclasses.replace(one, fsid=fsid)
            for name, one in actual.ceph.items()
        }
        self.findings = audit.audit(
            catalog=catalog,
            observed=dataclasses.replace(
                audit.Observed(
                    cinder=actual.cinder,
                    projects=actual.projects,
                    ceph=ceph,
                    backends=backends,
                ),
                **changes,
            ),
        )
        return [
            (
                one.tier,
                one.state.value,
                one.aspect,
                dict(one.current),
                dict(one.expected),
            )
            for one in self.findings
            if one.state is not audit.State.WARNING
        ]

    def compliant(self, *tiers):
        return [(one, 'compliant', 'all', {}, {}) for one in tiers]

    def test_backends_that_serve_the_pools(self):
        catalog = given.of(*given.three_tiers(), given.other_tier('lvm'))
        self.assertEqual(
            self.compliant('database', 'general', 'archive', 'lvm'),
            self.found(catalog, inventories.backends_of(catalog)),
        )

    def test_what_does_not_tell_its_pool_is_passed_over(self):
        catalog = given.of(
            given.tier('a'), given.tier('b'), given.tier('c'), given.tier('d')
        )
        odd = inventories.rbd_backend('tier-b', 'x')
        self.assertEqual(
            self.compliant('a', 'b', 'c', 'd'),
            self.found(
                catalog,
                (
                    inventories.other_backend('tier-a'),
                    dataclasses.replace(
                        odd,
                        capabilities={
                            name: value
                            for name, value in odd.capabilities.items()
                            if name != 'location_info'
                        },
                    ),
                    # Its cluster did not answer.
                    inventories.rbd_backend('tier-c', 'x', fsid=''),
                    inventories.rbd_backend('another', 'tier-d'),
                ),
            ),
        )

    def test_pools_that_were_swapped(self):
        catalog = given.of(
            given.tier('a', rbd=given.rbd(pool='tier-b')),
            given.tier('b', rbd=given.rbd(pool='tier-a')),
        )
        backends = (
            inventories.rbd_backend('tier-a', 'tier-a'),
            inventories.rbd_backend('tier-a', 'tier-a', host='second'),
            inventories.rbd_backend('tier-b', 'tier-b'),
        )
        self.assertEqual(
            [
                (
                    one,
                    'non-compliant',
                    'backend',
                    {'pool': f'tier-{one}'},
                    {'pool': f'tier-{other}'},
                )
                for one, other in ('ab', 'ba')
            ],
            self.found(catalog, backends),
        )
        self.assertIn(
            'node@tier-a#tier-a, second@tier-a#tier-a',
            self.findings[0].reason,
        )

    def test_a_pool_of_that_name_in_another_cluster(self):
        catalog = given.of(given.tier('a'))
        backends = (inventories.rbd_backend('tier-a', 'tier-a', fsid=OTHER),)
        self.assertEqual(
            [
                (
                    'a',
                    'non-compliant',
                    'backend',
                    {'fsid': OTHER},
                    {'fsid': inventories.FSID},
                )
            ],
            self.found(catalog, backends),
        )
        self.assertEqual(
            self.compliant('a'), self.found(catalog, backends, fsid=None)
        )

    def test_of_a_cluster_that_does_not_answer_the_pool_is_compared(self):
        catalog = given.of(given.tier('a'))
        gone = {'ceph': audit.Unread(reason='it is down')}
        (unknown,) = self.found(
            catalog, inventories.backends_of(catalog), ceph=gone
        )
        self.assertEqual('cluster ceph', unknown[2])
        _, (*row, current, expected) = self.found(
            catalog, (inventories.rbd_backend('tier-a', 'x'),), ceph=gone
        )
        self.assertEqual(['a', 'non-compliant', 'backend'], row)
        self.assertEqual(
            ({'pool': 'x'}, {'pool': 'tier-a'}), (current, expected)
        )

    def test_backends_of_one_name_in_other_zones(self):
        tiers = [
            given.tier(
                zone,
                backend_name='rbd',
                rbd=given.rbd(pool=zone),
                extra_specs={'RESKEY:availability_zones': zone},
            )
            for zone in ('north', 'south')
        ]
        north, south, foreign = (
            inventories.rbd_backend('rbd', pool, host=pool)
            for pool in ('north', 'south', 'foreign')
        )
        self.assertEqual(
            self.compliant('north', 'south'),
            self.found(given.of(*tiers), (north, south)),
        )
        # A zone of which the file says nothing.
        self.assertEqual(
            self.compliant('north'),
            self.found(given.of(tiers[0]), (north, foreign)),
        )
        self.assertEqual(
            ['backend'],
            [one[2] for one in self.found(given.of(tiers[0]), (foreign,))],
        )

    def test_backends_that_other_capabilities_rule_out(self):
        def backend(pool, disk):
            found = inventories.rbd_backend('rbd', pool)
            return dataclasses.replace(
                found, capabilities={**found.capabilities, 'disk': disk}
            )

        catalog = given.of(
            given.tier('a', backend_name='rbd', extra_specs={'disk': 'ssd'})
        )
        self.assertEqual(
            self.compliant('a'),
            self.found(
                catalog, (backend('tier-a', 'ssd'), backend('x', 'hdd'))
            ),
        )

    def test_backends_that_could_not_be_read(self):
        catalog = given.of(
            given.tier('a'), given.other_tier('b'), follow_image_types=()
        )
        gone = audit.Unread(reason='no scheduler')
        self.assertEqual(
            [
                ('a', 'unknown', 'backend', {}, {}),
                *self.compliant('b'),
            ],
            self.found(catalog, gone),
        )
        # Without Cinder that is said once for each tier.
        self.assertEqual(
            [('a', 'volume type'), ('b', 'volume type')],
            [
                (one[0], one[2])
                for one in self.found(catalog, gone, cinder=gone)
            ],
        )

    def test_a_tier_that_is_not_taken_over(self):
        catalog = given.of(
            dataclasses.replace(given.tier('a'), take_over=False),
            given.other_tier('b'),
        )
        self.assertEqual(
            ['not applicable', 'compliant'],
            [
                one[1]
                for one in self.found(
                    catalog, (inventories.rbd_backend('tier-a', 'x'),)
                )
            ],
        )
