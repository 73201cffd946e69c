# SPDX-License-Identifier: Apache-2.0

"""The SLA through Rally's own checker, on runs of a cloud in memory."""

import pathlib
import uuid

import ddt
import fixtures
from rally import plugins
from rally.task import sla
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.fleet import scenario as fleet_scenario
from rally_scenarios.plugins import servers
from tests.unit.rally import fake_cloud
from tests.unit.rally.fleet import test_run

CATALOG = """version: 1
tiers:
  database:
    backend: ssd
    expect:
      randwrite-4k: {iops_min: 900}
      read-64k: {iops_min: 900}
  general: {fallback: true, backend: hdd}
"""
# Of each tier in the cloud in memory: two guests of 500.25 IOPS.
HELD = {'expect': {'database': {'randwrite-4k': {'iops_min': 1000}}}}
BROKEN = {'expect': {'database': {'randwrite-4k': {'iops_min': 1001}}}}


class TierSLACase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.cloud = fake_cloud.Cloud(
            images={'db': ['image-db'], 'plain': ['image-plain']},
            multiattach_types={'shared'},
        )

    def iteration(self, **args):
        """A run of the scenario, as Rally's runner hands it over."""
        owner = str(uuid.uuid4())
        scenario = fleet_scenario.FleetFio(
            context={'owner_id': owner, 'task': {'uuid': owner}},
            clients=self.cloud.clients(),
            clock=self.cloud.clock,
        )
        error = []
        try:
            scenario.run(
                **{
                    **test_run.ARGS,
                    'start_volume_type': 'shared',
                    'result_folder': str(self.folder),
                    **args,
                }
            )
        except servers.FleetError as failure:
            error = ['FleetError', str(failure), 'its traceback']
        return {'output': scenario._output, 'error': error}

    def judge(self, criterion, *iterations):
        """What Rally's checker says: (success, detail)."""
        checker = sla.SLAChecker({'sla': {'cinder_tiers': criterion}})
        for iteration in iterations:
            checker.add_iteration(iteration)
        (found,) = checker.results()
        self.assertEqual('cinder_tiers', found['criterion'])
        return found['success'], found['detail']


@ddt.ddt
class TierSLATest(TierSLACase):
    def test_figures_are_exact(self):
        """The report says 1000.5, the run did 1000.49975."""
        run = self.iteration()
        self.assertEqual(
            [True, False],
            [
                self.judge(
                    {
                        'expect': {
                            'database': {'randwrite-4k': {'iops_min': least}}
                        }
                    },
                    run,
                )[0]
                for least in (1000.4997, 1000.4998)
            ],
        )

    def test_writes_of_a_write_pattern_are_all_there_is(self):
        run = self.iteration()
        for limits, expected in (
            ({'write_iops_min': 1000, 'write_lat_mean_ms_max': 10**6}, True),
            ({'write_iops_min': 1001}, False),
            ({'write_lat_mean_ms_max': 0.001}, False),
        ):
            success, detail = self.judge(
                {'expect': {'database': {'randwrite-4k': limits}}}, run
            )
            self.assertIs(expected, success, detail)
        self.assertIn('mean total latency of writes', detail)

    def test_of_a_bad_run_what_is_broken_is_told(self):
        success, detail = self.judge(
            {
                'expect': {
                    'database': {
                        'randwrite-4k': {'p99_ms_max': 10**6, 'iops_min': 1001}
                    }
                },
                'losses': {'lost': 0},
            },
            self.iteration(),
        )
        self.assertIs(False, success)
        self.assertRegex(
            detail,
            '^run [0-9a-f]{16}: database randwrite-4k: all guests'
            ' 1000.5 IOPS .one repeat, no interval., at least 1001'
            ' IOPS: broken . the other 2 pass$',
        )

    def test_of_a_good_run_everything_is_told(self):
        _success, detail = self.judge(
            {**HELD, 'losses': {'lost': 0}}, self.iteration()
        )
        self.assertEqual(
            ['held', 'held'],
            [part.rpartition(': ')[2] for part in detail.split(' | ')],
        )

    def test_repeats_without_a_spread_hold_their_limit(self):
        success, detail = self.judge(HELD, self.iteration(repeats=2))
        self.assertIs(True, success)
        self.assertIn("Student's t over 2 repeats", detail)

    def test_tiers_that_are_alike_have_no_order(self):
        order = {
            'order': [
                {
                    'pattern': 'randwrite-4k',
                    'by': 'iops',
                    'tiers': ['database', 'general'],
                }
            ]
        }
        run = self.iteration()
        self.assertEqual(
            (False, True),
            (
                self.judge(order, run)[0],
                self.judge({**order, 'when_unsure': 'pass'}, run)[0],
            ),
        )

    def test_a_catalog_gives_limits_and_says_what_it_did_not_try(self):
        path = self.folder / 'tiers.yaml'
        path.write_text(CATALOG)
        run = self.iteration()
        success, detail = self.judge({'catalog': str(path)}, run)
        self.assertIs(True, success)
        self.assertIn(
            'database read-64k: iops_min 900: the run had only'
            ' randwrite-4k, write-1m: not run',
            detail,
        )
        path.write_text(CATALOG.replace('900', '1001'))
        self.assertIs(False, self.judge({'catalog': str(path)}, run)[0])

    def test_a_lost_guest_breaks_the_limit_of_losses_and_no_other(self):
        self.cloud.guests_do['g003'] = lambda lines: lines[:5]
        self.cloud.guests_stop.add('g003')
        run = self.iteration()
        success, detail = self.judge({'losses': {'lost': 0, 'late': 0}}, run)
        self.assertIs(False, success)
        self.assertIn(
            'lost guests: 1 (g003 of general, lost: last reported START',
            detail,
        )
        self.assertIs(True, self.judge({'losses': {'lost': 1}}, run)[0])
        self.assertIs(True, self.judge(HELD, run)[0])

    def test_volumes_without_a_type_are_nowhere(self):
        success, detail = self.judge(
            {'placement': {'database': 'database'}}, self.iteration()
        )
        self.assertIs(False, success)
        self.assertIn(
            'Cinder reported no volume type of the volumes: not measured',
            detail,
        )


@ddt.ddt
class ValidationTest(testtools.TestCase):
    def refusals(self, criterion):
        """What Rally says before anything is made."""
        return '\n'.join(
            sla.SLA.validate(
                'cinder_tiers', context={}, config=None, plugin_cfg=criterion
            )
        )

    @ddt.data(
        HELD,
        {'losses': {'late': 1}},
        {'when_unsure': 'pass', **HELD},
        {'placement': {'database': 'ssd'}},
        {
            'order': [
                {
                    'pattern': 'write-1m',
                    'by': 'p99.9_ms',
                    'tiers': ['database', 'general'],
                }
            ]
        },
        {
            'order': [
                {
                    'pattern': 'randrw-16k-r10',
                    'by': 'lat_mean_ms',
                    'direction': 'write',
                    'at_least_percent': 20,
                    'tiers': ['database', 'general'],
                }
            ]
        },
        {'expect': {'database': {'randwrite-4k': {'write_iops_min': 9}}}},
        {
            'order': [
                {
                    'tier': 'database',
                    'by': 'mib_per_s',
                    'patterns': ['write-1m', 'randwrite-4k'],
                }
            ]
        },
    )
    def test_what_can_be_judged_is_taken(self, criterion):
        self.assertEqual('', self.refusals(criterion))

    @ddt.data(
        ({}, 'not valid under any of the given schemas'),
        ({'when_unsure': 'pass'}, 'not valid under any'),
        ({'losses': {'dead': 0}}, "'dead' was unexpected"),
        ({'losses': {'lost': -1}}, 'less than the minimum'),
        (
            {'expect': {'database': {'randwrite-4k': {'iops_mni': 5}}}},
            "did you mean 'iops_min'?",
        ),
        (
            {'expect': {'database': {'randwrite-4k': {'iops_min': 0}}}},
            'greater than 0',
        ),
        (
            {
                'order': [
                    {
                        'pattern': 'write-1m',
                        'by': 'speed',
                        'tiers': ['database', 'general'],
                    }
                ]
            },
            "by 'speed'",
        ),
        (
            {
                'order': [
                    {
                        'pattern': 'write-1m',
                        'by': 'iops',
                        'direction': 'trim',
                        'tiers': ['database', 'general'],
                    }
                ]
            },
            "'trim' is not one of",
        ),
        (
            {
                'order': [
                    {
                        'pattern': 'write-1m',
                        'by': 'iops',
                        'tier': 'database',
                    }
                ]
            },
            'is not valid under any',
        ),
        (
            {
                'order': [
                    {
                        'pattern': 'write-1m',
                        'by': 'iops',
                        'tiers': ['database'],
                    }
                ]
            },
            'too short',
        ),
        ({'catalog': '/nowhere/tiers.yaml'}, 'cannot read it'),
    )
    @ddt.unpack
    def test_what_could_not_be_judged_is_refused(self, criterion, told):
        self.assertIn(told, self.refusals(criterion))

    @ddt.data(
        ('a: [', 'cannot read it'),
        ('[]', 'no catalog of tiers'),
        (CATALOG.replace('iops_min: 900', 'iops_min: -1'), 'greater than 0'),
    )
    @ddt.unpack
    def test_a_broken_catalog_is_refused(self, text, told):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 't'
        path.write_text(text)
        self.assertIn(told, self.refusals({'catalog': str(path)}))

    def test_a_criterion_of_another_kind_is_refused_by_rally(self):
        for criterion in (None, [], 'fast', 5):
            self.assertNotEqual('', self.refusals(criterion))
