# SPDX-License-Identifier: Apache-2.0

"""Tiers that no backend serves, and what is said of them."""

import dataclasses

import testtools

from cinder_tiers.cli.render import unserved as lines_of
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.plan import unserved
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given
from tests.unit.domain import inventories


def on(name, **changes):
    """A tier on a backend of the same name."""
    return given.other_tier(name, backend_name=name, **changes)


class UnservedTestCase(testtools.TestCase):
    def found(self, catalog, *backends, **volume_types):
        self.unserved = list(unserved.find(catalog, volume_types, backends))
        return [one.tier for one in self.unserved]

    def test_each_is_served(self):
        catalog = given.of(*given.three_tiers(), on('lvm'))
        self.assertEqual(
            [],
            self.found(
                catalog,
                *inventories.backends_of(catalog),
            ),
        )

    def test_a_name_that_no_backend_has(self):
        catalog = given.of(given.tier('a'), on('fast-lvm'))
        self.assertEqual(
            ['a', 'fast-lvm'],
            self.found(catalog, inventories.other_backend('fast_lvm')),
        )
        new, wrong = self.unserved
        self.assertIn('has volume_backend_name tier-a', new.reason)
        self.assertIn('backend-config', new.remedy)
        self.assertIn("did you mean 'fast_lvm'?", wrong.remedy)

    def test_nothing_reports(self):
        self.assertEqual(['a'], self.found(given.of(given.tier('a'))))
        self.assertIn('no backend reports', self.unserved[0].reason)

    def test_an_extra_spec_that_the_backend_does_not_meet(self):
        served = on('lvm')
        lvm = inventories.other_backend('lvm')
        asks = dataclasses.replace(served, extra_specs={'disk': 'ssd'})
        self.assertEqual(['lvm'], self.found(given.of(asks), lvm))
        self.assertIn(
            f'on {lvm.name}, disk is not reported, expected ssd',
            self.unserved[0].reason,
        )
        # An extra spec that is only on the volume type counts, too.
        before = volume_type_kind.volume_type_of(served)
        self.assertEqual(
            ['lvm'],
            self.found(
                given.of(served),
                lvm,
                lvm=dataclasses.replace(
                    before,
                    extra_specs={**before.extra_specs, 'disk': 'ssd'},
                ),
            ),
        )
        # Neither ours nor those of drivers and zones are for backends.
        self.assertEqual(
            [],
            self.found(
                given.of(
                    dataclasses.replace(
                        served,
                        extra_specs={
                            'RESKEY:availability_zones': 'far',
                            'hp3par:persona': '1',
                        },
                    )
                ),
                lvm,
            ),
        )

    def test_of_extra_specs_alone(self):
        tier = dataclasses.replace(
            on('any'),
            backend_name=None,
            extra_specs={'vendor_name': 'one'},
        )
        backend = inventories.other_backend('lvm')
        self.assertEqual(['any'], self.found(given.of(tier), backend))
        backend.capabilities['vendor_name'] = 'one'
        self.assertEqual([], self.found(given.of(tier), backend))

    def test_all_goes_to_the_overflow(self):
        catalog = given.of(
            dataclasses.replace(on('fast'), overflow='slow'),
            on('slow'),
        )
        self.assertEqual(
            ['fast'], self.found(catalog, inventories.other_backend('slow'))
        )
        self.assertIn('go to backends of tier slow', self.unserved[0].effect)
        self.assertEqual(
            ['fast', 'slow'],
            self.found(catalog, inventories.other_backend('other')),
        )
        self.assertIn('end in status error', self.unserved[0].effect)

    def test_what_is_not_managed_is_not_looked_at(self):
        tier = dataclasses.replace(on('lvm'), take_over=False)
        self.assertEqual([], self.found(given.of(tier)))

    def test_what_is_alike_is_one_line(self):
        catalog = given.of(
            *(given.tier(f't{number}') for number in range(30)),
            on('lvm'),
        )
        self.found(catalog)
        of_rbd, of_lvm = lines_of.lines(self.unserved)
        self.assertIn('and 10 more: no backend reports', of_rbd)
        self.assertIn('tier lvm: no backend reports', of_lvm)
        self.assertEqual([], lines_of.lines([]))

    def test_however_many_there_are_it_is_a_few_lines(self):
        names = [chr(97 + number) * 8 for number in range(20)]
        catalog = given.of(*map(on, names))
        self.found(
            catalog, *(inventories.other_backend(f'{one}x') for one in names)
        )
        lines = lines_of.lines(self.unserved)
        self.assertEqual('and 15 more like these', lines[-1])
        self.assertEqual(6, len(lines))

    def test_the_audit_warns_of_types_that_exist(self):
        tier = on('lvm')
        catalog = given.of(tier, on('new'))
        observed = audit.Observed(
            cinder=cinder_state.CinderState(
                volume_types={'lvm': volume_type_kind.volume_type_of(tier)}
            ),
            projects={},
            ceph={},
            backends=(),
        )

        def warnings(**changes):
            return [
                (one.tier, one.aspect)
                for one in audit.audit(
                    catalog=catalog,
                    observed=dataclasses.replace(observed, **changes),
                )
                if one.state is audit.State.WARNING
            ]

        self.assertEqual([('lvm', 'backend')], warnings())
        gone = audit.Unread(reason='no scheduler')
        for backends in (
            None,
            gone,
            (inventories.other_backend('lvm'),),
        ):
            self.assertEqual([], warnings(backends=backends))
        self.assertEqual([], warnings(cinder=gone))
