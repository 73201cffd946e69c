# SPDX-License-Identifier: Apache-2.0

"""Which tier is recommended for a load, and when none is."""

import dataclasses
import json
import sys

import numpy
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.recommend import load as loads
from cinder_tiers.loop.recommend import recommendation
from tests.unit.figures import results

IOPS = comparison.Question(quantities=('iops',))
MARGIN = comparison.Question(quantities=('iops',), least_difference_percent=20)
PATTERNS = (
    fio_pattern.Pattern(name='rand-write', rw='randwrite', bs='4k', iodepth=8),
    fio_pattern.Pattern(name='seq-write', rw='write', bs='4k', iodepth=8),
    fio_pattern.Pattern(name='rand-read', rw='randread', bs='64k'),
    fio_pattern.Pattern(name='mix', rw='randrw', bs='8k', iodepth=4),
)
MANY_MS = (1,) * 1990 + (5,) * 10


#: Made once, for simulations.
SLOT = results.slot([1], clat_ms=MANY_MS)


def slot(iops):
    """A repeat with enough I/Os for p99."""
    return dataclasses.replace(
        SLOT,
        guests=(dataclasses.replace(SLOT.guests[0], iops=float(iops)),),
        merged=dataclasses.replace(SLOT.merged, iops=float(iops)),
    )


def run(tiers, *, nonce='0123456789abcdef'):
    """A run.

    :param tiers: {tier: {pattern: IOPS of each repeat}}
    """
    found = results.run(
        {
            tier: {
                name: [slot(each) for each in iops]
                for name, iops in patterns.items()
            }
            for tier, patterns in tiers.items()
        }
    )
    return dataclasses.replace(
        found,
        run=nonce,
        profile=dataclasses.replace(found.profile, patterns=PATTERNS),
    )


def load(name='rand-write', **changed):
    (pattern,) = [each for each in PATTERNS if each.name == name]
    return loads.of_pattern(
        dataclasses.replace(pattern, **changed), results.PROFILE.method
    )


def seen(**known):
    """A load of which only counters are known."""
    known = {
        'name': 'v',
        'read_percent': 0.0,
        'block_bytes': {'write': 4096.0},
        'in_flight': 8.0,
        **known,
    }
    return loads.Load(**known)


def recommended(found, wanted, question=IOPS, **about):
    """[(tier, standing) of each place], and the reason."""
    (each,) = recommendation.recommend(
        found, [wanted], question, **about
    ).recommendations
    return (
        [(place.tier, place.standing.value) for place in each.places],
        each.reason,
    )


class RecommendationTestCase(testtools.TestCase):
    """The truth is known."""

    def test_the_best_of_three_tiers(self):
        found, reason = recommended(
            [
                run(
                    {
                        'general': {'rand-write': (100, 102, 99, 101)},
                        'database': {'rand-write': (300, 303, 301, 305)},
                        'archive': {'rand-write': (50, 51, 50, 49)},
                    }
                )
            ],
            load(),
        )
        self.assertEqual(
            [
                ('database', 'recommended'),
                ('general', 'worse'),
                ('archive', 'worse'),
            ],
            found,
        )
        self.assertEqual('', reason)

    def test_tiers_without_a_relevant_difference_are_as_good(self):
        found, _ = recommended(
            [
                run(
                    {
                        'general': {'rand-write': (300, 304, 299, 303)},
                        'database': {'rand-write': (301, 303, 301, 305)},
                        'archive': {'rand-write': (50, 51, 50, 49)},
                    }
                )
            ],
            load(),
            MARGIN,
        )
        self.assertEqual(
            {
                'general': 'as good',
                'database': 'as good',
                'archive': 'worse',
            },
            dict(found),
        )

    def test_noise_is_no_recommendation(self):
        found, reason = recommended(
            [
                run(
                    {
                        'general': {'rand-write': (100, 150, 80)},
                        'database': {'rand-write': (120, 90, 170)},
                    }
                )
            ],
            load(),
        )
        self.assertEqual({'cannot tell'}, {each for _, each in found})
        self.assertIn('not known to be better than general', reason)

    def test_what_may_be_either_must_be_better_in_both(self):
        tiers = {
            'general': {
                'rand-write': (100, 101, 99, 100),
                'seq-write': (500, 504, 499, 502),
            },
            'database': {
                'rand-write': (300, 303, 301, 305),
                'seq-write': (250, 251, 249, 252),
            },
        }
        found, reason = recommended([run(tiers)], seen())
        self.assertEqual({'cannot tell'}, {each for _, each in found})
        self.assertNotEqual('', reason)
        self.assertEqual(
            ('database', 'recommended'),
            recommended([run(tiers)], load())[0][0],
        )

    def test_a_hot_part_is_not_the_very_same(self):
        hot = dataclasses.replace(PATTERNS[0], name='hot', size_mib=64)
        split = dataclasses.replace(
            PATTERNS[0], name='split', bs=None, bssplit='2k/50:6k/50'
        )
        equal = (100, 101, 99, 100)
        names = ('rand-write', 'hot', 'split')
        found = run(
            {
                'general': dict.fromkeys(names, equal),
                'database': {
                    'rand-write': (300, 303, 301, 305),
                    'hot': equal,
                    'split': equal,
                },
            }
        )
        found = dataclasses.replace(
            found,
            profile=dataclasses.replace(
                found.profile, patterns=(*PATTERNS, hot, split)
            ),
        )
        self.assertEqual(
            ('database', 'recommended'), recommended([found], load())[0][0]
        )
        # What was not measured as it is says what differs.
        (advice,) = recommendation.recommend(
            [found], [load(end_fsync=True)], IOPS
        ).recommendations
        self.assertIn(
            'rand-write: with fsync at the end, measured without',
            advice.nearly,
        )

    def test_what_is_only_spelled_otherwise_is_the_very_same(self):
        for one, other in (
            ({}, {'size_mib': results.PROFILE.method.region_mib}),
            ({'bs': '4k'}, {'bs': '4096'}),
            (
                {'bs': None, 'bsrange': '4k-8k'},
                {'bs': None, 'bsrange': '4096-8K'},
            ),
            (
                {'bs': None, 'bssplit': '4k/60:64k/40'},
                {'bs': None, 'bssplit': '64K/40:4096/60'},
            ),
            ({'bs': '4k'}, {'bs': None, 'bssplit': '4k/100'}),
            (
                {'rate_iops': 9},
                {'rate_iops': 9, 'rate_process': 'linear'},
            ),
        ):
            found = loads.compare(load(**one), load(**other))
            self.assertEqual((0.0, ()), (found.distance, found.others), other)

    def test_what_was_not_measured_is_not_recommended(self):
        for wanted in (load('rand-read'), load(bs='1m')):
            found, reason = recommended(
                [run({'a': {'rand-write': (1, 1)}, 'b': {}})], wanted
            )
            self.assertEqual([], found)
            self.assertIn('nothing like it was measured', reason)

    def test_tiers_of_several_runs(self):
        runs = [
            run(
                {name: {'rand-write': [rate, rate + 1, rate - 1]}},
                nonce=f'{name}{number}',
            )
            for name, rate in (('general', 100), ('database', 300))
            for number in range(3)
        ]
        self.assertEqual(
            [('database', 'recommended'), ('general', 'worse')],
            recommended(runs, load())[0],
        )

    def test_tiers_that_are_in_the_same_runs_are_compared_within_them(self):
        """What a whole run has in common, such as a neighbour, is in none."""
        runs = [
            run(
                {
                    'general': {'rand-write': (100 * factor, 102 * factor)},
                    'database': {'rand-write': (130 * factor, 128 * factor)},
                },
                nonce=f'run{factor}',
            )
            for factor in (1, 3, 2, 5)
        ]
        self.assertEqual(
            [('database', 'recommended'), ('general', 'worse')],
            recommended(runs, load())[0],
        )

    def test_the_same_name_of_another_pattern_is_not_like_it(self):
        one = run({'a': {'rand-write': (100, 101)}}, nonce='one')
        other = run({'b': {'rand-write': (100, 101)}}, nonce='other')
        other = dataclasses.replace(
            other,
            profile=dataclasses.replace(
                other.profile,
                patterns=(dataclasses.replace(PATTERNS[0], bs='1m'),),
            ),
        )
        self.assertEqual([], recommended([one, other], load())[0])

    def test_many_loads_share_what_is_the_same_for_all(self):
        """Days of looks have some 100,000 loads."""
        read = []

        def count(frame, event, _):
            if event == 'call' and frame.f_code is loads.of_pattern.__code__:
                read.append(frame)

        runs = [run(MovesTestCase.RUN, nonce=nonce) for nonce in 'abc']
        wanted = [seen(in_flight=5 + number / 10) for number in range(50)]
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            found = recommendation.recommend(runs, wanted, IOPS)
        finally:
            sys.setprofile(before)
        self.assertEqual(2, len(read))
        first, *others = found.recommendations
        self.assertEqual(('rand-write', 'seq-write'), first.patterns)
        self.assertNotEqual(first.nearly, others[0].nearly)
        for each in others:
            self.assertIs(first.places, each.places)
            self.assertIs(first.pairs, each.pairs)

    def test_tiers_of_another_file_are_left_out(self):
        found = run({'a': {'rand-write': (1, 2)}, 'b': {'rand-write': (3, 4)}})
        self.assertRaises(
            comparison.ComparisonError,
            recommended,
            [found],
            load(),
            tiers={'a'},
        )

    def test_four_equal_tiers_are_rarely_told_apart(self):
        """Of 200 runs on tiers that do not differ, at most 5 % recommend."""
        draw = numpy.random.default_rng(15)
        wrong = 0
        for _ in range(200):
            noise = numpy.exp(draw.normal(0, 0.1, (4, 5)))
            found, _ = recommended(
                [
                    run(
                        {
                            f't{tier}': {'rand-write': tuple(1000 * repeats)}
                            for tier, repeats in enumerate(noise)
                        }
                    )
                ],
                load(),
            )
            wrong += any(each == 'recommended' for _, each in found)
        # Twice the standard error of 5 % above it.
        self.assertLessEqual(
            wrong, 200 * 0.05 + 2 * (200 * 0.05 * 0.95) ** 0.5
        )

    def test_the_fastest_of_four_is_found(self):
        """Twice the IOPS at 10 % noise: in at least 90 % of 50 runs."""
        draw = numpy.random.default_rng(16)
        right = 0
        for _ in range(50):
            noise = numpy.exp(draw.normal(0, 0.1, (4, 5)))
            noise[2] *= 2
            found, _ = recommended(
                [
                    run(
                        {
                            f't{tier}': {'rand-write': tuple(1000 * repeats)}
                            for tier, repeats in enumerate(noise)
                        }
                    )
                ],
                load(),
            )
            right += found[0] == ('t2', 'recommended')
        self.assertGreaterEqual(right, 45)


class MovesTestCase(testtools.TestCase):
    RUN = {
        'general': {
            'rand-write': (100, 101, 99, 100),
            'seq-write': (200, 203, 201, 202),
        },
        'database': {
            'rand-write': (300, 303, 301, 305),
            'seq-write': (250, 251, 249, 252),
        },
    }

    def test_volumes_where_they_are(self):
        wanted = [
            seen(name='slow'),
            seen(name='fast'),
            seen(name='reader', read_percent=100, block_bytes={'read': 4096}),
            seen(name='elsewhere'),
            seen(name='new'),
            seen(name='anywhere'),
        ]
        advice = recommendation.recommend([run(self.RUN)], wanted, IOPS)
        found = recommendation.moves(
            advice,
            {
                'slow': ['general'],
                'fast': ['database'],
                'reader': ['general'],
                'elsewhere': [],
                'new': ['another'],
                'sleeper': ['general'],
                'anywhere': ['database', 'general'],
            },
        )
        self.assertEqual(
            [
                ('wrong tier', 'database'),
                ('right tier', None),
                ('cannot tell', None),
                ('cannot tell', None),
                ('cannot tell', None),
                ('idle', None),
                ('cannot tell', None),
            ],
            [(each.placing.value, each.to) for each in found],
        )
        gains = [claim.difference_percent for claim in found[0].claims]
        self.assertEqual(2, len(gains))
        self.assertAlmostEqual(200, gains[0], delta=5)
        self.assertAlmostEqual(25, gains[1], delta=3)
        for each in found[2:5]:
            self.assertNotEqual('', each.reason)

    def test_a_claim_the_other_way_round(self):
        (claim,) = comparison.pairs_of_tiers(
            [run(self.RUN)], IOPS, patterns={'rand-write'}
        ).claims
        back = claim.reversed
        self.assertEqual(
            ('better', 'worse'),
            (
                claim.finding.value,
                back.finding.value,
            ),
        )
        self.assertAlmostEqual(
            1, (1 + claim.low_percent / 100) * (1 + back.high_percent / 100)
        )
        self.assertLess(back.low_percent, back.difference_percent)
        self.assertEqual(
            dataclasses.replace(
                claim, difference_percent=0, low_percent=0, high_percent=0
            ),
            dataclasses.replace(
                back.reversed,
                difference_percent=0,
                low_percent=0,
                high_percent=0,
            ),
        )


def image(**changed):
    """An entry of rbd perf image iostat, as Ceph writes it."""
    return {
        'pool': 'tier-general',
        'pool_namespace': '',
        'image': 'volume-1',
        'write_ops': 400.0,
        'read_ops': 100.0,
        'write_bytes': 400 * 8192.0,
        'read_bytes': 100 * 4096.0,
        'write_latency': 15e6,
        'read_latency': 20e6,
        **changed,
    }


def disk(**changed):
    return {
        'read_bytes': 4096 * 1000,
        'read_requests': 1000,
        'write_bytes': 8192 * 3000,
        'write_requests': 3000,
        'errors_count': 0,
        **changed,
    }


def diagnostics(uptime=100, disks=None):
    return json.dumps(
        {
            'uptime': uptime,
            'disk_details': disks or [disk()],
            'state': 'running',
        }
    ).encode()
