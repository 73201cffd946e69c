# SPDX-License-Identifier: Apache-2.0

"""The applied tiers, read from a real database."""

from cinder.volume import volume_types
from cinder.volume import volume_utils
import fixtures
import sqlalchemy
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.volume_types import applied
from tests.worlds import cinder_fixture

db_api = cinder_fixture.db_api

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT


class ReadAppliedTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        self.cinder = self.useFixture(cinder_fixture.Scheduler())

    def read(self):
        return applied.read_applied(self.cinder.user())

    def test_without_a_tier_there_is_nothing_but_the_types(self):
        ident = self.cinder.add_type('plain', volume_backend_name='plain')
        state = self.read()
        self.assertEqual(
            ((), {}, (), frozenset(), (), False),
            (
                state.tiers,
                dict(state.types),
                state.marked,
                state.following,
                state.problems,
                state.any_encryption,
            ),
        )
        self.assertEqual(
            applied.VolumeType(
                type_id=ident,
                name='plain',
                is_public=True,
                extra_specs={'volume_backend_name': 'plain'},
                follows_image=False,
                projects=None,
            ),
            state.find('plain'),
        )

    def test_a_tier_is_what_its_type_says(self):
        ident = self.cinder.add_type(
            'db',
            volume_backend_name='pool',
            tiers_name='database',
            tiers_tags='Database, db',
            tiers_priority='20',
            tiers_fallback='<is> True',
            tiers_overflow='general',
        )
        state = self.read()
        self.assertEqual(
            (
                decision.AppliedTier(
                    name='database',
                    tags=frozenset({'database', 'db'}),
                    priority=20,
                    fallback=True,
                    overflow='general',
                    is_renamed=True,
                ),
            ),
            state.tiers,
        )
        self.assertEqual(
            (ident, True, 'pool'),
            (
                state.types['database'].type_id,
                state.types['database'].is_public,
                state.types['database'].extra_specs['volume_backend_name'],
            ),
        )

    def test_a_private_type_serves_the_projects_with_access(self):
        self.cinder.add_type('db', [PROJECT], tiers_name='database')
        self.cinder.add_type('none', [], tiers_name='nobody')
        state = self.read()
        self.assertEqual(
            {'database': frozenset({PROJECT}), 'nobody': frozenset()},
            {tier.name: tier.projects for tier in state.tiers},
        )
        self.assertFalse(state.types['database'].is_public)

    def test_of_two_types_with_one_tier_name_the_first_counts(self):
        second = self.cinder.add_type(
            'b', tiers_name='database', tiers_tags='second'
        )
        first = self.cinder.add_type(
            'a', tiers_name='database', tiers_tags='first'
        )
        state = self.read()
        self.assertEqual(
            [frozenset({'first'})], [tier.tags for tier in state.tiers]
        )
        self.assertEqual(first, state.types['database'].type_id)
        self.assertNotEqual(second, first)
        (problem,) = state.problems
        self.assertIn(
            "'b' has the extra spec tiers:name='database', and so has 'a'",
            problem,
        )

    def test_a_tier_is_never_without_a_type_while_one_is_retired(self):
        self.cinder.add_type(
            'ssd - retired 1', tiers_name='ssd', tiers_tags='old'
        )
        self.assertEqual(((), ()), (self.read().tiers, self.read().problems))
        self.cinder.add_type(
            'ssd - new', tiers_name='ssd', tiers_tags='between'
        )
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
        (problem,) = state.problems
        self.assertIn("'bad': tiers:priority is 'high'", problem)

    def test_problems_are_logged_when_they_change_only(self):
        tiers = applied.AppliedTiers()
        self.cinder.add_type('bad', tiers_name='bad', tiers_priority='high')
        for _ in range(3):
            tiers.get(self.cinder.user(), ttl_s=0)
        self.assertEqual(1, self.log.output.count('Tier ignored'))
        self.cinder.add_type('c', tiers_name='worse', tiers_priority='')
        tiers.get(self.cinder.user(), ttl_s=0)
        self.assertIn("'worse'", self.log.output)

    def test_a_type_is_found_by_its_exact_name_or_id(self):
        ident = self.cinder.add_type(
            'image-tier', tiers_follow_image='<is> True'
        )
        other = self.cinder.add_type('other', [], tiers_follow_image='no')
        state = self.read()
        for name, follows_image in (
            (ident, True),
            ('image-tier', True),
            (other, False),
            ('other', False),
        ):
            self.assertIs(follows_image, state.find(name).follows_image)
        self.assertEqual({'image-tier', ident}, state.following)
        for name in ('nothing', '\ud800', '', None):
            self.assertIsNone(state.find(name))

    def test_another_spelling_of_a_name_is_left_to_the_database(self):
        """What matches it depends on the collation, so it is not known here.

        Who asks must let Cinder look it up; "is not a type that follows the
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
            (self.cinder.admin, {'public', 'mine', 'closed'}),
        ):
            self.assertEqual(
                names,
                {
                    name
                    for name in ('public', 'mine', 'closed')
                    if state.find(name).may_use(context)
                },
            )

    def test_access_that_was_taken_away_is_gone(self):
        ident = self.cinder.add_type(
            'db', [PROJECT, OTHER_PROJECT], tiers_name='database'
        )
        volume_types.remove_volume_type_access(
            self.cinder.admin, ident, OTHER_PROJECT
        )
        self.assertEqual({PROJECT}, self.read().types['database'].projects)

    def test_extra_specs_and_types_that_were_deleted_are_gone(self):
        ident = self.cinder.add_type(
            'db', tiers_name='database', tiers_tags='db'
        )
        self.cinder.add_type('other', tiers_name='other')
        db_api.volume_type_extra_specs_delete(
            self.cinder.admin, ident, 'tiers:tags'
        )
        tiers = applied.TypeReader()
        one, _ = tiers.read(self.cinder.user()).tiers
        self.assertEqual(('database', frozenset()), (one.name, one.tags))
        self.cinder.delete_type(ident)
        state = tiers.read(self.cinder.user())
        self.assertEqual(
            (['other'], None),
            ([one.name for one in state.tiers], state.find('db')),
        )

    def test_every_type_with_the_mark_of_a_tier_is_marked(self):
        for name, specs in (
            ('a', {'tiers_name': 'a'}),
            ('a - new', {'tiers_name': 'a'}),
            ('a - retired 1', {'tiers_name': 'a'}),
            ('again', {'tiers_name': 'a'}),
            ('bad', {'tiers_name': 'bad', 'tiers_priority': 'high'}),
            ('empty', {'tiers_name': ''}),
            ('follow', {'tiers_follow_image': '<is> True'}),
        ):
            self.cinder.add_type(name, [PROJECT], **specs)
        state = self.read()
        self.assertEqual(
            ['a', 'a - new', 'a - retired 1', 'again', 'bad'],
            [one.name for one in state.marked],
        )
        self.assertEqual(
            (['a'], 2),
            ([one.name for one in state.tiers], len(state.problems)),
        )

    def test_what_a_type_gives_is_what_cinder_gives(self):
        values = (
            None,
            '',
            '<is> True',
            '<is> true',
            '<is>  True',
            'True',
            '<is> 1',
            '<is> yes',
            '<is> False',
            '<is> True x',
            '<is>',
            '<in> True',
        )
        for number, value in enumerate(values):
            self.cinder.add_type(
                f'{number}',
                **(
                    {}
                    if value is None
                    else {
                        'multiattach': value,
                        'replication_enabled': value,
                        'RESKEY:availability_zones': value,
                    }
                ),
            )
        state = self.read()
        for number, value in enumerate(values):
            specs = state.find(f'{number}').extra_specs
            offers = state.find(f'{number}').offers
            self.assertEqual(
                volume_utils.is_replicated_spec(specs),
                decision.Feature.REPLICATION in offers,
                value,
            )
            # cinder/volume/flows/api/create_volume.py
            self.assertEqual(
                specs.get('multiattach', '') == '<is> True',
                decision.Feature.MULTIATTACH in offers,
                value,
            )

    def test_the_zones_of_a_tier_are_those_that_cinder_reads(self):
        values = ('', 'az1', 'az1,az2', ' az1 , az2,', ',', ' ', 'az1,,az1')
        for number, value in enumerate(values):
            self.cinder.add_type(
                f'{number}',
                tiers_name=f'{number}',
                **{'RESKEY:availability_zones': value},
            )
        self.cinder.add_type('any', tiers_name='any')
        state = self.read()
        for tier in state.tiers:
            found = volume_utils.extract_availability_zones_from_volume_type(
                {'extra_specs': state.types[tier.name].extra_specs}
            )
            self.assertEqual(
                found if found is None else set(found),
                tier.type_zones,
                tier.name,
            )
        self.assertEqual(
            {None, frozenset(), frozenset({'az1'})}
            & {tier.type_zones for tier in state.tiers},
            {None, frozenset(), frozenset({'az1'})},
        )

    def test_a_type_with_an_encryption_encrypts(self):
        ident = self.cinder.add_type('luks', tiers_name='luks')
        self.cinder.add_type('plain', tiers_name='plain')
        self.assertFalse(self.read().any_encryption)
        db_api.volume_type_encryption_create(
            self.cinder.admin,
            ident,
            {'provider': 'luks', 'control_location': 'front-end'},
        )
        state = self.read()
        offers = {decision.Feature.ENCRYPTION}
        self.assertEqual(
            (True, offers, {'luks': offers, 'plain': set()}),
            (
                state.any_encryption,
                state.find('luks').offers,
                {tier.name: set(tier.offers) for tier in state.tiers},
            ),
        )
        db_api.volume_type_encryption_delete(self.cinder.admin, ident)
        self.assertEqual(
            (False, frozenset()),
            (self.read().any_encryption, self.read().find('luks').offers),
        )

    def test_what_did_not_change_is_the_same_state(self):
        self.cinder.add_type('db', [PROJECT], tiers_name='database')
        ident = self.cinder.add_type('other')
        reader = applied.TypeReader()
        first, second = (reader.read(self.cinder.user()) for _ in range(2))
        self.assertIs(first, second)
        for change in (
            lambda: db_api.volume_type_access_add(
                self.cinder.admin, first.find('db').type_id, OTHER_PROJECT
            ),
            lambda: db_api.volume_type_extra_specs_update_or_create(
                self.cinder.admin, ident, {'tiers:name': 'other'}
            ),
            lambda: volume_types.update(
                self.cinder.admin, ident, 'renamed', None
            ),
            lambda: db_api.volume_type_encryption_create(
                self.cinder.admin,
                ident,
                {'provider': 'luks', 'control_location': 'front-end'},
            ),
            lambda: self.cinder.delete_type(ident),
        ):
            change()
            third = reader.read(self.cinder.user())
            self.assertEqual(self.read(), third)
            self.assertNotEqual(second, third)
            second = third

    def test_a_user_reads_as_much_as_an_admin(self):
        self.cinder.add_type('db', [OTHER_PROJECT], tiers_name='database')
        self.assertEqual(applied.read_applied(self.cinder.admin), self.read())

    def test_what_the_database_layer_raises_comes_out(self):
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE volume_types')
        self.assertRaises(
            sqlalchemy.exc.OperationalError,
            applied.AppliedTiers().get,
            self.cinder.user(),
            ttl_s=0,
        )
