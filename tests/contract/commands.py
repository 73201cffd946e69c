# SPDX-License-Identifier: Apache-2.0

"""`openstack tier` with a tiers file of a test, on a real Ceph and Cinder.

Ceph is the cluster of `real_ceph`; Cinder is its real API on sqlite.
"""

import json
import pathlib
import tempfile
import textwrap
import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from tests.contract import real_ceph
from tests.unit.cli import shell
from tests.worlds import cinder_api


class CommandsCase(testtools.TestCase):
    """A cluster, and tiers of which all names begin with `mark`."""

    def setUp(self):
        super().setUp()
        # Of this test alone: types of others would be deleted by a plan.
        self.api = cinder_api.CinderApi()
        self.addCleanup(self.api.stop)
        # audit asks its scheduler where backends keep volumes.
        self.api.add_backend('any')
        #: Of a user without a project; volumes need more.
        self.arguments = self.api.shell_arguments
        self.mark = f'commands-{uuid.uuid4().hex[:8]}'
        self.path = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory()), 'tiers.yaml'
        )
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
            )
        )
        self.release = self.session.command('mon dump')['min_mon_release']
        self.addCleanup(self.remove)

    def declare(self, tiers):
        """Write the tiers file.

        :param tiers: YAML of its tiers; MARK stands for `mark`.
        """
        self.path.write_text(
            'version: 1\n'
            'clusters:\n'
            f'  ceph: {{conf: {real_ceph.CONF}, cinder_user: MARK}}\n'
            'tiers:\n'.replace('MARK', self.mark)
            + textwrap.indent(
                textwrap.dedent(tiers).replace('MARK', self.mark), '  '
            )
        )

    def run_tier(self, verb, *arguments):
        """A command, whatever comes of it."""
        return shell.openstack(
            *self.arguments,
            'tier',
            verb,
            '--catalog',
            str(self.path),
            *arguments,
        )

    def tier(self, verb, *arguments, expect=0):
        """The rows of a command that ends as expected."""
        done = self.run_tier(verb, '-f', 'json', *arguments)
        self.assertEqual(expect, done.status, done.stderr)
        return json.loads(done.stdout or '[]')

    def remove(self):
        """Leave nothing with a name of the test in the cluster."""
        command = self.session.command
        ours = [
            one['pool_name']
            for one in command('osd dump')['pools']
            if one['pool_name'].startswith(self.mark)
        ]
        real_ceph.delete_pools(self.session, ours)
        for listed, remove in (
            ('osd crush rule ls', 'osd crush rule rm'),
            ('osd erasure-code-profile ls', 'osd erasure-code-profile rm'),
        ):
            for name in command(listed):
                if name.startswith(self.mark):
                    command(remove, name=name)
        command('auth rm', entity=f'client.{self.mark}')

    def keep_option(self, who, name):
        """Take back, in the end, what the test sets of an option."""
        before = [
            one['value']
            for one in self.session.command('config dump')
            if (one['section'], one['name'], one['mask']) == (who, name, '')
        ]
        self.addCleanup(
            self.session.command,
            'config set' if before else 'config rm',
            who=who,
            name=name,
            **({'value': before[0]} if before else {}),
        )
