# SPDX-License-Identifier: Apache-2.0
"""About 100 creates of volumes at a steady pace, and what became of each.

A few clients in one process share a session and its token, as a busy service
of a cloud does. Creates begin at fixed times, whatever the ones before them
do, so that a fault meets the same load with doors and without.
"""

import concurrent.futures
import contextlib
import dataclasses
import datetime
import time
import uuid

from keystoneauth1 import exceptions
from keystoneauth1.identity import v3

from tests.functional import faults_cloud

TAGGED = 'cinder-tiers-guest-database'
UNTAGGED = 'cinder-tiers-guest'
#: Kind of create -> (image or None, volume type or None, pool where it lands
#: with doors on and no fault).
KINDS = {
    'tagged image': (TAGGED, None, 'tier-database'),
    'untagged image': (UNTAGGED, None, 'tier-general'),
    'blank': (None, None, 'tier-general'),
    'explicit type': (None, 'archive', 'tier-archive'),
    'explicit type, tagged image': (TAGGED, 'general', 'tier-general'),
}
#: For these Cinder itself never asks Glance.
WITHOUT_IMAGE = frozenset(('blank', 'explicit type'))

#: Fewer than the eight threads of cinder-api in the lab, so that no create
#: waits for another one to be answered.
_CLIENTS = 6
#: Two cores serve about two creates a second.
_INTERVAL_S = 0.4
_POLL_S = 1.0
#: When for so long no volume has become ready, the rest is stuck.
_STUCK_S = 120.0
_REQUEST_TIMEOUT_S = 180.0


@dataclasses.dataclass(kw_only=True)
class Create:
    """One create of a volume.

    :param http_status: of the answer to the POST; 0 for none.
    :param post_s: seconds until that answer.
    :param request_id: as Cinder told it; empty without an answer.
    :param status: of the volume at the end; ``creating`` for one that is
        stuck, ``none`` where there is no volume.
    :param began: seconds since 1970 at the POST.
    :param total_s: seconds from the POST to the end of ``creating``, which
        Cinder tells to the second; None where there was none.
    :param pool: RBD pool that holds it, or None.
    :param volume_type: name of its type, or None.
    """

    name: str
    kind: str
    began: float
    http_status: int = 0
    post_s: float = 0.0
    request_id: str = ''
    answer: str = ''
    status: str = 'none'
    total_s: float | None = None
    pool: str | None = None
    volume_type: str | None = None

    @property
    def has_failed(self) -> bool:
        return (self.http_status, self.status) != (202, 'available')

    @property
    def is_on_own_tier(self) -> bool:
        """Whether it lies where it does without a fault."""
        return self.pool == KINDS[self.kind][2]


class Load:
    """Creates that begin one after the other.

    :param cloud: the lab.
    :param count: number of creates; the kinds take turns.
    :param own_tokens: whether each create has a token of its own, which is
        revoked as soon as Cinder has answered.
    """

    def __init__(
        self, cloud: faults_cloud.Cloud, count: int, own_tokens: bool = False
    ):
        self._cloud = cloud
        self._count = count
        self._own_tokens = own_tokens
        self._storage = cloud.member.block_storage
        self._session = cloud.member.session
        self._url = f'{self._storage.get_endpoint()}/volumes'
        self.prefix = f'fault-{uuid.uuid4().hex[:8]}-'
        self.creates: list[Create] = []

    @property
    def seconds(self) -> float:
        """Seconds from the first create to the last, if none is held up."""
        return self._count * _INTERVAL_S

    def run(
        self,
        fault: contextlib.AbstractContextManager,
        *,
        after_s: float,
        for_s: float | None,
    ) -> list[Create]:
        """Run all creates, and a fault in their midst.

        :param fault: it begins when it is entered and ends when it is left.
        :param after_s: when it begins, in seconds after the first create; 0:
            before it.
        :param for_s: how long it lasts; None: until all creates have been
            answered.
        :returns: the creates, in order.
        """
        with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as clients:
            if after_s > 0:
                posts = self._begin(clients)
                time.sleep(after_s)
                with fault:
                    concurrent.futures.wait(posts, for_s)
            else:
                with fault:
                    posts = self._begin(clients)
                    concurrent.futures.wait(posts, for_s)
            self.creates = [post.result() for post in posts]
        self._wait_for_end()
        self._look_at_volumes()
        return self.creates

    def clean_up(self) -> None:
        """Delete all volumes.

        :raises AssertionError: some are still there after a time.
        """
        self._cloud.delete(self.prefix)

    def _begin(
        self,
        clients: concurrent.futures.Executor,
    ) -> list[concurrent.futures.Future[Create]]:
        started = time.monotonic()
        return [
            clients.submit(
                self._create_at, number, started + number * _INTERVAL_S
            )
            for number in range(self._count)
        ]

    def _create_at(self, number: int, begin: float) -> Create:
        time.sleep(max(0.0, begin - time.monotonic()))
        kind = tuple(KINDS)[number % len(KINDS)]
        image, volume_type, _ = KINDS[kind]
        body = {'name': f'{self.prefix}{number}', 'size': 1}
        if image:
            body['imageRef'] = self._cloud.images[image]
        if volume_type:
            body['volume_type'] = volume_type
        auth = self._new_token() if self._own_tokens else None
        create = Create(name=body['name'], kind=kind, began=time.time())
        started = time.monotonic()
        try:
            answer = self._session.post(
                self._url,
                json={'volume': body},
                auth=auth,
                raise_exc=False,
                connect_retries=0,
                status_code_retries=0,
                timeout=_REQUEST_TIMEOUT_S,
            )
        except exceptions.ClientException as problem:
            create.answer = f'{type(problem).__name__}: {problem}'
        else:
            create.http_status = answer.status_code
            create.request_id = answer.headers.get(
                'x-openstack-request-id', ''
            )
            create.answer = '' if answer.ok else answer.text
        create.post_s = time.monotonic() - started
        if auth:
            auth.revoke(self._session)
        return create

    def _new_token(self) -> '_Token':
        cloud = self._cloud.member.config.get_auth_args()
        return _Token(
            **{
                name: cloud[name]
                for name in (
                    'auth_url',
                    'username',
                    'password',
                    'project_name',
                    'user_domain_id',
                    'project_domain_id',
                )
            }
        )

    def _wait_for_end(self) -> None:
        """Wait until nothing is being created, or is stuck."""
        last, deadline = -1, time.monotonic() + _STUCK_S
        while time.monotonic() < deadline:
            answer = self._storage.get(
                '/volumes/detail?status=creating', raise_exc=False
            )
            if answer.ok:
                left = sum(
                    volume['name'].startswith(self.prefix)
                    for volume in answer.json()['volumes']
                )
                if left == 0:
                    return
                if left != last:
                    last, deadline = left, time.monotonic() + _STUCK_S
            time.sleep(_POLL_S)

    def _look_at_volumes(self) -> None:
        volumes = {
            volume['name']: volume
            for volume in self._cloud.volumes(self.prefix).values()
        }
        pools = self._cloud.pools()
        for create in self.creates:
            volume = volumes.get(create.name)
            if volume is None:
                continue
            create.status = volume['status']
            create.volume_type = volume['volume_type']
            create.pool = pools.get(volume['id'])
            if create.status != 'creating':
                # Cinder writes UTC without saying so
                ended = datetime.datetime.fromisoformat(
                    f'{volume["updated_at"]}+00:00'
                )
                create.total_s = ended.timestamp() - create.began


class _Token(v3.Password):
    """A token for one request."""

    def revoke(self, session) -> None:
        token = self.get_token(session)
        session.delete(
            f'{self.auth_url}/auth/tokens',
            auth=self,
            headers={'X-Subject-Token': token},
            authenticated=True,
        )
