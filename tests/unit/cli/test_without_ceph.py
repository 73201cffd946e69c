# SPDX-License-Identifier: Apache-2.0


"""`openstack tier plan` and `apply` with a real Cinder and no Ceph.

The tiers lie on storage that exists. Commands with a real Ceph as well are in
tests/contract.
"""

import json

from tests.unit.cli import tiers_file_case

TIERS = f'{tiers_file_case.TIERS}    quotas: {{volumes: 100}}\n'


class WithoutCephTestCase(tiers_file_case.TiersFileTestCase):
    text = TIERS

    def test_plan_apply_plan_change_plan(self):
        plan = self.run_tier('plan', '-f', 'json')
        self.assertEqual(4, plan.status, plan.stderr)
        # There is no scheduler, and no other caveat.
        (caveat,) = plan.stderr.splitlines()
        self.assertIn('no cinder-scheduler is up', caveat)
        rows = json.loads(plan.stdout)
        self.assertEqual(
            [
                ('create', 'volume type general'),
                ('create', 'volume type database'),
                ('create', 'qos spec tier-database'),
                ('create', 'default quota general'),
                ('create', 'volume type image-tier'),
            ],
            [(row['Action'], row['Object']) for row in rows],
        )
        self.assertEqual(['a' * 32], rows[1]['After']['projects'])
        self.assertEqual(0, self.run_tier('apply').status)
        again = self.run_tier('plan')
        self.assertEqual(0, again.status, again.stderr)
        self.assertIn('No changes', again.stderr)

        self.write(TIERS.replace('500', '600').replace('[alpha]', '[]'))
        plan = self.run_tier('plan', '-f', 'json')
        self.assertEqual(5, plan.status)
        self.assertIn("--allow 'volume type database'", plan.stderr)
        self.assertEqual(
            [
                ({'projects': ['a' * 32]}, {'projects': []}),
                (
                    {'specs.total_iops_sec': '500'},
                    {'specs.total_iops_sec': '600'},
                ),
            ],
            [(row['Before'], row['After']) for row in json.loads(plan.stdout)],
        )

    def test_an_unknown_project_is_told_with_its_line(self):
        self.write(TIERS.replace('[alpha]', '[alpha, nobody]'))
        ran = self.run_tier('plan')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(f"{self.path}:9: unknown project 'nobody'", ran.stderr)
