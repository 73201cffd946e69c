# SPDX-License-Identifier: Apache-2.0

"""What is claimed of the treatments of a sweep."""

import dataclasses

import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.sweep import effects
from tests.unit.figures import results

#: Enough I/Os for p99.
MANY_MS = (1,) * 1990 + (5,) * 10
IOPS_ONLY = comparison.Question(quantities=('iops',))
EACH = comparison.Question(quantities=effects.QUANTITIES)


def run(iops, *, about=None, pattern=None, **slot):
    """A run of one tier and one repeat, as a slot of a sweep has it.

    :param pattern: fields of the pattern that are not those of PROFILE
    """
    slot.setdefault('clat_ms', MANY_MS)
    found = results.run({'database': {'x': [results.slot([iops], **slot)]}})
    profile = dataclasses.replace(
        results.PROFILE,
        patterns=(
            fio_pattern.Pattern(
                **{'name': 'x', 'rw': 'read', 'bs': '4k', **(pattern or {})}
            ),
        ),
    )
    return dataclasses.replace(
        found, profile=named_profile.from_profile(profile), **(about or {})
    )


def swept(**runs):
    """A sweep.

    :param runs: {treatment: a run of each block; None or a verdict with its
        reason where there is no run}
    """
    slots = []
    for name, of_blocks in runs.items():
        for block, found in enumerate(of_blocks, 1):
            verdict, reason = effects.SlotVerdict.SOUND, ''
            if isinstance(found, tuple):
                verdict, reason = found
                found = None
            slots.append(
                effects.ReachedSlot(
                    number=len(slots) + 1,
                    block=block,
                    treatment=name,
                    verdict=verdict,
                    reason=reason,
                    run=found,
                )
            )
    return effects.Swept(
        tier='database',
        default='default',
        treatments={name: frozenset() for name in runs if name != 'default'},
        blocks=max(map(len, runs.values())),
        slots=tuple(slots),
    )


def runs(*iops, **about):
    return [run(each, **about) for each in iops]


class EffectsTestCase(testtools.TestCase):
    def claim(self, found):
        (claim,) = found.comparison.claims
        return claim

    def test_what_a_block_has_in_common_is_in_no_effect(self):
        # Each block is twice as fast as the one before.
        found = effects.of_sweep(
            swept(
                default=runs(100, 200, 400, 800),
                half=runs(50.2, 99.5, 201, 398),
            ),
            IOPS_ONLY,
        )
        claim = self.claim(found)
        self.assertEqual(
            ('half', 'worse', 4, True),
            (
                claim.side,
                claim.finding.value,
                claim.repeats,
                claim.is_paired,
            ),
        )
        self.assertAlmostEqual(
            50, effects.in_hundreds(claim.difference_percent), delta=0.2
        )
        self.assertEqual(
            'paired t within blocks, 4 blocks, 1 claim', claim.reason
        )

    def test_blocks_are_paired_by_their_number(self):
        """A block that has no default, or no treatment, pairs with none."""
        failed = (effects.SlotVerdict.NO_RESULT, 'the command ended with 1')
        found = effects.of_sweep(
            swept(
                default=[failed, *runs(200, 400, 800, 1600)],
                x=[*runs(101, 202), failed, *runs(808, 1616)],
            ),
            IOPS_ONLY,
        )
        claim = self.claim(found)
        self.assertEqual(3, claim.repeats)
        self.assertAlmostEqual(1.0, claim.difference_percent)
        self.assertEqual(
            (
                'block 1 of default is not used: no sound result: the command'
                ' ended with 1',
                'block 3 of x is not used: no sound result: the command ended'
                ' with 1',
            ),
            found.left_out,
        )

    def test_a_block_without_complete_guests_is_not_used(self):
        lost = results.run({'database': {'x': [results.slot([], without=1)]}})
        lost = dataclasses.replace(lost, profile=run(1).profile)
        found = effects.of_sweep(
            swept(
                default=runs(100, 200, 400),
                x=[*runs(100, 200), lost],
            ),
            IOPS_ONLY,
        )
        self.assertEqual(2, self.claim(found).repeats)
        found = effects.of_sweep(
            swept(default=runs(100, 200), x=[*runs(100), lost]), IOPS_ONLY
        )
        claim = self.claim(found)
        self.assertEqual('cannot tell', claim.finding.value)
        self.assertIn('1 of 2 blocks can be used', claim.reason)

    def test_too_few_blocks_say_how_many_would_do(self):
        claim = self.claim(
            effects.of_sweep(
                swept(default=runs(100, 110, 95), x=runs(103, 99, 104)),
                IOPS_ONLY,
            )
        )
        self.assertEqual('cannot tell', claim.finding.value)
        self.assertEqual(
            f'to see 10 %, {claim.repeats_needed} blocks are needed; paired t'
            ' within blocks, 3 blocks, 1 claim',
            claim.reason,
        )
        self.assertGreater(claim.repeats_needed, 3)

    def test_a_difference_within_one_bucket_of_fio_is_none(self):
        def of(ms):
            return [run(100, clat_ms=(ms,) * 2000) for _block in range(9)]

        question = comparison.Question(quantities=('p99_ms',))
        for slower, expected in ((1.01, 'cannot tell'), (1.05, 'worse')):
            claim = self.claim(
                effects.of_sweep(
                    swept(default=of(1.0), x=of(slower)), question
                )
            )
            self.assertEqual(expected, claim.finding.value, slower)

    def test_claims_of_all_treatments_are_corrected_together(self):
        default = runs(100, 101, 99, 100)
        # 0.03 as the only claim.
        maybe = runs(102, 104.5, 100.5, 104)
        alone = effects.of_sweep(
            swept(default=default, maybe=maybe), IOPS_ONLY
        )
        self.assertEqual('better', self.claim(alone).finding.value)
        many = effects.of_sweep(
            swept(
                default=default,
                maybe=maybe,
                **{f'x{number}': default for number in range(3)},
            ),
            IOPS_ONLY,
        )
        claim = many.comparison.claims[0]
        self.assertEqual('maybe', claim.side)
        self.assertEqual('cannot tell', claim.finding.value)
        self.assertAlmostEqual(
            4 * self.claim(alone).probability, claim.probability
        )

    def test_a_treatment_that_was_not_in_effect_has_no_figure(self):
        gone = (effects.SlotVerdict.NOT_IN_EFFECT, 'osd.3 has 1, not 4')
        changed = (effects.SlotVerdict.CHANGED, 'osd.3 has 1, not 4')
        found = effects.of_sweep(
            swept(
                default=runs(100, 101),
                ignored=[gone, gone],
                lost=[changed, gone],
                undone=[changed, changed],
                x=runs(100, 101),
            ),
            IOPS_ONLY,
        )
        self.assertEqual({'x'}, {one.side for one in found.comparison.claims})
        self.assertEqual(
            [
                ('ignored', 'not in effect', 'osd.3 has 1, not 4'),
                ('lost', 'not in effect', 'osd.3 has 1, not 4'),
                (
                    'undone',
                    'changed while it was measured',
                    'osd.3 has 1, not 4',
                ),
            ],
            [
                (one.treatment, one.verdict.value, one.reason)
                for one in found.unmeasured
            ],
        )

    def test_a_sweep_of_which_nothing_was_in_effect_has_no_claims(self):
        gone = (effects.SlotVerdict.NOT_IN_EFFECT, 'it is not')
        found = effects.of_sweep(swept(default=runs(100), x=[gone]), IOPS_ONLY)
        self.assertEqual((), found.comparison.claims)
        self.assertEqual(1, len(found.unmeasured))

    def test_without_a_default_nothing_is_compared(self):
        error = self.assertRaises(
            comparison.ComparisonError,
            effects.of_sweep,
            swept(
                default=[(effects.SlotVerdict.NO_RESULT, 'failed')],
                x=runs(100),
            ),
            IOPS_ONLY,
        )
        self.assertIn('no slot of default', str(error))

    def test_each_figure_is_claimed_once(self):
        def quantities(**about):
            found = effects.of_sweep(
                swept(
                    default=runs(100, 101, **about), x=runs(100, 101, **about)
                ),
                EACH,
            )
            return [one.quantity for one in found.comparison.claims]

        self.assertEqual(['iops', 'p50_ms', 'p99_ms'], quantities())
        self.assertEqual(
            ['iops', 'mib_per_s', 'p50_ms', 'p99_ms'],
            quantities(pattern={'bs': None, 'bsrange': '4k-64k'}),
        )
        both = {
            way: results.direction(50, MANY_MS) for way in ('read', 'write')
        }
        self.assertEqual(
            [
                *('iops', 'p50_ms', 'p99_ms'),
                *('read_iops', 'write_iops'),
                *('read_p50_ms', 'write_p50_ms'),
                *('read_p99_ms', 'write_p99_ms'),
            ],
            quantities(pattern={'rw': 'randrw'}, directions=both),
        )

    def test_a_guest_option_may_change_its_field_of_the_pattern_only(self):
        def found(varied, **pattern):
            sweep = swept(
                default=runs(100, 101, 100),
                deep=runs(200, 203, 200, pattern=pattern),
            )
            return self.claim(
                effects.of_sweep(
                    dataclasses.replace(
                        sweep, treatments={'deep': frozenset(varied)}
                    ),
                    IOPS_ONLY,
                )
            )

        claim = found({'iodepth'}, iodepth=16)
        self.assertAlmostEqual(100, claim.difference_percent, delta=1)
        claim = found({'iodepth'}, iodepth=16, bs='8k')
        self.assertEqual('not compared', claim.finding.value)
        self.assertIn('bs 4k in run', claim.reason)
        self.assertNotIn('iodepth', claim.reason)
        claim = found(set(), iodepth=16)
        self.assertIn('iodepth 1 in run', claim.reason)

    def test_another_block_size_has_an_effect_on_bandwidth(self):
        sweep = swept(
            default=runs(100, 101, 99),
            large=runs(100, 101, 99, pattern={'bs': '64k'}, bw_bytes=2**24),
        )
        found = effects.of_sweep(
            dataclasses.replace(
                sweep, treatments={'large': frozenset({'bs'})}
            ),
            comparison.Question(quantities=('iops', 'mib_per_s')),
        )
        self.assertEqual(
            [('iops', 0.0), ('mib_per_s', 1500.0)],
            [
                (one.quantity, round(one.difference_percent, 6))
                for one in found.comparison.claims
            ],
        )

    def test_what_else_was_not_the_same_is_said_before(self):
        found = effects.of_sweep(
            swept(
                default=[
                    *runs(100, 101),
                    run(100, about={'guests_per_tier': 2}),
                ],
                x=runs(100, 101, 100),
            ),
            IOPS_ONLY,
        )
        self.assertEqual(
            (
                'default: guests per tier: 1 in block 1, 2 in block 3',
                'x: guests per tier: 2 by default, 1 with the treatment',
            ),
            found.comparison.circumstances,
        )

    def test_a_tier_that_is_not_in_all_runs(self):
        sweep = swept(default=runs(100, 101), x=runs(100, 101))
        error = self.assertRaises(
            comparison.ComparisonError,
            effects.of_sweep,
            sweep,
            IOPS_ONLY,
            tiers=['other'],
        )
        self.assertIn("x: tier 'other' is not in all runs", str(error))
