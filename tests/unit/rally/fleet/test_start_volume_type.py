# SPDX-License-Identifier: Apache-2.0

"""The volume type of the disk that all guests of a fleet share."""

from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

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
