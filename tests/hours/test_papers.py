# SPDX-License-Identifier: Apache-2.0

"""The task files of papers on the lab: what came out, beside each other.

In the size ``smoke`` with ``check_claims``: a task fails if what its paper
found is shown not to hold.  For each pattern it prints what the tier did, from
the least to the most of its repeats, and how many times their mean is that of
the first pattern of the same profile: the shape that
``doc/source/contributor/papers.rst`` has beside that of the paper.  The
placements of poat2016 are the tiers ``database`` and ``general``, which share
no disk.
``CINDER_TIERS_TEST_PAPERS`` names some of them, separated by commas, and
``CINDER_TIERS_TEST_SIZE`` another size.
"""

import json
import os
import time

import ddt

from cinder_tiers.figures.result import result as run_result
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
#: Besides the size and the claims.
ARGUMENTS = {
    'poat2016': {
        'fleets': [
            {'tier': 'database', 'image': 'cinder-tiers-guest-database'},
            {'tier': 'general', 'image': 'cinder-tiers-guest'},
        ],
        'side_by_side': True,
    },
}
POOL = 'tier-general'
RECOVERY_S = 600


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
            repeats = [
                slot.merged.iops
                for slot in pattern.slots
                if slot.merged is not None
            ]
            yield (
                f'  {tier.tier:<10} {pattern.pattern:<24}'
                f' {pattern.iops.mean:>9.1f} IOPS'
                f' ({min(repeats):.1f} to {max(repeats):.1f})'
                f' {mib:>8.2f} MiB/s'
                f' x {pattern.iops.mean / first[0]:.2f} IOPS'
                f' x {mib / first[1]:.2f} MiB/s of the first'
            )


class PaperCase(test_measurement.MeasurementCase):
    """Starts the task of a paper and prints what came out."""

    def start_paper(self, name, results, **arguments):
        """Run it; the result files are in the folder `results`."""
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
                json.dumps(
                    {
                        'size': SIZE,
                        'result_folder': str(results),
                        **ARGUMENTS.get(name, {}),
                        **arguments,
                    }
                ),
                timeout_s=60 * MINUTES,
            )
        finally:
            for path in sorted(results.glob('*.json')):
                result = run_result.read(path.read_bytes())
                print(f'\n{name}: {result.profile.name}')
                print('\n'.join(shape(result)), flush=True)


@ddt.ddt
class PapersTest(PaperCase):
    @ddt.data(*PAPERS)
    def test_what_the_paper_found_is_not_shown_to_be_wrong(self, name):
        # What meyer2016 found is of its sweep: the task itself has no claims.
        claims = {} if name == 'meyer2016' else {'check_claims': True}
        self.start_paper(name, self.folder / 'results', **claims)


class CopiesTest(PaperCase):
    """idcf2014 with three copies and with two, on the same disks."""

    def test_two_copies_write_more_than_three(self):
        # Each run is one observation: three of each, in turn.
        for copies in (3, 2) * 3:
            self.set_copies(copies)
            self.start_paper(
                'idcf2014',
                self.folder / str(copies),
                guest_steps=[4],
                replicas=copies,
                repeats=2,
            )
        found = self.ask(
            *('openstack', 'tier', 'compare'),
            *(str(self.folder / '3'), str(self.folder / '2')),
            *('--direction', 'write', '--quantity', 'iops'),
        )
        print(json.dumps(found, indent=1), flush=True)
        findings = {row['Pattern']: row['Finding'] for row in found}
        for pattern in ('randwrite-4k.g4', 'randrw-16k-r10.g4'):
            self.assertEqual('better', findings[pattern], pattern)

    def set_copies(self, copies):
        """Give the pool this size until the test ends; wait for recovery."""
        (before,) = [
            pool['size']
            for pool in self.ask('ceph', 'osd', 'pool', 'ls', 'detail')
            if pool['pool_name'] == POOL
        ]
        if copies == before:
            return
        self.addCleanup(self.wait_for_recovery)
        setting = ('ceph', 'osd', 'pool', 'set', POOL, 'size')
        self.addCleanup(self.run_command, *setting, str(before))
        self.run_command(*setting, str(copies))
        self.wait_for_recovery()

    def wait_for_recovery(self):
        deadline = time.monotonic() + RECOVERY_S
        while True:
            states = self.ask('ceph', 'pg', 'stat')['pg_summary'][
                'num_pg_by_state'
            ]
            if all(one['name'].startswith('active+clean') for one in states):
                return
            self.assertLess(time.monotonic(), deadline, states)
            time.sleep(1)
