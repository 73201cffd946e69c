# SPDX-License-Identifier: Apache-2.0

"""`tier apply`, killed anywhere, is finished by the next one."""

import collections
import copy
import pathlib
import random
import time

import fixtures
from testtools import content as details
import yaml

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe import for_plan as world
from tests.functional import commands
from tests.functional import lab
from tests.functional import tier_objects

#: It is killed after each action of so many; tests/long kills after each.
ACTIONS_FOR_A_KILL = 8
#: Where it only changes what is there, after so many, at most.
CHANGES_FOR_A_KILL = 3
#: How often it is killed in the middle of an action.
RANDOM_KILLS = 1

Reported = collections.namedtuple('Reported', 'status seconds')


class KilledApplyTest(tier_objects.TierObjectsTestCase):
    actions_for_a_kill = ACTIONS_FOR_A_KILL
    random_kills = RANDOM_KILLS

    def setUp(self):
        super().setUp()
        text = pathlib.Path(
            self.environment['CINDER_TIERS_CATALOG']
        ).read_text()
        declared = yaml.safe_load(text)
        member = lab.connect(self.environment, lab.MEMBER)
        self.addCleanup(member.close)
        declared['follow_image_types'].append(f'{self.mark}-image')
        declared['tiers'].update(self.tiers(member.current_project_id))
        self.path = str(
            pathlib.Path(
                self.useFixture(fixtures.TempDir()).path, 'tiers.yaml'
            )
        )
        self.declare(declared)

    def declare(self, content):
        self.content = content
        pathlib.Path(self.path).write_text(
            yaml.safe_dump(content, sort_keys=False)
        )
        self.catalog = reader.read_file(self.path)

    def declare_other_values(self):
        """Change a value in each object that can be changed."""
        changed = copy.deepcopy(self.content)
        fast, cold = (
            changed['tiers'][f'{self.mark}-{name}']
            for name in ('fast', 'cold')
        )
        fast.update(
            description='changed',
            priority=97,
            access='public',
            quotas={'volumes': 20, 'gigabytes': 200},
            qos={'front_end': {'total_iops_sec': 600}},
        )
        fast['rbd'].update(
            pool_options={
                'compression_mode': 'force',
                'quota_max_objects': 2000,
            },
            rbd_options={'rbd_readahead_max_bytes': 4096},
            osd_options={'osd_max_scrubs': 3, 'osd_scrub_load_threshold': 0.2},
        )
        cold.update(
            qos={'back_end': {'write_iops_sec': 100}},
            overflow=f'{self.mark}-fast',
        )
        del fast['overflow']
        cold['rbd']['pool_options'] = {'compression_mode': 'passive'}
        self.declare(changed)

    def tiers(self, project):
        """Tiers with an object of each kind."""
        return {
            f'{self.mark}-fast': {
                'tags': [f'{self.mark}-fast'],
                'priority': 98,
                'access': [project],
                'overflow': f'{self.mark}-cold',
                'qos': {'front_end': {'total_iops_sec': 500}},
                'quotas': {'volumes': 10, 'gigabytes': 100},
                'rbd': {
                    'cluster': 'ceph',
                    'pool': f'{self.mark}-fast',
                    'device_class': 'ssd',
                    'pg_num': 4,
                    'replicated': {'size': 2, 'min_size': 2},
                    'pool_options': {
                        'compression_mode': 'passive',
                        'quota_max_objects': 1000,
                    },
                    'rbd_options': {'rbd_readahead_max_bytes': 65536},
                    'osd_options': {
                        'osd_max_scrubs': 2,
                        'osd_scrub_load_threshold': 0.1,
                    },
                },
            },
            f'{self.mark}-cold': {
                'tags': [f'{self.mark}-cold'],
                'priority': 99,
                'qos': {'back_end': {'read_iops_sec': 100}},
                'rbd': {
                    'cluster': 'ceph',
                    'pool': f'{self.mark}-cold',
                    'device_class': 'hdd',
                    'pg_num': 4,
                    'erasure_coded': {'k': 2, 'm': 1},
                },
            },
            f'{self.mark}-any': {'extra_specs': {'vendor_name': 'somebody'}},
        }

    @property
    def declared(self):
        """Keys of the world that these tiers change or make."""
        pools = [
            f'{self.mark}-{name}' for name in ('fast', 'cold', 'cold-data')
        ]
        types = [
            f'{self.mark}-{name}' for name in ('fast', 'cold', 'any', 'image')
        ]
        return {
            ('cephx user', self.cinder_user),
            ('erasure code profile', f'{self.mark}-cold-data'),
            *(
                ('option', f'osd/class:ssd {name}')
                for name in ('osd_max_scrubs', 'osd_scrub_load_threshold')
            ),
            *(
                (kind, name)
                for name in pools
                for kind in ('crush rule', 'pool', 'placement', 'rbd options')
            ),
            *(('volume type', name) for name in types),
            *(('qos spec', f'tier-{name}') for name in types[:2]),
            *(
                ('quota', f'{what}_{name}')
                for name in types
                for what in ('volumes', 'gigabytes', 'snapshots')
            ),
        }

    def plan(self):
        with world.sessions(self.catalog) as clusters:
            return plans.make(
                catalog=self.catalog,
                actual=world.observe(
                    catalog=self.catalog,
                    clusters=clusters,
                    connection=self.connection,
                ),
            ).actions

    def apply(self, kill_after=None, delay_s=0.0):
        """Run the command; kill it when so many actions were reported.

        :param delay_s: seconds between the report and the kill.
        :returns: its exit status, and when each action was reported.
        """
        seconds, said = [], []
        with commands.started(
            ('openstack', 'tier', 'apply', '--catalog', self.path),
            environment=self.environment,
        ) as process:
            for line in process.stderr:
                said.append(line)
                if line.rstrip().endswith(': done'):
                    seconds.append(time.monotonic())
                    if len(seconds) == kill_after:
                        time.sleep(delay_s)
                        process.kill()
        self.addDetail(
            'stderr of the last apply', details.text_content(''.join(said))
        )
        return Reported(process.returncode, seconds)

    def start_anew(self):
        """Leave nothing of the tiers, and wait until the OSDs know."""
        self.remove(keep=self.foreign)
        deadline = time.monotonic() + 120
        while len(self.plan()) != self.actions:
            self.assertLess(time.monotonic(), deadline, self.plan())
            time.sleep(0.2)

    def assert_mostly_killed(self, statuses):
        """Near its end, apply may be quicker than who kills it."""
        self.assertGreater(statuses.count(-9), len(statuses) // 2, statuses)

    def assert_finished_by_the_next(self, status):
        self.assertIn(status, (0, -9))
        self.assertEqual(0, self.apply().status)
        self.assertEqual((), self.plan())
        self.assert_nothing_of_others_was_touched(made=self.declared)
        self.assertEqual(set(), self.declared - self.world().keys())

    def test_changes_that_are_killed_again_and_again_are_made_in_the_end(self):
        self.assertEqual(0, self.apply().status)
        self.declare_other_values()
        left = [len(self.plan())]
        self.assertEqual(
            ['update'] * left[0], [action.verb for action in self.plan()]
        )
        ended = []
        while left[-1]:
            ended.append(
                self.apply(
                    kill_after=min(self.actions_for_a_kill, CHANGES_FOR_A_KILL)
                ).status
            )
            left.append(len(self.plan()))
        self.assertEqual(sorted(set(left), reverse=True), left)
        self.assert_mostly_killed(ended)
        self.assert_finished_by_the_next(ended[-1])

    def test_the_next_apply_finishes_and_nothing_is_left_over(self):
        self.actions = len(self.plan())
        whole = self.apply()
        self.assertEqual((0, self.actions), (whole.status, len(whole.seconds)))
        self.assert_finished_by_the_next(whole.status)
        ended = []
        for kill_after in range(1, self.actions + 1, self.actions_for_a_kill):
            self.start_anew()
            ended.append(self.apply(kill_after).status)
            self.assert_finished_by_the_next(ended[-1])
        self.assert_mostly_killed(ended)
        seed = random.randrange(10**6)
        self.addDetail('seed', details.text_content(str(seed)))
        chosen = random.Random(seed)
        for _ in range(self.random_kills):
            after = chosen.randrange(1, self.actions)
            lasted_s = whole.seconds[after] - whole.seconds[after - 1]
            self.start_anew()
            self.assert_finished_by_the_next(
                self.apply(after, delay_s=chosen.uniform(0, lasted_s)).status
            )
