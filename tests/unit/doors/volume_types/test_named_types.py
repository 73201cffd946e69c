# SPDX-License-Identifier: Apache-2.0

"""Volume types by name, found in a real database of Cinder as Cinder does."""

from cinder.volume import volume_types
import ddt
import sqlalchemy
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import named_types
from tests.worlds import cinder_database
from tests.worlds import cinder_fixture

OTHER_PROJECT = cinder_fixture.OTHER_PROJECT
UNKNOWN = 'c0ffee00-0000-4000-8000-000000000000'
ENCRYPTED = frozenset({decision.Feature.ENCRYPTION})
FOLLOWS = '<is> True'


class NamedTypesTestCase(testtools.TestCase):
    """What is read of the types is remembered for long."""

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.cinder.conf.config(
            group='cinder_tiers', applied_cache_seconds=600
        )
        self.user = self.cinder.user()
        self.other = self.cinder.user(OTHER_PROJECT)
        self.follow = self.cinder.add_type(
            'image-tier', tiers_follow_image=FOLLOWS
        )
        self.plain = self.cinder.add_type('plain')
        self.mine = self.cinder.add_type(
            'mine', [cinder_fixture.PROJECT], tiers_follow_image=FOLLOWS
        )
        self.statements = []
        sqlalchemy.event.listen(
            self.cinder.engine,
            'before_cursor_execute',
            lambda *arguments: self.statements.append(arguments[2]),
        )
        self.learn()

    def learn(self):
        """Remember the types as they are now, and nothing else."""
        tiers = applied.AppliedTiers()
        self.types = named_types.NamedTypes(
            get=lambda context: tiers.get(context, ttl_s=600),
            read_anew=tiers.read_anew,
        )
        self.types.find(self.user, 'image-tier')
        self.statements.clear()

    def assert_found(self, type_id, ident, context=None):
        found = self.types.find(context or self.user, ident)
        self.assertEqual(type_id, found and found.type_id)


class FindTestCase(NamedTypesTestCase):
    def test_an_exact_name_or_id_costs_no_query(self):
        for ident in ('image-tier', self.follow):
            self.assert_found(self.follow, ident)
        self.assert_found(self.plain, 'plain')
        self.assertEqual([], self.statements)

    def test_another_spelling_is_another_name_to_some_databases(self):
        if self.cinder.engine.name == 'mysql':
            self.skipTest('MariaDB takes them for the same.')
        for ident in ('Image-Tier', 'image-tier ', self.follow.upper()):
            self.assert_found(None, ident)

    def test_and_the_same_to_others(self):
        cinder_database.fold_names(self.cinder.engine)
        for ident in ('Image-Tier', 'IMAGE-TIER', self.follow.upper()):
            self.assert_found(self.follow, ident)
        self.assert_found(self.plain, 'Plain')

    def test_what_does_not_exist(self):
        for ident in (
            '',
            'no type',
            UNKNOWN,
            'x' * 256,
            '\r\n\x1b[2J"',
            "' OR 1=1 --",
            '%',
            '_lain',
        ):
            self.assert_found(None, ident)
        # Made as DevStack makes it, MariaDB cannot compare it with a name, and
        # Cinder answers 500 with the door and without.
        if self.cinder.engine.name != 'mysql':
            self.assert_found(None, '\U0001f600')

    def test_an_id_comes_before_a_name_that_looks_like_it(self):
        self.cinder.add_type(self.follow)
        named = self.cinder.add_type(UNKNOWN)
        self.learn()
        self.assert_found(self.follow, self.follow)
        self.assert_found(named, UNKNOWN)

    def test_a_type_that_is_newer_than_what_is_remembered(self):
        new = self.cinder.add_type('new', tiers_follow_image=FOLLOWS)
        self.assert_found(new, 'new')
        self.assertTrue(self.types.named(self.user, 'new').follows_image)
        # Now it is remembered.
        self.statements.clear()
        self.assert_found(new, new)
        self.assertEqual([], self.statements)

    def test_a_name_that_was_given_to_another_type(self):
        """As when a tier's type takes the place of one that has volumes."""
        volume_types.update(self.cinder.admin, self.follow, 'old', None)
        self.assert_found(self.follow, 'old')
        new = self.cinder.add_type('image-tier')
        self.learn()
        self.assert_found(new, 'image-tier')


@ddt.ddt
class NamedTestCase(NamedTypesTestCase):
    """What a request names follows the image, or is for Cinder to judge."""

    def follows(self, ident, context=None):
        return self.types.named(context or self.user, ident).follows_image

    def test_a_public_type(self):
        self.assertTrue(self.follows('image-tier'))
        self.assertTrue(self.follows(self.follow, self.other))
        self.assertFalse(self.follows('plain'))

    def test_whatever_the_spelling(self):
        cinder_database.fold_names(self.cinder.engine)
        self.assertTrue(self.follows('IMAGE-Tier'))
        self.assertTrue(self.follows(self.follow.upper()))
        self.assertFalse(self.follows('PLAIN'))

    def test_a_private_type_follows_for_who_may_use_it(self):
        for ident in ('mine', self.mine):
            for context, expected in (
                (self.user, True),
                (self.other, False),
                (self.cinder.admin, True),
            ):
                self.assertIs(expected, self.follows(ident, context))

    def test_whatever_its_spelling(self):
        cinder_database.fold_names(self.cinder.engine)
        self.assertTrue(self.follows('Mine'))
        self.assertFalse(self.follows('Mine', self.other))
        self.assertFalse(self.follows(self.mine.upper(), self.other))

    @ddt.data('', 'no type', UNKNOWN)
    def test_what_does_not_exist(self, ident):
        self.assertFalse(self.follows(ident))

    def test_what_it_gives(self):
        luks = self.cinder.add_type('luks', tiers_follow_image=FOLLOWS)
        self.cinder.add_encryption(luks)
        self.learn()
        self.assertEqual(ENCRYPTED, self.types.named(self.user, 'luks').offers)

    def test_an_encrypted_type(self):
        self.cinder.add_encryption(self.plain)
        self.learn()
        for ident, expected in (
            ('plain', 'plain'),
            (self.plain, 'plain'),
            ('image-tier', None),
            ('no type', None),
            (None, None),
            ('', None),
        ):
            found = self.types.find_encrypted(self.user, ident)
            self.assertEqual(expected, found and found.name)


class ClosedTestCase(NamedTypesTestCase):
    """A private tier's type, which by its name Cinder gives to anyone."""

    def is_closed(self, ident, context, project=None):
        found = self.types.find(self.cinder.admin, ident)
        return named_types.is_closed(
            found, context, project or context.project_id
        )

    def test_is_closed(self):
        self.cinder.add_type(
            'premium', [cinder_fixture.PROJECT], tiers_name='premium'
        )
        self.cinder.add_type('public', tiers_name='public')
        self.learn()
        self.assertTrue(self.is_closed('premium', self.other))
        self.assertTrue(self.is_closed('premium', self.user, OTHER_PROJECT))
        self.assertFalse(self.is_closed('premium', self.user))
        self.assertFalse(
            self.is_closed(
                'premium', self.cinder.user(OTHER_PROJECT, role='admin')
            )
        )
        # What is not a private tier is Cinder's to judge.
        for ident in ('public', 'mine', 'plain'):
            self.assertFalse(self.is_closed(ident, self.other))


class NamedByOthersTestCase(NamedTypesTestCase):
    """Of a request that names no type: image, project, cinder.conf."""

    def setUp(self):
        super().setUp()
        self.luks = self.cinder.add_type('luks')
        self.cinder.add_encryption(self.luks)
        self.learn()

    def assert_named(
        self,
        source,
        *,
        follows_image=False,
        offers=frozenset(),
        image_type=None,
        context=None,
    ):
        named, found = self.types.named_by_others(
            context or self.user, image_type
        )
        self.assertEqual(
            (source, follows_image),
            (named and named.source, bool(named and named.follows_image)),
        )
        self.assertEqual(offers, found)

    def test_the_image_comes_first(self):
        self.cinder.set_project_default(self.plain)
        self.cinder.conf.config(default_volume_type='plain')
        self.assert_named(
            decision.TypeSource.IMAGE,
            image_type='image-tier',
            follows_image=True,
        )
        self.assert_named(decision.TypeSource.IMAGE, image_type='plain')
        self.assert_named(decision.TypeSource.IMAGE, image_type='no type')

    def test_then_the_default_of_the_project(self):
        self.cinder.conf.config(default_volume_type='plain')
        self.cinder.set_project_default(self.follow)
        for nothing in (None, ''):
            self.assert_named(
                decision.TypeSource.PROJECT,
                image_type=nothing,
                follows_image=True,
            )
        self.assert_named(None, context=self.other)

    def test_then_that_of_cinder_which_is_as_if_none_were_named(self):
        self.cinder.conf.config(default_volume_type='luks')
        self.assert_named(None, offers=ENCRYPTED)
        self.cinder.conf.config(default_volume_type='image-tier')
        self.assert_named(None)
        self.cinder.conf.config(default_volume_type='no type')
        self.assert_named(None)

    def test_whatever_the_spelling_of_cinders_default(self):
        cinder_database.fold_names(self.cinder.engine)
        self.cinder.conf.config(default_volume_type='LUKS')
        self.assert_named(None, offers=ENCRYPTED)

    def test_a_cinder_without_a_default_type_is_not_asked_for_it(self):
        self.assert_named(None)
        self.statements.clear()
        self.cinder.conf.config(default_volume_type=None)
        self.assert_named(None)
        self.assertEqual([], self.statements)

    def test_a_private_type_that_the_project_may_not_use(self):
        self.assert_named(
            decision.TypeSource.IMAGE, image_type='mine', follows_image=True
        )
        self.assert_named(
            decision.TypeSource.IMAGE, image_type='mine', context=self.other
        )

    def test_a_default_is_remembered_for_a_while(self):
        self.cinder.set_project_default(self.follow)
        self.assert_named(decision.TypeSource.PROJECT, follows_image=True)
        self.statements.clear()
        self.assert_named(decision.TypeSource.PROJECT, follows_image=True)
        self.assertEqual([], self.statements)
