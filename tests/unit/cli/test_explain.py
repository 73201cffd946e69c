# SPDX-License-Identifier: Apache-2.0

"""`openstack tier explain`, run by the real shell against a real Cinder API.

Keystone and Glance are stand-ins; types, volumes, policies, and the backends
that the scheduler tells of are Cinder's own.
"""

import ast
import json
import os
import subprocess
import tempfile

import ddt
import testtools

from tests.unit.cli import shell
from tests.unit.execute.cinder import test_volume_type
from tests.worlds import cinder_api

US = cinder_api.PROJECT
THEM = '2' * 32
TYPES = {
    'database': {
        'tiers:name': 'database',
        'tiers:tags': 'database',
        'tiers:priority': '20',
        'tiers:overflow': 'general',
        'volume_backend_name': '<or> database <or> general',
    },
    'archive': {
        'tiers:name': 'archive',
        'tiers:tags': 'archive',
        'tiers:priority': '10',
        'volume_backend_name': 'archive',
    },
    'general': {
        'tiers:name': 'general',
        'tiers:fallback': '<is> True',
        'volume_backend_name': 'general',
    },
    'premium': {
        'tiers:name': 'premium',
        'tiers:tags': 'premium',
        'tiers:priority': '30',
        'volume_backend_name': 'archive',
    },
    'image-tier': {'tiers:follow_image': '<is> True'},
}
HOSTILE = 'x\x1b[2J\r\n\u202e\ud800'


@ddt.ddt
class ExplainTestCase(testtools.TestCase):
    """All of it in one class, since the cloud takes seconds to start."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_project(THEM, 'them')
        cls.hosts = {
            name: cls.api.add_backend(name)
            for name in ('database', 'general', 'archive')
        }
        connection = test_volume_type.connect(cls.api)
        cls.addClassCleanup(connection.close)
        cls.types = {}
        for name, specs in TYPES.items():
            cls.types[name] = connection.block_storage.create_type(
                name=name, is_public=name != 'premium', extra_specs=specs
            ).id
        connection.block_storage.add_type_access(cls.types['premium'], THEM)

    def explain(self, *arguments, status, role='admin', project=US):
        """The object that the command shows."""
        ran = shell.openstack(
            *self.api.arguments_of(role, project),
            'tier',
            'explain',
            *arguments,
            '-f',
            'json',
        )
        self.assertEqual((status, ''), (ran.status, ran.stderr), ran.stdout)
        return json.loads(ran.stdout)

    def refuse(self, *arguments, role='admin', status=1):
        """What is said of a command that ends with an error."""
        ran = shell.openstack(
            *self.api.arguments_of(role), 'tier', 'explain', *arguments
        )
        self.assertEqual((status, ''), (ran.status, ran.stdout), ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)
        return ran.stderr

    def conf(self, text):
        """The path of a cinder.conf."""
        handle, path = tempfile.mkstemp(suffix='.conf')
        self.addCleanup(os.unlink, path)
        os.write(handle, text.encode())
        os.close(handle)
        return path

    # New volumes, asked for by an administrator

    def test_an_image_that_is_tagged(self):
        image = self.api.add_image('Database', 'x', name='tagged')
        shown = self.explain('--image', 'tagged', status=0)
        backends = {one.pop('name'): one for one in shown.pop('backends')}
        self.assertEqual(
            {
                'outcome': 'placed',
                'summary': (
                    'A volume from this image goes to tier database, or to '
                    'tier general when that has no room.'
                ),
                'tier': 'database',
                'overflow': 'general',
                'volume_type': 'database',
                'project': US,
                'image': {
                    'id': image,
                    'name': 'tagged',
                    'visibility': 'private',
                    'owner': US,
                    'tags': ['Database', 'x'],
                    'tags_count': True,
                    'cinder_img_volume_type': None,
                },
                'reasons': [
                    {
                        'rule': 'tag',
                        'tier': 'database',
                        'found': 'database',
                        'text': (
                            'a tag of the image selects the tier '
                            '(tier=database, found=database)'
                        ),
                    },
                    {
                        'rule': 'overflow',
                        'tier': 'database',
                        'found': 'general',
                        'text': 'another tier may take the volume when this '
                        'one has '
                        'no room (tier=database, found=general)',
                    },
                ],
                'alternatives': [
                    {
                        'tier': 'premium',
                        'why': 'no tag of the image selects it',
                    },
                    {
                        'tier': 'archive',
                        'why': 'no tag of the image selects it',
                    },
                    {
                        'tier': 'general',
                        'why': (
                            'not selected; it takes the volume when tier '
                            'database has no room'
                        ),
                    },
                ],
                'policy': {
                    'trust_tags_of': 'own_and_public',
                    'on_no_access': 'fallback',
                    'metadata_key': None,
                    'metadata_with_image': False,
                    'project_type': 'first',
                    'read_from': (
                        'none: the defaults are assumed, see --config-file'
                    ),
                },
                'hidden': [],
                'notes': [],
            },
            shown,
        )
        self.assertEqual(
            {'verdict': 'own', 'why': '', 'free_gib': 40, 'total_gib': 100},
            backends[self.hosts['database']],
        )
        self.assertEqual(
            ['own', 'overflow', 'no'],
            [
                backends[self.hosts[name]]['verdict']
                for name in ('database', 'general', 'archive')
            ],
        )

    def test_a_table_for_people(self):
        self.api.add_image('archive', name='for people')
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            'explain',
            '--image',
            'for people',
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        for line in (
            ('| summary      | A volume from this image goes to tier archi'),
            '|              | general: the fallback serves only volumes',
            '| backends     | node@archive#archive: own, 40 of 100 GiB f',
            'volume_backend_name is database, expected archive',
            '| hidden       | -',
        ):
            self.assertIn(line, ran.stdout)

    def test_no_image(self):
        self.assertEqual('general', self.explain('--blank', status=0)['tier'])

    def test_a_property_that_asks_for_a_tier(self):
        path = self.conf('[cinder_tiers]\nmetadata_key = tier\n')
        for given, tier, note in (
            ('tier=database', 'database', None),
            ('tier=\x1b[31mnothing', 'general', None),
            (
                'other=database',
                'general',
                'of the metadata only the key tier counts',
            ),
        ):
            shown = self.explain(
                *('--blank', '--property', given, '--config-file', path),
                status=0,
            )
            self.assertEqual(tier, shown['tier'])
            self.assertEqual([note] if note else [], shown['notes'])
        shown = self.explain(
            '--blank', '--property', 'tier=database', status=0
        )
        self.assertEqual('general', shown['tier'])
        self.assertIn('metadata_key is not set', shown['notes'][0])

    def test_a_requested_type(self):
        shown = self.explain('--blank', '--type', 'archive', status=0)
        self.assertEqual('archive', shown['tier'])
        self.assertEqual('explicit_type', shown['reasons'][0]['rule'])
        by_id = self.explain(
            '--blank', '--type', self.types['archive'], status=0
        )
        self.assertEqual(shown, by_id)

    def test_a_type_that_the_image_names(self):
        image = self.api.add_image(
            'database', cinder_img_volume_type='archive'
        )
        shown = self.explain('--image', image, status=0)
        self.assertEqual(
            ('archive', 'image_type'),
            (shown['tier'], shown['reasons'][0]['rule']),
        )
        lost = self.api.add_image(cinder_img_volume_type='lost')
        self.assertEqual(
            'not placed', self.explain('--image', lost, status=4)['outcome']
        )

    def test_a_type_that_was_set_for_the_project(self):
        self.api.set_default_type(THEM, self.types['archive'])
        self.addCleanup(self.api.set_default_type, THEM, None)
        shown = self.explain('--blank', '--project', 'them', status=0)
        self.assertEqual(
            ('archive', 'project_type', THEM),
            (shown['tier'], shown['reasons'][0]['rule'], shown['project']),
        )
        self.assertEqual('general', self.explain('--blank', status=0)['tier'])
        image = self.api.add_image('database', visibility='public')
        path = self.conf('[cinder_tiers]\nproject_type = last\n')
        for arguments, tier in (
            (('--blank',), 'archive'),
            (('--image', image), 'database'),
        ):
            shown = self.explain(
                *arguments,
                *('--project', 'them', '--config-file', path),
                status=0,
            )
            self.assertEqual(tier, shown['tier'])

    def test_an_image_of_a_server_that_booted_from_a_volume(self):
        image = self.api.add_image(
            'database',
            block_device_mapping=json.dumps(
                [{'boot_index': 0, 'source_type': 'snapshot'}]
            ),
        )
        self.assertEqual(
            'fixed',
            self.explain('--image', image, status=0)['reasons'][0]['rule'],
        )

    def test_access_is_that_of_the_project(self):
        image = self.api.add_image('premium', visibility='public')
        for arguments, tier in (
            (('--project', US), 'general'),
            (('--project', THEM), 'premium'),
            ((), 'premium'),
        ):
            self.assertEqual(
                tier,
                self.explain('--image', image, *arguments, status=0)['tier'],
                arguments,
            )

    def test_an_administrator_of_private_types_only_is_one(self):
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)

        def set_public(type_id, is_public):
            answer = connection.block_storage.put(
                f'/types/{type_id}',
                json={'volume_type': {'is_public': is_public}},
            )
            self.assertEqual(200, answer.status_code)

        for one in [*connection.block_storage.types(is_public='True')]:
            set_public(one.id, False)
            self.addCleanup(set_public, one.id, True)
        image = self.api.add_image('premium', visibility='public')
        arguments = ('--image', image, '--project', THEM)
        self.assertEqual('premium', self.explain(*arguments, status=0)['tier'])
        self.assertIn(
            'only an administrator', self.refuse(*arguments, role='member')
        )

    def test_the_operator_s_choices_are_read_from_cinder_conf(self):
        image = self.api.add_image('premium', visibility='public')
        path = self.conf('[cinder_tiers]\non_no_access = refuse\n')
        shown = self.explain(
            '--image', image, '--project', US, '--config-file', path, status=4
        )
        self.assertEqual(
            ('not placed', None, path),
            (shown['outcome'], shown['tier'], shown['policy']['read_from']),
        )
        path = self.conf('[cinder_tiers]\ntrust_tags_of = own\n')
        shown = self.explain(
            '--image',
            image,
            '--project',
            THEM,
            '--config-file',
            path,
            status=0,
        )
        self.assertEqual(
            ('general', False), (shown['tier'], shown['image']['tags_count'])
        )

    @ddt.data('json', 'yaml', 'value', 'table', 'shell')
    def test_hostile_text_is_escaped_in_every_format(self, form):
        image = self.api.add_image(HOSTILE, 'archive', name=HOSTILE)
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            'explain',
            '--image',
            image,
            '-f',
            form,
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        lines = ran.stdout.splitlines()
        self.assertTrue(all(line.isprintable() for line in lines), lines)
        self.assertIn('archive', ran.stdout)

    @ddt.data('{}/file', '../../v3', '../tasks', '{}?a', '#', '{}\n', '')
    def test_what_a_tenant_wrote_is_not_part_of_a_url(self, written):
        image = self.api.add_image('archive', visibility='public')
        volume = self.api.add_volume(
            host=self.hosts['database'],
            volume_type_id=self.types['database'],
            image_id=written.format(image),
        )
        self.addCleanup(self.api.delete_volume, volume)
        self.api.asked()
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            'explain',
            '--volume',
            volume,
            '-f',
            'json',
        )
        self.assertNotIn('Traceback', ran.stderr)
        self.assertIsNone(json.loads(ran.stdout)['image'])
        self.assert_plain(self.api.asked())

    def assert_plain(self, paths):
        """All of them are of words of the APIs and ids."""
        for path in paths:
            self.assertRegex(
                path,
                '^(/v3(/auth/tokens|/projects(/[0-9a-f]{32})?)?'
                '|/v2/images(/[0-9a-f-]{36})?)?/?$',
            )

    @ddt.data(
        ('--volume', '../types', 'volume ../types does not exist'),
        ('--volume', 'detail', 'volume detail does not exist'),
        ('--image', '../../v3', 'image ../../v3 does not exist'),
        ('--project', '../users', 'project ../users does not exist'),
    )
    @ddt.unpack
    def test_a_path_is_a_name(self, option, ref, said):
        self.api.asked()
        arguments = () if option != '--project' else ('--blank',)
        self.assertIn(said, self.refuse(option, ref, *arguments))
        self.assert_plain(self.api.asked())

    def test_a_large_image_is_a_table_for_people(self):
        tags = [f'{number:03}' + '\U000e0001' * 252 for number in range(128)]
        image = self.api.add_image(
            *tags,
            'archive',
            name='\U000e0001' * 255,
            cinder_img_volume_type='x' * 65535,
        )
        arguments = (
            *self.api.arguments_of('admin'),
            *('tier', 'explain', '--image', image, '-f'),
        )
        ran = shell.openstack(*arguments, 'table')
        # There is no such volume type.
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertLess(len(ran.stdout), 100_000)
        self.assertIn('more characters)', ran.stdout)
        self.assertRegex(ran.stdout, 'tags: .*and [0-9]+ more')
        shown = json.loads(shell.openstack(*arguments, 'json').stdout)
        self.assertEqual(129, len(shown['image']['tags']))
        self.assertLess(len(shown['image']['cinder_img_volume_type']), 300)

    def test_a_shell_runs_nothing_of_it(self):
        name = 'a$(echo b)`echo c`"\\'
        image = self.api.add_image('archive', name=name)
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            *('tier', 'explain', '--image', image, '-f', 'shell'),
        )
        said = subprocess.run(
            ['sh', '-c', f'{ran.stdout}\nprintf %s "$image"'],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        self.assertEqual(name, ast.literal_eval(said)['name'])

    def test_one_of_two_is_not_chosen(self):
        for _ in range(2):
            self.api.add_image('archive', name='twice')
        self.assertIn(
            'more than one image is named twice',
            self.refuse('--image', 'twice'),
        )

    # Members: what Cinder's policy hides is named and not guessed

    def test_by_default_the_tier_cannot_be_told(self):
        self.api.add_image('database', name='mine')
        shown = self.explain('--image', 'mine', status=3, role='member')
        self.assertEqual(('unknown', None), (shown['outcome'], shown['tier']))
        self.assertEqual(
            (['database'], True),
            (shown['image']['tags'], shown['image']['tags_count']),
        )
        self.assertEqual(
            [
                'volume_extension:types_extra_specs:read_sensitive',
                'volume_extension:default_get_all',
                'scheduler_extension:scheduler_stats:get_pools',
            ],
            [one['policy'] for one in shown['hidden']],
        )

    def test_a_private_type_appears_only_to_who_may_use_it(self):
        for project, seen in ((US, False), (THEM, True)):
            shown = self.explain(
                '--blank', status=3, role='member', project=project
            )
            self.assertEqual(seen, 'premium' in str(shown))

    def test_who_sees_extra_specs_is_told(self):
        image = self.api.add_image('premium', 'archive', visibility='public')
        arguments = ('--image', image, '--type', 'image-tier')
        for project, tier in ((US, 'archive'), (THEM, 'premium')):
            shown = self.explain(
                *arguments, status=0, role='seer', project=project
            )
            self.assertEqual(tier, shown['tier'])
            self.assertEqual([], shown['backends'])
        shown = self.explain(*arguments, status=0, role='seer')
        self.assertNotIn(
            'premium',
            str((shown['reasons'], shown['alternatives'], shown['notes'])),
        )

    def test_whose_default_a_type_is_may_be_hidden(self):
        self.assertIn(
            'default volume type __DEFAULT__',
            self.explain('--blank', status=3, role='seer')['summary'],
        )

    def test_its_own_volume(self):
        volume = self.api.add_volume(
            host=self.hosts['archive'], volume_type_id=self.types['archive']
        )
        shown = self.explain('--volume', volume, status=3, role='member')
        self.assertEqual(
            ('unknown', 'archive', None),
            (shown['outcome'], shown['volume_type'], shown['volume']['host']),
        )
        self.assertIn(
            'volume_extension:volume_host_attribute',
            [one['policy'] for one in shown['hidden']],
        )

    def test_another_project_is_not_for_it(self):
        self.assertIn(
            'only an administrator',
            self.refuse('--blank', '--project', THEM, role='member'),
        )
        self.assertIn(
            'use its ID instead',
            self.refuse('--blank', '--project', 'them', role='member'),
        )

    # Volumes that exist

    def volume(self, backend, volume_type, **fields):
        return self.api.add_volume(
            host=self.hosts[backend],
            volume_type_id=self.types[volume_type],
            **fields,
        )

    def test_on_the_backend_of_its_tier(self):
        volume = self.volume('database', 'database', display_name='found')
        shown = self.explain('--volume', 'found', status=0)
        self.assertEqual(
            ('in place', 'database', self.hosts['database'], volume),
            (
                shown['outcome'],
                shown['tier'],
                shown['volume']['host'],
                shown['volume']['id'],
            ),
        )

    def test_on_the_overflow(self):
        shown = self.explain(
            '--volume', self.volume('general', 'database'), status=0
        )
        self.assertIn('its overflow tier, general', shown['summary'])

    def test_elsewhere(self):
        shown = self.explain(
            '--volume', self.volume('archive', 'database'), status=4
        )
        self.assertEqual('misplaced', shown['outcome'])

    def test_a_volume_that_follows_its_image(self):
        image = self.api.add_image('archive')
        shown = self.explain(
            '--volume',
            self.volume('archive', 'image-tier', image_id=image),
            status=0,
        )
        self.assertEqual('archive', shown['tier'])
        self.explain(
            '--volume',
            self.volume('general', 'image-tier', image_id=image),
            status=4,
        )

    def test_an_image_that_is_gone(self):
        shown = self.explain(
            '--volume',
            self.volume(
                'archive',
                'image-tier',
                image_id='11111111-2222-3333-4444-555555555555',
            ),
            status=3,
        )
        self.assertIn(
            'does not exist any more or is not visible to this user',
            shown['summary'],
        )

    def test_a_clone_and_a_volume_of_a_snapshot(self):
        source = self.volume('archive', 'image-tier')
        for field in ('source_volid', 'snapshot_id'):
            shown = self.explain(
                '--volume',
                self.volume('archive', 'image-tier', **{field: source}),
                status=0,
            )
            self.assertEqual('fixed', shown['reasons'][0]['rule'])

    def test_a_volume_of_another_project(self):
        volume = self.volume('general', 'image-tier', project_id=THEM)
        self.assertEqual(
            THEM, self.explain('--volume', volume, status=0)['project']
        )

    # Errors: a status, what to do, and no traceback

    def test_wrong_arguments(self):
        for arguments in ((), ('--blank', '--image', 'x'), ('--bogus',)):
            self.assertIn('usage:', self.refuse(*arguments, status=2))
        for more in (
            ('--type', 'x'),
            ('--project', 'x'),
            ('--property', 'x=y'),
        ):
            self.assertIn(
                'leave them out', self.refuse('--volume', 'x', *more)
            )

    def test_what_is_not_there_is_named(self):
        for arguments, what in (
            (('--image', 'x'), 'image x does not exist'),
            (('--volume', 'x'), 'volume x does not exist'),
            (('--blank', '--type', 'x'), 'volume type x does not exist'),
            (('--blank', '--project', 'x'), 'project x does not exist'),
        ):
            self.assertIn(what, self.refuse(*arguments))

    def test_two_images_of_one_name(self):
        for _ in range(2):
            self.api.add_image(name='twice')
        self.assertIn('twice', self.refuse('--image', 'twice'))

    def test_a_cinder_conf_that_cannot_be_used(self):
        for path in (
            '/nonexistent.conf',
            self.conf('no section'),
            self.conf('[cinder_tiers]\ntrust_tags_of = x\n'),
        ):
            self.assertIn(
                '--config-file', self.refuse('--blank', '--config-file', path)
            )

    def test_a_token_of_no_project(self):
        ran = shell.openstack(
            '--os-auth-type',
            'admin_token',
            '--os-token',
            'x',
            '--os-endpoint',
            'http://127.0.0.1:9/v3',
            'tier',
            'explain',
            '--blank',
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('the token has no project', ran.stderr)

    def test_the_statuses_are_in_the_help(self):
        ran = shell.openstack('tier', 'explain', '--help')
        self.assertIn(
            '3 your permissions do not show enough to determine this',
            ' '.join(ran.stdout.split()),
        )
