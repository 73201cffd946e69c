# SPDX-License-Identifier: Apache-2.0

"""The SLA that compares with a kept result, of runs in a cloud in memory."""

import dataclasses
import json
import pathlib

import ddt
import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally.task import sla

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.results import reference
from tests.unit.figures import results
from tests.unit.loop.compare import test_comparison

MANY_MS = (1,) * 1990 + (5,) * 10


def run(*iops, tier='general', name='0' * 16):
    """A run of one tier."""
    found = results.run(
        {tier: {'x': [results.slot([i], clat_ms=MANY_MS) for i in iops]}}
    )
    return dataclasses.replace(found, run=name)


@ddt.ddt
class ComparisonSLATest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def file(self, name, result):
        path = self.folder / name
        path.write_text(run_result.write(result))
        return path

    def iteration(self, result, name='run.json'):
        """As Rally's runner hands it over."""
        path = self.file(name, result)
        return {
            'output': {'complete': [reference.output(path, result.run)]},
            'error': [],
        }

    def kept(self, result):
        """As many results as show something of one more run."""
        return [
            str(
                self.file(
                    f'kept{each}.json',
                    dataclasses.replace(result, run=f'{each:f>16}'),
                )
            )
            for each in range(9)
        ]

    def judge(self, *iterations, when_unsure='pass', **criterion):
        """What Rally's checker says: (success, detail).

        :param when_unsure: None: the task does not say it
        """
        if when_unsure:
            criterion['when_unsure'] = when_unsure
        if 'baseline' not in criterion:
            criterion['baseline'] = self.kept(run(100, 101, 99))
        checker = sla.SLAChecker({'sla': {'cinder_tiers_compare': criterion}})
        for iteration in iterations:
            checker.add_iteration(iteration)
        (found,) = checker.results()
        return found['success'], found['detail']

    def test_a_worse_run_fails_and_says_how_much_worse(self):
        success, detail = self.judge(self.iteration(run(50, 51, 49)))
        self.assertFalse(success)
        self.assertIn('general x iops: worse: 99.99', detail)
        self.assertIn('-50.0 %', detail)
        self.assertIn('the other 1 pass', detail)

    def test_a_better_run_and_one_that_cannot_be_told_pass(self):
        for iops in ((200, 201, 199), (101, 100, 99)):
            self.assertTrue(self.judge(self.iteration(run(*iops)))[0])

    def test_a_baseline_may_be_a_folder(self):
        paths = list(map(pathlib.Path, self.kept(run(100, 101, 99))))
        folder = paths[0].parent / 'nightly'
        folder.mkdir()
        for path in paths:
            path.rename(folder / path.name)
        _success, detail = self.judge(
            self.iteration(run(50, 51, 49)), baseline=[str(folder)]
        )
        self.assertIn('general x iops: worse', detail)

    def test_cannot_tell_fails_if_the_task_says_so(self):
        same = self.iteration(run(101, 100, 99))
        for unsure in (None, 'fail'):
            self.assertFalse(
                self.judge(same, quantities=['iops'], when_unsure=unsure)[0]
            )
        self.assertTrue(
            self.judge(
                same,
                quantities=['iops'],
                when_unsure='fail',
                least_difference_percent=30,
            )[0]
        )

    def test_each_direction_is_compared_alone(self):
        kept = self.kept(test_comparison.mix((100, 101, 99), (200, 202, 198)))
        now = self.iteration(
            test_comparison.mix((100, 101, 99), (100, 101, 99))
        )
        success, detail = self.judge(
            now,
            baseline=kept,
            quantities=['iops'],
            directions=['read', 'write'],
        )
        self.assertFalse(success)
        self.assertIn('general x write_iops: worse', detail)
        self.assertIn('the other 1 pass', detail)
        self.assertTrue(
            self.judge(now, baseline=kept, quantities=['read_iops'])[0]
        )

    def test_a_tier_that_the_baseline_lacks_fails(self):
        success, detail = self.judge(
            self.iteration(run(100, 101, 99, tier='</script><b>'))
        )
        self.assertFalse(success)
        self.assertIn('no tier is on both sides', detail)
        self.assertNotIn('</script', detail)

    def test_a_tier_that_the_run_lacks_fails_unless_others_are_named(self):
        both = dataclasses.replace(
            results.run(
                {
                    tier: {
                        'x': [
                            results.slot([i], clat_ms=MANY_MS)
                            for i in (100, 101, 99)
                        ]
                    }
                    for tier in ('general', 'database')
                }
            ),
            run='e' * 16,
        )
        baseline = [str(self.file('both.json', both))]
        now = self.iteration(run(100, 101, 99))
        success, detail = self.judge(now, baseline=baseline)
        self.assertFalse(success)
        self.assertIn('has no tier database', detail)
        self.assertTrue(
            self.judge(now, baseline=baseline, tiers=['general'])[0]
        )

    def test_each_run_is_compared_and_a_bad_one_is_told_first(self):
        success, detail = self.judge(
            self.iteration(run(100, 101, 99, name='a' * 16), 'a.json'),
            self.iteration(run(50, 51, 49, name='b' * 16), 'b.json'),
        )
        self.assertFalse(success)
        self.assertTrue(detail.startswith(f'run {"b" * 16}'), detail)
        self.assertIn('a' * 16, detail)

    def test_a_run_without_figures_fails(self):
        success, detail = self.judge(
            {'output': {'complete': []}, 'error': ['FleetError', 'no room']}
        )
        self.assertFalse(success)
        self.assertIn('no room', detail)

    @ddt.data(
        ({'baseline': ['/no/such/file']}, 'cannot read it'),
        ({'baseline': ['/dev/zero']}, 'a character device, not a file'),
        ({'baseline': []}, 'baseline'),
        ({}, 'baseline'),
        ({'quantities': ['speed']}, "'speed'"),
        ({'directions': ['trim']}, "'trim' is not one of"),
        ({'least_difference_percent': 100}, '100 %'),
        ({'tiers': []}, 'tiers'),
        ({'least_difference_percent': -1}, 'minimum'),
    )
    @ddt.unpack
    def test_what_cannot_be_compared_is_refused(self, criterion, said):
        kept = str(self.file('kept.json', run(1, 2)))
        if criterion and 'baseline' not in criterion:
            criterion = {'baseline': [kept], **criterion}
        wrong = sla.SLA.validate('cinder_tiers_compare', {}, {}, criterion)
        self.assertIn(said, json.dumps(wrong))

    def test_copies_of_a_baseline_are_no_further_observations(self):
        paths = [
            str(self.file(name, run(100, 101, 99, name='f' * 16)))
            for name in ('one.json', 'copy.json')
        ]
        wrong = sla.SLA.validate(
            'cinder_tiers_compare', {}, {}, {'baseline': paths}
        )
        self.assertIn('are results of the same run', json.dumps(wrong))
