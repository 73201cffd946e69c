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
from cinder.volume import volume_types
from cinder.volume import volume_utils
import fixtures
import sqlalchemy
import testtools

from cinder_tiers.domain import decision
from cinder_tiers.doors import applied
from tests.unit.doors import cinder_fixture

db_api = cinder_fixture.db_api

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

    def test_without_a_tier_there_is_nothing_but_the_types(self):
        ident = self.cinder.add_type('plain', volume_backend_name='plain')
        state = self.read()
        self.assertEqual(
            ((), {}, (), frozenset(), (), False),
            (state.tiers, dict(state.types), state.marked, state.following,
             state.problems, state.any_encryption))
        self.assertEqual(applied.VolumeType(
            type_id=ident, name='plain', is_public=True,
            extra_specs={'volume_backend_name': 'plain'},
            follows_image=False, projects=None), state.find('plain'))

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

    def test_a_type_is_found_by_its_exact_name_or_id(self):
        ident = self.cinder.add_type('image-tier',
                                     tiers_follow_image='<is> True')
        other = self.cinder.add_type('other', [],
                                     tiers_follow_image='no')
        state = self.read()
        for name, follows_image in ((ident, True), ('image-tier', True),
                                    (other, False), ('other', False)):
            self.assertIs(follows_image, state.find(name).follows_image)
        self.assertEqual({'image-tier', ident}, state.following)
        for name in ('nothing', '\ud800', '', None):
            self.assertIsNone(state.find(name))

    def test_another_spelling_of_a_name_is_left_to_the_database(self):
        """What matches it depends on the collation, so it is not known here.

        Who asks must let Cinder look it up; "is no type that follows the
        image" would be wrong with MariaDB, for which these are the same.
        """
        self.cinder.add_type('image-tier', tiers_follow_image='<is> True')
        for name in ('Image-Tier', 'image-tier ', ' image-tier'):
            self.assertIsNone(self.read().find(name))

    def test_an_id_counts_more_than_the_same_text_as_a_name(self):
        ident = self.cinder.add_type('a', tiers_follow_image='<is> True')
        self.cinder.add_type(ident)
        self.assertEqual('a', self.read().find(ident).name)

    def test_who_may_use_a_type(self):
        self.cinder.add_type('public')
        self.cinder.add_type('mine', [PROJECT])
        self.cinder.add_type('closed', [])
        state = self.read()
        for context, names in (
                (self.cinder.user(), {'public', 'mine'}),
                (self.cinder.user(OTHER_PROJECT), {'public'}),
                (self.cinder.admin, {'public', 'mine', 'closed'})):
            self.assertEqual(names, {
                name for name in ('public', 'mine', 'closed')
                if state.find(name).may_use(context)})

    def test_access_that_was_taken_away_is_gone(self):
        ident = self.cinder.add_type('db', [PROJECT, OTHER_PROJECT],
                                     tiers_name='database')
        volume_types.remove_volume_type_access(self.cinder.admin, ident,
                                               OTHER_PROJECT)
        self.assertEqual({PROJECT}, self.read().types['database'].projects)

    def test_extra_specs_and_types_that_were_deleted_are_gone(self):
        ident = self.cinder.add_type('db', tiers_name='database',
                                     tiers_tags='db')
        self.cinder.add_type('other', tiers_name='other')
        db_api.volume_type_extra_specs_delete(self.cinder.admin, ident,
                                              'tiers:tags')
        tiers = applied.TypeReader()
        one, _ = tiers.read(self.cinder.user()).tiers
        self.assertEqual(('database', frozenset()), (one.name, one.tags))
        self.cinder.delete_type(ident)
        state = tiers.read(self.cinder.user())
        self.assertEqual((['other'], None), (
            [one.name for one in state.tiers], state.find('db')))

    def test_every_type_with_the_mark_of_a_tier_is_marked(self):
        for name, specs in (
                ('a', {'tiers_name': 'a'}),
                ('a - new', {'tiers_name': 'a'}),
                ('a - retired 1', {'tiers_name': 'a'}),
                ('again', {'tiers_name': 'a'}),
                ('bad', {'tiers_name': 'bad', 'tiers_priority': 'high'}),
                ('empty', {'tiers_name': ''}),
                ('follow', {'tiers_follow_image': '<is> True'})):
            self.cinder.add_type(name, [PROJECT], **specs)
        state = self.read()
        self.assertEqual(
            ['a', 'a - new', 'a - retired 1', 'again', 'bad'],
            [one.name for one in state.marked])
        self.assertEqual((['a'], 2), (
            [one.name for one in state.tiers], len(state.problems)))

    def test_what_a_type_gives_is_what_cinder_gives(self):
        values = (None, '', '<is> True', '<is> true', '<is>  True', 'True',
                  '<is> 1', '<is> yes', '<is> False', '<is> True x', '<is>',
                  '<in> True')
        for number, value in enumerate(values):
            self.cinder.add_type(f'{number}', **({} if value is None else {
                'multiattach': value, 'replication_enabled': value,
                'RESKEY:availability_zones': value}))
        state = self.read()
        for number, value in enumerate(values):
            specs = state.find(f'{number}').extra_specs
            offers = state.find(f'{number}').offers
            self.assertEqual(
                volume_utils.is_replicated_spec(specs),
                decision.Feature.REPLICATION in offers, value)
            # cinder/volume/flows/api/create_volume.py
            self.assertEqual(
                specs.get('multiattach', '') == '<is> True',
                decision.Feature.MULTIATTACH in offers, value)

    def test_the_zones_of_a_tier_are_those_that_cinder_reads(self):
        values = ('', 'az1', 'az1,az2', ' az1 , az2,', ',', ' ', 'az1,,az1')
        for number, value in enumerate(values):
            self.cinder.add_type(f'{number}', tiers_name=f'{number}', **{
                'RESKEY:availability_zones': value})
        self.cinder.add_type('any', tiers_name='any')
        state = self.read()
        for tier in state.tiers:
            found = volume_utils.extract_availability_zones_from_volume_type(
                {'extra_specs': state.types[tier.name].extra_specs})
            self.assertEqual(found if found is None else set(found),
                             tier.type_zones, tier.name)
        self.assertEqual({None, frozenset(), frozenset({'az1'})} & {
            tier.type_zones for tier in state.tiers},
            {None, frozenset(), frozenset({'az1'})})

    def test_a_type_with_an_encryption_encrypts(self):
        ident = self.cinder.add_type('luks', tiers_name='luks')
        self.cinder.add_type('plain', tiers_name='plain')
        self.assertFalse(self.read().any_encryption)
        db_api.volume_type_encryption_create(
            self.cinder.admin, ident, {
                'provider': 'luks', 'control_location': 'front-end'})
        state = self.read()
        offers = {decision.Feature.ENCRYPTION}
        self.assertEqual(
            (True, offers, {'luks': offers, 'plain': set()}),
            (state.any_encryption, state.find('luks').offers,
             {tier.name: set(tier.offers) for tier in state.tiers}))
        db_api.volume_type_encryption_delete(self.cinder.admin, ident)
        self.assertEqual(
            (False, frozenset()),
            (self.read().any_encryption, self.read().find('luks').offers))

    def test_what_did_not_change_is_the_same_state(self):
        self.cinder.add_type('db', [PROJECT], tiers_name='database')
        ident = self.cinder.add_type('other')
        reader = applied.TypeReader()
        first, second = (reader.read(self.cinder.user()) for _ in range(2))
        self.assertIs(first, second)
        for change in (
                lambda: db_api.volume_type_access_add(
                    self.cinder.admin, first.find('db').type_id,
                    OTHER_PROJECT),
                lambda: db_api.volume_type_extra_specs_update_or_create(
                    self.cinder.admin, ident, {'tiers:name': 'other'}),
                lambda: db_api.volume_type_update(
                    self.cinder.admin, ident, {'name': 'renamed'}),
                lambda: db_api.volume_type_encryption_create(
                    self.cinder.admin, ident, {
                        'provider': 'luks', 'control_location': 'front-end'}),
                lambda: self.cinder.delete_type(ident)):
            change()
            third = reader.read(self.cinder.user())
            self.assertEqual(self.read(), third)
            self.assertNotEqual(second, third)
            second = third

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
