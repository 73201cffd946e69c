# SPDX-License-Identifier: Apache-2.0

"""Rules between the parts of a catalog, and between it and a cluster."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.validation import catalog as catalog_rules
from tests.unit.domain import catalogs as given


def found(*tiers, **changes):
    return [
        problem.found
        for problem in catalog_rules.check(given.of(*tiers, **changes))
    ]


@ddt.ddt
class CatalogRulesTestCase(testtools.TestCase):
    def test_a_sound_catalog_has_no_problem(self):
        self.assertEqual([], found(*given.three_tiers(), images_pool='images'))

    @ddt.data(('db', 'DB '), ('cafe\u0301', 'CAF\xc9'))
    @ddt.unpack
    def test_a_tag_asks_for_one_tier(self, one, other):
        self.assertEqual(
            [f"tag {other!r} of tier 'b' already selects tier 'a'"],
            found(
                given.tier('a', tags=(one,), fallback=True),
                given.tier('b', tags=(other,), priority=1),
            ),
        )

    def test_a_tier_names_a_tag_once(self):
        self.assertEqual(
            ["tag 'DB' repeats 'db' of the same tier"],
            found(given.tier('a', tags=('db', 'DB'), fallback=True)),
        )

    @ddt.data('a,b', '', ' ', 'a\nb')
    def test_a_tag_must_survive_the_extra_spec(self, tag):
        self.assertEqual(
            [f'tag {tag!r}'],
            found(given.tier('a', tags=(tag,), fallback=True)),
        )

    def test_tags_of_a_tier_must_fit_an_extra_spec(self):
        tags = tuple(f'{number:063}' for number in range(4))
        self.assertEqual(
            [], found(given.tier('a', tags=tags, fallback=True))
        )  # 4 * 63 + 3 = 255
        self.assertEqual(
            ['tags of 257 characters in all'],
            found(given.tier('a', tags=(*tags, 'x'), fallback=True)),
        )

    def test_priorities_of_tagged_tiers_differ(self):
        self.assertEqual(
            ["tiers 'a' and 'b' both have priority 5"],
            found(
                given.tier('a', tags=('a',), priority=5, fallback=True),
                given.tier('b', tags=('b',), priority=5),
                given.tier('c', priority=5),
            ),
        )

    def test_names_of_volume_types_are_compared_without_case(self):
        self.assertEqual(
            [
                "tier 'A', but tier 'a' exists",
                "tier 'Image-Tier', but follow_image_types has 'image-tier'",
            ],
            found(
                given.tier('a', fallback=True),
                given.tier('A', rbd=given.rbd(pool='other')),
                given.tier('Image-Tier'),
            ),
        )

    @ddt.data(
        ((), []),
        (('ft', 'any'), []),
        (
            ('ft', 'FT', 'Ft'),
            [
                "follow_image_types has 'FT', but 'ft' exists",
                "follow_image_types has 'Ft', but 'ft' exists",
            ],
        ),
        # To MySQL and MariaDB, accents are no difference either.
        (
            ('café', 'cafe'),
            ["follow_image_types has 'cafe', but 'café' exists"],
        ),
        (('a - new',), ["follow_image_types has 'a - new'"]),
        (('x - retired 1',), ["follow_image_types has 'x - retired 1'"]),
        (
            ('x - retired 7c1f0a9e',),
            ["follow_image_types has 'x - retired 7c1f0a9e'"],
        ),
        (('x' * 236,), []),
        (
            ('x' * 237,),
            [
                'follow_image_types has a name of 237 characters, '
                f'{"x" * 237!r}'
            ],
        ),
        # Nobody gives these to a type.
        (('x - old', 'x - retired', ' - new', 'renewed - new one'), []),
    )
    @ddt.unpack
    def test_types_that_follow_the_image_are_different_ones(
        self, names, expected
    ):
        self.assertEqual(
            expected,
            found(given.tier('a', fallback=True), follow_image_types=names),
        )

    def test_an_unknown_cluster_suggests_the_near_one(self):
        (problem,) = catalog_rules.check(
            given.of(
                given.tier('a', fallback=True, rbd=given.rbd(cluster='cpeh'))
            )
        )
        self.assertEqual("unknown cluster 'cpeh'", problem.found)
        self.assertIn("did you mean 'ceph'?", problem.remedy)

    def test_a_pool_belongs_to_one_tier(self):
        coded = given.rbd(pool='x', protection=catalogs.ErasureCoded(k=2, m=1))
        self.assertEqual(
            [
                "pool 'x-data' of tier 'b' is also the pool of tier 'a'",
                "pool 'images' of tier 'c' is also the images_pool of the "
                'cluster',
            ],
            found(
                given.tier('a', fallback=True, rbd=coded),
                given.tier('b', rbd=given.rbd(pool='x-data')),
                given.tier('c', rbd=given.rbd(pool='images')),
                images_pool='images',
            ),
        )

    @ddt.data(
        (
            {
                'protection': catalogs.Replicated(
                    size=1, min_size=1, single_copy=True
                )
            },
        ),
        (
            {
                'protection': catalogs.ErasureCoded(
                    k=4, m=2, min_size=4, unprotected_writes=True
                )
            },
        ),
        ({'protection': catalogs.ErasureCoded(k=4, m=2, min_size=6)},),
    )
    @ddt.unpack
    def test_numbers_that_make_sense_together(self, changes):
        self.assertEqual(
            [],
            found(given.tier('a', fallback=True, rbd=given.rbd(**changes))),
        )

    @ddt.data(
        (
            {'protection': catalogs.Replicated(size=2, min_size=3)},
            'min_size 3 with size 2',
        ),
        (
            {'protection': catalogs.ErasureCoded(k=4, m=2, min_size=3)},
            'min_size 3 with k=4 and m=2',
        ),
        (
            {'protection': catalogs.Replicated(size=2, min_size=1)},
            'min_size 1 with size 2 and without unprotected_writes: true',
        ),
        (
            {'protection': catalogs.ErasureCoded(k=4, m=2, min_size=4)},
            'min_size 4 with k=4 and m=2 and without unprotected_writes: true',
        ),
        (
            {
                'protection': catalogs.Replicated(
                    size=3, min_size=2, unprotected_writes=True
                )
            },
            'min_size 2 with size 3 and with unprotected_writes: true',
        ),
        (
            {
                'protection': catalogs.Replicated(
                    size=3, unprotected_writes=True
                )
            },
            'no min_size with size 3 and with unprotected_writes: true',
        ),
        ({'protection': catalogs.ErasureCoded(k=2, m=3)}, 'm=3 with k=2'),
        ({'pg_num': 48}, 'pg_num 48'),
    )
    @ddt.unpack
    def test_numbers_must_make_sense_together(self, changes, expected):
        self.assertEqual(
            [expected],
            found(given.tier('a', fallback=True, rbd=given.rbd(**changes))),
        )

    def test_all_problems_come_at_once(self):
        # No fall-back, a tag twice, an odd pg_num, a pool twice.
        self.assertEqual(
            4,
            len(
                found(
                    given.tier('a', tags=('x', 'X')),
                    given.tier('b', rbd=given.rbd(pool='tier-a', pg_num=3)),
                )
            ),
        )
