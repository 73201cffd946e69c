# SPDX-License-Identifier: Apache-2.0

"""Runners and regions that Rally refuses before it begins."""

import multiprocessing

import ddt
from rally import exceptions
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from tests.unit.rally import test_tasks


@ddt.ddt
class RefusedTest(testtools.TestCase):
    """What would give figures that are of something else."""

    def refused(self, config):
        return str(
            self.assertRaises(
                exceptions.InvalidTaskConfig, test_tasks.check, config
            )
        )

    @ddt.data(
        ({'constant': {'times': 4, 'concurrency': 4}}, 'concurrency 4'),
        (
            {'constant_for_duration': {'duration': 9, 'concurrency': 2}},
            'concurrency 2',
        ),
        ({'rps': {'times': 4, 'rps': 1}}, 'may run at the same time'),
    )
    @ddt.unpack
    def test_fleets_are_not_measured_against_each_other(self, runner, message):
        for file in sorted(test_tasks.QUICK.parent.glob('*.yaml')):
            config = test_tasks.render(file)
            test_tasks.workload(config)['runner'] = runner
            self.assertIn(message, self.refused(config), file.name)

    def test_one_after_another_is_taken(self):
        config = test_tasks.render()
        test_tasks.workload(config)['runner'] = {
            'constant': {'times': 4, 'concurrency': 1}
        }
        if multiprocessing.get_all_start_methods()[0] == 'fork':
            test_tasks.check(config)
        else:
            self.assertIn('would not have the plugins', self.refused(config))

    def test_a_region_larger_than_its_boot_volume_is_refused(self):
        self.assertIn(
            'region_mib 10240 on boot volumes of 1 GiB: expected at most 1024',
            self.refused(
                test_tasks.render(region_mib=10240, volume_size_gib=1)
            ),
        )
