# SPDX-License-Identifier: Apache-2.0

"""OSDs held against what tiers require of them, from plain values."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model
from cinder_tiers.domain.validation import catalog as catalog_rules
from tests.unit.domain import catalogs as given

Requirements = model.Requirements


@ddt.ddt
class RulesTestCase(testtools.TestCase):
    def found(self, one, other, **changes):
        """Problems of two tiers on one class, with requirements."""
        return [
            problem.found
            for problem in catalog_rules.check(
                given.of(
                    given.tier(
                        'a',
                        fallback=True,
                        rbd=given.rbd(
                            pool='tier-a', osd_requirements=Requirements(**one)
                        ),
                    ),
                    given.tier(
                        'b',
                        rbd=given.rbd(
                            pool='tier-b',
                            osd_requirements=Requirements(**other),
                            **changes,
                        ),
                    ),
                )
            )
        ]

    @ddt.data(
        (
            {'rotational': True},
            {'rotational': False},
            "tier 'b' requires rotational false, tier 'a' rotational true",
        ),
        (
            {'object_store': 'bluestore'},
            {'object_store': 'filestore'},
            "tier 'b' requires object_store filestore, tier 'a' object_store "
            'bluestore',
        ),
        (
            {'file_system': 'xfs'},
            {'file_system': 'btrfs'},
            "tier 'b' requires file_system btrfs, tier 'a' file_system xfs",
        ),
        (
            {'io_scheduler': ('none', 'bfq')},
            {'io_scheduler': ('kyber',)},
            "tier 'b' requires io_scheduler kyber, tier 'a' io_scheduler none "
            'or bfq',
        ),
        (
            {'object_store': 'filestore'},
            {'fast_wal': True},
            "tier 'b' requires fast_wal true, tier 'a' object_store filestore",
        ),
        (
            {'fast_db': True},
            {'object_store': 'filestore'},
            "tier 'a' requires fast_db true, tier 'b' object_store filestore",
        ),
        (
            {'object_store': 'bluestore', 'file_system': 'xfs'},
            {},
            "tier 'a' requires file_system xfs and object_store bluestore",
        ),
    )
    @ddt.unpack
    def test_an_osd_must_be_able_to_be_all_that(self, one, other, expected):
        self.assertEqual([expected], self.found(one, other))

    @ddt.data(
        ({'rotational': False}, {'rotational': False}),
        ({'rotational': False}, {'fast_db': True}),
        ({'io_scheduler': ('none', 'bfq')}, {'io_scheduler': ('bfq',)}),
    )
    @ddt.unpack
    def test_requirements_that_agree_are_sound(self, one, other):
        self.assertEqual([], self.found(one, other))

    def test_osds_of_another_class_may_be_others(self):
        self.assertEqual(
            [],
            self.found(
                {'rotational': False}, {'rotational': True}, device_class='hdd'
            ),
        )
