# SPDX-License-Identifier: Apache-2.0

"""The volume type of the disk that all guests of a fleet share."""

import types
from unittest import mock

from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_openstack.common import osclients

from rally_scenarios.plugins.fleet import start_volume_type
from tests.unit.rally.fleet import test_run


class StartVolumeTypeTest(test_run.FleetFioCase):
    def test_without_a_type_for_the_start_volume_nothing_is_made(self):
        del self.scenario.context['cinder_tiers_start_signal']
        self.assertIn(
            'add the context cinder_tiers_start_signal', self.failure()
        )
        self.assertEqual([], self.cloud.everything_made)

    def test_a_type_that_is_named_is_used_for_the_start_volume(self):
        self.cloud.multiattach_types = {'shared'}
        self.run_scenario(start_volume_type='shared')
        self.assertEqual('shared', self.cloud.everything_made[0].volume_type)


class VolumeTypes:
    """Volume types in memory, as the administrator's cinderclient has them.

    :ivar made: [the types]
    """

    def __init__(self):
        self.made = []

    def create(self, name, description, is_public=True):
        made = types.SimpleNamespace(
            name=name, is_public=is_public, projects=set(), keys={}
        )
        made.set_keys = made.keys.update
        self.made.append(made)
        return made

    def add_project_access(self, volume_type, project):
        if volume_type.is_public:
            raise AssertionError('Cinder refuses access to a public type')
        volume_type.projects.add(project)


class StartSignalTest(testtools.TestCase):
    def test_only_projects_of_the_run_may_use_the_type(self):
        made = VolumeTypes()
        cinder = types.SimpleNamespace(
            volume_types=made, volume_type_access=made
        )
        context = {
            'task': mock.MagicMock(),
            'owner_id': 'a-task',
            'admin': {'credential': None},
            'tenants': {'project-a': {}, 'project-b': {}},
            'config': {
                start_volume_type.NAME: {
                    'extra_specs': {'volume_backend_name': 'ssd'}
                }
            },
        }
        with mock.patch.object(osclients, 'Clients') as clients:
            clients.return_value.cinder.return_value = cinder
            start_volume_type.StartSignal(context).setup()
        (volume_type,) = made.made
        self.assertFalse(volume_type.is_public)
        self.assertEqual({'project-a', 'project-b'}, volume_type.projects)
        self.assertEqual(
            {'volume_backend_name': 'ssd', 'multiattach': '<is> True'},
            volume_type.keys,
        )
        self.assertEqual(
            {'volume_type': volume_type.name}, context[start_volume_type.NAME]
        )
