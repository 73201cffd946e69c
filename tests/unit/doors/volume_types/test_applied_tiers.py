# SPDX-License-Identifier: Apache-2.0

"""The applied tiers, and default types of projects: remembered for a while.

What is remembered, and for how long, is shown with a reader and a clock of
the tests, which are parameters.
"""

import subprocess
import sys
import threading
import time

from cinder import context
import fixtures
import sqlalchemy
import testtools

from cinder_tiers.doors.volume_types import applied
from tests.worlds import cinder_fixture

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT

GREEN = """
import eventlet
eventlet.monkey_patch()
import time
from cinder import context
from cinder import objects
objects.register_all()
from cinder_tiers.doors.volume_types import applied
reads = []
def read(_):
    reads.append(1)
    time.sleep(0.2)
    return applied.AppliedState(problems=(str(len(reads)),))
tiers = applied.AppliedTiers(read=read)
user = context.RequestContext(user_id='user', is_admin=False)
ticks = []
def tick():
    while True:
        ticks.append(1)
        time.sleep(0.01)
eventlet.spawn(tick)
def many():
    pool = [eventlet.spawn(tiers.get, user, ttl_s=4) for _ in range(50)]
    return sorted({green.wait().problems[0] for green in pool})
print(*many())
time.sleep(4.5)
print(*many())
while tiers.get(user, ttl_s=4).problems[0] == '1':
    time.sleep(0.01)
print(*many())
print(len(reads))
print('others ran' if len(ticks) > 5 else 'others were blocked')
"""


class AppliedTiersTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        self.now = 1000.0
        self.reads = 0
        self.error = None
        self.readers = []
        self.go = threading.Event()
        self.go.set()
        self.addCleanup(self.go.set)
        self.reading = threading.Event()
        self.tiers = applied.AppliedTiers(
            read=self.read, clock=lambda: self.now, wait_s=30, pauses_s=(0, 0)
        )
        self.user = context.RequestContext(
            user_id='user', project_id=PROJECT, is_admin=False
        )

    def read(self, context):
        self.reads += 1
        number = self.reads
        self.readers.append(
            (threading.current_thread().name, context.is_admin)
        )
        self.reading.set()
        self.go.wait(60)
        if self.error is not None:
            raise self.error
        return applied.AppliedState(problems=(f'read {number}',))

    def get(self, ttl_s=5.0):
        return self.tiers.get(self.user, ttl_s=ttl_s).problems[0]

    def in_thread(self, results, ttl_s=5.0):
        thread = threading.Thread(
            target=lambda: results.append(self.get(ttl_s))
        )
        thread.start()
        return thread

    def until(self, is_so):
        """Wait for what a thread does."""
        for _ in range(6000):
            if is_so():
                return
            time.sleep(0.01)
        self.fail('It did not happen within a minute.')

    def test_it_is_remembered_for_its_time(self):
        self.assertEqual('read 1', self.get())
        self.now += 4.999
        self.assertEqual(('read 1', 1), (self.get(), self.reads))
        self.now += 0.001
        self.until(lambda: self.get() == 'read 2')
        self.assertEqual(('read 2', 2), (self.get(), self.reads))

    def test_a_request_goes_on_with_what_is_there(self):
        self.get()
        self.go.clear()
        for age in (5, 7, 11):
            self.now = 1000 + age
            self.assertEqual('read 1', self.get())
        self.go.set()
        self.until(lambda: self.get() == 'read 2')
        me = threading.current_thread().name
        self.assertEqual(
            [(me, False), ('cinder-tiers-applied', True)], self.readers
        )

    def test_after_a_long_time_a_request_waits_for_what_is_read(self):
        self.get()
        self.now += 11.001
        self.assertEqual('read 2', self.get())
        self.now += 3600
        self.assertEqual('read 3', self.get())
        self.assertEqual(
            {'cinder-tiers-applied'}, {name for name, _ in self.readers[1:]}
        )

    def test_many_that_come_after_a_long_time_share_one_read(self):
        self.get()
        self.now += 3600
        self.go.clear()
        self.reading.clear()
        results = []
        threads = [self.in_thread(results) for _ in range(16)]
        self.assertTrue(self.reading.wait(60))
        self.go.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual((['read 2'] * 16, 2), (results, self.reads))

    def test_no_request_waits_longer_for_a_database_that_hangs(self):
        self.get()
        self.now += 3600
        self.go.clear()
        self.reading.clear()
        first = []
        thread = self.in_thread(first)
        self.assertTrue(self.reading.wait(60))
        self.assertTrue(thread.is_alive())
        # It began 30 s ago; who comes now waits no more.
        self.now += 30
        started = time.monotonic()
        self.assertEqual('read 1', self.get())
        self.assertLess(time.monotonic() - started, 15)
        self.go.set()
        thread.join(60)
        self.assertEqual(['read 2'], first)

    def test_a_request_does_not_wait_for_ever(self):
        self.tiers = applied.AppliedTiers(
            read=self.read, clock=lambda: self.now, wait_s=0.01
        )
        self.get()
        self.now += 3600
        self.go.clear()
        self.reading.clear()
        self.assertEqual('read 1', self.get())
        self.assertTrue(self.reading.wait(60))
        self.assertRaises(TimeoutError, self.tiers.read_anew, self.user)

    def test_without_a_thread_the_request_reads(self):
        self.get()
        self.now += 5

        def start(_):
            raise RuntimeError("can't start new thread")

        self.useFixture(fixtures.MonkeyPatch('threading.Thread.start', start))
        self.assertEqual('read 2', self.get())

    def test_without_a_time_each_request_reads(self):
        self.assertEqual(
            ['read 1', 'read 2', 'read 3'], [self.get(0) for _ in range(3)]
        )

    def test_it_can_be_read_anew(self):
        self.get()
        self.assertEqual(('read 2',), self.tiers.read_anew(self.user).problems)
        self.assertEqual('read 2', self.get())

    def test_the_first_read_is_one_for_all(self):
        self.go.clear()
        results = []
        threads = [self.in_thread(results) for _ in range(32)]
        self.assertTrue(self.reading.wait(60))
        self.go.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual((['read 1'] * 32, 1), (results, self.reads))

    def test_without_a_time_all_wait_for_a_read_of_their_own(self):
        self.get(0)
        self.go.clear()
        results = []
        threads = [self.in_thread(results, 0) for _ in range(4)]
        self.go.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual(
            ['read 2', 'read 3', 'read 4', 'read 5'], sorted(results)
        )

    def test_while_it_cannot_be_read_what_is_remembered_serves(self):
        self.get()
        self.error = sqlalchemy.exc.OperationalError('secret', {}, None)
        warning = (
            'WARNING The applied tiers could not be read (OperationalError'
        )
        self.now += 5
        self.assertEqual('read 1', self.get())
        self.until(lambda: self.log.output.count(warning) == 1)
        # Nor is the database asked again soon.
        self.now += 4
        self.assertEqual(('read 1', 2), (self.get(), self.reads))
        # After a long time it is waited for, not more often.
        for tries in (3, 4):
            self.now += 5
            self.assertEqual(('read 1', tries), (self.get(), self.reads))
            self.assertEqual(('read 1', tries), (self.get(), self.reads))
        self.error = None
        self.now += 5
        self.assertEqual('read 5', self.get())
        self.assertNotIn('secret', self.log.output)

    def test_without_a_time_what_is_remembered_serves(self):
        self.get(0)
        self.error = ZeroDivisionError()
        self.assertEqual(('read 1', 2), (self.get(0), self.reads))

    def test_a_connection_that_was_lost_is_no_failure(self):
        self.error = ZeroDivisionError()

        def mend(context):
            if self.reads == 2:
                self.error = None
            return self.read(context)

        applied_tiers = applied.AppliedTiers(read=mend, pauses_s=(0, 0))
        self.assertEqual(
            ('read 3',), applied_tiers.get(self.user, ttl_s=5).problems
        )

    def test_what_was_never_read_cannot_serve(self):
        self.error = ZeroDivisionError()
        for tries in (3, 6):
            self.assertRaises(ZeroDivisionError, self.get)
            self.assertEqual(tries, self.reads)
        self.error = None
        self.assertEqual('read 7', self.get())

    def test_a_failed_read_anew_keeps_what_is_remembered(self):
        self.get()
        self.error = ZeroDivisionError()
        self.assertRaises(ZeroDivisionError, self.tiers.read_anew, self.user)
        self.assertEqual('read 1', self.get())

    def test_it_is_read_before_it_is_too_old(self):
        """So that no request waits while there are some all the time."""
        self.get()
        self.now += 4.5
        self.get(5)
        self.assertTrue(self.tiers._reading.ask().wait(60))
        self.now += 1
        self.assertEqual(self.get(5), self.get(1000))
        self.assertEqual(2, self.reads)

    def test_many_threads_at_once(self):
        """No deadlock, and what a thread sees never goes back in time."""
        backwards, threads = [], []

        def ask(ttl_s):
            last = 0
            for number in range(400):
                if number % 50 == 7:
                    self.error = ZeroDivisionError()
                elif number % 50 == 9:
                    self.error = None
                seen = int(self.get(ttl_s).rpartition(' ')[2])
                if seen < last:
                    backwards.append((last, seen))
                last = seen
                self.now += 1

        self.get()
        for ttl_s in (0, 1, 5, 100) * 2:
            threads.append(threading.Thread(target=ask, args=(ttl_s,)))
            threads[-1].start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(
            ([], []),
            ([thread for thread in threads if thread.is_alive()], backwards),
        )

    def test_under_eventlet_nobody_else_is_blocked(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', GREEN],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(
            ['1', '2', '2', '2', 'others ran'],
            done.stdout.splitlines(),
            done.stderr,
        )


class ProjectDefaultsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            # Threads of other tests may log meanwhile.
            fixtures.FakeLogger(
                name=applied.__name__, format='%(levelname)s %(message)s'
            )
        )
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.now = 1000.0
        self.defaults = applied.ProjectDefaults(size=2, clock=lambda: self.now)
        self.one, self.two = map(self.cinder.add_type, ('one', 'two'))

    def of(self, project=PROJECT, ttl_s=5.0):
        return self.defaults.type_id_of(
            self.cinder.user(), project, ttl_s=ttl_s
        )

    def drop(self):
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE default_volume_types')

    def test_a_project_may_have_a_default_type(self):
        self.assertIsNone(self.of(ttl_s=0))
        for ident in (self.one, self.two):
            self.cinder.set_project_default(ident)
            self.assertEqual(
                (ident, None),
                (self.of(ttl_s=0), self.of(OTHER_PROJECT, ttl_s=0)),
            )
        db_api = cinder_fixture.db_api
        db_api.project_default_volume_type_unset(self.cinder.admin, PROJECT)
        self.assertIsNone(self.of(ttl_s=0))

    def test_a_request_without_a_project_has_none(self):
        self.cinder.set_project_default(self.one)
        for nothing in (None, ''):
            self.assertIsNone(self.of(nothing))

    def test_it_is_remembered_for_its_time(self):
        self.cinder.set_project_default(self.one)
        self.assertEqual((self.one, None), (self.of(), self.of('new')))
        for project in (PROJECT, 'new'):
            self.cinder.set_project_default(self.two, project)
        self.now += 4.999
        self.assertEqual((self.one, None), (self.of(), self.of('new')))
        self.now += 0.001
        self.assertEqual((self.two, self.two), (self.of(), self.of('new')))

    def test_only_some_projects_are_remembered(self):
        for project in ('a', 'b', 'c'):
            self.assertIsNone(self.of(project))
            self.cinder.set_project_default(self.one, project)
        self.assertEqual(
            (None, None, self.one), (self.of('c'), self.of('b'), self.of('a'))
        )

    def test_while_it_cannot_be_read_what_is_remembered_serves(self):
        self.cinder.set_project_default(self.one)
        self.of()
        self.drop()
        self.now += 5
        self.assertEqual([self.one] * 2, [self.of(), self.of()])
        # sqlite calls it operational; servers call it a programming error.
        (line,) = self.log.output.splitlines()
        self.assertRegex(
            line,
            'WARNING The default volume type of a project could not be read '
            r'\((Operational|Programming)Error, ',
        )
        self.now += 5
        self.assertEqual(self.one, self.of())
        self.assertEqual(2, self.log.output.count('WARNING The default'))

    def test_what_was_never_read_cannot_serve(self):
        self.drop()
        self.assertRaises(sqlalchemy.exc.DatabaseError, self.of)
