# SPDX-License-Identifier: Apache-2.0

"""Ansible and an old python-cinderclient, each in an environment of its own.

They make volumes as their users do; the answers of Cinder are what counts.
"""

import json
import pathlib
import subprocess
import sys

import fixtures

from tests.functional import lab
from tests.functional import volumes

#: Of 2026; the collection openstack.cloud 2.5.0 that is in it fails with
#: newer releases of openstacksdk.
ANSIBLE = ('ansible>=12,<13', 'openstacksdk<4.5')
#: Of the release Train of 2019.
CINDERCLIENT = ('python-cinderclient==5.0.0', 'setuptools<81')


class ClientsTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.image = self.make_image('database')
        self.names = {
            each: self.unique_name(each) for each in ('image', 'type', 'plain')
        }
        self.addCleanup(self.remove_volumes)

    def remove_volumes(self):
        for one in self.cinder.volumes.list(search_opts={'all_tenants': 1}):
            if one.name in self.names.values():
                self.remove(self.cinder.volumes, one.id)

    def install(self, *requirements):
        """Make a virtual environment; return its folder of programs."""
        programs = self.folder / 'venv' / 'bin'
        for words in (
            (sys.executable, '-m', 'venv', str(programs.parent)),
            (str(programs / 'pip'), 'install', '-q', *requirements),
        ):
            subprocess.run(words, check=True)
        return programs

    def types_of(self):
        """{which of the volumes: (id, its type)}, when all are settled."""
        ids = {
            one.name: one.id
            for one in self.cinder_of_member.volumes.list(detailed=False)
        }
        return {
            which: (ids[name], self.settled(ids[name]).volume_type)
            for which, name in self.names.items()
        }

    def test_ansible_changes_nothing_the_second_time(self):
        programs = self.install(*ANSIBLE)
        playbook = self.folder / 'playbook.yml'

        def run(volume_type):
            """Run the tasks; return how many of them changed something."""
            playbook.write_text(
                json.dumps(
                    [
                        {
                            'hosts': 'localhost',
                            'connection': 'local',
                            'gather_facts': False,
                            'tasks': [
                                {
                                    'openstack.cloud.volume': {
                                        'name': self.names[which],
                                        'size': 1,
                                        **more,
                                    }
                                }
                                for which, more in (
                                    ('image', {'image': self.image}),
                                    ('type', {'volume_type': volume_type}),
                                    ('plain', {}),
                                )
                            ],
                        }
                    ]
                )
            )
            out, _ = self.run_command(
                str(programs / 'ansible-playbook'),
                *('-i', 'localhost,', str(playbook)),
                cloud=lab.MEMBER,
                ANSIBLE_STDOUT_CALLBACK='ansible.posix.json',
                ANSIBLE_HOME=str(self.folder),
                ANSIBLE_PYTHON_INTERPRETER=str(programs / 'python'),
            )
            return json.loads(out)['stats']['localhost']['changed']

        self.assertEqual(3, run('archive'))
        first = self.types_of()
        self.assertEqual(
            {'image': 'database', 'type': 'archive', 'plain': 'general'},
            {which: name for which, (_, name) in first.items()},
        )
        self.assertEqual(0, run('archive'))
        # Nor does another type have an effect.
        self.assertEqual(0, run('database'))
        self.assertEqual(first, self.types_of())

    def test_an_old_cinderclient_makes_and_retypes(self):
        programs = self.install(*CINDERCLIENT)
        auth = json.loads(
            pathlib.Path(self.environment['OS_CLIENT_CONFIG_FILE']).read_text()
        )['clouds'][lab.MEMBER]
        # It reads no clouds.yaml.
        variables = {
            f'OS_{name.upper()}': value for name, value in auth['auth'].items()
        } | {'OS_REGION_NAME': auth['region_name']}

        def cinder(*words):
            self.run_command(str(programs / 'cinder'), *words, **variables)

        for which, words in (
            ('image', ('--image-id', self.image)),
            ('type', ('--volume-type', 'archive')),
            ('plain', ()),
        ):
            cinder('create', '--name', self.names[which], *words, '1')
        first = self.types_of()
        self.assertEqual(
            {'image': 'database', 'type': 'archive', 'plain': 'general'},
            {which: name for which, (_, name) in first.items()},
        )
        plain = first['plain'][0]
        cinder('retype', '--migration-policy', 'on-demand', plain, 'database')
        self.assertEqual(
            ('available', 'database', 'tier-database'), self.place_of(plain)
        )
