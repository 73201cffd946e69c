# SPDX-License-Identifier: Apache-2.0

"""A recorded result becomes a card, and members of one project read it."""

import json
import pathlib
import uuid

import fixtures
import yaml

from tests.functional import lab

#: A result of this tier, and what its card has of it: mean, lower end, upper
#: end (test_publish_command compares them with its repeats).
RECORDED = pathlib.Path(__file__).parents[1] / 'cases/cards/recorded.json'
TIER = 'recorded-tier'
FIGURES = {'p99_ms': [1, 1, 1], 'iops': [5034, 4893, 5180]}


class CardTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.original = self.environment['CINDER_TIERS_CATALOG']
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.name = f'card-{uuid.uuid4().hex[:8]}'

    def tier(self, *arguments, **options):
        return self.ask('openstack', 'tier', *arguments, **options)

    def result_of(self, tier):
        """The file of the recorded result, as if it was of another tier."""
        path = self.folder / f'{tier}.json'
        path.write_text(RECORDED.read_text().replace(TIER, tier))
        return str(path)

    def apply_tier(self):
        """Add a tier for the member's project, on a backend that exists."""
        catalog = self.folder / 'tiers.yaml'
        content = yaml.safe_load(pathlib.Path(self.original).read_text())
        project = lab.connect(self.environment, lab.MEMBER)
        self.addCleanup(project.close)
        content['tiers'][self.name] = {
            'description': 'For a test.',
            'tags': [self.name],
            'priority': 7,
            'backend': 'tier-general',
            'access': [project.current_project_id],
            'expect': {'x': {'p99_ms_max': 20}},
        }
        catalog.write_text(yaml.safe_dump(content, sort_keys=False))
        self.addCleanup(
            self.run_command,
            *('openstack', 'volume', 'type', 'delete', self.name),
        )
        self.tier(
            *('apply', '--yes', '--wait', '60', '--catalog', str(catalog))
        )
        return str(catalog)

    def test_a_member_reads_the_figures_of_the_result(self):
        catalog = self.apply_tier()
        path = self.result_of(self.name)
        publish = ('publish', path, '--wait', '60', '--catalog', catalog)
        self.assertEqual(
            ['planned'],
            [row['State'] for row in self.tier(*publish, expect=4)],
        )
        for state in ('published', 'published already'):
            self.assertEqual(
                [state],
                [row['State'] for row in self.tier(*publish, '--yes')],
            )
        shown = self.tier('show', self.name, cloud=lab.MEMBER)
        self.assertEqual(
            FIGURES,
            {
                figure['quantity']: [
                    figure[each] for each in ('mean', 'low', 'high')
                ]
                for figure in shown['card']['measured']['figures']
            },
        )
        self.assertEqual({'x': {'p99_ms_max': 20}}, shown['card']['promise'])
        self.assertEqual(
            self.name, self.tier('list', cloud=lab.MEMBER)[0]['Name']
        )
        self.assertNotIn(
            self.name, json.dumps(self.tier('list', cloud=lab.OTHER))
        )
        _, said = self.run_command(
            *('openstack', 'tier', 'show', self.name),
            cloud=lab.OTHER,
            expect=1,
        )
        self.assertIn(f'tier {self.name} does not exist', said)
        self.assertEqual([], self.tier('plan', '--catalog', catalog))

    def test_a_tier_with_a_pool_has_the_release_and_the_osds(self):
        path = self.result_of('database')
        (row,) = self.tier('publish', path, '--wait', '60', expect=4)
        self.assertEqual('planned', row['State'])
        self.assertRegex(
            row['After'],
            r'Measured \S+ on Ceph \d+: x .* Card (\w{6}-){2}\w{6}\.$',
        )
