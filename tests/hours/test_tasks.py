# SPDX-License-Identifier: Apache-2.0

"""The ready task files, as a member of a project and as administrator.

Each runs unchanged, in the size ``smoke``.  ``CINDER_TIERS_TEST_TASKS`` names
some of them, separated by commas.
"""

import os

import ddt

from tests.functional import lab
from tests.functional import test_measurement
from tests.long import rally_member

TASKS = tuple(
    os.environ.get(
        'CINDER_TIERS_TEST_TASKS',
        'quick,layers,curve,idcf2014,poat2016,ornl2013,scaling,meyer2016'
        ',lin2013',
    ).split(',')
)
ARGUMENTS = {'size': 'smoke'}
MINUTES = 60


def path_of(name):
    return str(lab.REPOSITORY / 'rally_scenarios' / 'tasks' / f'{name}.yaml')


@ddt.ddt
class AdministratorTest(test_measurement.MeasurementCase):
    @ddt.data(*TASKS)
    def test_it_runs_and_leaves_nothing(self, name):
        before = self.leftovers()
        self.run_command(
            'rally',
            'task',
            'start',
            path_of(name),
            '--task-args',
            '{"size": "smoke"}',
            timeout_s=60 * MINUTES,
        )
        self.assertEqual(before, self.leftovers())


@ddt.ddt
class MemberTest(rally_member.MemberCase):
    @ddt.data(*TASKS)
    def test_it_runs_and_leaves_nothing(self, name):
        before = self.leftovers()
        self.start_as_member(path_of(name), ARGUMENTS, timeout_s=60 * MINUTES)
        self.assertEqual(before, self.leftovers())
