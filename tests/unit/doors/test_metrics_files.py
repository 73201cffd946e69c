# SPDX-License-Identifier: Apache-2.0


"""The files that Prometheus is given: when, by whom, and what fails."""

import gc
import pathlib
import subprocess
import sys
from unittest import mock

from cinder_tiers.doors import metrics
from tests.unit.doors import metrics_case

metrics_of = metrics_case.metrics_of
OWN = metrics_case.OWN
record_of = metrics_case.record_of

# Run in a process of its own: a process that has counted forks, as a server
# does that loads the application first. Each counts for itself.
FORK = """
import os, sys
from tests.unit.doors import metrics_case
parent = metrics_case.metrics_of(sys.argv[1])
parent.observe(metrics_case.record_of())
child = os.fork()
counted = parent if child else metrics_case.metrics_of(sys.argv[1])
counted.observe(metrics_case.record_of())
counted.write()
if not child:
    os._exit(0)
print(child, os.waitpid(child, 0)[1])
"""
REQUEST = """
import os, sys
from tests.unit.doors import metrics_case
record = metrics_case.record_of()
# The tests have imported it to read what is written.
for name in [name for name in sys.modules if 'prometheus_client' in name]:
    del sys.modules[name]
counted = metrics_case.metrics_of(sys.argv[1])
counted.observe(record)
print('prometheus_client' in sys.modules, os.listdir(sys.argv[1]))
"""
# As cinder-scheduler by default.
GREEN = """
import eventlet
eventlet.monkey_patch()
import pathlib, sys
from tests.unit.doors import metrics_case
counted = metrics_case.metrics_of(sys.argv[1], metrics_interval_seconds=1)
def request():
    for _ in range(100):
        counted.observe(metrics_case.record_of())
        eventlet.sleep(0)
for green in [eventlet.spawn(request) for _ in range(10)]:
    green.wait()
with eventlet.Timeout(60):
    while not list(pathlib.Path(sys.argv[1]).glob('*.prom')):
        eventlet.sleep(0.05)
"""


class FilesTestCase(metrics_case.MetricsTestCase):
    def test_unless_asked_for_nothing_is_done(self):
        before = self.threads()
        counted = metrics_of(None)
        counted.observe(record_of())
        self.assertEqual(set(), set(self.threads()) - set(before))

    def test_a_thread_writes_them(self):
        counted = self.metrics(metrics_interval_seconds=1)
        counted.observe(record_of())
        self.wait_for((self.directory / OWN).exists)
        counted.observe(record_of())
        self.wait_for(
            lambda: (
                self.samples(self.read(), 'decisions')
                == {('fallback', 'general', 'tier'): 2.0}
            )
        )

    def test_its_thread_ends_with_it(self):
        before = self.threads()
        counted = self.metrics(metrics_interval_seconds=1)
        counted.observe(record_of())
        self.assertEqual(1, len(set(self.threads()) - set(before)))
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
        self.assertEqual(
            {(): 1.0}, self.samples(self.read(), 'glance_circuit_open')
        )

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
            (
                self.directory / f'cinder-tiers-{door}-{process.pid}.prom'
            ).touch()
        self.written(record_of())
        # A scheduler may be in another container, with ids of its own.
        self.assertEqual(
            {OWN, f'cinder-tiers-scheduler-{process.pid}.prom'},
            {path.name for path in self.directory.iterdir()},
        )

    def test_a_directory_that_is_missing_is_told_once_and_tried_again(self):
        self.directory.rmdir()
        counted = self.metrics()
        counted.observe(record_of())
        for _ in range(3):
            counted.write()
        (line,) = self.log.output.splitlines()
        self.assertTrue(line.startswith('ERROR '), line)
        for part in (
            'metrics_directory',
            str(self.directory),
            'FileNotFoundError',
        ):
            self.assertIn(part, line)
        self.directory.mkdir()
        counted.observe(record_of())
        counted.write()
        self.assertEqual(
            {('fallback', 'general', 'tier'): 2.0},
            self.samples(self.read(), 'decisions'),
        )
        self.directory.rename(self.directory.with_name('elsewhere'))
        self.addCleanup(
            self.directory.with_name('elsewhere').rename, self.directory
        )
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
        # Threads of other tests may end meanwhile.
        self.wait_for(lambda: self.log.output)
        self.wait_for(lambda: not set(self.threads()) - set(before))
        counted.observe(record_of())
        (line,) = self.log.output.splitlines()
        self.assertTrue(line.startswith('ERROR '), line)
        for part in ('metrics_directory', 'prometheus_client'):
            self.assertIn(part, line)
        self.assertEqual([], list(self.directory.iterdir()))


class ProcessTestCase(metrics_case.MetricsTestCase):
    """In processes of their own."""

    def run_alone(self, script):
        done = subprocess.run(
            [sys.executable, '-c', script, str(self.directory)],
            check=True,
            capture_output=True,
            text=True,
            timeout=110,
            cwd=pathlib.Path(__file__).parents[3],
        )
        return done.stdout.split()

    def test_each_process_counts_for_itself(self):
        child, status = self.run_alone(FORK)
        self.assertEqual('0', status)
        counts = {}
        for path in self.directory.iterdir():
            (sample,) = self.read(path.name)['cinder_tiers_decisions'].samples
            counts[path.name] = sample.labels['pid'], sample.value
        # The parent may have removed that of its child, which has ended.
        own = counts.pop(f'cinder-tiers-api-{child}.prom', None)
        self.assertIn(own, (None, (child, 1.0)))
        ((_, count),) = counts.values()
        self.assertEqual(2.0, count)

    def test_a_request_writes_nothing_and_imports_nothing(self):
        self.assertEqual(['False', '[]'], self.run_alone(REQUEST))

    def test_under_eventlet(self):
        self.run_alone(GREEN)
        (path,) = self.directory.iterdir()
        (sample,) = self.read(path.name)['cinder_tiers_decisions'].samples
        self.assertEqual(1000.0, sample.value)
