# SPDX-License-Identifier: Apache-2.0

"""Tags of public tiers in Glance, and images with tags that are nearly right.

Run by the real shell. Cinder is real, Glance and Keystone are stand-ins:
tests/functional/test_published_tags.py asks the real ones.
"""

import json
import pathlib

import fixtures
import testtools
import yaml

from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.observe import visible_cloud
from tests.unit.cli import shell
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

US = cinder_api.PROJECT
THEM = '2' * 32
NAMESPACE = glance_state.NAMESPACE
OBJECT = f'tag namespace {NAMESPACE}'
CATALOG = {
    'version': 1,
    'follow_image_types': ['image-tier'],
    'publish_tags': True,
    'tiers': {
        'database': {
            'tags': ['Database', 'a/b ?&#%'],
            'priority': 20,
            'backend': 'fast',
        },
        'secret': {
            'tags': ['premium'],
            'priority': 30,
            'backend': 'faster',
            'access': [THEM],
        },
        'general': {'fallback': True, 'backend': 'slow'},
    },
}


class PublishedTagsTestCase(testtools.TestCase):
    """All of it in one class, since the cloud takes seconds to start."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_project(THEM, 'them')
        for name in ('fast', 'faster', 'slow'):
            cls.api.add_backend(name)
        cls.connection = test_cinder_world.log_in(cls.api)
        cls.addClassCleanup(cls.connection.close)

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'tiers.yaml'
        )
        self.addCleanup(
            test_cinder_world.remove_namespace, self.connection.image
        )
        self.addCleanup(self.api.forbid_namespaces, False)
        self.declare()
        self.tier('apply', '--yes')

    def declare(self, **fields):
        """Writes the tiers file with other fields; None removes one."""
        content = {**CATALOG, **fields}
        self.path.write_text(
            yaml.safe_dump(
                {key: one for key, one in content.items() if one is not None}
            )
        )

    def run_tier(self, *words, role='admin', project=US):
        return shell.openstack(
            *self.api.arguments_of(role, project), 'tier', *words
        )

    def tier(self, verb, *words, expect=0):
        done = self.run_tier(
            verb, '--catalog', str(self.path), '-f', 'json', *words
        )
        self.assertEqual(expect, done.status, done.stderr)
        return json.loads(done.stdout or '[]')

    def audit(self, expect=0):
        """{object: state}, without the warnings."""
        return {
            one['Object']: one['State']
            for one in self.tier('audit', expect=expect)
            if one['State'] != 'warning'
        }

    def namespace(self):
        """As Glance shows it to a member; None when it does not."""
        connection = test_cinder_world.log_in(
            self.api, username='member', project=THEM
        )
        self.addCleanup(connection.close)
        found = connection.image.get(f'/metadefs/namespaces/{NAMESPACE}')
        return found.json() if found.status_code == 200 else None

    def put(self, path='', method='PUT', **body):
        """What an administrator does by hand."""
        answer = self.connection.image.request(
            f'/metadefs/namespaces/{NAMESPACE}{path}', method, json=body
        )
        self.assertLess(answer.status_code, 300)

    def put_foreign(self):
        test_cinder_world.remove_namespace(self.connection.image)
        self.connection.image.create_metadef_namespace(
            namespace=NAMESPACE, description='ours', visibility='public'
        )

    def tags(self):
        return {one['name'] for one in self.namespace()['tags']}

    def test_everybody_sees_the_tags_of_public_tiers_and_no_others(self):
        found = self.namespace()
        self.assertEqual({'database', 'a/b ?&#%'}, self.tags())
        self.assertEqual(
            ['OS::Glance::Image'],
            [one['name'] for one in found['resource_type_associations']],
        )
        for private in ('premium', 'secret'):
            self.assertNotIn(private, json.dumps(found))
        self.assertEqual([], self.tier('plan'))
        self.assertEqual({'compliant'}, set(self.audit().values()))

    def test_a_tier_that_becomes_private_takes_its_tags_with_it(self):
        tiers = CATALOG['tiers']
        self.declare(
            tiers={
                **tiers,
                'database': {**tiers['database'], 'access': [THEM]},
                'web': {'tags': ['web'], 'priority': 5, 'backend': 'slow'},
            }
        )
        self.tier('apply', '--yes', '--allow', 'volume type database')
        self.assertEqual({'web'}, self.tags())
        tiers = {**tiers, 'secret': {**tiers['secret'], 'access': 'public'}}
        del tiers['database']
        self.declare(tiers={'general': tiers['general']})
        self.tier(
            'apply',
            '--yes',
            *(
                word
                for name in ('database', 'secret', 'web')
                for word in ('--allow', f'volume type {name}')
            ),
        )
        self.assertNotIn('tags', self.namespace())
        self.assertEqual([], self.tier('plan'))

    def test_what_others_changed_is_found_and_mended(self):
        self.put('/tags', 'POST', tags=[{'name': 'premium'}])
        self.put(
            namespace=NAMESPACE,
            description=f'Mine. {glance_state.MARK}',
            protected=True,
            owner='them',
        )
        (row,) = self.tier('plan', expect=4)
        self.assertEqual(OBJECT, row['Object'])
        self.assertEqual(
            {'display_name', 'description', 'is_public', 'tags'},
            set(row['After']),
        )
        self.assertEqual('non-compliant', self.audit(expect=4)[OBJECT])
        self.tier('apply', '--yes')
        self.assertEqual({'database', 'a/b ?&#%'}, self.tags())
        # Of these the tiers file says nothing.
        self.assertEqual(
            (True, 'them'),
            (self.namespace()['protected'], self.namespace()['owner']),
        )
        self.put(
            namespace=NAMESPACE,
            description=self.namespace()['description'],
            visibility='public',
        )

    def test_a_namespace_of_others_is_refused_unless_it_is_allowed(self):
        self.put_foreign()
        (row,) = self.tier('plan', expect=5)
        self.assertIn('without the ownership marker', str(row))
        done = self.run_tier('apply', '--yes', '--catalog', str(self.path))
        self.assertEqual(5, done.status)
        self.assertIn('remove publish_tags', done.stderr)
        self.assertEqual('ours', self.namespace()['description'])
        self.declare(publish_tags=False)
        self.assertEqual([], self.tier('plan'))
        self.declare()
        self.tier('apply', '--yes', '--allow', OBJECT)
        self.assertEqual({'database', 'a/b ?&#%'}, self.tags())

    def test_it_is_removed_by_words_and_not_by_silence(self):
        self.declare(publish_tags=None)
        self.api.asked()
        self.assertEqual([], self.tier('plan'))
        self.tier('apply', '--yes')
        self.tier('audit')
        self.assertEqual(
            [], [one for one in self.api.asked() if 'metadefs' in one]
        )
        self.assertIsNotNone(self.namespace())
        self.declare(publish_tags=False)
        self.assertEqual(
            [('delete', OBJECT)],
            [
                (one['Action'], one['Object'])
                for one in self.tier('plan', expect=4)
            ],
        )
        self.tier('apply', '--yes')
        self.assertIsNone(self.namespace())
        self.assertEqual([], self.tier('plan'))

    def test_what_others_put_into_it_is_not_deleted_unasked(self):
        test_cinder_world.remove_namespace(self.connection.image)
        answer = self.connection.image.post(
            '/metadefs/namespaces',
            json={
                'namespace': NAMESPACE,
                'description': glance_state.MARK,
                'visibility': 'public',
                'properties': {
                    'theirs': {'title': 'theirs', 'type': 'string'}
                },
            },
        )
        self.assertEqual(201, answer.status_code)
        self.declare(publish_tags=False)
        (row,) = self.tier('plan', expect=5)
        self.assertIn('theirs', str(row))
        self.tier('apply', '--yes', '--allow', OBJECT)
        self.assertIsNone(self.namespace())

    def test_a_policy_against_namespaces_is_told_and_hides_no_tier(self):
        self.api.forbid_namespaces()
        done = self.run_tier('plan', '--catalog', str(self.path))
        self.assertEqual(1, done.status)
        self.assertIn('get_metadef_tags', done.stderr)
        self.assertIn('leaves publish_tags out', done.stderr)
        self.assertEqual(
            {
                'tier database': 'compliant',
                'tier secret': 'compliant',
                'tier general': 'compliant',
                OBJECT: 'unknown',
            },
            self.audit(expect=3),
        )
        self.declare(publish_tags=None)
        self.assertEqual([], self.tier('plan'))

    def test_the_list_of_a_member_ends_with_the_published_tags(self):
        def told(**user):
            done = self.run_tier('list', '-f', 'json', **user)
            self.assertEqual(0, done.status, done.stderr)
            self.assertIn(
                'database', {one['Name'] for one in json.loads(done.stdout)}
            )
            return done.stderr

        for project in (US, THEM):
            self.assertEqual(
                'Tags of images that choose a tier: a/b ?&#%, database\n',
                told(role='member', project=project),
            )
        # Each line that an administrator sees has the tags.
        self.assertEqual('', told())
        self.api.forbid_namespaces()
        self.assertEqual('', told(role='member'))
        self.api.forbid_namespaces(False)
        self.declare(publish_tags=False)
        self.tier('apply', '--yes')
        self.assertEqual('', told(role='member'))

    def test_a_tag_that_glance_cannot_keep_is_told_before(self):
        tiers = dict(CATALOG['tiers'])
        tiers['database'] = {**tiers['database'], 'tags': ['x' * 81, 'ok']}
        self.declare(tiers=tiers)
        done = self.run_tier('plan', '--catalog', str(self.path))
        self.assertEqual(1, done.status)
        self.assertIn('a tag of 81 characters', done.stderr)
        self.declare(tiers=tiers, publish_tags=None)
        self.tier('plan', expect=4)

    def lint(self, *words, expect, **user):
        done = self.run_tier('lint-images', '-f', 'json', *words, **user)
        self.assertEqual(expect, done.status, done.stderr)
        return json.loads(done.stdout or '[]')

    def test_a_member_finds_the_own_images_that_mean_a_tier(self):
        project = '3' * 32
        self.assertEqual(
            [], self.lint(expect=0, role='member', project=project)
        )
        for number in range(1001):
            self.api.add_image('debian', name=f'image-{number}', owner=project)
        near = self.api.add_image(
            'databse', 'debian', owner=project, name='a\x1b[2Jb'
        )
        hostile = self.api.add_image('data\x1bbase', owner=project)
        self.api.add_image('premum', owner=project)
        theirs = self.api.add_image('data-base', owner=THEM)
        public = self.api.add_image('databse', owner=THEM, visibility='public')
        community = self.api.add_image(
            'databse', owner=THEM, visibility='community'
        )
        row = {'Project': project, 'Meant': 'database', 'Tier': None}
        self.assertEqual(
            [
                {
                    **row,
                    'Image': near,
                    'Name': 'a\\x1b[2Jb',
                    'Tag': 'databse',
                },
                {
                    **row,
                    'Image': hostile,
                    'Name': 'image',
                    'Tag': 'data\\x1bbase',
                },
            ],
            self.lint(expect=4, role='member', project=project),
        )
        found = self.lint('--all', expect=4)
        self.assertLessEqual(
            {near, hostile, theirs, public, community},
            {one['Image'] for one in found},
        )
        self.assertLessEqual(
            {('premum', 'secret'), ('databse', 'database')},
            {(one['Tag'], one['Tier']) for one in found},
        )

    def test_it_says_what_a_member_may_not_see(self):
        done = self.run_tier('lint-images', '--all', role='member')
        self.assertEqual(1, done.status)
        self.assertIn('--all is for administrators', done.stderr)
        self.api.forbid_namespaces()
        done = self.run_tier('lint-images', role='member')
        self.assertEqual(1, done.status)
        self.assertIn('get_metadef_namespace', done.stderr)
        self.api.forbid_namespaces(False)
        self.put_foreign()
        done = self.run_tier('lint-images', role='member')
        self.assertEqual(1, done.status)
        self.assertIn('publish_tags', done.stderr)

    def notes(self, *words, **user):
        done = self.run_tier('explain', '-f', 'json', *words, **user)
        return json.loads(done.stdout)['notes']

    def test_explain_names_the_tag_that_is_meant(self):
        image = self.api.add_image('databse')
        volume = self.api.add_volume(
            host='node@slow#slow',
            image_id=image,
            volume_type_id=self.connection.block_storage.find_type(
                'general'
            ).id,
        )
        self.addCleanup(self.api.delete_volume, volume)
        said = (
            'the tag databse of the image selects no tier; did you mean '
            "'database'?"
        )
        for role in ('member', 'seer', 'admin'):
            for words in (('--image', image), ('--volume', volume)):
                self.assertIn(said, self.notes(*words, role=role))

    def explained(self, *tags, project=US, expect):
        image = self.api.add_image(*tags, owner=project)
        done = self.run_tier(
            *('explain', '-f', 'json', '--image', image),
            role='member',
            project=project,
        )
        self.assertEqual(expect, done.status, done.stderr)
        return json.loads(done.stdout)

    def test_explain_answers_a_member_by_the_published_tags(self):
        for tags, expect, outcome, said in (
            (
                ['DATABASE', 'ubuntu'],
                0,
                'placed',
                'A volume from this image goes to the public tier with the '
                'tag database, unless __DEFAULT__ is a default volume type of '
                'the project alone, which is hidden from this user.',
            ),
            (
                ['database', 'a/b ?&#%'],
                0,
                'placed',
                'the highest priority of those with the tags a/b ?&#%, '
                'database',
            ),
            (['ubuntu'], 3, 'unknown', 'No tag of the image selects a public'),
            # A private tier is as one that does not exist.
            (['premium'], 3, 'unknown', 'No tag of the image selects a pub'),
            (['premium', 'database'], 0, 'placed', 'with the tag database'),
        ):
            shown = self.explained(*tags, expect=expect)
            self.assertEqual(outcome, shown['outcome'])
            self.assertIn(said, shown['summary'])
            self.assertIsNone(shown['tier'])
            del shown['image']
            for private in ('secret', 'premium'):
                self.assertNotIn(private, json.dumps(shown))
        # Who may use private types is told that another tag may win.
        shown = self.explained('premium', 'database', project=THEM, expect=3)
        self.assertIn('selects a private tier', shown['summary'])
        self.explained('database', project=THEM, expect=0)

    def test_to_others_a_private_tier_is_as_none(self):
        """Whatever they ask, and whether they guess its names and tags."""
        images = [
            self.api.add_image(*tags, name='debian')
            for tags in (
                ['premium'],
                ['premum', 'databse'],
                ['secret', 'database'],
                ['debian'],
            )
        ]
        general = self.connection.block_storage.find_type('general').id
        volumes = [
            self.api.add_volume(
                host='node@slow#slow', image_id=image, volume_type_id=general
            )
            for image in images
        ]
        for volume in volumes:
            self.addCleanup(self.api.delete_volume, volume)
        asked = [
            ('list', '--long'),
            ('show', 'secret'),
            ('show', 'secre'),
            ('show', 'general'),
            ('lint-images',),
            ('volumes', 'secret'),
            ('usage', '--from', '2026-01-01', '--to', '2026-01-02'),
            ('explain', '--blank', '--type', 'secret'),
            ('explain', '--blank', '--property', 'tier=premium'),
            *(('explain', '--image', image) for image in images),
            *(('explain', '--volume', volume) for volume in volumes),
        ]

        def answers():
            return {
                (role, words): self.run_tier(*words, '-f', form, role=role)
                for role, form in (('member', 'json'), ('seer', 'table'))
                for words in asked
            }

        before = answers()
        self.declare(
            tiers={
                name: tier
                for name, tier in CATALOG['tiers'].items()
                if name != 'secret'
            }
        )
        self.tier('apply', '--yes', '--allow', 'volume type secret')
        self.assertIsNone(self.connection.block_storage.find_type('secret'))
        for question, answer in answers().items():
            self.assertEqual(
                (answer.status, answer.stdout, answer.stderr),
                (
                    before[question].status,
                    before[question].stdout,
                    before[question].stderr,
                ),
                question,
            )

    def test_explain_heeds_no_namespace_but_ours_that_all_see(self):
        self.addCleanup(
            test_cinder_world.remove_namespace, self.connection.image
        )
        for body in (
            {'namespace': NAMESPACE, 'description': 'Storage tiers'},
            {
                'namespace': NAMESPACE,
                'description': glance_state.MARK,
                'visibility': 'private',
            },
        ):
            test_cinder_world.remove_namespace(self.connection.image)
            answer = self.connection.image.post(
                '/metadefs/namespaces',
                json={
                    'visibility': 'public',
                    'tags': [{'name': 'evil\x1b[2J'}, {'name': 'evil'}],
                    **body,
                },
            )
            self.assertEqual(201, answer.status_code)
            shown = self.explained('evil', expect=3)
            self.assertIn('could not determine', shown['summary'])
            self.assertNotIn('the public tier', json.dumps(shown))
            # An administrator sees private ones, too, as their owners do.
            self.assertIsNone(visible_cloud.published_tags(self.connection))

    def test_explain_does_without_namespaces(self):
        image = self.api.add_image('databse')
        self.api.forbid_namespaces()
        done = self.run_tier(
            'explain', '-f', 'json', '--image', image, role='member'
        )
        self.assertEqual(3, done.status, done.stderr)
        self.assertIn(
            'get_metadef_namespace',
            {one['policy'] for one in json.loads(done.stdout)['hidden']},
        )
