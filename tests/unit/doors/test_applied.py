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

"""The applied tiers: read from a real database, and remembered.

What is remembered, and for how long, is shown with a reader and a clock of
the tests, which are parameters.
"""

import subprocess
import sys
import threading

from cinder import context
import fixtures
import sqlalchemy
import testtools

from cinder_tiers.domain import decision
from cinder_tiers.doors import applied
from tests.unit.doors import cinder_fixture

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT

GREEN = '''
import eventlet
eventlet.monkey_patch()
import time
from cinder import context
from cinder import objects
objects.register_all()
from cinder_tiers.doors import applied
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
    pool = [eventlet.spawn(tiers.get, user, ttl_s=0.5) for _ in range(50)]
    return sorted({green.wait().problems[0] for green in pool})
print(*many())
time.sleep(0.6)
print(*many())
print(*many())
print(len(reads))
print('others ran' if len(ticks) > 5 else 'others were blocked')
'''


class ReadAppliedTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s'))
        self.cinder = self.useFixture(cinder_fixture.Scheduler())

    def read(self):
        return applied.read_applied(self.cinder.user())

    def named(self, ident, context=None):
        """Whether a type that a request names follows the image."""
        return self.read().named_type(
            decision.TypeSource.REQUEST, ident,
            context or self.cinder.user()).follows_image

    def test_without_a_type_of_ours_there_is_nothing(self):
        self.cinder.add_type('plain', volume_backend_name='plain')
        state = self.read()
        self.assertEqual(
            ((), {}, {}, {}, ()),
            (state.tiers, dict(state.types), dict(state.following),
             dict(state.project_defaults), state.problems))

    def test_a_tier_is_what_its_type_says(self):
        ident = self.cinder.add_type(
            'db', volume_backend_name='pool', tiers_name='database',
            tiers_tags='Database, db', tiers_priority='20',
            tiers_fallback='<is> True', tiers_overflow='general')
        state = self.read()
        self.assertEqual((decision.AppliedTier(
            name='database', tags=frozenset({'database', 'db'}), priority=20,
            fallback=True, overflow='general'),), state.tiers)
        self.assertEqual((ident, True, 'pool'), (
            state.types['database'].type_id,
            state.types['database'].is_public,
            state.types['database'].extra_specs['volume_backend_name']))

    def test_a_private_type_serves_the_projects_with_access(self):
        self.cinder.add_type('db', [PROJECT], tiers_name='database')
        self.cinder.add_type('none', [], tiers_name='nobody')
        state = self.read()
        self.assertEqual(
            {'database': frozenset({PROJECT}), 'nobody': frozenset()},
            {tier.name: tier.projects for tier in state.tiers})
        self.assertFalse(state.types['database'].is_public)

    def test_of_two_types_with_one_tier_name_the_first_counts(self):
        second = self.cinder.add_type('b', tiers_name='database',
                                      tiers_tags='second')
        first = self.cinder.add_type('a', tiers_name='database',
                                     tiers_tags='first')
        state = self.read()
        self.assertEqual([frozenset({'first'})],
                         [tier.tags for tier in state.tiers])
        self.assertEqual(first, state.types['database'].type_id)
        self.assertNotEqual(second, first)
        problem, = state.problems
        self.assertIn("'b' says that it is tier 'database'", problem)

    def test_a_tier_is_never_without_a_type_while_one_is_retired(self):
        self.cinder.add_type('ssd - retired 1', tiers_name='ssd',
                             tiers_tags='old')
        self.assertEqual(((), ()), (self.read().tiers, self.read().problems))
        self.cinder.add_type('ssd - new', tiers_name='ssd',
                             tiers_tags='between')
        between = self.read()
        self.cinder.add_type('ssd', tiers_name='ssd', tiers_tags='new')
        after = self.read()
        self.assertEqual([{'between'}], [one.tags for one in between.tiers])
        self.assertEqual([{'new'}], [one.tags for one in after.tiers])
        self.assertEqual(((), ()), (between.problems, after.problems))

    def test_a_type_that_cannot_be_read_leaves_the_others_alone(self):
        self.cinder.add_type('bad', tiers_name='bad', tiers_priority='high')
        self.cinder.add_type('good', tiers_name='good')
        state = self.read()
        self.assertEqual(['good'], [tier.name for tier in state.tiers])
        problem, = state.problems
        self.assertIn("'bad': tiers:priority is 'high'", problem)

    def test_problems_are_logged_when_they_change_only(self):
        tiers = applied.AppliedTiers()
        self.cinder.add_type('bad', tiers_name='bad', tiers_priority='high')
        for _ in range(3):
            tiers.get(self.cinder.user(), ttl_s=0)
        self.assertEqual(1, self.log.output.count('Tier left out'))
        self.cinder.add_type('c', tiers_name='worse', tiers_priority='')
        tiers.get(self.cinder.user(), ttl_s=0)
        self.assertIn("'worse'", self.log.output)

    def test_a_type_follows_the_image_by_name_and_by_id(self):
        ident = self.cinder.add_type('image-tier',
                                     tiers_follow_image='<is> True')
        other = self.cinder.add_type('other', tiers_follow_image='no')
        for name in (ident, 'image-tier'):
            self.assertTrue(self.named(name))
        for name in (other, 'other', 'Image-Tier', ' image-tier', 'nothing',
                     '\ud800'):
            self.assertFalse(self.named(name))

    def test_a_private_type_follows_for_its_projects_and_admins(self):
        self.cinder.add_type('mine', [PROJECT],
                             tiers_follow_image='<is> True')
        self.assertTrue(self.named('mine'))
        self.assertFalse(self.named('mine', self.cinder.user(OTHER_PROJECT)))
        self.assertTrue(self.named('mine', self.cinder.admin))
        self.assertFalse(self.named('nothing', self.cinder.admin))

    def test_nobody_named_a_type(self):
        for nothing in (None, ''):
            self.assertIsNone(self.read().named_type(
                decision.TypeSource.REQUEST, nothing, self.cinder.user()))

    def test_a_project_may_have_a_default_type(self):
        explicit = self.cinder.add_type('plain')
        follow = self.cinder.add_type('image-tier',
                                      tiers_follow_image='<is> True')
        user = self.cinder.user()
        self.assertIsNone(self.read().default_of(user))
        for ident, follows_image in ((explicit, False), (follow, True)):
            self.cinder.set_project_default(ident)
            self.assertEqual(decision.NamedType(
                source=decision.TypeSource.PROJECT,
                follows_image=follows_image), self.read().default_of(user))
        self.assertIsNone(
            self.read().default_of(self.cinder.user(OTHER_PROJECT)))

    def test_all_tiers_but_one(self):
        for name in ('a', 'b', 'c'):
            self.cinder.add_type(name, tiers_name=name)
        self.assertEqual(['a', 'c'], [
            tier.name for tier in self.read().without('b')])

    def test_a_user_reads_as_much_as_an_admin(self):
        self.cinder.add_type('db', [OTHER_PROJECT], tiers_name='database')
        self.assertEqual(applied.read_applied(self.cinder.admin),
                         self.read())

    def test_what_the_database_layer_raises_comes_out(self):
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE volume_types')
        self.assertRaises(sqlalchemy.exc.OperationalError,
                          applied.AppliedTiers().get, self.cinder.user(),
                          ttl_s=0)


class AppliedTiersTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s'))
        self.now = 1000.0
        self.reads = 0
        self.error = None
        self.go = threading.Event()
        self.go.set()
        self.addCleanup(self.go.set)
        self.reading = threading.Event()
        self.tiers = applied.AppliedTiers(read=self.read,
                                          clock=lambda: self.now)
        self.user = context.RequestContext(
            user_id='user', project_id=PROJECT, is_admin=False)

    def read(self, context):
        self.reads += 1
        number = self.reads
        self.reading.set()
        self.go.wait(30)
        if self.error is not None:
            raise self.error
        return applied.AppliedState(problems=(f'read {number}',))

    def get(self, ttl_s=5.0):
        return self.tiers.get(self.user, ttl_s=ttl_s).problems[0]

    def in_thread(self, results, ttl_s=5.0):
        thread = threading.Thread(
            target=lambda: results.append(self.get(ttl_s)))
        thread.start()
        return thread

    def test_it_is_remembered_for_its_time(self):
        self.assertEqual('read 1', self.get())
        self.now += 4.999
        self.assertEqual('read 1', self.get())
        self.now += 0.001
        self.assertEqual('read 2', self.get())
        self.assertEqual('read 2', self.get())

    def test_without_a_time_each_request_reads(self):
        self.assertEqual(['read 1', 'read 2', 'read 3'],
                         [self.get(0) for _ in range(3)])

    def test_it_can_be_read_anew(self):
        self.get()
        self.assertEqual(('read 2',),
                         self.tiers.read_anew(self.user).problems)
        self.assertEqual('read 2', self.get())

    def test_nobody_waits_while_another_reads_it_anew(self):
        self.get()
        self.now += 5
        self.go.clear()
        self.reading.clear()
        slow = []
        thread = self.in_thread(slow)
        self.assertTrue(self.reading.wait(10))
        self.assertEqual(['read 1'] * 8, [self.get() for _ in range(8)])
        self.go.set()
        thread.join(10)
        self.assertEqual((['read 2'], 'read 2', 2),
                         (slow, self.get(), self.reads))

    def test_the_first_read_is_one_for_all(self):
        self.go.clear()
        results = []
        threads = [self.in_thread(results) for _ in range(32)]
        self.assertTrue(self.reading.wait(10))
        self.go.set()
        for thread in threads:
            thread.join(10)
        self.assertEqual((['read 1'] * 32, 1), (results, self.reads))

    def test_without_a_time_all_wait_for_a_read_of_their_own(self):
        self.get(0)
        self.go.clear()
        results = []
        threads = [self.in_thread(results, 0) for _ in range(4)]
        self.go.set()
        for thread in threads:
            thread.join(10)
        self.assertEqual(['read 2', 'read 3', 'read 4', 'read 5'],
                         sorted(results))

    def test_while_it_cannot_be_read_what_is_remembered_serves(self):
        self.get()
        self.error = sqlalchemy.exc.OperationalError('secret', {}, None)
        self.now += 5
        self.assertEqual('read 1', self.get())
        # Nor is the database asked by every request.
        self.now += 4
        self.assertEqual(('read 1', 2), (self.get(), self.reads))
        self.now += 1
        self.assertEqual(('read 1', 3), (self.get(), self.reads))
        self.error = None
        self.now += 5
        self.assertEqual('read 4', self.get())
        self.assertIn('WARNING The applied tiers could not be read '
                      '(OperationalError', self.log.output)
        self.assertNotIn('secret', self.log.output)

    def test_what_was_never_read_cannot_serve(self):
        self.error = ZeroDivisionError()
        for _ in range(2):
            self.assertRaises(ZeroDivisionError, self.get)
        self.error = None
        self.assertEqual('read 3', self.get())

    def test_a_failed_read_anew_keeps_what_is_remembered(self):
        self.get()
        self.error = ZeroDivisionError()
        self.assertRaises(ZeroDivisionError, self.tiers.read_anew, self.user)
        self.assertEqual('read 1', self.get())

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
        self.assertEqual(([], []), (
            [thread for thread in threads if thread.is_alive()], backwards))

    def test_under_eventlet_nobody_else_is_blocked(self):
        done = subprocess.run([sys.executable, '-W', 'ignore', '-c', GREEN],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(['1', '1 2', '2', '2', 'others ran'],
                         done.stdout.splitlines(), done.stderr)
