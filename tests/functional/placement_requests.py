# SPDX-License-Identifier: Apache-2.0
"""The rows of the table of placement, requested for real from the lab.

Several at a time, and no more: the lab has two cores.
"""

import concurrent.futures
import dataclasses
import json
import re
import subprocess
import time

from cinderclient import client as cinder_client
from cinderclient import exceptions as cinder_exceptions
import openstack.exceptions

from tests.functional import commands
from tests.functional import lab
from tests.functional import placement_table

CLOUDS = {'admin': lab.ADMIN, 'member': lab.MEMBER, 'other': lab.OTHER}
FLAVOR = 'cinder-tiers-guest'
#: Servers that are booting at a time, and requests besides.
_SERVERS = 2
_REQUESTS = 3
_STATUS_OF_OSC = re.compile(r'\b([45]\d\d)\b')
_IOPS = re.compile(r'<total_iops_sec>(\d+)</total_iops_sec>')
_IMAGE = bytes(2**20)


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """What became of a request.

    :ivar volume: id of the volume, if there is one.
    :ivar answer: as the table writes it; for a request that failed in a way
        of which the table knows nothing, what was said.
    :ivar total_iops_sec: limit that is in effect in the server's guest.
    """

    volume: str | None = None
    answer: dict = dataclasses.field(default_factory=dict)
    total_iops_sec: str | None = None


class Requests:
    """Makes what the table needs, and the volumes that it asks for.

    :param environment: of a user of the lab.
    :param table: what to make.
    """

    def __init__(
        self, environment: dict[str, str], table: placement_table.Table
    ):
        self._environment = environment
        self._table = table
        self._connections = {
            who: lab.connect(environment, cloud)
            for who, cloud in CLOUDS.items()
        }
        self._cinder = {
            who: cinder_client.Client('3.70', session=connection.session)
            for who, connection in self._connections.items()
        }
        self._admin = self._connections['admin']
        self._types: list[str] = []
        self._images: dict[str, str] = {}
        self._made_images: list[str] = []
        self._sources: dict[str, str] = {}
        self._snapshots: dict[str, str] = {}
        self._volumes: list[str] = []

    # What must be there before

    def make_world(self) -> None:
        """Make the types, images and sources of the table."""
        for name, kind in self._table.types.items():
            self._make_type(name, kind)
        for image in self._admin.image.images(visibility='public'):
            self._images[image.name] = image.id
        with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
            list(pool.map(self._make_image, self._table.images))
        for name, source in self._table.sources.items():
            self._sources[name] = (
                self._cinder['member']
                .volumes.create(
                    1,
                    name=name,
                    imageRef=self._images[source['image']],
                    volume_type=source.get('type'),
                )
                .id
            )
        self._expect_available(self._sources.values())
        for name, volume in self._sources.items():
            self._snapshots[name] = (
                self._cinder['member']
                .volume_snapshots.create(volume, name=name)
                .id
            )
        self._wait_while(
            lambda: any(
                self._cinder['member'].volume_snapshots.get(snapshot).status
                == 'creating'
                for snapshot in self._snapshots.values()
            )
        )

    def _run(self, *argv: str, who: str = 'admin') -> str:
        done = commands.run(
            argv,
            environment={**self._environment, 'OS_CLOUD': CLOUDS[who]},
        )
        done.check_returncode()
        return done.stdout

    def _make_type(self, name: str, kind: dict) -> None:
        words = [
            word
            for key, value in kind['properties'].items()
            for word in ('--property', f'{key}={value}')
        ]
        for project in kind.get('private_to', []):
            words += ['--private', '--project', project]
        self._run('openstack', 'volume', 'type', 'create', *words, name)
        self._types.append(name)
        if 'qos' in kind:
            words = [
                word
                for key, value in kind['qos'].items()
                for word in ('--property', f'{key}={value}')
            ]
            self._run(
                'openstack',
                'volume',
                'qos',
                'create',
                '--consumer',
                'front-end',
                *words,
                name,
            )
            self._run('openstack', 'volume', 'qos', 'associate', name, name)

    def _make_image(self, name: str) -> None:
        wanted = self._table.images[name]
        visibility = wanted.get('visibility', 'private')
        owner = self._connections[wanted['owner']].image
        image = owner.create_image(
            name=f'functional-{name}',
            data=_IMAGE,
            disk_format='raw',
            container_format='bare',
            tags=wanted['tags'],
            visibility='private' if visibility == 'public' else visibility,
            **wanted.get('properties', {}),
        )
        self._images[name] = image.id
        self._made_images.append(image.id)
        if visibility == 'public':
            self._admin.image.update_image(image.id, visibility='public')
        for project in wanted.get('shared_with', []):
            found = self._admin.identity.find_project(project)
            owner.add_member(image.id, member_id=found.id)

    # The requests

    def send_all(self) -> list[Outcome]:
        """Request every row, and wait until all volumes are there.

        :returns: the outcome of each row, in the order of the table.
        """
        with (
            concurrent.futures.ThreadPoolExecutor(_SERVERS) as servers,
            concurrent.futures.ThreadPoolExecutor(_REQUESTS) as others,
        ):
            sent = [
                (servers if row.client == 'nova' else others).submit(
                    self._send, row
                )
                for row in self._table.rows
            ]
        outcomes = [one.result() for one in sent]
        self._wait_while(
            lambda: any(
                volume['status'] in ('creating', 'downloading')
                for volume in self._all_volumes().values()
            )
        )
        volumes = self._all_volumes()
        pools = lab.holders(self._environment)
        for outcome in outcomes:
            if outcome.volume:
                volume = volumes[outcome.volume]
                outcome.answer = {
                    'pool': ', '.join(pools[outcome.volume]),
                    'type': volume['volume_type'],
                }
                if volume['status'] != 'available':
                    outcome.answer['status'] = volume['status']
        return outcomes

    def _send(self, row: placement_table.Row) -> Outcome:
        send = {
            'cinderclient': self._send_cinderclient,
            'osc': self._send_osc,
            'nova': self._send_nova,
            'openstacksdk': self._send_openstacksdk,
        }[row.client]
        try:
            outcome = send(row)
        except cinder_exceptions.ClientException as problem:
            return _refusal(problem.code, problem)
        except openstack.exceptions.HttpException as problem:
            return _refusal(problem.status_code, problem)
        except subprocess.CalledProcessError as problem:
            found = _STATUS_OF_OSC.search(problem.stderr)
            return _refusal(int(found[1]) if found else None, problem.stderr)
        if outcome.volume:
            self._volumes.append(outcome.volume)
        return outcome

    def _send_cinderclient(self, row: placement_table.Row) -> Outcome:
        return Outcome(
            volume=self._cinder[row.who]
            .volumes.create(
                1,
                name=row.__name__,
                imageRef=self._images.get(row.image),
                metadata=row.metadata,
                volume_type=row.volume_type,
                source_volid=self._sources.get(row.source),
                snapshot_id=self._snapshots.get(row.snapshot),
            )
            .id
        )

    def _send_openstacksdk(self, row: placement_table.Row) -> Outcome:
        wanted = {
            'image_id': self._images.get(row.image),
            'metadata': row.metadata,
            'volume_type': row.volume_type,
            'source_volume_id': self._sources.get(row.source),
            'snapshot_id': self._snapshots.get(row.snapshot),
        }
        storage = self._connections[row.who].block_storage
        return Outcome(
            volume=storage.create_volume(
                size=1,
                name=row.__name__,
                **{key: value for key, value in wanted.items() if value},
            ).id
        )

    def _send_osc(self, row: placement_table.Row) -> Outcome:
        wanted = {
            '--image': self._images.get(row.image),
            '--type': row.volume_type,
            '--source': self._sources.get(row.source),
            '--snapshot': self._snapshots.get(row.snapshot),
        }
        words = [word for pair in wanted.items() if pair[1] for word in pair]
        for key, value in row.metadata.items():
            words += ['--property', f'{key}={value}']
        return Outcome(
            volume=json.loads(
                self._run(
                    'openstack',
                    'volume',
                    'create',
                    '--size',
                    '1',
                    *words,
                    '-f',
                    'json',
                    row.__name__,
                    who=row.who,
                )
            )['id']
        )

    def _send_nova(self, row: placement_table.Row) -> Outcome:
        """Boot a server from a new volume, and keep only the volume."""
        compute = self._connections[row.who].compute
        disk = {
            'boot_index': 0,
            'destination_type': 'volume',
            'delete_on_termination': False,
            'volume_size': 1,
        }
        if row.snapshot:
            disk |= {
                'source_type': 'snapshot',
                'uuid': self._snapshots[row.snapshot],
            }
        else:
            disk |= {'source_type': 'image', 'uuid': self._images[row.image]}
        if row.volume_type:
            disk['volume_type'] = row.volume_type
        server = compute.create_server(
            name=row.__name__[:200],
            networks='none',
            flavor_id=compute.find_flavor(FLAVOR).id,
            block_device_mapping=[disk],
        )
        outcome = Outcome()
        try:
            server = compute.wait_for_server(server, interval=1, wait=180)
            outcome.total_iops_sec = self._iops_in_guest(server.id)
        except openstack.exceptions.SDKException as problem:
            outcome.answer = {'problem': str(problem)}
        finally:
            attached = compute.get_server(server.id).attached_volumes
            compute.delete_server(server)
            compute.wait_for_delete(server, interval=1, wait=120)
        outcome.volume = attached[0]['id'] if attached else None
        return outcome

    def _iops_in_guest(self, server: str) -> str | None:
        """The limit that libvirt has set for the disk of a guest."""
        found = _IOPS.search(self._run('virsh', 'dumpxml', server))
        return found[1] if found else None

    def _all_volumes(self) -> dict[str, dict]:
        answer = self._admin.block_storage.get(
            '/volumes/detail?all_tenants=1&limit=1000'
        )
        answer.raise_for_status()
        return {volume['id']: volume for volume in answer.json()['volumes']}

    # The end

    def remove_world(self) -> None:
        """Remove all that was made; children before their parents."""
        self._delete_volumes(self._volumes)
        for snapshot in self._snapshots.values():
            self._cinder['member'].volume_snapshots.delete(snapshot)
        self._wait_while(
            self._cinder['admin'].volume_snapshots.list,
            search_opts={'all_tenants': 1},
        )
        self._delete_volumes(self._sources.values())
        for image in self._made_images:
            self._admin.image.delete_image(image)
        for name in self._types:
            if 'qos' in self._table.types[name]:
                self._run(
                    'openstack', 'volume', 'qos', 'disassociate', '--all', name
                )
                self._run('openstack', 'volume', 'qos', 'delete', name)
            self._run('openstack', 'volume', 'type', 'delete', name)

    def _delete_volumes(self, volumes) -> None:
        ours = set(volumes)
        with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
            list(
                pool.map(
                    lambda volume: self._admin.block_storage.delete_volume(
                        volume, force=True
                    ),
                    ours,
                )
            )
        self._wait_while(lambda: ours & set(self._all_volumes()))

    def _expect_available(self, volumes) -> None:
        self._wait_while(
            lambda: (
                {self._all_volumes()[volume]['status'] for volume in volumes}
                - {'available'}
            )
        )

    @staticmethod
    def _wait_while(ask, timeout_seconds: float = 240, **options) -> None:
        deadline = time.monotonic() + timeout_seconds
        while answer := ask(**options):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f'after {timeout_seconds:.0f} s still waiting for {answer}'
                )
            time.sleep(1)


def _refusal(status: int | None, problem: object) -> Outcome:
    """The outcome of a request that a service refused."""
    if status:
        return Outcome(answer={'refused': status})
    return Outcome(answer={'problem': str(problem)})
