# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import os
import pathlib
import stat
import tempfile

import ddt
import fixtures
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as state
from cinder_tiers.files import saved_plan


def plan_of(**values):
    """A plan of a new user, and of a pool that changes."""
    pool = state.Pool(
        name='fast',
        kind='replicated',
        size=3,
        min_size=2,
        pg_num=32,
        pg_autoscale_mode='off',
        crush_rule='fast',
        applications=frozenset({'rbd', 'other'}),
    )
    user = state.CephxUser(name='client.a', caps={'mon': 'profile rbd'})
    return plans.Plan(
        actions=(
            actions.Action(
                key=actions.Key(
                    kind=actions.Kind.POOL, cluster='ceph', name='fast'
                ),
                why='tier fast',
                before=pool,
                after=state.Pool(
                    **{
                        **{
                            name: getattr(pool, name)
                            for name in pool.__dataclass_fields__
                        },
                        'min_size': 1,
                        **values,
                    }
                ),
            ),
            actions.Action(
                key=actions.Key(
                    kind=actions.Kind.CEPHX_USER,
                    cluster='ceph',
                    name='client.a',
                ),
                why='any',
                before=None,
                after=user,
            ),
        )
    )


@ddt.ddt
class SavedPlanTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = str(self.folder / 'plan.json')

    def save(self, plan):
        saved_plan.write(
            self.path,
            catalog_file='tiers.yaml',
            catalog='version: 1\n',
            plan=plan,
            cloud='here',
        )
        return saved_plan.read(self.path)

    def test_it_is_for_one_cloud(self):
        saved = self.save(plan_of())
        saved_plan.check_cloud(saved, 'here')
        self.assertIn(
            'block storage and region: here; here: there',
            str(
                self.assertRaises(
                    errors.ActionFailed, saved_plan.check_cloud, saved, 'there'
                )
            ),
        )

    def test_names_in_it_are_parts_of_lines_and_bounded(self):
        name = '\x1b[2J\n::error::x\n##vso[a]' + 'y' * 4096
        saved = dataclasses.replace(
            self.save(plan_of()),
            cloud=name,
            actions=tuple(
                saved_plan.SavedAction(
                    action='delete', object=f'{each}{name}', fields={}
                )
                for each in range(1200)
            ),
        )
        for check, argument, lines in (
            (saved_plan.check_cloud, 'here', 1),
            (saved_plan.check_same, plan_of(), 1003),
        ):
            said = str(
                self.assertRaises(errors.ActionFailed, check, saved, argument)
            )
            self.assertEqual(lines, len(said.split('\n')))
            self.assertLess(len(said), 2_000_000)
            self.assertNotIn('##vso', said)
            self.assertIn(r'\n\x3a:error::x', said)

    def test_what_is_saved_is_read(self):
        saved = self.save(plan_of())
        self.assertEqual(
            ('tiers.yaml', 'version: 1\n'), (saved.catalog_file, saved.catalog)
        )
        saved_plan.check_same(saved, plan_of())

    def test_the_file_can_be_read_by_people(self):
        self.save(plan_of())
        with open(self.path, encoding='utf-8') as stream:
            first, second = json.load(stream)['actions']
        self.assertEqual(
            {
                'action': 'update',
                'object': 'pool fast (ceph)',
                'fields': {'min_size': [2, 1]},
            },
            first,
        )
        self.assertEqual({'caps.mon': [None, 'profile rbd']}, second['fields'])

    def test_consents_are_kept(self):
        refused = plans.Plan(
            actions=(
                dataclasses.replace(
                    plan_of().actions[0],
                    refusal=actions.Refusal(
                        reason='it would hurt',
                        remedy='stop',
                        yields_to_consent=True,
                    ),
                ),
                plan_of().actions[1],
            )
        )
        saved = self.save(consent.grant(refused, ['pool fast']))
        self.assertEqual(('pool fast (ceph)',), saved.allowed)
        again = consent.repeat(refused, saved.allowed)
        self.assertEqual((), again.refused)
        saved_plan.check_same(saved, again)
        self.assertEqual('it would hurt', saved.actions[0].although)
        # Nobody allowed that when it was saved.
        self.assertRaises(
            errors.ActionFailed,
            saved_plan.check_same,
            self.save(plan_of()),
            again,
        )
        self.assertRaises(
            errors.ActionFailed,
            saved_plan.check_same,
            saved,
            consent.repeat(plan_of(), saved.allowed),
        )

    def test_only_its_owner_may_read_it(self):
        self.save(plan_of())
        self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path).st_mode))

    @ddt.data(
        (
            plan_of(size=2),
            'update pool fast (ceph): the current values are different',
        ),
        (
            plans.Plan(actions=plan_of().actions[:1]),
            'create cephx user client.a (ceph): no longer needed',
        ),
        (plans.Plan(actions=()), 'update pool fast (ceph): no longer'),
    )
    @ddt.unpack
    def test_another_world_is_told(self, plan, told):
        error = self.assertRaises(
            errors.ActionFailed,
            saved_plan.check_same,
            self.save(plan_of()),
            plan,
        )
        self.assertIn(told, str(error))
        self.assertIn('Nothing was changed', str(error))

    def test_another_reason_is_told(self):
        def refused_for(reason):
            return plans.Plan(
                actions=(
                    dataclasses.replace(
                        plan_of().actions[0],
                        refusal=actions.Refusal(
                            reason=reason,
                            remedy='stop',
                            yields_to_consent=True,
                        ),
                    ),
                )
            )

        for plan_for, outcome in (
            (refused_for, 'refused'),
            (
                lambda reason: consent.grant(
                    refused_for(reason), ['pool fast']
                ),
                'allowed',
            ),
        ):
            error = self.assertRaises(
                errors.ActionFailed,
                saved_plan.check_same,
                self.save(plan_for('it moves 1 GiB')),
                plan_for('it moves 9 TiB'),
            )
            self.assertIn(
                f'update pool fast (ceph): the reason why it is {outcome} was '
                '"it moves 1 GiB" when the plan was saved, and is "it moves '
                '9 TiB" now',
                str(error),
            )

    def test_what_is_new_is_told(self):
        saved = self.save(plans.Plan(actions=()))
        error = self.assertRaises(
            errors.ActionFailed, saved_plan.check_same, saved, plan_of()
        )
        self.assertIn('pool fast (ceph): needed now', str(error))

    @ddt.data(
        b'',
        b'\xff',
        b'[]',
        b'{}',
        b'{"version": 2}',
        b'{"version": 1',
        b'{"version": 1, "catalog_file": "", "catalog": "", '
        b'"allowed": "all", "actions": []}',
        b'{"version": 1, "catalog_file": 5, "catalog": "", "actions": []}',
        b'{"version": 1, "catalog_file": "", "catalog": "", "cloud": "", '
        b'"allowed": [], "actions": [{}]}',
        b'{"version": 1, "catalog_file": "", "catalog": "", "cloud": "", '
        b'"allowed": [], "actions": [{"action": "create", "object": "a", '
        b'"fields": {"b": [1]}}]}',
        b'[' * 100000,
    )
    def test_what_is_no_plan_is_told(self, content):
        pathlib.Path(self.path).write_bytes(content)
        error = self.assertRaises(
            errors.ProblemsFound, saved_plan.read, self.path
        )
        self.assertIn('tier plan --out', str(error))

    def test_a_missing_file_is_told(self):
        error = self.assertRaises(
            errors.ProblemsFound, saved_plan.read, self.path
        )
        self.assertIn('No such file', str(error))

    def test_what_is_no_file_is_not_replaced(self):
        os.mkfifo(self.path)
        error = self.assertRaises(errors.TiersError, self.save, plan_of())
        self.assertIn('not a regular file', str(error))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path).st_mode))

    def test_what_is_no_plan_is_not_replaced(self):
        self.save(plan_of())
        self.save(plan_of())
        pathlib.Path(self.path).write_text('')
        self.save(plan_of())
        pathlib.Path(self.path).write_text('version: 1\ntiers: {}\n')
        error = self.assertRaises(errors.ProblemsFound, self.save, plan_of())
        self.assertIn('would be overwritten', str(error))
        self.assertEqual(
            'version: 1\ntiers: {}\n', pathlib.Path(self.path).read_text()
        )

    def test_through_a_link_the_file_behind_it_is_replaced(self):
        behind = self.folder / 'behind'
        os.symlink(behind, self.path)
        self.save(plan_of())
        self.assertTrue(os.path.islink(self.path))
        self.assertIn('pool fast', behind.read_text())

    def test_a_folder_that_cannot_be_written_leaves_nothing(self):
        error = self.assertRaises(
            errors.TiersError,
            saved_plan.write,
            str(self.folder / 'none' / 'plan.json'),
            catalog_file='',
            catalog='',
            cloud='',
            plan=plan_of(),
        )
        self.assertIn('cannot be written', str(error))
        self.assertEqual([], os.listdir(self.folder))

    def test_a_plan_that_cannot_take_its_place_is_removed(self):
        os.mkdir(self.path)
        tempfile.mkstemp(dir=self.path)
        self.assertRaises(
            errors.TiersError,
            saved_plan.write,
            self.path,
            catalog_file='',
            catalog='',
            cloud='',
            plan=plan_of(),
        )
        self.assertEqual(['plan.json'], os.listdir(self.folder))
