# SPDX-License-Identifier: Apache-2.0

"""A real cinder-api in this process, with and without our door.

The pipeline is that of Cinder's own api-paste.ini, with the door directly
before the application. Not real: authtoken, which would ask Keystone,
believes headers; the rest is as in worlds/cinder_fixture.py.
"""

import dataclasses
import functools
import json
import pathlib
import queue
import re
import sys
import threading

from cinder.db import api as db_api
from cinder.keymgr import conf_key_mgr  # noqa: F401 - registers options
from cinder import objects
from cinder.volume import volume_types
import fixtures
import oslo_messaging
from paste import deploy
import testtools
import webob

from cinder_tiers.doors import door
from tests.worlds import cinder_fixture

STOCK = pathlib.Path(sys.prefix, 'etc/cinder/api-paste.ini')
PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT
#: As Keystone says it: who is a member may read, too.
MEMBER = 'member,reader'
DOOR = """
[filter:tiers]
paste.filter_factory = cinder_tiers.api:filter_factory

[filter:meanwhile]
paste.filter_factory = tests.unit.api.api_fixture:let_things_happen
"""


def believe_headers(global_conf, **local_conf):
    """A filter that takes who asks from the headers of the request."""
    return lambda application: application


# Making an application and its first request take a second, and it keeps
# Glance's address for ever: all tests of a process share one, and a Glance.
@functools.cache
def shared_glance():
    """The stand-in for Glance of this process."""
    glance = cinder_fixture.GlanceStandIn()
    glance.setUp()
    return glance


#: What happens between our door and Cinder: functions, each called once. What
#: one of them adds happens with the next request.
MEANWHILE = []


def let_things_happen(global_conf, **local_conf):
    """A paste filter behind the door."""

    def filtered(application):
        def serve(environ, start_response):
            happening = MEANWHILE.copy()
            MEANWHILE.clear()
            for happen in happening:
                happen()
            return application(environ, start_response)

        return serve

    return filtered


@functools.cache
def application(has_door):
    """Cinder's application, loaded by paste.

    :param has_door: False for Cinder alone
    """
    text = STOCK.read_text().replace(
        'keystonemiddleware.auth_token:filter_factory',
        f'{__name__}:believe_headers',
    )
    if has_door:
        text = (
            re.sub(' apiv3$', ' tiers meanwhile apiv3', text, flags=re.M)
            + DOOR
        )
    with fixtures.TempDir() as folder:
        file = pathlib.Path(folder.path, 'api-paste.ini')
        file.write_text(text)
        return deploy.loadapp(f'config:{file}', name='osapi_volume')


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the API answered."""

    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def volume_id(self):
        """Id of the volume that was created."""
        return self.json['volume']['id']


class SchedulerQueue:
    """Takes what cinder-api casts to cinder-scheduler."""

    target = oslo_messaging.Target(version='3.12')

    def __init__(self, status=None):
        self.status = status
        self.arrived = threading.Event()
        self.request_spec = None
        #: Ids of the types that volumes are to get.
        self.new_types = queue.Queue()

    def create_volume(self, context, volume, request_spec, **others):
        self.request_spec = request_spec
        if self.status is not None:
            volume.update({'status': self.status, 'host': 'node@any#any'})
            volume.save()
            db_api.worker_destroy(
                context, resource_type='Volume', resource_id=volume.id
            )
        if self.status == 'deleted':
            volume.destroy()
            self.status = 'available'
        self.arrived.set()

    def retype(self, context, volume, request_spec, **others):
        self.new_types.put(request_spec['volume_type']['id'])


class Api(fixtures.Fixture):
    """cinder-api with a database of its own, in which there is type plain."""

    def __init__(self, content=None):
        """Not running yet.

        :param content: content of the database; only that type by default
        """
        super().__init__()
        self._content = content

    def _setUp(self):
        self.cinder = self.useFixture(
            cinder_fixture.Scheduler(content=self._content)
        )
        self.conf = self.cinder.conf
        self.glance = shared_glance()
        self.glance.forget()
        self.addCleanup(lambda: self.glance.gate.set())
        self.addCleanup(MEANWHILE.clear)
        self.conf.config(glance_api_servers=[self.glance.url])
        # Keys come from cinder.conf, as nobody should have it.
        self.conf.config(
            group='key_manager',
            fixed_key='0' * 64,
            backend='cinder.keymgr.conf_key_mgr.ConfKeyManager',
        )
        # What Cinder alone takes when nobody names a type.
        self.conf.config(default_volume_type='plain')
        if self._content is None:
            self.cinder.add_type('plain')
            for resource in ('volumes', 'gigabytes'):
                db_api.quota_class_update(
                    self.cinder.admin, 'default', resource, 1000
                )

    def configure(self, **options):
        self.conf.config(group='cinder_tiers', **options)

    def request(
        self,
        path,
        *,
        method='POST',
        project=PROJECT,
        roles=MEMBER,
        version=None,
        headers=(),
        has_door=True,
        **parts,
    ):
        """One request; the answer.

        :param path: with /v3 before it
        :param project: id of the project of who asks
        :param roles: comma separated, of who asks
        :param version: microversion, such as 3.71
        :param headers: {name: value} of further headers; None for none
        :param parts: further parts of a webob request, such as body
        """
        request = webob.Request.blank(path, method=method, **parts)
        request.headers.update(
            {
                name: value
                for name, value in {
                    'X-User-Id': 'user',
                    'X-Project-Id': project,
                    'X-Roles': roles,
                    'X-Auth-Token': 'token-of-user',
                    **dict(headers),
                }.items()
                if value is not None
            }
        )
        if version:
            request.headers['OpenStack-API-Version'] = f'volume {version}'
        answer = request.get_response(application(has_door))
        return Answer(answer.status_int, dict(answer.headers), answer.body)

    def create(
        self,
        *,
        version=None,
        project=PROJECT,
        roles=MEMBER,
        has_door=True,
        **volume,
    ):
        """Ask for a volume of 1 GiB; the answer.

        :param version: microversion
        :param project: id of the project of who asks
        :param roles: of who asks
        :param has_door: False for Cinder alone
        :param volume: further keys of the volume
        """
        return self.post(
            'volumes',
            {'volume': {'size': 1, **volume}},
            project=project,
            roles=roles,
            version=version,
            has_door=has_door,
        )

    def post(self, path, document, *, project=PROJECT, **request):
        """Send JSON; the answer.

        :param path: below that of the project
        :param document: the body
        :param project: id of the project of who asks
        :param request: as for `request`
        """
        return self.request(
            f'/v3/{project}/{path}',
            project=project,
            content_type='application/json',
            body=json.dumps(document).encode(),
            **request,
        )

    def row(self, volume_id):
        """The volume in Cinder's database."""
        return objects.Volume.get_by_id(self.cinder.admin, volume_id)

    def add_volume(self, volume_type, *, project=PROJECT, **values):
        """A volume of 1 GiB that is available; it.

        :param volume_type: id of its type
        :param project: id of its project
        :param values: further columns
        """
        volume = objects.Volume(
            context=self.cinder.admin,
            **{
                'size': 1,
                'status': 'available',
                'user_id': 'user',
                'project_id': project,
                'availability_zone': 'nova',
                'volume_type_id': volume_type,
                'host': 'node@ssd#ssd',
                **values,
            },
        )
        volume.create()
        return volume

    def add_tiers(self):
        """A tier for the tag database and a fallback; {name: type id}."""
        return {
            'database': self.cinder.add_type(
                'database',
                tiers_name='database',
                tiers_tags='database',
                tiers_priority='20',
            ),
            'general': self.cinder.add_type(
                'general', tiers_name='general', tiers_fallback='<is> True'
            ),
        }

    def take_messages(self, status=None):
        """Take what is cast to cinder-scheduler from now on.

        :param status: of each volume that is created, at once, as if
            cinder-volume were done with it; None to leave it alone, deleted
            for one that is gone at once, and later ones available
        """
        casts = SchedulerQueue(status)
        server = cinder_fixture.serve_messages(
            'cinder-scheduler', 'here', casts
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.stop)
        return casts


@functools.cache
def with_tiers():
    """Content of a database with the types of all tests, and {name: id}."""
    with Api() as api:
        types = {
            'image-tier': api.cinder.add_type(
                'image-tier', tiers_follow_image='<is> True'
            ),
            **api.add_tiers(),
        }
        plain = volume_types.get_by_name_or_id(api.cinder.admin, 'plain')
        return api.cinder.database.content(), {'plain': plain['id'], **types}


class ApiTestCase(testtools.TestCase):
    """A test against cinder-api with the tiers database and general."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        content, types = with_tiers()
        self.api = self.useFixture(Api(content))
        self.cinder = self.api.cinder
        self.glance = self.api.glance
        self.types = dict(types)
        self.follow = self.types['image-tier']
        self.names = {ident: name for name, ident in self.types.items()}

    def add_type(self, name, projects=None, **extra_specs):
        """A further volume type; its id."""
        ident = self.cinder.add_type(name, projects, **extra_specs)
        self.types[name], self.names[ident] = ident, name
        return ident

    def assert_type(self, name, /, **request):
        """A create succeeds, and the volume has the type of this name."""
        answer = self.api.create(**request)
        self.assertEqual(202, answer.status, answer.body)
        row = self.api.row(answer.volume_id)
        self.assertEqual(name, self.names[row.volume_type_id])
        self.assertEqual(name, answer.json['volume']['volume_type'])
        return row

    def assert_as_cinder_alone(self, **request):
        """The answer is what Cinder alone answers; it, without its times."""
        ours = self.api.create(**request)
        theirs = self.api.create(**request, has_door=False)
        self.assertEqual(
            (theirs.status, plain(theirs.body)),
            (ours.status, plain(ours.body)),
        )
        return ours

    def logged(self):
        """The log, all decisions so far included."""
        self.assertTrue(door.of_process('api').wait(60))
        return self.log.output

    def forget(self):
        """Let the door forget what it remembers."""
        door.forget()


def plain(body):
    """An answer without what differs from request to request."""
    document = json.loads(body)
    if 'volume' in document:
        for key in ('id', 'created_at', 'updated_at', 'links'):
            document['volume'].pop(key)
    return document
