# SPDX-License-Identifier: Apache-2.0

"""A result names the task that made it, as Rally's database has it."""

import json
import pathlib

import ddt
import fixtures
from rally.common import cfg
from rally.common import db
from rally.common import objects

from tests.unit.rally.fleet import test_run


@ddt.ddt
class TaskTitleTestCase(test_run.FleetFioCase):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        cfg.CONF.set_override(
            'connection', f'sqlite:///{folder}/rally.db', 'database'
        )
        self.addCleanup(db.engine_reset)
        self.addCleanup(cfg.CONF.clear_override, 'connection', 'database')
        db.engine_reset()
        db.schema.schema_create()

    @ddt.data(('', 'Fleets of all tiers'), ('Nightly', 'Nightly'))
    @ddt.unpack
    def test_a_task_without_a_title_has_that_of_its_subtask(
        self, of_task, expected
    ):
        task = objects.Task(title=of_task, env_uuid='of-no-matter')
        task.add_subtask(title='Another')
        workload = task.add_subtask(title='Fleets of all tiers').add_workload(
            name='CinderTiers.fleet_fio',
            description='',
            position=0,
            runner={},
            runner_type='serial',
            contexts={},
            hooks=[],
            sla={},
            args={},
        )
        self.scenario.context |= {'task': task, 'owner_id': workload['uuid']}
        self.run_scenario()
        (result,) = self.results.glob('*.json')
        self.assertEqual(expected, json.loads(result.read_text())['task'])
