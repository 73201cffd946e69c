# SPDX-License-Identifier: Apache-2.0

"""Names and ids of projects, and how many calls they take."""

import json

import ddt
import keystoneauth1.session
from openstack import exceptions
import testtools

from cinder_tiers.observe import keystone
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

PROJECTS = {f'{number:032x}': f'project {number}' for number in range(1, 21)}
TWINS = ('c' * 32, 'd' * 32)
GONE = 'e' * 32


class KeystoneSession(keystoneauth1.session.Session):
    """A session with a Keystone that may list less."""

    #: list: all are listed; refuse: it is not permitted; truncate: as with
    #: list_limit of keystone.conf.
    way = 'list'

    def request(self, url, method, **arguments):
        answer = super().request(url, method, **arguments)
        if url.endswith('/projects') and not arguments.get('params'):
            if self.way == 'refuse':
                raise exceptions.ForbiddenException(http_status=403)
            if self.way == 'truncate':
                found = answer.json()
                answer._content = json.dumps(
                    {'projects': found['projects'][:2], 'truncated': True}
                ).encode()
        return answer


@ddt.ddt
class ProjectsTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        for ident in TWINS:
            cls.api.add_project(ident, 'twin')
        for ident, name in PROJECTS.items():
            cls.api.add_project(ident, name)

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(self.api, KeystoneSession)
        self.addCleanup(self.connection.close)
        # The versions of Keystone, and a token.
        list(self.connection.identity.projects(name='none'))
        self.api.asked()

    @ddt.data('list', 'refuse', 'truncate')
    def test_the_answer_is_that_of_a_call_for_each(self, way):
        self.connection.session.way = way
        self.assertEqual(
            PROJECTS | {GONE: None, 'no id': None},
            keystone.names(self.connection, (*PROJECTS, GONE, 'no id')),
        )
        expected = {
            'twin': frozenset(TWINS),
            'nobody': frozenset(),
            GONE: frozenset(),
        }
        for ident, name in PROJECTS.items():
            expected |= {ident: frozenset({ident}), name: frozenset({ident})}
        self.assertEqual(expected, keystone.observe(self.connection, expected))

    def test_all_that_are_listed_take_one_call(self):
        for read in (keystone.names, keystone.observe):
            read(self.connection, PROJECTS)
            self.assertEqual(['/v3/projects'], self.api.asked())

    def test_those_that_are_not_listed_are_asked_for_one_by_one(self):
        keystone.names(self.connection, (*PROJECTS, GONE))
        self.assertEqual(
            ['/v3/projects', f'/v3/projects/{GONE}'], self.api.asked()
        )

    def test_one_project_takes_no_list_of_all(self):
        (ident, *_) = PROJECTS
        keystone.names(self.connection, [ident])
        self.assertEqual([f'/v3/projects/{ident}'], self.api.asked())
        keystone.observe(self.connection, ['project 1'])
        self.assertEqual(['/v3/projects'], self.api.asked())
        keystone.names(self.connection, ())
        self.assertEqual([], self.api.asked())
