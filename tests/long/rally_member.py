# SPDX-License-Identifier: Apache-2.0

"""Rally as a member of a project uses it: with nothing but that user."""

import json

from tests.functional import lab
from tests.functional import test_measurement


class MemberCase(test_measurement.MeasurementCase):
    """Has an environment of Rally without an administrator."""

    def setUp(self):
        super().setUp()
        member = lab.connect(self.environment, lab.MEMBER)
        self.addCleanup(member.close)
        self.project_id = member.current_project_id
        auth = member.config.get_auth_args()
        specification = self.folder / 'member.json'
        specification.write_text(
            json.dumps(
                {
                    'existing@openstack': {
                        'auth_url': auth['auth_url'],
                        'region_name': member.config.get_region_name(''),
                        'users': [
                            {
                                'username': auth['username'],
                                'password': auth['password'],
                                'project_name': auth['project_name'],
                                'user_domain_name': auth.get(
                                    'user_domain_name', 'Default'
                                ),
                                'project_domain_name': auth.get(
                                    'project_domain_name', 'Default'
                                ),
                            }
                        ],
                    }
                }
            )
        )
        specification.chmod(0o600)
        self.member_environment = self.unique_name('member')
        self.run_command(
            'rally',
            'env',
            'create',
            '--name',
            self.member_environment,
            '--spec',
            str(specification),
            '--no-use',
        )
        self.addCleanup(
            self.run_command,
            'rally',
            'env',
            'delete',
            '--env',
            self.member_environment,
            '--force',
        )

    def start_as_member(self, task, arguments, *, timeout_s, expect=0):
        """Run a task file; return what it prints."""
        output, errors = self.run_command(
            'rally',
            'task',
            'start',
            '--deployment',
            self.member_environment,
            task,
            '--task-args',
            json.dumps({**arguments, 'member': True}),
            timeout_s=timeout_s,
            expect=expect,
        )
        return output + errors
