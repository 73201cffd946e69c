# SPDX-License-Identifier: Apache-2.0

"""The task files of papers on the lab: what came out, beside each other.

In the size ``smoke`` with ``check_claims``: a task fails if what its paper
found is shown not to hold.  For each pattern it prints what the tier did, and
how many times that is of what the same profile's first pattern did: the shape
that ``doc/source/user/tasks.rst`` has beside that of the paper.
``CINDER_TIERS_TEST_PAPERS`` names some of them, separated by commas, and
``CINDER_TIERS_TEST_SIZE`` another size.
"""

import json
import os

import ddt

from rally_scenarios.bench.result import result as run_result
from tests.functional import lab
from tests.functional import test_measurement

PAPERS = tuple(
    os.environ.get(
        'CINDER_TIERS_TEST_PAPERS',
        'lin2013,idcf2014,ornl2013,poat2016,meyer2016',
    ).split(',')
)
SIZE = os.environ.get('CINDER_TIERS_TEST_SIZE', 'smoke')
MINUTES = 120


def shape(result):
    """Lines: each pattern, and how many times the first one it is."""
    for tier in result.tiers:
        first = None
        for pattern in tier.patterns:
            if pattern.iops is None:
                yield f'  {tier.tier:<10} {pattern.pattern:<24} no figure'
                continue
            mib = pattern.bw_bytes.mean / 2**20
            first = first or (pattern.iops.mean, mib)
            yield (
                f'  {tier.tier:<10} {pattern.pattern:<24}'
                f' {pattern.iops.mean:>9.1f} IOPS {mib:>8.2f} MiB/s'
                f' x {pattern.iops.mean / first[0]:.2f} IOPS'
                f' x {mib / first[1]:.2f} MiB/s of the first'
            )


@ddt.ddt
class PapersTest(test_measurement.MeasurementCase):
    @ddt.data(*PAPERS)
    def test_what_the_paper_found_is_not_shown_to_be_wrong(self, name):
        results = self.folder / 'results'
        arguments = {'size': SIZE, 'result_folder': str(results)}
        if name != 'meyer2016':
            arguments['check_claims'] = True
        try:
            self.run_command(
                'rally',
                'task',
                'start',
                str(
                    lab.REPOSITORY
                    / 'rally_scenarios'
                    / 'tasks'
                    / f'{name}.yaml'
                ),
                '--task-args',
                json.dumps(arguments),
                timeout_s=60 * MINUTES,
            )
        finally:
            for path in sorted(results.glob('*.json')):
                result = run_result.read(path.read_bytes())
                print(f'\n{name}: {result.profile.name}')
                print('\n'.join(shape(result)), flush=True)
