# SPDX-License-Identifier: Apache-2.0

"""A throttled tier against itself, on real guests: nothing is claimed.

``CINDER_TIERS_TEST_RUNS`` says how many fleets there are, 14 by default.  Each
has four measurements of two repeats of sixteen patterns, and each measurement
is compared with the next one as ``tier compare`` does, all patterns together:
42 comparisons.  A fleet takes a quarter of an hour.
"""

import json
import os

from benchmarks import self_comparison
from rally_scenarios.bench.result import result as run_result
from tests.functional import test_measurement

RUNS = int(os.environ.get('CINDER_TIERS_TEST_RUNS', '14'))
MEASUREMENTS = 4
REPEATS = 2
MINUTES = 45
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
            of_run, pairs, claims = self_comparison.claim_nothing(
                result, MEASUREMENTS
            )
            nothing += of_run
            compared += pairs
            print(
                f'fleet {number}: {nothing} of {compared} comparisons of'
                f' {claims} claims together claim nothing',
                flush=True,
            )
        self.assertGreaterEqual(nothing, LEAST_SHARE * compared)

    def arguments(self, results):
        return {
            'fleets': [{'tier': 'general', 'image': 'cinder-tiers-guest'}],
            'flavor': {'name': 'cinder-tiers-guest'},
            'guests_per_tier': 2,
            'patterns': PATTERNS,
            'region_mib': 16,
            'ramp_seconds': 1,
            'runtime_seconds': 2,
            'gap_seconds': 4,
            'late_after_ms': test_measurement.LATE_AFTER_MS,
            'repeats': MEASUREMENTS * REPEATS,
            'result_folder': str(results),
        }
