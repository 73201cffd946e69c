# SPDX-License-Identifier: Apache-2.0

"""Volume types and QoS specs of more than one page, and by their names.

Cinder is a stand-in that gives pages and links as Cinder 29 does.
"""

import pathlib
import subprocess
import sys

from keystoneauth1.identity import v3
import keystoneauth1.session
import openstack.connection
import testtools

from cinder_tiers.clients import volume_types
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute.cinder import volume_type as executor
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import state as cinder

PAGE = 10
TOP = pathlib.Path(__file__).resolve().parents[4]


class PagesTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        # A process of its own: http.server is green, and waits for ever, once
        # a test of this process has imported Cinder with eventlet.
        cloud = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'benchmarks.large_world',
                *map(str, (12, 35, 0, PAGE)),
            ],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(cloud.wait)
        self.addCleanup(cloud.stdin.close)
        self.addCleanup(cloud.stdout.close)
        self.url = f'http://127.0.0.1:{cloud.stdout.readline().strip()}'
        self.session, self.connection = self.log_in()

    def log_in(self):
        session = keystoneauth1.session.Session(
            collect_timing=True,
            auth=v3.Password(
                f'{self.url}/v3',
                user_id='u',
                password='p',  # noqa: S106
                project_id='p',
            ),
        )
        connection = openstack.connection.Connection(session=session)
        self.addCleanup(connection.close)
        return session, connection

    def lists(self):
        """How many pages of types were asked for since the last count."""
        found = [
            one
            for one in self.session.get_timings()
            if one.url.partition('?')[0].endswith('/types')
        ]
        self.session.reset_timings()
        return len(found)

    def make(self, name):
        """Makes a type as an apply does: reads, writes, reads."""
        key = actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name)
        wanted = cinder_state.VolumeType(
            name=name, extra_specs={'tiers:name': name}
        )
        self.assertIsNone(cinder.read(self.connection, key))
        executor.VolumeTypes(self.connection).write(
            wanted, key=key, current=None
        )
        self.assertEqual(wanted, cinder.read(self.connection, key))

    def test_what_is_on_later_pages_exists(self):
        found = cinder.observe(self.connection, scopes.Scope())
        self.assertEqual(35, len(found.volume_types))
        self.assertEqual(12, len(found.qos_specs))
        self.assertEqual(
            {'tier-11'}, found.qos_specs['tier-tier-11'].volume_types
        )
        # Four pages, for the types and for who has a QoS spec.
        self.assertEqual(2 * 4, self.lists())

    def test_a_type_that_is_made_costs_no_list_of_all(self):
        cinder.observe(self.connection, scopes.Scope())
        self.lists()
        for number in range(5):
            self.make(f'new-{number}')
        # The requests that make them have the same path.
        self.assertEqual(5, self.lists())

    def test_what_somebody_else_made_is_seen_when_asked_again(self):
        _, other = self.log_in()
        self.assertIsNone(
            volume_types.find(self.connection.block_storage, 'theirs')
        )
        other.block_storage.create_type(name='theirs')
        self.assertEqual(
            'theirs',
            volume_types.find(self.connection.block_storage, 'theirs').name,
        )
