# SPDX-License-Identifier: Apache-2.0

"""The use cases, called without a command line, against a real Cinder API."""

import pathlib
import tempfile

import openstack
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.files import saved_plan
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow
from tests.unit.cli import tiers_file_case
from tests.worlds import cinder_api

ALPHA = 'a' * 32


def agree(planned):
    """Agrees to any plan."""


class WorkflowTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.api = api = cinder_api.CinderApi()
        self.addCleanup(api.stop)
        api.add_project(ALPHA, 'alpha')
        api.add_backend('lvm')
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.connection = openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='v3password',
            region_name='one',
            auth={
                'auth_url': f'{api.url}/identity/v3',
                'username': 'admin',
                'user_domain_id': 'default',
                'password': 'any',
                'project_id': cinder_api.PROJECT,
            },
        )
        self.addCleanup(self.connection.close)

    def catalog(self, text=tiers_file_case.TIERS):
        return reader.read_text(text, file='tiers.yaml')

    def plan(self, **arguments):
        return workflow.plan(
            connection=self.connection, catalog=self.catalog(), **arguments
        )

    def apply(self, wanted, agree=agree):
        reported = []
        results = workflow.apply(
            connection=self.connection,
            wanted=wanted,
            lock=workflow.Lock(url=f'file://{self.folder}/locks'),
            agree=agree,
            report=reported.append,
        )
        self.assertEqual(tuple(reported), results)
        return {result.outcome for result in results}

    def states(self, **arguments):
        return {
            finding.state
            for finding in workflow.audit(
                connection=self.connection,
                catalog=self.catalog(),
                **arguments,
            ).findings
        }

    def test_what_is_applied_is_compliant_and_exported(self):
        self.assertEqual({audit.State.NON_COMPLIANT}, self.states())
        planned = self.plan()
        self.assertEqual(
            {action.key for action in planned.plan.actions},
            set(planned.effects),
        )
        self.assertEqual({actions.Outcome.DONE}, self.apply(self.catalog()))
        self.assertEqual((), self.plan().plan.actions)
        # No backend is called ssd yet.
        self.assertEqual(
            ['database'], [one.tier for one in self.plan().unserved_tiers]
        )
        self.assertEqual(
            {audit.State.COMPLIANT, audit.State.WARNING},
            self.states(tiers=['database']),
        )
        self.api.add_backend('ssd')
        self.assertEqual((), self.plan().unserved_tiers)
        self.assertEqual(
            {audit.State.COMPLIANT}, self.states(tiers=['database'])
        )
        made = workflow.export(connection=self.connection, clusters=())
        self.assertEqual((), made.exported.leftover)
        again = self.catalog(made.text)
        self.assertEqual((ALPHA,), again.tier('database').access)
        self.assertEqual(self.catalog().tier('general'), again.tier('general'))

    def test_nothing_is_written_without_agreement(self):
        seen = []

        def refuse(planned):
            seen.append(planned.plan)
            raise errors.ActionFailed('no')

        self.assertRaises(
            errors.ActionFailed, self.apply, self.catalog(), refuse
        )
        self.assertEqual([self.plan().plan], seen)

    def test_a_saved_plan_is_carried_out_once(self):
        path = str(self.folder / 'plan')
        workflow.save_plan(
            path,
            self.plan(),
            connection=self.connection,
            text=tiers_file_case.TIERS,
        )
        saved = saved_plan.read(path)
        self.assertEqual({actions.Outcome.DONE}, self.apply(saved))
        error = self.assertRaises(errors.ActionFailed, self.apply, saved)
        self.assertIn('no longer needed', str(error))

    def test_a_tier_that_is_not_in_the_catalog_is_not_audited(self):
        error = self.assertRaises(
            errors.ProblemsFound, self.states, tiers=['none']
        )
        self.assertIn('expected one of database, general', str(error))
