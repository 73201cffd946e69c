# SPDX-License-Identifier: Apache-2.0
"""An ordinary tenant who would be where it may not be, or without limits.

Requests are written by hand, as no client would send many of them. Must not
know what the doors do: what counts is where a volume is in the end.
"""

import dataclasses
import json
import subprocess
import threading
import time
import uuid

from tests.functional import lab

#: A tier of another project, on a backend of its own which has more room than
#: any other, so that Cinder's weigher would choose it.
PRIVATE = 'functional-private'
#: A public tier whose volumes have a limit that is worth losing.
LIMITED = 'functional-limited'
#: A backend that serves no tier, alone in its availability zone.
FAR = 'functional-far'
FAR_ZONE = 'functional-zone'
FOLLOWS = 'image-tier'
#: A public type that wants a capability, and no backend by its name.
UNBOUND = 'functional-unbound'
#: {volume type of a tier that the tenant may use: (pool, limit)}
TIERS = {
    'database': ('tier-database', None),
    'archive': ('tier-archive', None),
    'general': ('tier-general', None),
    LIMITED: ('tier-database', '500'),
}
POOLS = (*lab.POOLS, PRIVATE)
JSON = 'application/json'
NEWEST = '3.71'
_SETTLED = ('available', 'error', 'error_restoring', 'in-use', 'gone')
_POLL_S = 0.5
_TIMEOUT_S = 300.0


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """What became of an attempt.

    :param http_status: of the answer.
    :param text: of the answer.
    :param volume: id of the volume, if there is one.
    :param limit: of I/O operations per second, by the volume's type.
    :param pool: RBD pool that holds the volume, asked of Ceph.
    """

    http_status: int
    text: str = ''
    volume: str | None = None
    volume_type: str | None = None
    status: str | None = None
    limit: str | None = None
    pool: str | None = None
    encrypted: bool | None = None

    @property
    def is_refused(self) -> bool:
        return 400 <= self.http_status < 500

    def __str__(self) -> str:
        if self.volume is None:
            return f'{self.http_status} {self.text[:150]}'
        return (
            f'{self.http_status} type={self.volume_type} '
            f'iops={self.limit} {self.status} pool={self.pool}'
        )


class Tenant:
    """A user of the lab, with a token and nothing else.

    :param environment: of a user of the lab.
    :param cloud: name in the lab's clouds.yaml.
    """

    def __init__(self, environment, cloud=lab.MEMBER):
        self._environment = environment
        self._connection = lab.connect(environment, cloud)
        self._session = self._connection.session
        self.project = self._session.get_project_id()
        self.volumes = []
        self.snapshots = []
        self.images = []
        self._lock = threading.Lock()

    def ask(
        self,
        method,
        path,
        *,
        body=None,
        version=NEWEST,
        data=None,
        service='block-storage',
        **headers,
    ):
        """Send a request to Cinder or Glance; return the answer.

        :param body: sent as JSON.
        :param data: sent as it is.
        :param version: microversion of Cinder; None for no header.
        :param headers: - is written _; None for no such header.
        """
        sent = {
            name.replace('_', '-'): value for name, value in headers.items()
        }
        if body is not None:
            data = json.dumps(body)
        if data is not None:
            sent.setdefault('Content-Type', JSON)
        if version and service == 'block-storage':
            sent['OpenStack-API-Version'] = f'volume {version}'
        return self._session.request(
            self.url(service) + path,
            method,
            data=data,
            raise_exc=False,
            headers={
                name: value
                for name, value in sent.items()
                if value is not None
            },
        )

    def url(self, service):
        root = self._session.get_endpoint(service_type=service)
        return (
            f'{root.rstrip("/")}/v2'
            if service == 'image'
            else f'{root.partition("/v3")[0]}/v3'
        )

    def token(self):
        return self._session.get_token()

    def image(
        self,
        *tags,
        name='functional-bypass',
        ident=None,
        data=1024,
        **properties,
    ):
        """Make an image; return its id."""
        made = self.ask(
            'POST',
            '/images',
            service='image',
            body={
                'name': name,
                'container_format': 'bare',
                'disk_format': 'raw',
                'tags': list(tags),
                **({'id': ident} if ident else {}),
                **properties,
            },
        )
        made.raise_for_status()
        ident = made.json()['id']
        with self._lock:
            self.images.append(ident)
        self.ask(
            'PUT',
            f'/images/{ident}/file',
            service='image',
            data=bytes(data),
            Content_Type='application/octet-stream',
        ).raise_for_status()
        return ident

    def change_image(self, image, *changes):
        """Patch an image (RFC 6902)."""
        self.ask(
            'PATCH',
            f'/images/{image}',
            service='image',
            data=json.dumps(changes),
            Content_Type=('application/openstack-images-v2.1-json-patch'),
        ).raise_for_status()

    def create(
        self,
        *,
        method='POST',
        path=None,
        version=NEWEST,
        data=None,
        more=None,
        headers=None,
        **volume,
    ):
        """Ask for a volume; return the outcome, as far as it is known.

        :param path: below the version; None for the usual one.
        :param data: the body; by default, of ``volume`` and ``more``.
        :param more: other keys beside ``volume``.
        """
        body = {
            'volume': {'size': 1, 'name': 'functional-bypass', **volume},
            **(more or {}),
        }
        answer = self.ask(
            method,
            f'/{self.project}/volumes' if path is None else path,
            data=json.dumps(body) if data is None else data,
            version=version,
            **(headers or {}),
        )
        return self.outcome(answer)

    def outcome(self, answer):
        """The outcome of a request that makes a volume."""
        found = Outcome(http_status=answer.status_code, text=answer.text)
        try:
            document = answer.json()
            made = document.get('volume') or document.get('restore') or {}
            found.volume = made.get('id') or made.get('volume_id')
        except (ValueError, AttributeError, TypeError):
            pass
        if found.volume:
            with self._lock:
                self.volumes.append(found.volume)
        return found

    def show(self, volume):
        answer = self.ask('GET', f'/{self.project}/volumes/{volume}')
        if answer.status_code == 404:
            return {'status': 'gone'}
        return answer.json().get('volume') or {'status': answer.text}

    def settled(self, volume):
        """A volume once it has settled."""
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            seen = self.show(volume)
            if seen['status'] in _SETTLED or time.monotonic() > deadline:
                return seen
            time.sleep(_POLL_S)

    def act(
        self,
        volume,
        action,
        arguments,
        *,
        path=None,
        method='POST',
        version=NEWEST,
        **headers,
    ):
        """Ask for an action on a volume; return the answer."""
        return self.ask(
            method,
            path or f'/{self.project}/volumes/{volume}/action',
            body={action: arguments},
            version=version,
            **headers,
        )

    def retype(self, volume, new_type, policy='never', **options):
        """Ask for another type; return the outcome when it has settled."""
        answer = self.act(
            volume,
            'os-retype',
            {'new_type': new_type, 'migration_policy': policy},
            **options,
        )
        return Outcome(
            http_status=answer.status_code, text=answer.text, volume=volume
        )

    def snapshot(self, volume):
        made = self.ask(
            'POST',
            f'/{self.project}/snapshots',
            body={
                'snapshot': {
                    'volume_id': volume,
                    'name': 'functional-bypass',
                    'force': True,
                }
            },
            version='3.60',
        )
        made.raise_for_status()
        ident = made.json()['snapshot']['id']
        self.snapshots.append(ident)
        deadline = time.monotonic() + _TIMEOUT_S
        while (
            self.ask('GET', f'/{self.project}/snapshots/{ident}').json()[
                'snapshot'
            ]['status']
            != 'available'
            and time.monotonic() < deadline
        ):
            time.sleep(_POLL_S)
        return ident

    def complete(self, outcomes, limits):
        """Wait for the volumes of outcomes, and say where they are.

        :param limits: {name of a volume type: limit}.
        """
        for outcome in outcomes:
            if outcome.volume:
                seen = self.settled(outcome.volume)
                outcome.status = seen['status']
                outcome.volume_type = seen.get('volume_type')
                outcome.encrypted = seen.get('encrypted')
                outcome.limit = limits.get(outcome.volume_type)
        where = pools(self._environment)
        for outcome in outcomes:
            outcome.pool = where.get(outcome.volume)
        return outcomes


def pools(environment):
    """{volume: pool}, asked of Ceph."""
    return {
        image.removeprefix('volume-'): pool
        for pool in POOLS
        for image in subprocess.run(
            ['rbd', 'ls', pool],
            capture_output=True,
            text=True,
            env=environment,
        ).stdout.split()
    }


def boot_devices(snapshot, **more):
    """The property by which Nova's image names a snapshot."""
    return json.dumps(
        [
            {
                'source_type': 'snapshot',
                'boot_index': 0,
                'snapshot_id': snapshot,
                'destination_type': 'volume',
                **more,
            }
        ]
    )


def some_id():
    return str(uuid.uuid4())
