# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A cloud in memory: images, volumes, servers and their consoles.

Only what a fleet uses, and as unforgiving there as the real services are:
a multi-attach volume is reserved until its server is up, a volume in use
cannot be deleted, guests without a network must say so.  What a guest prints
is made from the orders in its user data.
"""

import itertools
import re
import types

from cinderclient import exceptions as cinder_exceptions
from novaclient import exceptions as nova_exceptions

from tests.unit.bench import recorded
from tests.unit.guest import console_text

_LINES_PER_READING = 12


class Cloud:
    """State of all services.

    :ivar guests_do: {guest name: function that changes its console lines}
    :ivar guests_stop: names of guests whose servers stop after a while
    """

    def __init__(self, images, multiattach_types):
        self.images_by_name = images
        self.multiattach_types = multiattach_types
        self.guests_do = {}
        self.guests_stop = set()
        self.failing_images = set()
        self.ids = (f"{number:08d}-0000-4000-8000-000000000000"
                    for number in itertools.count(1))
        self.volumes_by_id = {}
        self.servers_by_id = {}
        self.everything_made = []

    def clients(self):
        return types.SimpleNamespace(
            glance=lambda: types.SimpleNamespace(images=_Images(self)),
            cinder=lambda: types.SimpleNamespace(volumes=_Volumes(self)),
            nova=lambda version="2": types.SimpleNamespace(
                servers=_Servers(self, version)))


class _Images:

    def __init__(self, cloud):
        self._cloud = cloud

    def list(self, filters):
        assert filters.pop("status") == "active"
        return [types.SimpleNamespace(id=image_id, name=name)
                for name, image_ids in self._cloud.images_by_name.items()
                for image_id in image_ids if name == filters["name"]]


class _Volumes:

    def __init__(self, cloud):
        self._cloud = cloud

    def create(self, size, name, imageRef=None, volume_type=None):
        volume = types.SimpleNamespace(
            id=next(self._cloud.ids), size=size, name=name, image=imageRef,
            volume_type=volume_type, status="creating", servers=set())
        self._cloud.volumes_by_id[volume.id] = volume
        self._cloud.everything_made.append(volume)
        return volume

    def get(self, volume_id):
        if volume_id not in self._cloud.volumes_by_id:
            raise cinder_exceptions.NotFound(404)
        volume = self._cloud.volumes_by_id[volume_id]
        if volume.status == "creating":
            volume.status = ("error" if volume.image
                             in self._cloud.failing_images else "available")
        return volume

    def delete(self, volume_id):
        if self.get(volume_id).status not in ("available", "error"):
            raise cinder_exceptions.BadRequest(400, "volume is in use")
        del self._cloud.volumes_by_id[volume_id]


class _Servers:

    def __init__(self, cloud, version):
        self._cloud = cloud
        self._version = tuple(int(part) for part in version.split("."))

    def create(self, name, image, flavor, *, block_device_mapping_v2, nics,
               userdata, config_drive):
        assert image is None and config_drive is True and flavor
        if nics != "none":
            raise nova_exceptions.BadRequest(400, "there is no network")
        server = types.SimpleNamespace(
            id=next(self._cloud.ids), name=name, status="BUILD", readings=0,
            boots_from=[], orders=dict(re.findall(
                r"^(CT_\w+)='?([^'\n]*)'?$", userdata, re.MULTILINE)))
        for device in block_device_mapping_v2:
            volume = self._cloud.volumes_by_id[device["uuid"]]
            self._reserve(volume)
            volume.servers.add(server.id)
            if device["boot_index"] == 0:
                server.boots_from.append(volume)
        self._cloud.servers_by_id[server.id] = server
        self._cloud.everything_made.append(server)
        return server

    def _reserve(self, volume):
        shared = volume.volume_type in self._cloud.multiattach_types
        if shared and self._version < (2, 60):
            raise nova_exceptions.BadRequest(400, "needs microversion 2.60")
        if volume.status not in (("available", "in-use") if shared
                                 else ("available",)):
            raise nova_exceptions.BadRequest(
                400, f"volume is {volume.status}, cannot be reserved")
        volume.status = "reserved"

    def get(self, server_id):
        if server_id not in self._cloud.servers_by_id:
            raise nova_exceptions.NotFound(404)
        server = self._cloud.servers_by_id[server_id]
        if server.status == "BUILD":
            server.status = "ACTIVE"
            for volume in self._cloud.volumes_by_id.values():
                if server_id in volume.servers:
                    volume.status = "in-use"
        elif (server.orders["CT_GUEST"] in self._cloud.guests_stop
                and server.readings > 3):
            server.status = "SHUTOFF"
        return server

    def delete(self, server_id):
        self.get(server_id)
        del self._cloud.servers_by_id[server_id]
        for volume in self._cloud.volumes_by_id.values():
            volume.servers.discard(server_id)
            if not volume.servers and volume.status == "in-use":
                volume.status = "available"

    def get_console_output(self, server_id):
        """More with every reading; the first one finds no console yet."""
        server = self.get(server_id)
        server.readings += 1
        if server.readings == 1:
            raise nova_exceptions.Conflict(409, "not ready")
        lines = self._lines(server)
        return "".join(lines[:_LINES_PER_READING * (server.readings - 1)])

    def _lines(self, server):
        found = server.orders
        guest = found["CT_GUEST"]
        slots = [int(number) for number in found["CT_SLOTS"].split()]
        seconds = int(found["CT_SLOT_SECONDS"])
        names = ("randwrite-4k", "write-1m")
        lines = console_text.whole_run(
            [(slot, slot * seconds * 100, recorded.text(names[slot % 2]))
             for slot in slots], guest=guest, run=found["CT_RUN"])
        if found["CT_INDEX"] == "0":
            lines.insert(3, console_text.event(
                90, "LEADING missing=-", guest=guest, run=found["CT_RUN"]))
        return self._cloud.guests_do.get(guest, lambda same: same)(lines)
