# SPDX-License-Identifier: Apache-2.0

"""A cloud in memory: images, volumes, servers and their consoles.

Only what a fleet uses, and as unforgiving there as the real services are:
a multi-attach volume is reserved until its server is up, a volume in use
cannot be deleted, guests without a network must say so, a server group takes
only so many servers.  Servers of a group are on different hosts as far as
there are hosts.  What a guest prints is made from the orders in its user data.
"""

import contextlib
import itertools
import json
import math
import re
import threading
import time
import types

from cinderclient import exceptions as cinder_exceptions
from keystoneauth1 import exceptions as keystone_exceptions
from neutronclient.common import exceptions as neutron_exceptions
from novaclient import exceptions as nova_exceptions

from rally_scenarios.guest import next_orders
from tests.unit.figures import recorded
from tests.unit.guest import console_text

_TIME = re.compile(r' (?:at|real|end)=([0-9]+)')


class Cloud:
    """State of all services.

    :ivar guests_do: {guest name: function that changes its console lines}
    :ivar guests_stop: names of guests whose servers stop after a while
    :ivar guests_behind: {guest name: seconds that its clock is behind}
    :ivar types_of_volumes: {id of an image: type of the volumes made of it},
        a list to be taken from the left, when they are first looked at
    :ivar guests_keep: {guest name: folder in which it keeps its lines}
    :ivar networks: {id: address of every server in it}
    :ivar floating: {id: port} of floating addresses
    :ivar volume_type_names: those that the project may use
    :ivar hosts: names of compute hosts
    :ivar group_quota: how many server groups a project may have
    :ivar limits: Nova's absolute limits of the project
    :ivar clocks: what guests can tell of their wall clocks
    :ivar deletes_unanswered: how many requests to delete a server nobody
        answers
    :ivar most_in_build: how many servers were in the making at once
    :ivar most_asked: how many servers were asked for at once
    :ivar seconds_per_create: how long Nova thinks of a server
    :ivar most_volumes: that the project may have
    :ivar most_volumes_asked: how many volumes were to be made, or deleted, at
        once
    :ivar seconds_per_volume: how long Cinder thinks of one, to make it and to
        delete it
    :ivar volume_asked: is called for each volume that is asked for
    :ivar seconds_per_reading: guests need no time to boot, and a reading of
        one takes this long
    :ivar sent: what a guest sends of a slot, of (guest, slot, name of the fio
        job, on how many data volumes it runs): by default a recording
    :ivar slot_ms: from the planned start of a slot to its end
    """

    def __init__(self, images, multiattach_types):
        self.images_by_name = images
        self.multiattach_types = multiattach_types
        self.guests_do = {}
        self.guests_stop = set()
        self.guests_behind = {}
        self.types_of_volumes = {}
        self.guests_keep = {}
        self.networks = {}
        self.floating = {}
        self.failing_images = set()
        self.image_contents = {}
        self.ids = (
            f'{number:08d}-0000-4000-8000-000000000000'
            for number in itertools.count(1)
        )
        self.volumes_by_id = {}
        self.servers_by_id = {}
        self.groups_by_id = {}
        self.volume_type_names = set(multiattach_types)
        self.hosts = ('host-1', 'host-2')
        self.group_quota = 10
        self.limits = {'maxServerGroups': 10, 'maxServerGroupMembers': 10}
        self.clocks = 'sync=chrony bound=400'
        self.deletes_unanswered = 0
        self.most_servers = 100
        self.most_in_build = 0
        self.most_asked = self._asked = 0
        self.seconds_per_create = 0
        self.most_volumes = math.inf
        self.most_volumes_asked = self._volumes_asked = 0
        self.seconds_per_volume = 0
        self.volume_asked = lambda: None
        self.seconds_per_reading = 2
        self.sent = _recording
        self.slot_ms = 9000
        self.everything_made = []
        self.readings = 0
        # Several threads ask.
        self.one_request = threading.RLock()

    def asked_at_once(self, more):
        """So many more servers are asked for, that are not made yet."""
        with self.one_request:
            self._asked += more
            self.most_asked = max(self.most_asked, self._asked)

    @contextlib.contextmanager
    def thinks_of_volume(self):
        """Cinder has a request; then no other one is under way."""
        with self.one_request:
            self._volumes_asked += 1
            self.most_volumes_asked = max(
                self.most_volumes_asked, self._volumes_asked
            )
        time.sleep(self.seconds_per_volume)
        with self.one_request:
            self._volumes_asked -= 1
            yield

    def delete_volume(self, volume):
        """As Cinder does it, if it does not refuse to."""
        if volume.status not in ('available', 'error'):
            raise cinder_exceptions.BadRequest(400, 'volume is in use')
        del self.volumes_by_id[volume.id]

    def clock(self):
        """Seconds, as the guests' clocks count them."""
        return self.readings * self.seconds_per_reading

    def _limits(self):
        return types.SimpleNamespace(
            absolute=iter(
                types.SimpleNamespace(name=name, value=value)
                for name, value in self.limits.items()
            )
        )

    def clients(self):
        return types.SimpleNamespace(
            glance=lambda: types.SimpleNamespace(images=_Images(self)),
            cinder=lambda: types.SimpleNamespace(
                volumes=_Volumes(self),
                volume_types=types.SimpleNamespace(
                    list=lambda: [
                        types.SimpleNamespace(name=name)
                        for name in sorted(self.volume_type_names)
                    ]
                ),
            ),
            nova=lambda version='2': types.SimpleNamespace(
                servers=_Servers(self, version),
                server_groups=_ServerGroups(self),
                volumes=_Attachments(self),
                limits=types.SimpleNamespace(get=self._limits),
            ),
            neutron=lambda: _Neutron(self),
            credential=types.SimpleNamespace(api_info={}),
            # rally-openstack after 4.1.0 asks for it; no token expires here.
            refresh_token_if_needed=lambda: None,
        )


class _Neutron:
    def __init__(self, cloud):
        self._cloud = cloud

    def list_networks(self, **filters):
        return {
            'networks': [
                {
                    'id': 'net-outside',
                    'name': 'outside',
                    'router:external': True,
                }
            ]
        }

    def list_ports(self, device_id):
        server = self._cloud.servers_by_id[device_id]
        return {
            'ports': [
                {'id': f'port-of-{device_id}'} for _network in server.addresses
            ]
        }

    def create_floatingip(self, body):
        wanted = body['floatingip']
        assert wanted['floating_network_id'] == 'net-outside'
        made = f'floating-{next(self._cloud.ids)}'
        self._cloud.floating[made] = wanted['port_id']
        return {
            'floatingip': {
                'id': made,
                'floating_ip_address': '203.0.113.'
                f'{len(self._cloud.floating)}',
            }
        }

    def delete_floatingip(self, floatingip_id):
        if floatingip_id not in self._cloud.floating:
            raise neutron_exceptions.NotFound()
        del self._cloud.floating[floatingip_id]


class _Images:
    def __init__(self, cloud):
        self._cloud = cloud

    def list(self, filters):
        assert filters.pop('status') == 'active'
        return [
            types.SimpleNamespace(id=image_id, name=name)
            for name, image_ids in self._cloud.images_by_name.items()
            for image_id in image_ids
            if name == filters['name']
        ]

    def create(self, name, disk_format, container_format, visibility):
        assert (disk_format, container_format) == ('raw', 'bare')
        assert visibility == 'private'
        image = types.SimpleNamespace(id=next(self._cloud.ids), name=name)
        self._cloud.image_contents[image.id] = b''
        self._cloud.everything_made.append(image)
        return image

    def upload(self, image_id, data):
        self._cloud.image_contents[image_id] = data.read()

    def delete(self, image_id):
        del self._cloud.image_contents[image_id]


class _Volumes:
    def __init__(self, cloud):
        self._cloud = cloud

    def create(
        self,
        size,
        name,
        imageRef=None,
        volume_type=None,
        availability_zone='nova',
    ):
        self._cloud.volume_asked()
        with self._cloud.thinks_of_volume():
            return self._create(
                size, name, imageRef, volume_type, availability_zone
            )

    def _create(self, size, name, image, volume_type, availability_zone):
        if len(self._cloud.volumes_by_id) >= self._cloud.most_volumes:
            raise cinder_exceptions.OverLimit(413, 'VolumeLimitExceeded')
        volume = types.SimpleNamespace(
            availability_zone=availability_zone,
            id=next(self._cloud.ids),
            size=size,
            name=name,
            image=image,
            volume_type=volume_type,
            status='creating',
            servers=set(),
        )
        self._cloud.volumes_by_id[volume.id] = volume
        self._cloud.everything_made.append(volume)
        return volume

    def get(self, volume_id):
        if volume_id not in self._cloud.volumes_by_id:
            raise cinder_exceptions.NotFound(404)
        volume = self._cloud.volumes_by_id[volume_id]
        if volume.status == 'creating':
            names = self._cloud.types_of_volumes.get(volume.image)
            if names:
                volume.volume_type = names.pop(0)
            volume.status = (
                'error'
                if volume.image in self._cloud.failing_images
                else 'available'
            )
        return volume

    def delete(self, volume_id):
        with self._cloud.thinks_of_volume():
            self._cloud.delete_volume(self.get(volume_id))


def _jobs(userdata):
    """{slot: name of its fio job}; a repeat names the slot of the first."""
    found = {
        int(slot): name
        for slot, name in re.findall(
            r"^CT_FIO_(\d+)='[^']*?^--name=([\w.-]+)", userdata, re.MULTILINE
        )
    }
    found.update(
        (int(slot), found[int(first)])
        for slot, first in re.findall(
            r'^CT_FIO_(\d+)=\$CT_FIO_(\d+)$', userdata, re.MULTILINE
        )
    )
    return found


def _recording(_guest, _slot, job, volumes):
    """What fio printed once, as if the job had been called so.

    :param volumes: on how many data volumes it runs, each with a job
    """
    name = job.partition('.g')[0]
    text = recorded.text(name).replace(
        f'"{name}"'.encode(), f'"{job}"'.encode()
    )
    if volumes < 2:
        return text
    document = json.loads(text)
    document['jobs'] *= volumes
    return json.dumps(document).encode()


class _ServerGroups:
    def __init__(self, cloud):
        self._cloud = cloud

    def create(self, name, policies):
        assert policies == 'soft-anti-affinity'
        if len(self._cloud.groups_by_id) >= self._cloud.group_quota:
            raise nova_exceptions.Forbidden(
                403, 'Quota exceeded, too many server groups.'
            )
        group = types.SimpleNamespace(
            id=next(self._cloud.ids), name=name, members=[]
        )
        self._cloud.groups_by_id[group.id] = group
        self._cloud.everything_made.append(group)
        return group

    def get(self, group_id):
        if group_id not in self._cloud.groups_by_id:
            raise nova_exceptions.NotFound(404)
        return self._cloud.groups_by_id[group_id]

    def delete(self, group_id):
        self.get(group_id)
        del self._cloud.groups_by_id[group_id]


class _Attachments:
    """Disks of servers that run; guests that are kept find orders there."""

    def __init__(self, cloud):
        self._cloud = cloud

    def create_server_volume(self, server_id, volume_id):
        volume = self._cloud.volumes_by_id[volume_id]
        server = self._cloud.servers_by_id[server_id]
        if volume.status != 'available':
            raise nova_exceptions.BadRequest(400, f'it is {volume.status}')
        volume.status = 'in-use'
        volume.servers.add(server_id)
        units = _units(self._cloud.image_contents[volume.image])
        if server.keeps and units:
            self._carry_out(server.start_volume, units)

    def _carry_out(self, start_volume, units):
        # Their clocks begin where those of the recorded guests do.
        self._cloud.readings = 0
        for server in self._cloud.servers_by_id.values():
            if server.start_volume is start_volume:
                text = units[int(server.orders['CT_INDEX'])]
                server.orders, server.jobs = _orders(text), _jobs(text)
                server.lines = None

    def delete_server_volume(self, server_id, volume_id):
        volume = self._cloud.volumes_by_id[volume_id]
        volume.servers.remove(server_id)
        volume.status = 'available'


def _units(content):
    """Scripts of all guests, as guest/keep.sh reads them."""
    size = next_orders.UNIT_BYTES
    if not content.startswith(b'ORDERS '):
        return []
    return [
        content[at : at + size].decode()
        for at in range(size, len(content), size)
    ]


def _orders(userdata):
    return dict(
        re.findall(r"^(CT_\w+)='?([^'\n]*)'?$", userdata, re.MULTILINE)
    )


class _Servers:
    def __init__(self, cloud, version):
        self._cloud = cloud
        self._version = tuple(int(part) for part in version.split('.'))

    def create(
        self,
        name,
        image,
        flavor,
        *,
        block_device_mapping_v2,
        nics,
        userdata,
        config_drive,
        **options,
    ):
        self._cloud.asked_at_once(+1)
        time.sleep(self._cloud.seconds_per_create)
        with self._cloud.one_request:
            self._cloud.asked_at_once(-1)
            return self._create(
                name,
                image,
                flavor,
                block_device_mapping_v2=block_device_mapping_v2,
                nics=nics,
                userdata=userdata,
                config_drive=config_drive,
                **options,
            )

    def _create(
        self,
        name,
        image,
        flavor,
        *,
        block_device_mapping_v2,
        nics,
        userdata,
        config_drive,
        scheduler_hints=None,
        key_name=None,
        security_groups=(),
        availability_zone='nova',
    ):
        assert image is None and flavor
        # without a network a guest finds user data nowhere else
        assert config_drive or nics != 'none'
        if len(self._cloud.servers_by_id) >= self._cloud.most_servers:
            raise nova_exceptions.Forbidden(
                403, 'Quota exceeded for instances'
            )
        networks = [] if nics == 'none' else [nic['net-id'] for nic in nics]
        if not set(networks) <= set(self._cloud.networks):
            raise nova_exceptions.BadRequest(400, 'there is no such network')
        server = types.SimpleNamespace(
            id=next(self._cloud.ids),
            name=name,
            status='BUILD',
            readings=0,
            lines=None,
            boots_from=[],
            data=[],
            hostId='',
            availability_zone=availability_zone,
            orders=_orders(userdata),
            keeps='CT_KEEP=yes' in userdata,
            start_volume=None,
            jobs=_jobs(userdata),
            key_name=key_name,
            config_drive=config_drive,
            security_groups=list(security_groups),
            addresses={
                f'name of {network}': [
                    {'addr': self._cloud.networks[network], 'version': 4}
                ]
                for network in networks
            },
        )
        # Before all that Nova may refuse later: they stay so.
        for device in block_device_mapping_v2:
            self._reserve(self._cloud.volumes_by_id[device['uuid']])
        server.hostId = self._host(server, scheduler_hints)
        for device in block_device_mapping_v2:
            volume = self._cloud.volumes_by_id[device['uuid']]
            volume.servers.add(server.id)
            if device['boot_index'] == 0:
                server.boots_from.append(volume)
            elif volume.id in server.orders['CT_TARGET_SERIALS'].split():
                server.data.append(volume)
            else:
                server.start_volume = volume
        self._cloud.servers_by_id[server.id] = server
        self._cloud.most_in_build = max(
            self._cloud.most_in_build,
            sum(
                each.status == 'BUILD'
                for each in self._cloud.servers_by_id.values()
            ),
        )
        self._cloud.everything_made.append(server)
        folder = self._cloud.guests_keep.get(server.orders['CT_GUEST'])
        if folder:
            (folder / 'log').write_text(''.join(self._lines(server)))
        return server

    def _host(self, server, scheduler_hints):
        if not scheduler_hints:
            return self._cloud.hosts[0]
        members = self._cloud.groups_by_id[scheduler_hints['group']].members
        most = self._cloud.limits['maxServerGroupMembers']
        if 0 <= most <= len(members):
            raise nova_exceptions.Forbidden(
                403, 'Quota exceeded, too many servers in group.'
            )
        members.append(server.id)
        return self._cloud.hosts[(len(members) - 1) % len(self._cloud.hosts)]

    def _reserve(self, volume):
        shared = volume.volume_type in self._cloud.multiattach_types
        if shared and self._version < (2, 60):
            raise nova_exceptions.BadRequest(400, 'needs microversion 2.60')
        if volume.status not in (
            ('available', 'in-use') if shared else ('available',)
        ):
            raise nova_exceptions.BadRequest(
                400, f'volume is {volume.status}, cannot be reserved'
            )
        volume.status = 'reserved'

    def get(self, server_id):
        if server_id not in self._cloud.servers_by_id:
            raise nova_exceptions.NotFound(404)
        server = self._cloud.servers_by_id[server_id]
        if server.status == 'BUILD':
            server.status = 'ACTIVE'
            for volume in self._cloud.volumes_by_id.values():
                if server_id in volume.servers:
                    volume.status = 'in-use'
        elif (
            server.orders['CT_GUEST'] in self._cloud.guests_stop
            and server.readings > 3
        ):
            server.status = 'SHUTOFF'
        return server

    def delete(self, server_id):
        with self._cloud.one_request:
            self._delete(server_id)

    def _delete(self, server_id):
        if self._cloud.deletes_unanswered:
            self._cloud.deletes_unanswered -= 1
            raise keystone_exceptions.ConnectFailure('no answer')
        self.get(server_id)
        del self._cloud.servers_by_id[server_id]
        for volume in self._cloud.volumes_by_id.values():
            volume.servers.discard(server_id)
            if not volume.servers and volume.status == 'in-use':
                volume.status = 'available'

    def get_console_output(self, server_id):
        """More with every reading; the first one finds no console yet."""
        with self._cloud.one_request:
            return self._console(server_id)

    def _console(self, server_id):
        server = self.get(server_id)
        server.readings += 1
        self._cloud.readings += 1
        if server.readings == 1:
            raise nova_exceptions.Conflict(409, 'not ready')
        if server.lines is None:
            server.lines = self._lines(server)
        lines = server.lines
        if server.orders['CT_RESULTS'] == 'kept':
            lines = [line for line in lines if ' data ' not in line]
        now_ms = 1000 * (
            self._cloud.clock()
            - self._cloud.guests_behind.get(server.orders['CT_GUEST'], 0)
        )
        found = ''
        for line in lines:
            told = _TIME.findall(line)
            if told and int(told[-1]) > now_ms:
                break
            found += line
        return found

    def _lines(self, server):
        found = server.orders
        guest = found['CT_GUEST']
        slots = [
            [int(number) for number in words.split(':')]
            for words in found['CT_SLOTS'].split()
        ]
        lines = console_text.whole_run(
            [
                (
                    slot,
                    begin_seconds * 1000,
                    self._cloud.sent(
                        guest, slot, server.jobs[slot], len(server.data)
                    ),
                )
                for slot, begin_seconds, _seconds in slots
            ],
            guest=guest,
            run=found['CT_RUN'],
            slot_ms=self._cloud.slot_ms,
        )
        if found['CT_START_BY'] == 'clock':
            lines[3] = console_text.event(
                4,
                'GO start=50000 offset=200 samples=0 by=clock'
                f' reading=10000 {self._cloud.clocks}',
                guest=guest,
                run=found['CT_RUN'],
            )
        elif found['CT_INDEX'] == '0':
            lines.insert(
                3,
                console_text.event(
                    90, 'LEADING missing=-', guest=guest, run=found['CT_RUN']
                ),
            )
        return self._cloud.guests_do.get(guest, lambda same: same)(lines)
