# SPDX-License-Identifier: Apache-2.0

"""A stand-in for Nova, as far as servers are shelved (Nova 34).

Beside a real Cinder API: shelving and unshelving changes the status of the
volumes there. Their attachments are those of a shelved server all the time.
"""

import datetime
import functools
import io
import json
import re

import keystoneauth1.session
import openstack.connection
import requests

from cinder_tiers.loop.repair import servers
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

URL = 'http://nova'
TENANT = 'e' * 32
_PATH = re.compile('/servers/([^/]+)(?:/(action|os-instance-actions))?$')


class Killed(BaseException):
    """The process is killed at this request."""


class Server:
    """A server; tasks end when it is looked at."""

    def __init__(self, ident, *, project, volumes, status='ACTIVE', **fields):
        self.ident, self.project, self.volumes = ident, project, volumes
        self.status, self.task, self.next_status = status, None, None
        self.lock_reason = self.lock_owner = None
        self.image, self.ephemeral_gib = '', 0
        #: Whether its guest runs, which Nova learns later.
        self.runs = status == 'ACTIVE'
        #: For how many looks a task lasts.
        self.lasts = 0
        #: (name of an action, id of the project of who asked)
        self.actions = []
        #: Statuses that the next tasks end with in place of their own.
        self.surprises = []
        self.__dict__.update(fields)

    def shown(self):
        return {
            'id': self.ident,
            'tenant_id': self.project,
            'status': self.status,
            'OS-EXT-STS:task_state': self.task,
            'OS-EXT-STS:power_state': 4 if self.status == 'SHUTOFF' else 1,
            'locked': self.lock_owner is not None,
            'locked_reason': self.lock_reason,
            'os-extended-volumes:volumes_attached': [
                {'id': one} for one in self.volumes
            ],
            'image': self.image,
            'flavor': {'ephemeral': self.ephemeral_gib},
        }


class Nova:
    """Knows servers: {id: server}.

    :param api: the `CinderApi` that has their volumes.
    """

    def __init__(self, api):
        self._api = api
        self.servers = {}
        #: Whether a server with an image stays on its host when shelved.
        self.keeps_shelved = False
        #: {action: called before it is done}, once.
        self.happens = {}
        #: So many requests are answered by a proxy, after they are done.
        self.silent = 0
        #: So many actions are answered by a proxy, and never done.
        self.lost = 0

    def add(self, ident, **fields):
        made = self.servers[ident] = Server(ident, **fields)
        return made

    def answer(self, method, url, body, project):
        """(status, body) for a request of a user of a project."""
        answer = self._answer(method, url, body, project)
        if self.silent:
            self.silent -= 1
            return 503, {}
        return answer

    def _answer(self, method, url, body, project):
        path = url.removeprefix(URL).partition('?')[0]
        if (method, path) == ('GET', '/servers/detail'):
            return 200, {
                'servers': [
                    one.shown()
                    for one in self.servers.values()
                    if one.lock_owner is not None
                ]
            }
        found = _PATH.fullmatch(path)
        server = found and self.servers.get(found[1])
        if server is None:
            return 404, {'itemNotFound': {'message': 'no such server'}}
        if found[2] == 'os-instance-actions':
            return 200, {
                'instanceActions': [
                    {
                        'action': action,
                        'project_id': by,
                        'user_id': f'user of {by}',
                        'start_time': str(
                            datetime.datetime(2026, 1, 1)
                            + datetime.timedelta(seconds=number)
                        ),
                    }
                    for number, (action, by) in enumerate(server.actions)
                ][::-1]
            }
        if found[2]:
            ((action, value),) = body.items()
            return self._act(server, action, value, project)
        self._end_task(server)
        return 200, {'server': server.shown()}

    def _end_task(self, server):
        if not server.task:
            return
        if server.lasts:
            server.lasts -= 1
            return
        if server.next_status == 'SHELVED_OFFLOADED' and not all(
            self._reserved(one) for one in server.volumes
        ):
            # The guest has ended, and Cinder refuses another attachment.
            server.task = server.next_status = None
            return
        if server.next_status:
            server.status = server.next_status
            server.next_status = None
            if server.task in ('unshelve', 'os-start', 'reboot'):
                server.runs = server.status == 'ACTIVE'
            if server.status in ('SHELVED_OFFLOADED', 'ACTIVE'):
                for one in server.volumes:
                    self._api.change_volume(
                        one,
                        status='in-use'
                        if server.status == 'ACTIVE'
                        else 'reserved',
                    )
            return
        server.task = None

    def _reserved(self, volume):
        """Whether Cinder lets a volume have another attachment."""
        status = self._api.connection.block_storage.get_volume(volume).status
        if status not in ('in-use', 'reserved'):
            return False
        self._api.change_volume(volume, status='reserved')
        return True

    def _act(self, server, action, value, project):
        conflict = 409, {'conflictingRequest': {'message': 'in that state'}}
        is_owner = project == server.project
        self.happens.pop(action, lambda: None)()
        if self.lost:
            self.lost -= 1
            return 503, {}
        if action == 'lock':
            if server.lock_owner is None or not is_owner:
                server.lock_owner = project
                server.lock_reason = (value or {}).get(
                    'locked_reason', server.lock_reason
                )
                server.actions.append(('lock', project))
            return 202, {}
        if action == 'unlock':
            server.lock_owner = server.lock_reason = None
            server.actions.append(('unlock', project))
            return 202, {}
        offloaded = (
            'SHELVED'
            if server.image and self.keeps_shelved
            else 'SHELVED_OFFLOADED'
        )
        statuses, ends = {
            'shelve': (('ACTIVE', 'SHUTOFF'), offloaded),
            'shelveOffload': (('SHELVED',), 'SHELVED_OFFLOADED'),
            'unshelve': (('SHELVED', 'SHELVED_OFFLOADED'), 'ACTIVE'),
            'os-stop': (('ACTIVE',), 'SHUTOFF'),
            'os-start': (('SHUTOFF',), 'ACTIVE'),
            'reboot': (('ACTIVE', 'SHUTOFF'), 'ACTIVE'),
        }[action]
        if server.task or server.status not in statuses:
            return conflict
        server.actions.append((action.removeprefix('os-'), project))
        server.task = action
        if action in ('shelve', 'os-stop'):
            server.runs = False
        server.next_status = (
            server.surprises.pop(0) if (server.surprises) else ends
        )
        return 202, {}


class _Session(keystoneauth1.session.Session):
    """Of a process that is killed at a request that changes something.

    :param nova: what answers in place of Nova.
    :param lives: so many of these requests are sent.
    """

    def __init__(self, *, nova, lives, **options):
        super().__init__(**options)
        self._nova, self._lives = nova, lives

    def request(self, url, method, **options):
        if method != 'GET' and 'authenticated' not in options:
            if self._lives == 0:
                raise Killed
            self._lives -= 1
        elif self._lives == 0:
            raise Killed
        if (options.get('endpoint_filter') or {}).get(
            'service_type'
        ) != 'compute':
            return super().request(url, method, **options)
        if method == 'GET':
            # With an older one it does not show who has locked a server.
            assert options['microversion'] == servers.MICROVERSION
        status, body = self._nova.answer(
            method, url, options.get('json'), cinder_api.PROJECT
        )
        answer = requests.Response()
        answer.status_code = status
        answer.url = url
        answer.headers['Content-Type'] = 'application/json'
        answer.raw = io.BytesIO(json.dumps(body).encode())
        return answer


def log_in(api, nova, *, lives=-1):
    """A connection of an administrator of both; see `_Session`."""
    made = test_cinder_world.log_in(
        api, functools.partial(_Session, nova=nova, lives=lives)
    )
    return openstack.connection.Connection(
        session=made.session,
        block_storage_api_version='3',
        identity_api_version='3',
        compute_api_version='2',
        compute_endpoint_override=URL,
    )
