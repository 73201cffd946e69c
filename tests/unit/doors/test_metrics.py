# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What a door counts, and the files that Prometheus is given."""

import gc
import os
import pathlib
import subprocess
import sys
import threading
import time
from unittest import mock

from cinder import context as cinder_context
import ddt
import fixtures
from oslo_config import cfg
from prometheus_client import parser
import testtools

from cinder_tiers import conf
from cinder_tiers.domain import decision
from cinder_tiers.doors import metrics
from cinder_tiers.doors import record

OWN = f'cinder-tiers-api-{os.getpid()}.prom'
PID = str(os.getpid())
THREAD = 'cinder-tiers-metrics'

# Run in a process of its own: a process that has counted forks, as a server
# does that loads the application first. Each counts for itself.
FORK = '''
import os, sys
from tests.unit.doors import test_metrics
parent = test_metrics.metrics_of(sys.argv[1])
parent.observe(test_metrics.record_of())
child = os.fork()
counted = parent if child else test_metrics.metrics_of(sys.argv[1])
counted.observe(test_metrics.record_of())
counted.write()
if not child:
    os._exit(0)
print(child, os.waitpid(child, 0)[1])
'''
# As cinder-scheduler by default.
GREEN = '''
import eventlet
eventlet.monkey_patch()
import pathlib, sys
from tests.unit.doors import test_metrics
counted = test_metrics.metrics_of(sys.argv[1], metrics_interval_seconds=1)
def request():
    for _ in range(100):
        counted.observe(test_metrics.record_of())
        eventlet.sleep(0)
for green in [eventlet.spawn(request) for _ in range(10)]:
    green.wait()
with eventlet.Timeout(60):
    while not list(pathlib.Path(sys.argv[1]).glob('*.prom')):
        eventlet.sleep(0.05)
'''


def decided(verdict=decision.Verdict.TIER, *rules, tier=None):
    return decision.PlacementDecision(
        verdict=verdict, tier=tier and decision.AppliedTier(name=tier),
        reasons=tuple(decision.Reason(rule=rule, tier=tier)
                      for rule in rules))


GENERAL = decided(decision.Verdict.TIER, decision.Rule.NO_IMAGE,
                  decision.Rule.FALLBACK, tier='general')


def record_of(decided=GENERAL, **values):
    return record.Record(**{
        'door': 'api', 'decision': decided, 'project': 'project',
        'volume_id': None, 'image_id': None, 'volume_type_id': None,
        'error': None, 'seconds': 0.0002,
        'context': cinder_context.RequestContext(
            user_id='user', project_id='project', is_admin=False),
        **values})


def metrics_of(directory, door='api', look=metrics.Gauges, **options):
    configuration = cfg.ConfigOpts()
    group = conf.register(configuration)
    configuration([])
    for name, value in {'metrics_directory': directory,
                        'metrics_interval_seconds': 3600,
                        **options}.items():
        configuration.set_override(name, value, group=conf.GROUP)
    return metrics.Metrics(door, group, look=look)


class MetricsTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s'))

    def metrics(self, **options):
        return metrics_of(str(self.directory), **options)

    def written(self, *records, counted=None):
        """The families in the file, once some records were counted."""
        counted = counted or self.metrics()
        for each in records:
            counted.observe(each)
        counted.write()
        return self.read()

    def read(self, name=OWN):
        text = (self.directory / name).read_text('utf-8')
        return {family.name: family
                for family in parser.text_string_to_metric_families(text)}

    def samples(self, families, name):
        """{label values without those of each sample: value}"""
        found = {}
        for sample in families[f'cinder_tiers_{name}'].samples:
            labels = dict(sample.labels)
            self.assertEqual(('api', PID),
                             (labels.pop('door'), labels.pop('pid')))
            found[tuple(labels[key] for key in sorted(labels))] = sample.value
        return found

    def wait_for(self, is_so):
        deadline = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def threads(self):
        return [thread for thread in threading.enumerate()
                if thread.name == THREAD]


@ddt.ddt
class CountsTestCase(MetricsTestCase):

    def test_each_metric_has_a_type_and_a_text(self):
        families = self.written(record_of())
        self.assertEqual({
            'cinder_tiers_decisions': 'counter',
            'cinder_tiers_errors': 'counter',
            'cinder_tiers_stale_images': 'counter',
            'cinder_tiers_decision_seconds': 'histogram',
            'cinder_tiers_glance_circuit_open': 'gauge',
            'cinder_tiers_applied_tiers': 'gauge',
            'cinder_tiers_applied_problems': 'gauge',
        }, {name: family.type for name, family in families.items()})
        for family in families.values():
            self.assertTrue(family.documentation.endswith('.'), family.name)

    def test_the_documentation_has_each_metric(self):
        page = (pathlib.Path(__file__).parents[3]
                / 'doc/source/admin/metrics.rst').read_text('utf-8')
        for family in self.written(record_of()).values():
            self.assertIn(
                f'``{family.name}{"_total" * (family.type == "counter")}',
                page)

    def test_decisions_by_verdict_rule_and_tier(self):
        fixed = decided(decision.Verdict.NOT_OURS, decision.Rule.FIXED)
        lost = decided(decision.Verdict.UNDECIDED, decision.Rule.NO_TIER_TAG,
                       decision.Rule.NO_FALLBACK)
        families = self.written(record_of(), record_of(), record_of(fixed),
                                record_of(lost))
        self.assertEqual({
            ('fallback', 'general', 'tier'): 2.0,
            ('fixed', '', 'not_ours'): 1.0,
            ('no_fallback', '', 'undecided'): 1.0,
        }, self.samples(families, 'decisions'))

    @ddt.data(
        (('TAG', 'OVERFLOW'), 'tag'), (('TAG', 'OVERFLOW_MISSING'), 'tag'),
        (('TAG', 'TAG', 'LOWER_PRIORITY', 'OVERFLOW'), 'tag'),
        (('TAG', 'NO_ACCESS', 'FALLBACK', 'OVERFLOW'), 'fallback'),
        (('TAG', 'NO_ACCESS', 'ACCESS_NEEDED'), 'access_needed'),
        (('ERROR', 'NO_TIERS'), 'no_tiers'), (('OVERFLOW',), ''), ((), ''))
    @ddt.unpack
    def test_the_rule_is_the_one_that_decided(self, rules, rule):
        families = self.written(record_of(decided(
            decision.Verdict.REFUSED,
            *(decision.Rule[name] for name in rules))))
        self.assertEqual({(rule, '', 'refused'): 1.0},
                         self.samples(families, 'decisions'))

    def test_errors_by_kind_those_of_clients_apart(self):
        families = self.written(
            record_of(), record_of(error='text', error_kind='KeyError'),
            record_of(error='text'),
            *[record_of(error='text', error_kind='ImageRefused',
                        is_clients_doing=True)] * 2)
        self.assertEqual(
            {('KeyError',): 1.0, ('other',): 1.0, ('client',): 2.0},
            self.samples(families, 'errors'))

    def test_old_answers_about_images(self):
        families = self.written(record_of())
        self.assertEqual({(): 0.0}, self.samples(families, 'stale_images'))
        families = self.written(record_of(image_age_s=0.0), record_of(),
                                record_of(image_age_s=60.0))
        self.assertEqual({(): 2.0}, self.samples(families, 'stale_images'))

    def test_the_time_is_a_histogram(self):
        families = self.written(*[
            record_of(seconds=seconds)
            for seconds in (0.0, 0.0001, 0.00011, 0.3, 10.0, 11.0)])
        samples = families['cinder_tiers_decision_seconds'].samples
        buckets = {sample.labels['le']: sample.value for sample in samples
                   if sample.name.endswith('_bucket')}
        self.assertEqual(
            [2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 6],
            list(buckets.values()))
        self.assertEqual(['0.0001', '10.0', '+Inf'],
                         [list(buckets)[index] for index in (0, -2, -1)])
        self.assertEqual(sorted(buckets, key=float), list(buckets))
        count, total = (
            next(sample.value for sample in samples
                 if sample.name.endswith(f'_{which}'))
            for which in ('count', 'sum'))
        self.assertEqual(6, count)
        self.assertAlmostEqual(21.30021, total)

    def test_how_it_is_with_the_door(self):
        families = self.written(record_of(), counted=self.metrics(
            look=lambda: metrics.Gauges(is_circuit_open=True, applied_tiers=5,
                                        applied_problems=2)))
        self.assertEqual([{(): 1.0}, {(): 5.0}, {(): 2.0}], [
            self.samples(families, name) for name in (
                'glance_circuit_open', 'applied_tiers', 'applied_problems')])

    def test_there_are_not_too_many_series(self):
        records = [record_of(decided(
            decision.Verdict.TIER, decision.Rule.TAG, tier=f'tier{number}'),
            error='any', error_kind=f'Error{number}')
            for number in range(1500)]
        families = self.written(*records, *records)
        tiers = self.samples(families, 'decisions')
        self.assertEqual(1001, len(tiers))
        self.assertEqual(1000.0, tiers['tag', 'other', 'tier'])
        self.assertEqual(2.0, tiers['tag', 'tier999', 'tier'])
        kinds = self.samples(families, 'errors')
        self.assertEqual((101, 2800.0), (len(kinds), kinds['other',]))

    def test_a_name_of_any_characters_is_one_label(self):
        name = 'a"b\\c\nd{}=,é'
        families = self.written(record_of(decided(
            decision.Verdict.TIER, decision.Rule.TAG, tier=name)))
        self.assertEqual({('tag', name, 'tier'): 1.0},
                         self.samples(families, 'decisions'))

    def test_none_is_lost_of_many_threads(self):
        counted = self.metrics()
        threads = [threading.Thread(target=lambda: [
            counted.observe(record_of()) for _ in range(500)])
            for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(
            {('fallback', 'general', 'tier'): 4000.0},
            self.samples(self.written(counted=counted), 'decisions'))


class FilesTestCase(MetricsTestCase):

    def test_unless_asked_for_nothing_is_done(self):
        before = self.threads()
        counted = metrics_of(None)
        counted.observe(record_of())
        self.assertEqual(before, self.threads())

    def test_a_thread_writes_them(self):
        counted = self.metrics(metrics_interval_seconds=1)
        counted.observe(record_of())
        self.assertEqual([], list(self.directory.iterdir()))
        self.wait_for((self.directory / OWN).exists)
        counted.observe(record_of())
        self.wait_for(lambda: self.samples(self.read(), 'decisions') == {
            ('fallback', 'general', 'tier'): 2.0})

    def test_its_thread_ends_with_it(self):
        before = self.threads()
        counted = self.metrics(metrics_interval_seconds=1)
        counted.observe(record_of())
        self.assertEqual(1 + len(before), len(self.threads()))
        del counted
        gc.collect()
        self.wait_for(lambda: set(self.threads()) <= set(before))

    def test_they_are_written_when_something_has_changed_only(self):
        state = [metrics.Gauges()]
        counted = self.metrics(look=lambda: state[0])
        self.written(record_of(), counted=counted)
        first = (self.directory / OWN).stat().st_ino
        with open(self.directory / OWN, 'rb'):
            counted.write()
            self.assertEqual(first, (self.directory / OWN).stat().st_ino)
            state[0] = metrics.Gauges(is_circuit_open=True)
            counted.write()
            self.assertNotEqual(first, (self.directory / OWN).stat().st_ino)
        self.assertEqual({(): 1.0}, self.samples(
            self.read(), 'glance_circuit_open'))

    def test_a_file_that_was_removed_comes_back(self):
        counted = self.metrics()
        self.written(record_of(), counted=counted)
        (self.directory / OWN).unlink()
        counted.write()
        self.assertTrue((self.directory / OWN).exists())

    def test_files_of_ended_processes_of_the_door_are_removed(self):
        process = subprocess.Popen([sys.executable, '-c', ''])
        process.wait(60)
        for door in ('api', 'scheduler'):
            (self.directory
             / f'cinder-tiers-{door}-{process.pid}.prom').touch()
        self.written(record_of())
        # A scheduler may be in another container, with ids of its own.
        self.assertEqual(
            {OWN, f'cinder-tiers-scheduler-{process.pid}.prom'},
            {path.name for path in self.directory.iterdir()})

    def test_a_directory_that_is_missing_is_told_once_and_tried_again(self):
        self.directory.rmdir()
        counted = self.metrics()
        counted.observe(record_of())
        for _ in range(3):
            counted.write()
        line, = self.log.output.splitlines()
        self.assertTrue(line.startswith('ERROR '), line)
        for part in ('metrics_directory', str(self.directory),
                     'FileNotFoundError'):
            self.assertIn(part, line)
        self.directory.mkdir()
        counted.observe(record_of())
        counted.write()
        self.assertEqual({('fallback', 'general', 'tier'): 2.0},
                         self.samples(self.read(), 'decisions'))
        self.directory.rename(self.directory.with_name('elsewhere'))
        self.addCleanup(self.directory.with_name('elsewhere').rename,
                        self.directory)
        counted.write()
        self.assertEqual(2, len(self.log.output.splitlines()))

    def test_without_the_package_one_error_says_so(self):
        # What Python does with a module that cannot be imported.
        missing = mock.patch.dict(sys.modules, {'prometheus_client': None})
        missing.start()
        self.addCleanup(missing.stop)
        counted = self.metrics(metrics_interval_seconds=1)
        before = self.threads()
        counted.observe(record_of())
        self.wait_for(lambda: len(self.threads()) <= len(before))
        counted.observe(record_of())
        line, = self.log.output.splitlines()
        self.assertTrue(line.startswith('ERROR '), line)
        for part in ('metrics_directory', 'prometheus_client'):
            self.assertIn(part, line)
        self.assertEqual([], list(self.directory.iterdir()))


class ProcessTestCase(MetricsTestCase):
    """In processes of their own."""

    def run_alone(self, script):
        done = subprocess.run(
            [sys.executable, '-c', script, str(self.directory)], check=True,
            capture_output=True, text=True, timeout=110,
            cwd=pathlib.Path(__file__).parents[3])
        return done.stdout.split()

    def test_each_process_counts_for_itself(self):
        child, status = self.run_alone(FORK)
        self.assertEqual('0', status)
        counts = {}
        for path in self.directory.iterdir():
            sample, = self.read(path.name)['cinder_tiers_decisions'].samples
            counts[path.name] = sample.labels['pid'], sample.value
        # The parent may have removed that of its child, which has ended.
        own = counts.pop(f'cinder-tiers-api-{child}.prom', None)
        self.assertIn(own, (None, (child, 1.0)))
        (_, count), = counts.values()
        self.assertEqual(2.0, count)

    def test_under_eventlet(self):
        self.run_alone(GREEN)
        path, = self.directory.iterdir()
        sample, = self.read(path.name)['cinder_tiers_decisions'].samples
        self.assertEqual(1000.0, sample.value)
