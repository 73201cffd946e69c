# SPDX-License-Identifier: Apache-2.0

"""What members read when a command is for administrators.

Run by the real shell against a real Cinder API.
"""

from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case

PROJECT = 'a' * 32


class RefusedMembersTestCase(tiers_file_case.TiersFileTestCase):
    text = """version: 1
tiers:
  database:
    tags: [database]
    priority: 20
    backend: ssd
    access: [alpha]
    qos: {front_end: {total_iops_sec: 500}}
  general:
    fallback: true
    backend: lvm
"""

    def run_as_member(self, *words):
        return shell.openstack(
            *self.api.arguments_of('member', PROJECT), 'tier', *words
        )

    def test_a_sentence_and_no_exception(self):
        for words in (
            ('plan', '--catalog', self.path),
            ('apply', '--yes', '--catalog', self.path),
            ('audit', '--catalog', self.path),
            ('export',),
        ):
            ran = self.run_as_member(*words)
            self.assertEqual(1, ran.status, words)
            said = ' '.join(f'{ran.stdout} {ran.stderr}'.split())
            self.assertNotIn('Exception', said)
            self.assertNotIn('http:', said)
            self.assertIn(
                'Cinder failed to list QoS specs: the service refused it to '
                'this user, by its policy '
                'volume_extension:qos_specs_manage:get_all (HTTP 403); the '
                'user must be an administrator of block storage, by default '
                'with the role admin; see the page "Permissions and '
                'credentials" of the documentation',
                said,
            )
            if words[0] == 'audit':
                self.assertIn(
                    "Keystone did not look up project 'alpha': the service "
                    'refused it to this user',
                    said,
                )
