# SPDX-License-Identifier: Apache-2.0

"""Volume types, written to and read from Cinder's real API."""

import dataclasses

import keystoneauth1.session
from keystoneauth1 import token_endpoint
import openstack.connection
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute.cinder import volume_type as executor
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import state as observer
from cinder_tiers.observe import registry as observe_registry
from tests.worlds import cinder_api


def connect(api):
    """A connection of openstacksdk to the API, as an administrator."""
    session = keystoneauth1.session.Session(
        auth=token_endpoint.Token(api.endpoint, api.token)
    )
    return openstack.connection.Connection(
        session=session, block_storage_api_version='3'
    )


def key(name):
    return actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name)


def volume_type(name, *, description='', **specs):
    return cinder_state.VolumeType(
        name=name,
        description=description,
        extra_specs={
            name.replace('__', ':'): value for name, value in specs.items()
        },
    )


class VolumeTypesTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        self.connection = connect(self.api)
        self.addCleanup(self.connection.close)
        self.executor = executor.VolumeTypes(self.connection)
        self.addCleanup(self.api.return_to, self.empty)

    def read(self, name):
        return observer.observe(
            self.connection, scopes.Scope()
        ).volume_types.get(name)

    def write(self, wanted):
        self.executor.write(
            wanted, key=key(wanted.name), current=self.read(wanted.name)
        )

    def test_what_is_planned_for_cinder_is_observed(self):
        found = cinder_state.CinderState(volume_types={})
        for kind, one in observe_registry.CINDER.items():
            fields = one.observe(self.connection, scopes.Scope(), found)
            self.assertIn(registry.BY_KIND[kind].state_field, fields)
            found = dataclasses.replace(found, **fields)

    def test_a_created_type_is_what_was_wanted(self):
        wanted = volume_type(
            'database',
            description='D',
            tiers__name='database',
            tiers__fallback='<is> True',
            volume_backend_name='tier-database',
        )
        self.write(wanted)
        self.assertEqual(wanted, self.read('database'))

    def test_an_update_sets_changes_and_removes_specs(self):
        self.write(
            volume_type(
                'a',
                description='x',
                tiers__name='a',
                tiers__tags='x',
                tiers__overflow='b',
            )
        )
        wanted = volume_type(
            'a',
            description='y',
            tiers__name='a',
            tiers__tags='y',
            tiers__priority='1',
        )
        self.write(wanted)
        self.assertEqual(wanted, self.read('a'))

    def test_writing_twice_changes_nothing(self):
        wanted = volume_type('a', tiers__name='a')
        self.write(wanted)
        self.write(wanted)
        self.assertEqual(wanted, self.read('a'))

    def test_a_name_that_looks_like_an_id_is_a_name(self):
        wanted = volume_type(
            '0' * 8 + '-0000-0000-0000-' + '0' * 12, tiers__name='x'
        )
        self.write(wanted)
        again = volume_type(wanted.name, tiers__name='y')
        self.write(again)
        self.assertEqual(again, self.read(wanted.name))

    def test_a_type_without_our_mark_is_not_touched(self):
        foreign = volume_type('theirs', multiattach='<is> True')
        self.executor.write(foreign, key=key('theirs'), current=None)
        self.assertRaises(
            errors.ActionFailed,
            self.write,
            volume_type('theirs', tiers__name='theirs'),
        )
        self.assertEqual(foreign, self.read('theirs'))

    def test_private_types_are_seen(self):
        self.connection.block_storage.create_type(
            name='hidden', is_public=False, extra_specs={'tiers:name': 'h'}
        )
        self.assertFalse(self.read('hidden').is_public)

    def test_what_cinder_refuses_is_a_clear_failure(self):
        error = self.assertRaises(
            errors.ActionFailed,
            self.write,
            volume_type('a', tiers__tags='x' * 256),
        )
        self.assertIn('Cinder refused to change volume type a', str(error))

    def test_a_type_with_volumes_says_why_and_what_to_do(self):
        wanted = volume_type('a', tiers__name='a')
        self.write(wanted)
        (found,) = [
            one
            for one in self.connection.block_storage.types()
            if one.name == 'a'
        ]
        volume = self.api.add_volume(host='node@x#x', volume_type_id=found.id)
        self.addCleanup(self.api.delete_volume, volume)
        error = self.assertRaises(
            errors.ActionFailed,
            self.write,
            volume_type(
                'a', description='new', tiers__name='a', tiers__tags='x'
            ),
        )
        self.assertIn('volume type a got its first volume', str(error))
        self.assertIn('run "openstack tier plan" again', str(error))
        self.assertIn('no part of it was changed', str(error))
        self.assertEqual(wanted, self.read('a'))

    def test_a_description_of_a_type_with_volumes_is_changed(self):
        self.write(volume_type('a', tiers__name='a'))
        (found,) = [
            one
            for one in self.connection.block_storage.types()
            if one.name == 'a'
        ]
        volume = self.api.add_volume(host='node@x#x', volume_type_id=found.id)
        self.addCleanup(self.api.delete_volume, volume)
        wanted = volume_type('a', description='new', tiers__name='a')
        self.write(wanted)
        self.assertEqual(wanted, self.read('a'))

    def test_no_api_is_a_clear_failure(self):
        self.api.endpoint, kept = 'http://127.0.0.1:9/v3', self.api.endpoint
        self.addCleanup(setattr, self.api, 'endpoint', kept)
        error = self.assertRaises(
            errors.Unreachable,
            observer.observe,
            connect(self.api),
            scopes.Scope(),
        )
        self.assertIn('Cinder failed to list volume types', str(error))
