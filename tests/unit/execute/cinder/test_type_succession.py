# SPDX-License-Identifier: Apache-2.0

"""A tier whose volume type has volumes, changed through Cinder's real API."""

import dataclasses
import math

import ddt
from keystoneauth1 import token_endpoint
import openstack.connection
import testtools

from cinder_tiers.clients import default_types
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent as consents
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.observe import for_plan as world
import tests
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.unit.execute import test_cut_off
from tests.worlds import cinder_api

ALPHA, BETA = 'a' * 32, 'b' * 32


@ddt.ddt
class TypesInUseTestCase(testtools.TestCase):
    #: (what Cinder knows, the type, the volume) before each test.
    applied = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)

    def setUp(self):
        super().setUp()
        self.session = test_cut_off.CutSession(
            auth=token_endpoint.Token(self.api.endpoint, self.api.token)
        )
        self.session.left = math.inf
        self.connection = openstack.connection.Connection(
            session=self.session, block_storage_api_version='3'
        )
        self.addCleanup(self.connection.close)
        database, general, archive = given.tiers_of_all_kinds()[:3]
        # On storage that exists, so that Cinder is all that there is to it.
        self.catalog = given.of(
            *(
                one.without_pool()
                for one in (
                    dataclasses.replace(database, access=(ALPHA, BETA)),
                    dataclasses.replace(general, access=None),
                    dataclasses.replace(archive, access=None),
                )
            )
        )
        if self.applied is None:
            self.carry_out(self.make_plan())
            old = self.find('database')
            volume = self.api.add_volume(
                host='node@x#x', volume_type_id=old.id
            )
            type(self).applied = (self.api.keep(), old, volume)
        kept, self.old, self.volume = self.applied
        self.api.return_to(kept)

    def find(self, name):
        return next(
            (
                one
                for one in self.connection.block_storage.types(
                    is_public='None'
                )
                if one.name == name
            ),
            None,
        )

    @property
    def retired(self):
        """What the type that had volumes is called when it is retired."""
        return f'database - retired {self.old.id[:8]}'

    def type_of_volume(self):
        return next(
            one.volume_type
            for one in self.connection.block_storage.volumes(all_projects=True)
            if one.id == self.volume
        )

    def make_plan(self, consent=False):
        projects = {ALPHA: frozenset({ALPHA}), BETA: frozenset({BETA})}
        plan = plans.make(
            catalog=self.catalog,
            actual=dataclasses.replace(
                given.nothing(),
                projects=projects,
                cinder=world.observe_cinder(self.connection, self.catalog),
            ),
        )
        return (
            consents.grant(plan, ['volume type database']) if consent else plan
        )

    def grant_all(self, plan):
        return consents.grant(plan, [str(one.key) for one in plan.refused])

    def apply(self, plan):
        return test_cinder_world.apply_plan(plan, self.connection)

    def carry_out(self, plan):
        self.assertEqual([], test_cinder_world.undone(self.apply(plan)))

    def change(self, **fields):
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=tuple(
                dataclasses.replace(tier, **fields)
                if tier.name == 'database'
                else tier
                for tier in self.catalog.tiers
            ),
        )

    def test_without_consent_it_is_refused_with_the_reason(self):
        self.change(tags=('database', 'postgres'))
        (refused,) = self.make_plan().refused
        self.assertEqual('volume type database', str(refused.key))
        self.assertIn('the volume type has volumes', refused.refusal.reason)
        self.assertIn('"database - retired ', refused.refusal.reason)

    def test_what_is_no_extra_spec_needs_no_new_type(self):
        self.change(description='Faster')
        self.carry_out(self.make_plan())
        self.assertEqual(self.old.id, self.find('database').id)

    def test_a_type_without_volumes_is_changed_in_place(self):
        self.api.delete_volume(self.volume)
        self.change(priority=77)
        self.carry_out(self.make_plan())
        self.assertEqual(self.old.id, self.find('database').id)
        self.volume = self.api.add_volume(
            host='node@x#x', volume_type_id=self.old.id
        )

    def test_the_volumes_keep_the_old_type_and_others_get_the_new(self):
        self.change(tags=('database', 'postgres'))
        self.carry_out(self.make_plan(consent=True))
        new = self.find('database')
        self.assertNotEqual(self.old.id, new.id)
        self.assertEqual('database,postgres', new.extra_specs['tiers:tags'])
        self.assertEqual(self.retired, self.type_of_volume())
        self.assertEqual(
            self.old.extra_specs, self.find(self.retired).extra_specs
        )
        self.assertEqual((), self.make_plan().actions)

    def test_a_second_change_retires_only_a_type_with_volumes(self):
        for priority in (31, 32):
            self.change(priority=priority)
            self.carry_out(self.make_plan(consent=True))
        self.assertEqual(
            '32', self.find('database').extra_specs['tiers:priority']
        )
        self.assertEqual(
            {'database', self.retired},
            {
                one.name
                for one in self.connection.block_storage.types(
                    is_public='None'
                )
                if one.name.startswith('database')
            },
        )

    def test_projects_default_to_the_type_that_has_the_name(self):
        for project in (ALPHA, BETA):
            self.api.add_project(project, project)
        self.change(default_for=(ALPHA,))
        self.carry_out(self.make_plan())
        self.change(default_for=(ALPHA, BETA), priority=33)
        self.carry_out(self.make_plan(consent=True))
        new = self.find('database')
        self.assertNotEqual(self.old.id, new.id)
        self.assertEqual(
            {ALPHA: new.id, BETA: new.id},
            default_types.list_all(self.connection.block_storage),
        )
        self.assertEqual((), self.make_plan().actions)

    def test_the_new_type_has_all_that_the_old_one_had(self):
        block_storage = self.connection.block_storage
        block_storage.create_type_encryption(
            block_storage.create_type(name='any'),
            provider='luks',
            cipher='aes-xts-plain64',
            key_size=256,
            control_location='front-end',
        )
        self.api.delete_volume(self.volume)
        block_storage.create_type_encryption(
            self.old,
            provider='luks',
            cipher='aes-xts-plain64',
            key_size=256,
            control_location='front-end',
        )
        self.volume = self.api.add_volume(
            host='node@x#x', volume_type_id=self.old.id
        )
        block_storage.put(
            '/os-quota-class-sets/default',
            json={'quota_class_set': {'volumes_database': 7}},
        )
        self.change(priority=40)
        self.carry_out(self.make_plan(consent=True))
        new = self.find('database')
        answer = block_storage.get(f'/types/{new.id}/encryption').json()
        self.assertEqual(
            ('luks', 256), (answer['provider'], answer['key_size'])
        )
        (specs,) = [
            one
            for one in block_storage.qos_specs()
            if one.name == 'tier-database'
        ]
        self.assertEqual(
            {'database', self.retired},
            {one.name for one in block_storage.qos_spec_associations(specs)},
        )
        self.assertEqual(
            7,
            block_storage.get('/os-quota-class-sets/default').json()[
                'quota_class_set'
            ]['volumes_database'],
        )
        self.assertEqual(
            {ALPHA, BETA},
            {row['project_id'] for row in block_storage.get_type_access(new)},
        )
        self.assertEqual((), self.make_plan().actions)

    def access_of(self, name):
        """The projects with access to a type; None for all."""
        found = self.find(name)
        return (
            None
            if found.is_public
            else {
                row['project_id']
                for row in self.connection.block_storage.get_type_access(found)
            }
        )

    @ddt.data(
        # Access before, access after, who has access to the retired type.
        ((ALPHA, BETA), (ALPHA,), {ALPHA}),
        ((ALPHA,), (ALPHA, BETA), {ALPHA}),
        ((ALPHA,), catalogs.PUBLIC, {ALPHA}),
        (catalogs.PUBLIC, (ALPHA,), {ALPHA}),
        (catalogs.PUBLIC, (), set()),
        (catalogs.PUBLIC, None, None),
    )
    @ddt.unpack
    def test_a_retired_type_is_no_more_open_than_the_tier(
        self, before, after, expected
    ):
        self.change(access=before)
        self.carry_out(self.make_plan(consent=True))
        self.change(access=after, priority=60)
        self.carry_out(self.make_plan(consent=True))
        self.assertEqual(
            None if after in (None, catalogs.PUBLIC) else set(after),
            self.access_of('database'),
        )
        self.assertEqual(expected, self.access_of(self.retired))
        self.assertEqual(
            self.old.extra_specs, self.find(self.retired).extra_specs
        )
        self.assertEqual((), self.make_plan().actions)

    @ddt.data(catalogs.PUBLIC, (ALPHA, BETA))
    def test_killed_after_any_write_the_next_apply_closes_all_types(
        self, before
    ):
        self.api.delete_volume(self.volume)
        # Cinder would keep the projects while the type is public.
        for access in ((), before):
            self.change(access=access)
            self.carry_out(self.grant_all(self.make_plan()))
        self.volume = self.api.add_volume(
            host='node@x#x', volume_type_id=self.find('database').id
        )
        self.change(access=(ALPHA,), priority=100)
        states = self.kept_at_each_write()
        self.assertGreater(len(states), 6)
        finished = tests.share(range(len(states)), len(states))
        for writes, state in enumerate(states):
            self.api.return_to(state)
            # Between two names there is none: Cinder swaps no names.
            if self.find('database'):
                allowed = self.access_of('database')
                self.assertTrue(allowed is None or ALPHA in allowed, writes)
            if writes not in finished:
                continue
            self.carry_out(self.make_plan(consent=True))
            self.assertEqual((), self.make_plan().actions)
            for one in self.connection.block_storage.types(is_public='None'):
                if one.name.startswith('database'):
                    self.assertLessEqual(self.access_of(one.name), {ALPHA})

    def kept_at_each_write(self):
        """Changes the tier; what Cinder knew before each write and at last."""
        plan = self.make_plan(consent=True)
        return test_cut_off.kept_at_each_write(
            self.api, self.session, lambda: self.carry_out(plan)
        )

    def test_a_project_that_loses_the_tier_loses_its_retired_type(self):
        self.change(priority=61)
        self.carry_out(self.make_plan(consent=True))
        self.assertEqual({ALPHA, BETA}, self.access_of(self.retired))
        self.change(access=(ALPHA,))
        plan = self.make_plan()
        self.assertEqual(
            ['volume type database', f'volume type {self.retired}'],
            [str(one.key) for one in plan.refused],
        )
        for one in plan.refused:
            self.assertIn(
                f'take the volume type away from projects: {BETA}',
                one.refusal.reason,
            )
        self.carry_out(self.grant_all(plan))
        self.assertEqual({ALPHA}, self.access_of(self.retired))
        self.assertEqual(
            self.old.extra_specs, self.find(self.retired).extra_specs
        )
        self.assertEqual((), self.make_plan().actions)

    def test_limits_are_those_of_the_volumes_of_the_old_type_too(self):
        self.change(priority=42)
        self.carry_out(self.make_plan(consent=True))
        self.change(qos=catalogs.Qos(front_end={'total_iops_sec': '70'}))
        (action,) = self.make_plan().actions
        self.assertIn(
            f'also applies to volumes of {self.retired}', action.explanation
        )
        self.change(qos=None)
        (refused,) = self.make_plan().refused
        self.assertIn(
            f'and of volumes of {self.retired}', refused.refusal.reason
        )

    def test_killed_after_any_write_the_next_apply_finishes(self):
        self.change(priority=100)
        states = self.kept_at_each_write()
        self.assertGreater(len(states), 6)
        for writes, state in tests.share(list(enumerate(states)), len(states)):
            self.api.return_to(state)
            self.carry_out(self.make_plan(consent=True))
            self.assertEqual((), self.make_plan().actions, writes)
            names = {
                one.name
                for one in self.connection.block_storage.types(
                    is_public='None'
                )
            }
            self.assertNotIn('database - new', names)
            self.assertEqual(
                '100', self.find('database').extra_specs['tiers:priority']
            )

    @ddt.data(
        (type_succession.MAX_CHARS, set()),
        # Which is why the tiers file may not have it.
        (type_succession.MAX_CHARS + 1, {actions.Outcome.FAILED}),
    )
    @ddt.unpack
    def test_the_longest_name_whose_type_can_be_retired(self, chars, failed):
        name = 'f' * chars
        self.catalog = dataclasses.replace(
            self.catalog,
            follow_image_types=(*self.catalog.follow_image_types, name),
        )
        self.carry_out(self.make_plan())
        old = self.find(name)
        self.connection.block_storage.update_type_extra_specs(
            old, volume_backend_name='lvm'
        )
        volume = self.api.add_volume(host='node@x#x', volume_type_id=old.id)
        self.addCleanup(self.api.delete_volume, volume)
        results = self.apply(self.grant_all(self.make_plan()))
        self.assertEqual(
            failed,
            {one.outcome for one in results} - {actions.Outcome.DONE},
        )
        self.assertEqual(bool(failed), self.find(name).id == old.id)

    def test_what_a_killed_apply_left_is_named_when_it_is_not_needed(self):
        self.change(priority=50)
        plan = self.make_plan(consent=True)
        self.session.left = 1
        self.assertRaises(test_cut_off.CutOff, self.carry_out, plan)
        self.session.left = math.inf
        self.change(priority=20)
        (left,) = self.make_plan().actions
        self.assertEqual(
            'delete volume type database - new', f'{left.verb} {left.key}'
        )

    def defaults(self):
        """{project: name of its default type}"""
        block_storage = self.connection.block_storage
        names = {
            one.id: one.name for one in block_storage.types(is_public='None')
        }
        return {
            project: names[ident]
            for project, ident in default_types.list_all(block_storage).items()
        }

    def assert_reverted(self, change, defaults):
        """Changes a type in use, is killed, and reverts the tiers file."""
        before = self.catalog
        change()
        plan = self.make_plan()
        states = test_cut_off.kept_at_each_write(
            self.api,
            self.session,
            lambda: self.carry_out(self.grant_all(plan)),
        )
        after, self.catalog = self.catalog, before
        found = set()
        finished = tests.share(range(len(states)), len(states))
        for number, state in enumerate(states[:-1]):
            self.api.return_to(state)
            found |= set(self.defaults().values())
            if number not in finished:
                continue
            self.carry_out(self.grant_all(self.make_plan()))
            self.assertEqual((), self.make_plan().actions, number)
            self.assertEqual(defaults, self.defaults())
            self.assertFalse(
                [
                    one
                    for one in self.connection.block_storage.types(
                        is_public='None'
                    )
                    if one.name.endswith(' - new')
                ]
            )
        self.catalog = after
        return found

    @ddt.data(None, (), (BETA,))
    def test_killed_and_reverted_projects_have_their_default_type(
        self, default_for
    ):
        """Set by hand, or by the file, or of others."""
        for project in (ALPHA, BETA):
            self.api.add_project(project, project)
        if default_for is not None:
            self.catalog = dataclasses.replace(
                self.catalog,
                tiers=tuple(
                    dataclasses.replace(
                        one,
                        default_for=(ALPHA,)
                        if one.name == 'database'
                        else default_for
                        if one.name == 'archive'
                        else None,
                    )
                    for one in self.catalog.tiers
                ),
            )
            self.carry_out(self.make_plan())
        else:
            # Nor is a type private.
            self.change(access=catalogs.PUBLIC)
            self.carry_out(self.make_plan())
            default_types.set_type(
                self.connection.block_storage, ALPHA, self.old.id
            )
        expected = self.defaults()
        self.assertEqual('database', expected[ALPHA])
        self.assertIn(
            'database - new',
            self.assert_reverted(lambda: self.change(priority=100), expected),
        )

    def test_killed_and_reverted_so_has_a_type_that_follows_the_image(self):
        self.api.add_project(ALPHA, ALPHA)
        (name, *_) = self.catalog.follow_image_types
        old = self.find(name)
        volume = self.api.add_volume(host='node@x#x', volume_type_id=old.id)
        self.addCleanup(self.api.delete_volume, volume)
        default_types.set_type(self.connection.block_storage, ALPHA, old.id)

        def become_a_tier():
            self.catalog = dataclasses.replace(
                self.catalog,
                follow_image_types=(),
                tiers=(*self.catalog.tiers, given.other_tier(name)),
            )

        self.assertIn(
            f'{name} - new',
            self.assert_reverted(become_a_tier, {ALPHA: name}),
        )

    def test_what_a_killed_apply_left_of_a_tier_that_goes(self):
        """Its projects lose their default type, with the tier."""
        self.api.add_project(ALPHA, ALPHA)
        default_types.set_type(
            self.connection.block_storage, ALPHA, self.old.id
        )
        self.change(priority=100)
        states = self.kept_at_each_write()
        self.catalog = dataclasses.replace(
            self.catalog, tiers=self.catalog.tiers[1:]
        )
        for state in states[-3:-1]:
            self.api.return_to(state)
            self.assertEqual({ALPHA: 'database - new'}, self.defaults())
            self.api.delete_volume(self.volume)
            self.carry_out(self.grant_all(self.make_plan()))
            self.assertEqual({}, self.defaults())
            self.assertIsNone(self.find('database - new'))

    def test_a_type_of_somebody_else_is_not_taken_for_the_new_one(self):
        block_storage = self.connection.block_storage
        foreign = block_storage.create_type(
            name='database - new', extra_specs={'volume_backend_name': 'lvm'}
        )
        self.change(priority=51)
        (refused,) = self.make_plan().refused
        self.assertFalse(refused.refusal.yields_to_consent)
        self.assertIn('--name NAME "database - new"', refused.remedy)
        block_storage.update_type(foreign, name='else')
        plan = self.make_plan(consent=True)
        block_storage.update_type(foreign, name='database - new')
        (result,) = self.apply(plan)
        self.assertIn('cannot be retired', result.reason)
        self.assertEqual(
            {'volume_backend_name': 'lvm'},
            self.find('database - new').extra_specs,
        )
        self.assertEqual(self.old.id, self.find('database').id)

    def test_beside_such_a_type_a_new_tier_gets_a_type_of_its_own(self):
        foreign = self.connection.block_storage.create_type(
            name='fast - new', extra_specs={'volume_backend_name': 'lvm'}
        )
        database = self.catalog.tiers[0]
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=(
                *self.catalog.tiers,
                dataclasses.replace(
                    database, name='fast', tags=('fast',), priority=60
                ),
            ),
        )
        self.carry_out(self.make_plan())
        self.assertEqual(foreign.id, self.find('fast - new').id)
        self.assertEqual('fast', self.find('fast').extra_specs['tiers:name'])
        self.assertEqual((), self.make_plan().actions)

    def encrypt(self, name, **encryption):
        """Declares an encryption of a tier."""
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=tuple(
                dataclasses.replace(
                    tier, encryption=catalogs.Encryption(**encryption)
                )
                if tier.name == name
                else tier
                for tier in self.catalog.tiers
            ),
        )

    def encryption_of(self, name):
        key = actions.Key(kind=actions.Kind.TYPE_ENCRYPTION, name=name)
        return world.reader(connection=self.connection, clusters={})(key)

    def test_an_encryption_is_set_and_changed_while_nothing_has_the_type(self):
        self.assertIsNone(self.encryption_of('general'))
        for values in (
            {'provider': 'luks', 'cipher': 'aes-xts-plain64'},
            {'provider': 'luks', 'key_size_bits': 512},
            {'provider': 'luks2', 'control_location': 'back-end'},
        ):
            self.encrypt('general', **values)
            self.carry_out(self.make_plan())
            self.assertEqual((), self.make_plan().actions)
        self.assertEqual(
            cinder_state.TypeEncryption(
                name='general',
                provider='luks2',
                cipher='aes-xts-plain64',
                key_size_bits=512,
                control_location='back-end',
            ),
            self.encryption_of('general'),
        )

    def test_an_encryption_is_refused_to_a_type_with_volumes(self):
        self.encrypt('database', provider='luks')
        (action,) = self.make_plan().refused
        self.assertEqual(
            ('create type encryption database', False),
            (f'{action.verb} {action.key}', action.refusal.yields_to_consent),
        )
        # As if the volume had come since the plan was made.
        (result,) = self.apply(
            plans.Plan(actions=(dataclasses.replace(action, refusal=None),))
        )
        self.assertIs(actions.Outcome.FAILED, result.outcome)
        self.assertIn('Volume type in use', result.reason)
        self.assertIsNone(self.encryption_of('database'))
