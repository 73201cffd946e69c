# SPDX-License-Identifier: Apache-2.0

"""Tiers against themselves, on real guests: nothing is claimed.

``CINDER_TIERS_TEST_RUNS`` says how many fleets there are, two by default.  A
fleet has eleven measurements of two repeats of sixteen patterns of two tiers
that share no disk, one of them throttled, side by side.  Each three
measurements of a tier are compared with the next three as ``tier compare``
compares runs, all patterns together: 12 comparisons of a fleet, which takes 36
minutes.
"""

import dataclasses
import json
import os

from benchmarks import self_comparison
from cinder_tiers.figures.result import result as run_result
from tests.functional import test_measurement

RUNS = int(os.environ.get('CINDER_TIERS_TEST_RUNS', '2'))
IMAGES = {
    'database': 'cinder-tiers-guest-database',
    'general': 'cinder-tiers-guest',
}
MEASUREMENTS = 11
REPEATS = 2
MINUTES = 90
PATTERNS = [
    {'name': f'{rw}-{bs}-qd{iodepth}', 'rw': rw, 'bs': bs, 'iodepth': iodepth}
    for rw in ('randwrite', 'randread', 'write', 'read')
    for bs in ('4k', '16k')
    for iodepth in (1, 4)
]
#: All but one in twenty may claim nothing.
LEAST_SHARE = 0.95


class SelfComparisonTest(test_measurement.MeasurementCase):
    def test_comparisons_of_a_tier_with_itself_claim_nothing(self):
        results = self.folder / 'results'
        task = self.folder / 'task.json'
        task.write_text(
            json.dumps(
                {
                    'version': 2,
                    'title': 'A tier against itself',
                    'subtasks': [
                        {
                            'title': 'Sixteen patterns',
                            'scenario': {
                                'CinderTiers.fleet_fio': self.arguments(
                                    results
                                )
                            },
                            'contexts': {
                                'users': {'tenants': 1, 'users_per_tenant': 1},
                                'cinder_tiers_start_signal': {
                                    'extra_specs': {
                                        'volume_backend_name': 'tier-database'
                                    }
                                },
                            },
                        }
                    ],
                }
            )
        )
        nothing, compared = 0, 0
        for number in range(1, RUNS + 1):
            self.run_command(
                'rally', 'task', 'start', str(task), timeout_s=60 * MINUTES
            )
            (path,) = results.glob('*.json')
            result = run_result.read(path.read_bytes())
            path.unlink()
            for tier in result.tiers:
                of_tier, pairs, claims = self_comparison.claim_nothing(
                    dataclasses.replace(result, tiers=(tier,)), MEASUREMENTS
                )
                nothing += of_tier
                compared += pairs
                print(
                    f'fleet {number}, {tier.tier}: {of_tier} of {pairs}'
                    f' comparisons of {claims} claims together claim nothing',
                    flush=True,
                )
        self.assertGreaterEqual(nothing, LEAST_SHARE * compared)

    def arguments(self, results):
        return {
            'fleets': [
                {'tier': tier, 'image': image}
                for tier, image in IMAGES.items()
            ],
            'side_by_side': True,
            'flavor': {'name': 'cinder-tiers-guest'},
            'guests_per_tier': 1,
            'patterns': PATTERNS,
            'region_mib': 16,
            'ramp_seconds': 1,
            'runtime_seconds': 2,
            'gap_seconds': 3,
            'late_after_ms': test_measurement.LATE_AFTER_MS,
            'repeats': MEASUREMENTS * REPEATS,
            'result_folder': str(results),
        }
