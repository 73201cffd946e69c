# SPDX-License-Identifier: Apache-2.0

"""Groups of volumes, whose types leave nothing to an image."""

import contextlib
import pathlib
import subprocess
import sys
import uuid

from cinder import objects
from cinder.volume import group_types
from cinder.volume import volume_types
import ddt
import sqlalchemy
import testtools

from tests.unit.api import api_fixture
from tests.worlds import cinder_database

PROJECT = api_fixture.PROJECT
OTHER_PROJECT = api_fixture.OTHER_PROJECT
#: No volume type has it.
MISSING = 'c0ffee00-0000-4000-8000-000000000000'

WITHOUT_SCHEMA = """
import sys
sys.modules['cinder.api.schemas.consistencygroups'] = None
import tests.unit.api
from cinder.api.validation import validators
from cinder import exception
from cinder_tiers.api import groups
from cinder_tiers.api import middleware
[(lowest, highest, schema)] = groups.consistency_schemas()
def takes(**body):
    try:
        validators._SchemaValidator(schema).validate(body)
    except exception.ValidationError:
        return False
    return True
print(
    takes(consistencygroup={'volume_types': 'plain,image-tier'}),
    takes(consistencygroup={'volume_types': 'plain', 'any': 0}),
    takes(consistencygroup={}),
    takes(consistencygroup=[]),
)
"""


class GroupCase(api_fixture.ApiTestCase):
    """A test that makes groups."""

    def setUp(self):
        super().setUp()
        self.group_type = group_types.create(self.cinder.admin, 'any', {}).id

    def create(self, *types, **request):
        return self.api.post(
            'groups',
            {
                'group': {
                    'group_type': self.group_type,
                    'volume_types': list(types),
                }
            },
            **{'version': '3.13', **request},
        )

    def create_consistent(self, *types, **request):
        return self.api.post(
            'consistencygroups',
            {
                'consistencygroup': {
                    'name': 'any',
                    'volume_types': ','.join(types),
                }
            },
            **request,
        )

    def row(self, answer):
        self.assertEqual(202, answer.status, answer.body)
        (group,) = answer.json.values()
        return objects.Group.get_by_id(self.cinder.admin, group['id'])

    def assert_types(self, names, answer):
        self.assertEqual(
            sorted(names),
            sorted(one.name for one in self.row(answer).volume_types),
        )


@ddt.ddt
class GroupsTestCase(GroupCase):
    def test_it_gets_the_type_of_the_fallback_tier(self):
        for follow in ('image-tier', self.follow):
            self.assert_types(['general'], self.create(follow))
            self.assert_types(['general'], self.create(follow, version='3.71'))
            self.assert_types(
                ['general', 'plain'], self.create(follow, 'plain')
            )
            # One type only once.
            self.assert_types(
                ['general'], self.create(follow, self.types['general'])
            )
            self.assert_types(
                ['general', 'plain'],
                self.create_consistent(follow, 'plain', ''),
            )

    @ddt.data('create', 'create_consistent')
    def test_beside_a_tier_that_is_elsewhere_it_gets_its_type(self, create):
        """With that of the fallback tier no backend serves the group."""
        create = getattr(self, create)
        for name in ('database', 'general', 'archive'):
            if name in self.types:
                self.cinder.delete_type(self.types[name])
        for name, more in (
            ('general', {'tiers_fallback': '<is> True'}),
            ('database', {'tiers_tags': 'database'}),
            ('archive', {'tiers_tags': 'archive'}),
        ):
            self.add_type(
                name,
                tiers_name=name,
                volume_backend_name=f'tier-{name}',
                **more,
            )
        self.add_type('other', volume_backend_name='other')
        self.add_type('multi', multiattach='<is> True')
        self.add_type(
            'both', volume_backend_name='<or> tier-general <or> other'
        )
        for types, wanted in (
            (('image-tier', 'database'), ['database']),
            (('database', self.follow), ['database']),
            (('image-tier', self.types['database']), ['database']),
            (('image-tier', 'general'), ['general']),
            (('image-tier', 'plain'), ['general', 'plain']),
            (('image-tier', 'both'), ['general', 'both']),
            (('image-tier', 'plain', 'database'), ['database', 'plain']),
            # No backend serves both tiers, with us or without.
            (
                ('image-tier', 'database', 'archive'),
                ['database', 'archive'],
            ),
            # No tier is there: the other type says where the group is.
            (('image-tier', 'other'), ['image-tier', 'other']),
            # Whether the tier's backend has it is not known.
            (('image-tier', 'multi'), ['general', 'multi']),
        ):
            self.assert_types(wanted, create(*types))

    def test_a_fallback_closed_to_the_project_is_no_matter_beside_another(
        self,
    ):
        self.cinder.delete_type(self.types['general'])
        self.add_type(
            'closed',
            [OTHER_PROJECT],
            tiers_name='closed',
            tiers_fallback='<is> True',
        )
        answer = self.create('image-tier', 'database')
        self.assert_types(['database'], answer)
        group = self.row(answer)
        group.update({'status': 'available', 'host': 'node@any#any'})
        group.save()
        for image in (
            self.glance.add_image(),
            self.glance.add_image('database'),
        ):
            self.assert_type(
                'database',
                version='3.13',
                volume_type='image-tier',
                group_id=group.id,
                imageRef=image,
            )
        self.assertEqual(403, self.create('image-tier', 'plain').status)

    def test_a_type_that_is_encrypted_is_none_for_another(self):
        luks = self.add_type('luks', tiers_follow_image='<is> True')
        self.cinder.add_encryption(luks)
        self.assert_types(
            ['luks', 'database'], self.create('luks', 'database')
        )

    def test_other_types_are_cinders(self):
        self.assert_types(
            ['database', 'plain'], self.create('database', self.types['plain'])
        )
        self.assert_types(['plain'], self.create_consistent('plain'))

    @ddt.data('create', 'create_consistent')
    def test_a_private_tier_of_others_is_not_found(self, create):
        """Cinder finds it, and makes a group on its backend."""
        premium = self.add_type(
            'premium', [PROJECT], tiers_name='premium', tiers_tags='premium'
        )
        create = getattr(self, create)
        for ident in ('premium', premium):
            for others in ((), ('plain',), ('image-tier',)):
                answer = create(ident, *others, project=OTHER_PROJECT)
                self.assertEqual(404, answer.status, answer.body)
            self.assert_types(['premium'], create(ident))
            self.assert_types(
                ['premium'],
                create(ident, project=OTHER_PROJECT, roles='admin'),
            )
        self.assertEqual(4, len(objects.GroupList.get_all(self.cinder.admin)))

    @ddt.data('create', 'create_consistent')
    def test_access_counts_as_it_is_now(self, create):
        """Cinder asks nothing at all: the door is all that there is."""
        self.api.configure(applied_cache_seconds=60)
        premium = self.add_type(
            'premium', [PROJECT], tiers_name='premium', tiers_tags='premium'
        )
        create = getattr(self, create)
        self.assert_types(['premium'], create('premium'))
        answer = create('premium', project=OTHER_PROJECT)
        self.assertEqual(404, answer.status, answer.body)
        admin = self.cinder.admin
        volume_types.remove_volume_type_access(admin, premium, PROJECT)
        volume_types.add_volume_type_access(admin, premium, OTHER_PROJECT)
        for ident in ('premium', premium):
            answer = create(ident)
            self.assertEqual(404, answer.status, answer.body)
            self.assert_types(
                ['premium'], create(ident, project=OTHER_PROJECT)
            )

    def test_a_fallback_that_serves_others(self):
        self.cinder.delete_type(self.types['general'])
        self.add_type(
            'closed',
            [PROJECT],
            tiers_name='closed',
            tiers_fallback='<is> True',
        )
        self.assert_types(['closed'], self.create('image-tier'))
        answer = self.create('image-tier', project=OTHER_PROJECT)
        self.assertEqual(403, answer.status)

    def test_what_is_no_group_is_cinders(self):
        for types in ((), ('nothing',), ('',), ('image-tier', 'image-tier')):
            ours, theirs = (
                self.create(*types, has_door=has_door)
                for has_door in (True, False)
            )
            self.assertEqual(
                (theirs.status, theirs.body), (ours.status, ours.body)
            )
        for types in ((), ('',), ('', ''), ('nothing',), (MISSING,)):
            ours, theirs = (
                self.create_consistent(*types, has_door=has_door)
                for has_door in (True, False)
            )
            self.assertEqual(
                (theirs.status, theirs.body), (ours.status, ours.body)
            )

    def assert_no_costlier(self, create, *types):
        """To look at these types asks the database no more than Cinder."""
        answers, counts = [], []
        for has_door in (True, False):
            with self.counted_queries() as counted:
                answers.append(create(*types, has_door=has_door).status)
            counts.append(len(counted))
        self.assertEqual(answers[1], answers[0])
        # What the door itself asks does not grow with their number.
        self.assertLess(counts[0], counts[1] + 20)

    @contextlib.contextmanager
    def counted_queries(self):
        """The statements that are executed meanwhile."""
        counted = []

        def execute(connection, cursor, statement, *others):
            counted.append(statement)

        arguments = (self.cinder.engine, 'before_cursor_execute', execute)
        sqlalchemy.event.listen(*arguments)
        try:
            yield counted
        finally:
            sqlalchemy.event.remove(*arguments)

    @ddt.data('create', 'create_consistent')
    def test_thousands_of_types_that_are_none(self, create):
        """E1: one request of a reader held a thread for two minutes."""
        self.api.configure(applied_cache_seconds=60)
        create = getattr(self, create)
        create('plain')
        self.assert_no_costlier(create, *map(str, range(1000)))
        self.assert_no_costlier(
            create, *(uuid.UUID(int=number).hex for number in range(1000))
        )

    def test_one_type_in_many_spellings(self):
        """E1: each had a decision, and a notification, of its own."""
        cinder_database.fold_names(self.cinder.engine)
        self.api.configure(applied_cache_seconds=60)
        self.assert_types(
            ['general'],
            self.create(*(f'image-tier{" " * n}' for n in range(50))),
        )
        self.assert_types(
            ['general'], self.create_consistent(*['image-tier'] * 50)
        )
        self.assertEqual(2, self.logged().count('tiers.decision'))


class InGroupTestCase(GroupCase):
    """A volume in a group has one of its types."""

    def add_group(self, *names):
        group = self.row(
            self.create(*(self.types[name] for name in names), has_door=False)
        )
        group.update({'status': 'available', 'host': 'node@any#any'})
        group.save()
        return group.id

    def assert_in_group(self, name, names, **volume):
        row = self.assert_type(
            name,
            version='3.13',
            volume_type='image-tier',
            group_id=self.add_group(*names),
            **volume,
        )
        self.assertIsNotNone(row.group_id)

    def test_that_of_its_tier_if_the_group_has_it(self):
        image = self.glance.add_image('database')
        self.assert_in_group(
            'database', ['general', 'database'], imageRef=image
        )
        self.assert_in_group('general', ['general', 'plain'], imageRef=image)
        self.assert_in_group('general', ['general', 'database'])
        self.assert_in_group('database', ['database', 'plain'])

    def test_that_of_a_tier_rather_than_one_that_follows_the_image(self):
        image = self.glance.add_image('database')
        self.assert_in_group(
            'database', ['image-tier', 'database'], imageRef=image
        )
        self.assert_in_group('database', ['image-tier', 'database'])
        self.assert_in_group('image-tier', ['image-tier', 'plain'])

    def test_of_no_tier_cinder_decides(self):
        group = self.add_group('plain')
        self.assert_type(
            'plain', version='3.13', group_id=group, volume_type='plain'
        )
        answer = self.assert_as_cinder_alone(
            version='3.13', group_id=group, volume_type='image-tier'
        )
        self.assertEqual(400, answer.status)


class WithoutSchemaTestCase(testtools.TestCase):
    """Cinder 26 and 27 have no schema of consistency groups."""

    def test_the_middleware_is_there_and_takes_what_cinder_takes(self):
        done = subprocess.run(
            [sys.executable, '-c', WITHOUT_SCHEMA],
            cwd=pathlib.Path(__file__).parents[3],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual('True True False False\n', done.stdout)
