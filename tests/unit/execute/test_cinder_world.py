# SPDX-License-Identifier: Apache-2.0

"""The contract of a world, kept by Cinder's real API; Ceph is in memory.

The namespace of tags is in a stand-in for Glance.

The catalog has all that a tier can ask of Cinder.
"""

import contextlib
import dataclasses

from keystoneauth1.identity import v3
import keystoneauth1.session
import openstack.connection
import openstack.exceptions
import testtools

from cinder_tiers.clients import default_types
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import for_plan as observer
from cinder_tiers.observe import registry as observe_registry
from tests.contract import consent_contract
from tests.contract import world_contract
from tests.unit.domain import catalogs as given
from tests.unit.execute.cinder import test_volume_type
from tests.worlds import cinder_api
from tests.worlds import in_memory

CINDER_KINDS = observe_registry.CINDER.keys()


PROJECTS = {
    'a' * 32: 'alpha',
    'b' * 32: 'beta',
    'c' * 32: 'Gamma, Inc.',
    'd' * 32: 'twice',
    'e' * 32: 'twice',
}


def log_in(
    api,
    session=keystoneauth1.session.Session,
    *,
    username='admin',
    project=cinder_api.PROJECT,
):
    """A connection of an administrator who logged in with Keystone.

    :param username: admin, or member.
    :param project: id of the project.
    """
    return openstack.connection.Connection(
        session=session(
            auth=v3.Password(
                f'{api.url}/identity/v3',
                username=username,
                password='any',
                user_domain_id='default',
                project_id=project,
            )
        ),
        block_storage_api_version='3',
        identity_api_version='3',
    )


def remove_namespace(image):
    """Deletes the namespace in which tags are published, if there is one."""
    with contextlib.suppress(openstack.exceptions.NotFoundException):
        image.delete_metadef_namespace(
            glance_state.NAMESPACE, ignore_missing=False
        )


def apply_plan(plan, connection):
    """Applies a plan that has to do with Cinder only; returns the results."""
    return apply.apply(
        plan=plan,
        report=lambda result: None,
        executors=registry.executors(
            connection=connection,
            clusters={},
            read_usage=ceph_usage.attempt,
        ),
        read=observer.reader(connection=connection, clusters={}),
    )


def undone(results):
    """Why actions were not done, of those that were not."""
    return [
        one.reason
        for one in results
        if one.outcome is not actions.Outcome.DONE
    ]


class RealCinderWorldTestCase(
    world_contract.WorldContract,
    consent_contract.CinderConsentContract,
    testtools.TestCase,
):
    settle_s = 0.0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        for ident, name in PROJECTS.items():
            cls.api.add_project(ident, name)
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        self.connection = log_in(self.api)
        self.addCleanup(self.connection.close)
        self.addCleanup(self.api.return_to, self.empty)
        self.memory = in_memory.World(osds=given.osds())
        self.executors = {
            **self.memory.executors,
            **{
                kind: executor
                for kind, executor in registry.executors(
                    connection=self.connection,
                    clusters={},
                    read_usage=ceph_usage.attempt,
                ).items()
                if kind in CINDER_KINDS
            },
        }
        self.addCleanup(remove_namespace, self.connection.image)
        self.catalog = dataclasses.replace(
            given.of(*given.tiers_of_all_kinds()), publish_tags=True
        )

    def read(self, key):
        if key.cluster is None:
            return observer.reader(connection=self.connection, clusters={})(
                key
            )
        return self.memory.read(key)

    def observe(self):
        found = observer.observe(
            catalog=self.catalog, clusters={}, connection=self.connection
        )
        return dataclasses.replace(found, ceph=self.memory.observe().ceph)

    def put(self, key, resource):
        block_storage = self.connection.block_storage
        if key.kind is actions.Kind.VOLUME_TYPE:
            made = block_storage.create_type(
                name=key.name,
                is_public=resource.is_public,
                description=resource.description,
                extra_specs=dict(resource.extra_specs),
            )
            for project in resource.projects:
                block_storage.add_type_access(made, project)
            return
        block_storage.create_qos_spec(
            name=key.name, consumer=resource.consumer, **resource.specs
        )
        for name in resource.volume_types:
            self.associate(key.name, name)

    def associate(self, spec, volume_type):
        block_storage = self.connection.block_storage
        (found,) = [
            one for one in block_storage.qos_specs() if one.name == spec
        ]
        block_storage.associate_qos_spec(
            found, block_storage.find_type(volume_type).id
        )

    def describe(self, volume_type, text):
        block_storage = self.connection.block_storage
        block_storage.update_type(
            block_storage.find_type(volume_type), description=text
        )

    def change(self, name, **fields):
        """Changes a tier of the catalog in fields; returns the plan."""
        self.edit(name, **fields)
        return self.make_plan()

    def assert_applied(self, plan):
        self.assertEqual((), plan.refused)
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)

    def test_overflow_comes_and_goes(self):
        self.carry_out(self.make_plan())
        plan = self.change('database', overflow=None)
        self.assertEqual(1, len(plan.actions))
        self.assert_applied(plan)
        self.assert_applied(self.change('database', overflow='archive'))
        specs = self.read(test_volume_type.key('database')).extra_specs
        self.assertEqual(
            '<or> tier-database <or> tier-archive',
            specs['volume_backend_name'],
        )

    def test_a_private_tier_has_exactly_its_projects(self):
        self.assert_applied(self.make_plan())
        archive = self.read(test_volume_type.key('archive'))
        self.assertEqual(
            (False, {'a' * 32, 'b' * 32}),
            (archive.is_public, archive.projects),
        )

    def test_access_that_an_apply_left_half_done_is_finished(self):
        self.carry_out(self.make_plan())
        self.edit('archive', access=catalogs.PUBLIC)
        self.carry_out(self.make_plan())
        self.edit('archive', access=('beta',))
        block_storage = self.connection.block_storage
        # As after the first of the calls of the executor.
        block_storage.put(
            f'/types/{block_storage.find_type("archive").id}',
            json={'volume_type': {'is_public': False}},
        )
        self.assertEqual(
            {'a' * 32, 'b' * 32},
            self.read(test_volume_type.key('archive')).projects,
        )
        self.assert_done_with('volume type archive')

    def test_a_type_with_volumes_is_not_deleted_and_says_why(self):
        self.carry_out(self.make_plan())
        self.catalog = dataclasses.replace(
            self.catalog, tiers=self.catalog.tiers[:-2]
        )
        plan = self.granted('volume type any', 'volume type lvm')
        # Of another project, and since the plan was made.
        volume = self.api.add_volume(
            host='node@x#x',
            project_id='2' * 32,
            volume_type_id=(self.connection.block_storage.find_type('any').id),
        )
        self.addCleanup(self.api.delete_volume, volume)
        refused = {
            one.key.name: one.refusal for one in self.make_plan().refused
        }
        self.assertEqual(
            {'any': False, 'lvm': True},
            {name: one.yields_to_consent for name, one in refused.items()},
        )
        self.assertIn('a volume type that has volumes', refused['any'].reason)
        (result,) = [
            one
            for one in self.carry_out(plan)
            if one.outcome is not actions.Outcome.DONE
        ]
        self.assertIn('Target volume type is still in use', result.reason)
        self.assertIn('openstack volume set --type', result.reason)
        self.assertIsNotNone(self.type_of('any'))

    def test_a_project_is_added_by_its_name(self):
        self.carry_out(self.make_plan())
        self.assert_applied(
            self.change('archive', access=('a' * 32, 'beta', 'Gamma, Inc.'))
        )
        self.assertEqual(
            {'a' * 32, 'b' * 32, 'c' * 32},
            self.read(test_volume_type.key('archive')).projects,
        )

    def test_a_private_tier_is_opened_in_words(self):
        self.carry_out(self.make_plan())
        self.assert_applied(self.change('archive', access=catalogs.PUBLIC))
        self.assertTrue(self.read(test_volume_type.key('archive')).is_public)

    def test_access_that_somebody_else_got_is_not_taken_away(self):
        plan = self.make_plan()
        self.carry_out(plan)
        block_storage = self.connection.block_storage
        archive = block_storage.find_type('archive')
        block_storage.add_type_access(archive, 'c' * 32)
        # Since the plan was made, so that it does not know of it.
        (result,) = [
            one
            for one in self.carry_out(plan)
            if one.outcome is not actions.Outcome.DONE
        ]
        self.assertIn('refusing to take access away', result.reason)
        (refused,) = self.make_plan().refused
        self.assertIn('c' * 32, refused.refusal.reason)
        block_storage.remove_type_access(archive, 'c' * 32)
        self.assertEqual((), self.make_plan().actions)

    def test_projects_that_keystone_does_not_know_are_told_at_once(self):
        error = self.assertRaises(
            errors.ProblemsFound,
            self.change,
            'archive',
            access=('twice', 'alpha', 'nobody', '../projects'),
        )
        self.assertEqual(
            [
                (f"2 projects with the name 'twice': {'d' * 32}, {'e' * 32}"),
                "unknown project 'nobody'",
                "unknown project '../projects'",
            ],
            [problem.found for problem in error.problems],
        )

    def qos_spec(self, tier):
        return self.read(
            actions.Key(kind=actions.Kind.QOS_SPEC, name=f'tier-{tier}')
        )

    def test_each_tier_has_its_own_limits(self):
        self.assert_applied(self.make_plan())
        self.assertEqual(
            [
                (
                    'front-end',
                    {'total_iops_sec': '500', 'total_bytes_sec': '9000000'},
                    {'database'},
                ),
                ('back-end', {'read_iops_sec': '100'}, {'general'}),
            ],
            [
                (found.consumer, found.specs, found.volume_types)
                for found in map(self.qos_spec, ('database', 'general'))
            ],
        )

    def test_limits_are_changed_and_removed(self):
        self.carry_out(self.make_plan())
        specs = {'total_iops_sec': '600', 'read_bytes_sec': '7000000'}
        self.assert_applied(
            self.change(
                'database', qos=catalogs.Qos(front_end=specs, back_end=specs)
            )
        )
        found = self.qos_spec('database')
        self.assertEqual(('both', specs), (found.consumer, found.specs))

    def test_limits_of_somebody_else_stay(self):
        self.catalog = given.of(
            *(
                dataclasses.replace(tier, qos=None)
                for tier in given.tiers_of_all_kinds()
            )
        )
        self.assert_applied(self.make_plan())
        block_storage = self.connection.block_storage
        gold = block_storage.create_qos_spec(name='gold', consumer='both')
        archive = block_storage.find_type('archive')
        block_storage.associate_qos_spec(gold, archive.id)
        self.assertEqual((), self.make_plan().actions)
        (refused,) = self.change(
            'archive', qos=catalogs.Qos(front_end={'total_iops_sec': '100'})
        ).refused
        self.assertIn('gold', refused.refusal.reason)

    def test_limits_that_an_apply_left_half_done_are_finished(self):
        self.carry_out(self.make_plan())
        block_storage = self.connection.block_storage
        (left,) = [
            one
            for one in block_storage.qos_specs()
            if one.name == 'tier-general'
        ]
        block_storage.disassociate_all_qos_spec(left)
        plan = self.make_plan()
        self.assertEqual(1, len(plan.actions))
        self.assert_applied(plan)

    def test_limits_that_another_type_got_meanwhile_are_not_changed(self):
        self.carry_out(self.make_plan())
        plan = self.change(
            'database', qos=catalogs.Qos(front_end={'total_iops_sec': '100'})
        )
        block_storage = self.connection.block_storage
        theirs = block_storage.create_type(name='theirs')
        (spec,) = [
            one
            for one in block_storage.qos_specs()
            if one.name == 'tier-database'
        ]
        block_storage.associate_qos_spec(spec, theirs.id)
        (result,) = self.carry_out(plan)
        self.assertIn('other volume types have', result.reason)
        self.assertEqual(
            '500', self.qos_spec('database').specs['total_iops_sec']
        )

    def test_a_tier_moves_to_other_storage(self):
        self.carry_out(self.make_plan())
        self.assert_applied(self.change('any', backend_name='lvm'))
        self.assert_applied(self.change('any', backend_name=None))
        self.assertEqual(
            {'tiers:name': 'any', 'vendor_name': 'somebody'},
            self.read(test_volume_type.key('any')).extra_specs,
        )

    def test_quotas_are_those_of_the_type_alone(self):
        self.assert_applied(self.make_plan())
        key = actions.Key(kind=actions.Kind.TYPE_QUOTA, name='lvm')
        self.assertEqual(
            cinder_state.TypeQuota(
                name='lvm', volumes=10, size_gib=200, snapshots=-1
            ),
            self.read(key),
        )
        self.assert_applied(
            self.change('lvm', quotas=catalogs.Quotas(snapshots=1))
        )
        self.assertEqual(
            cinder_state.TypeQuota(name='lvm', snapshots=1), self.read(key)
        )
        self.assertEqual(
            cinder_state.TypeQuota(name='general'),
            self.read(dataclasses.replace(key, name='general')),
        )

    def test_quotas_that_a_deleted_type_left_are_put_right(self):
        block_storage = self.connection.block_storage
        left = block_storage.create_type(name='lvm')
        block_storage.put(
            '/os-quota-class-sets/default',
            json={'quota_class_set': {'snapshots_lvm': 3}},
        )
        block_storage.delete_type(left)
        self.assert_applied(self.make_plan())

    def test_quotas_that_the_catalog_does_not_have_stay(self):
        self.carry_out(self.make_plan())
        self.assertEqual((), self.change('lvm', quotas=None).actions)
        self.connection.block_storage.put(
            '/os-quota-class-sets/default',
            json={'quota_class_set': {'volumes_general': 3}},
        )
        self.assertEqual((), self.make_plan().actions)

    def test_quotas_that_others_set_since_the_plan_stay(self):
        self.assert_applied(self.make_plan())
        plan = self.change('lvm', quotas=catalogs.Quotas(volumes=11))
        self.connection.block_storage.put(
            '/os-quota-class-sets/default',
            json={'quota_class_set': {'volumes_lvm': 500}},
        )
        (reason,) = undone(self.carry_out(plan))
        self.assertIn('was changed since the plan was made', reason)
        key = actions.Key(kind=actions.Kind.TYPE_QUOTA, name='lvm')
        self.assertEqual(500, self.read(key).volumes)

    def defaults(self):
        """{name of a project: name of its default type}"""
        block_storage = self.connection.block_storage
        types = {
            one.id: one.name for one in block_storage.types(is_public='None')
        }
        return {
            PROJECTS[project]: types[type_id]
            for project, type_id in default_types.list_all(
                block_storage
            ).items()
        }

    def set_default(self, project, name):
        block_storage = self.connection.block_storage
        default_types.set_type(
            block_storage, project, block_storage.find_type(name).id
        )

    def test_default_types_of_projects_are_set_moved_and_unset(self):
        self.assert_applied(self.make_plan())
        self.assertEqual({'alpha': 'lvm'}, self.defaults())
        self.assert_applied(
            self.change('lvm', default_for=('alpha', 'b' * 32))
        )
        self.assertEqual({'alpha': 'lvm', 'beta': 'lvm'}, self.defaults())
        self.edit('any', default_for=('beta',))
        self.assert_applied(
            self.change('lvm', default_for=('alpha', 'Gamma, Inc.'))
        )
        self.assertEqual(
            {'alpha': 'lvm', 'Gamma, Inc.': 'lvm', 'beta': 'any'},
            self.defaults(),
        )
        self.assertEqual((), self.make_plan().actions)
        self.assert_applied(self.change('lvm', default_for=()))
        self.assertEqual({'beta': 'any'}, self.defaults())

    def test_tiers_swap_projects(self):
        self.edit('any', default_for=('beta',))
        self.assert_applied(self.make_plan())
        self.edit('any', default_for=('alpha', 'c' * 32))
        self.assert_applied(self.change('lvm', default_for=('beta',)))
        self.assertEqual(
            {'alpha': 'any', 'Gamma, Inc.': 'any', 'beta': 'lvm'},
            self.defaults(),
        )
        self.assertEqual((), self.make_plan().actions)

    def test_a_default_type_of_others_is_replaced_if_it_is_named(self):
        self.connection.block_storage.create_type(name='theirs')
        self.set_default('a' * 32, 'theirs')
        self.set_default('b' * 32, 'theirs')
        plan = self.make_plan()
        self.assertEqual(
            ['project defaults lvm'], [str(one.key) for one in plan.refused]
        )
        self.assertIn('"theirs"', plan.refused[0].refusal.reason)
        self.assert_done_with('project defaults lvm')
        self.assertEqual({'alpha': 'lvm', 'beta': 'theirs'}, self.defaults())

    def test_one_that_others_set_since_the_plan_is_not_replaced(self):
        plan = self.make_plan()
        self.connection.block_storage.create_type(name='theirs')
        self.set_default('a' * 32, 'theirs')
        (reason,) = undone(self.carry_out(plan))
        self.assertIn('"theirs", without the ownership marker', reason)
        self.assertIn('run "openstack tier plan" again', reason)
        self.assertEqual({'alpha': 'theirs'}, self.defaults())

    def test_a_project_that_came_since_the_plan_is_not_taken(self):
        self.assert_applied(self.make_plan())
        plan = self.change('lvm', default_for=('beta',))
        self.set_default('c' * 32, 'lvm')
        (reason,) = undone(self.carry_out(plan))
        self.assertIn('was changed since the plan was made', reason)
        self.assertEqual(
            {'alpha': 'lvm', 'Gamma, Inc.': 'lvm'}, self.defaults()
        )

    def test_a_default_type_that_is_gone_is_said_at_once(self):
        self.edit('lvm', default_for=('alpha',))
        self.assert_applied(self.make_plan())
        plan = self.change('lvm', default_for=())
        block_storage = self.connection.block_storage
        default_types.unset(block_storage, 'a' * 32)
        block_storage.delete_type(block_storage.find_type('lvm'))
        (failed,) = undone(self.carry_out(plan))
        self.assertIn('volume type lvm was deleted', failed)

    def test_a_type_that_took_the_name_since_the_plan_is_no_default(self):
        self.edit('lvm', default_for=())
        self.assert_applied(self.make_plan())
        plan = self.change('lvm', default_for=('alpha',))
        block_storage = self.connection.block_storage
        block_storage.delete_type(block_storage.find_type('lvm'))
        block_storage.create_type(name='lvm')
        (reason,) = undone(self.carry_out(plan))
        self.assertIn('replaced since the plan was made', reason)
        self.assertEqual({}, self.defaults())

    def test_of_a_type_that_is_taken_over_none_is_unset_unasked(self):
        self.connection.block_storage.create_type(name='lvm')
        self.set_default('c' * 32, 'lvm')
        self.assertIn(
            'project defaults lvm',
            [str(one.key) for one in self.make_plan().refused],
        )

    def test_a_default_type_is_unset_before_it_is_closed(self):
        self.edit('lvm', default_for=('alpha', 'beta'))
        self.assert_applied(self.make_plan())
        plan = self.change('lvm', access=('alpha',), default_for=('alpha',))
        self.assertEqual(
            ['project defaults lvm', 'volume type lvm'],
            [str(one.key) for one in plan.actions],
        )

    def test_without_the_key_in_any_tier_default_types_stay(self):
        self.assert_applied(self.make_plan())
        self.set_default('b' * 32, 'any')
        self.assertEqual((), self.change('lvm', default_for=None).actions)
        self.assertEqual({'alpha': 'lvm', 'beta': 'any'}, self.defaults())

    def test_a_tier_without_the_key_asks_before_it_unsets_any(self):
        self.assert_applied(self.make_plan())
        self.set_default('b' * 32, 'any')
        self.assertEqual(
            ['project defaults any'],
            [str(one.key) for one in self.make_plan().refused],
        )
        self.assert_done_with('project defaults any')
        self.assertEqual({'alpha': 'lvm'}, self.defaults())

    def test_a_removed_tier_goes_although_projects_default_to_it(self):
        self.assert_applied(self.make_plan())
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=tuple(
                one for one in self.catalog.tiers if one.name != 'lvm'
            ),
        )
        self.assert_done_with('volume type lvm')
        self.assertEqual({}, self.defaults())
        self.assertEqual((), self.make_plan().actions)
