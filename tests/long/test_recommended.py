# SPDX-License-Identifier: Apache-2.0

"""A recommendation of what Ceph says of volumes, carried out and taken back.

Clients write to volumes of the lab, and are looked at several times.
"""

import copy
import json
import os
import pathlib
import signal
import subprocess
import time

import fixtures

from tests.functional import lab
from tests.functional import volumes

LOOKS = 3
#: Ceph's manager tells of the seconds before.
BETWEEN_LOOKS_S = 10
CASE = (
    lab.REPOSITORY / 'tests' / 'cases' / 'results' / 'written-2026-11-26.json'
)
#: Of a guest with 16 I/Os in flight, as the result has it.
IOPS = {'database': 1000, 'general': 150}
REPEATS = 4


def measured():
    """A result in which one tier is better, by four steady repeats."""
    found = json.loads(CASE.read_text())
    found['profile']['repeats'] = REPEATS
    for place, tier in enumerate(found['tiers']):
        iops = IOPS[tier['tier']]
        for pattern in tier['patterns']:
            (slot, *_) = pattern['slots']
            pattern['slots'] = []
            for repeat in range(REPEATS):
                made = copy.deepcopy(slot)
                made['number'] = len(found['tiers']) * repeat + place
                made['repeat'] = repeat + 1
                made['merged']['iops'] = float(iops + repeat)
                pattern['slots'].append(made)
            pattern['complete_repeats'] = REPEATS
    return json.dumps(found)


class RecommendedTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.result = self.folder / 'run.json'
        self.result.write_text(measured())

    def write_to(self, tier, volume):
        """Begin to write to a volume; return what ends that.

        With a cache, Ceph would see more I/Os in flight than the client has.
        """
        self.run_command(
            *('rbd', 'config', 'image', 'set'),
            *(f'tier-{tier}/volume-{volume}', 'rbd_cache', 'false'),
        )
        client = subprocess.Popen(
            ('fio', '--name=load', '--ioengine=rbd', '--clientname=admin')
            + (f'--pool=tier-{tier}', f'--rbdname=volume-{volume}')
            + ('--size=64m', '--rw=randwrite', '--bs=4k', '--iodepth=16')
            + ('--time_based', '--runtime=36000'),
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            env=self.environment,
            start_new_session=True,
        )
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)

        def end():
            os.killpg(client.pid, signal.SIGKILL)
            client.wait()

        return end

    def assert_places(self, tier, sums):
        for volume, before in sums.items():
            self.assertEqual(
                ('available', tier, f'tier-{tier}'), self.place_of(volume)
            )
            self.assertEqual(before, self.sum_of(tier, volume))

    def test_from_looks_to_the_better_tier_and_back(self):
        wrong = [self.make_volume(volume_type='general').id for _ in range(2)]
        (right,) = (
            self.make_volume(volume_type='database').id for _ in range(1)
        )
        ends = [
            *(self.write_to('general', one) for one in wrong),
            self.write_to('database', right),
        ]
        looks = self.folder / 'looks.json'
        for _ in range(LOOKS):
            time.sleep(BETWEEN_LOOKS_S)
            with looks.open('a') as file:
                for tier in ('general', 'database'):
                    said, _ = self.run_command(
                        *('rbd', 'perf', 'image', 'iostat'),
                        *('--format', 'json', f'tier-{tier}'),
                    )
                    file.write(said)
        for end in ends:
            end()
        moves, record = (str(self.folder / one) for one in ('m', 'r'))
        found = self.ask(
            *('openstack', 'tier', 'recommend', str(self.result)),
            *('--quantity', 'iops', '--volumes', str(looks), '--out', moves),
            expect=4,
        )
        self.assertEqual(
            {
                **{
                    f'tier-general/volume-{one}': 'wrong tier' for one in wrong
                },
                f'tier-database/volume-{right}': 'right tier',
            },
            {row['Volume']: row['Finding'] for row in found},
        )
        # The load of a few seconds need not be what it is on average.
        seen = f'seen in [2-{LOOKS}] of {LOOKS} looks with load, and in none'
        for row in found:
            self.assertRegex(row['Reason'], seen)
        sums = {one: self.sum_of('general', one) for one in wrong}
        rows = self.ask(
            *('openstack', 'tier', 'repair', moves, '--yes'),
            *('--record', record),
        )
        self.assertEqual(
            dict.fromkeys(wrong, 'done'),
            {row['Volume']: row['Outcome'] for row in rows},
        )
        self.assertRegex(pathlib.Path(record).read_text(), seen)
        self.assert_places('database', sums)
        rows = self.ask(
            *('openstack', 'tier', 'repair', '--undo', record, '--yes')
        )
        self.assertEqual(
            dict.fromkeys(wrong, 'done'),
            {row['Volume']: row['Outcome'] for row in rows},
        )
        self.assert_places('general', sums)
