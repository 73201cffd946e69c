# SPDX-License-Identifier: Apache-2.0
"""Volumes of the lab, and what tests do with them as a client does."""

import base64
import contextlib
import hashlib
import subprocess
import time

from cinderclient import client as cinder_client
from cinderclient import exceptions

from tests.functional import lab

#: A volume that stays in any other status is stuck.
SETTLED = ('available', 'error', 'in-use')
HOST = 'cinder-tiers-lab@{0}#{0}'


#: Cinder's settings that close a door of ours; {venv} is where Cinder is.
API_DOOR_CLOSED = """[DEFAULT]
api_paste_config = {venv}/etc/cinder/api-paste.ini
"""
SCHEDULER_DOOR_CLOSED = (
    '[DEFAULT]\nscheduler_default_weighers = CapacityWeigher\n'
    'scheduler_default_filters = AvailabilityZoneFilter,CapacityFilter,'
    'CapabilitiesFilter\n'
)


class VolumesTestCase(lab.LabTestCase):
    """Makes types, images and volumes, and removes them in good order.

    Volumes are of a member, what only administrators may do is theirs.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(
            lab.remove_what_cinder_left, lab.user_environment()
        )

    def setUp(self):
        super().setUp()
        self.admin = lab.connect(self.environment, lab.ADMIN)
        self.member = lab.connect(self.environment, lab.MEMBER)
        self.cinder = cinder_client.Client('3.70', session=self.admin.session)
        self.cinder_of_member = cinder_client.Client(
            '3.70', session=self.member.session
        )

    def wait_while(self, ask, timeout_s=180):
        """Ask until the answer is false; fail with the last one."""
        deadline = time.monotonic() + timeout_s
        while answer := ask():
            if time.monotonic() > deadline:
                self.fail(f'after {timeout_s} s still {answer}')
            time.sleep(0.5)

    def make_type(self, what, extra_specs):
        """Make a volume type; return its name, which is also its tag.

        :param extra_specs: {key: value}; NAME in a value is that name.
        """
        name = self.unique_name(what)
        made = self.cinder.volume_types.create(name)
        self.addCleanup(self.cinder.volume_types.delete, made)
        if extra_specs:
            made.set_keys(
                {
                    key: value.replace('NAME', name)
                    for key, value in extra_specs.items()
                }
            )
        return name

    def make_tier(self, what, backend, **more):
        """Make a tier of which nothing is but its volume type.

        :param backend: what serves it: a value of volume_backend_name.
        :param more: other keys in the scope tiers:.
        """
        return self.make_type(
            what,
            {
                'volume_backend_name': backend,
                'tiers:name': 'NAME',
                'tiers:tags': 'NAME',
                'tiers:priority': '99',
                **{f'tiers:{key}': value for key, value in more.items()},
            },
        )

    def make_broken_tier(self):
        """Make a tier on which Cinder's matching raises an IndexError."""
        return self.make_type(
            'broken',
            {
                'volume_backend_name': 'tier-general',
                'storage_protocol': '<or>',
                'tiers:name': 'NAME',
                'tiers:tags': 'NAME',
                'tiers:priority': '99',
            },
        )

    def make_image(self, *tags):
        """Make a private image of the member; return its id."""
        image = self.member.image.create_image(
            name=self.unique_name('image'),
            data=bytes(2**20),
            disk_format='raw',
            container_format='bare',
            tags=list(tags),
        )
        self.addCleanup(self.member.image.delete_image, image.id)
        return image.id

    def image_of_lab(self, name):
        """Return the id of a public image."""
        return self.member.image.find_image(name, ignore_missing=False).id

    def make_volume(self, *, size_gib=1, **options):
        """Request a volume as the member; return it when it is settled.

        :param options: as cinderclient's volumes.create takes them.
        """
        made = self.cinder_of_member.volumes.create(
            size_gib, name=self.unique_name('volume'), **options
        )
        self.addCleanup(self.remove, self.cinder.volumes, made.id)
        return self.settled(made.id)

    def boot(self, volumes, script='#!/bin/sh\n'):
        """Request a server that boots from the first of some volumes.

        :param script: shell script that its guest runs when it boots.
        :returns: as Nova answers.
        """
        nova = self.member.compute
        server = nova.create_server(
            name=self.unique_name('server'),
            networks='none',
            flavor_id=nova.find_flavor('cinder-tiers-guest').id,
            config_drive=True,
            user_data=base64.b64encode(script.encode()).decode(),
            block_device_mapping=[
                {
                    'boot_index': -1 if place else 0,
                    'uuid': volume,
                    'source_type': 'volume',
                    'destination_type': 'volume',
                }
                for place, volume in enumerate(volumes)
            ],
        )
        self.addCleanup(nova.wait_for_delete, server, wait=300)
        # Also one that is locked.
        self.addCleanup(self.admin.compute.delete_server, server)
        return server

    def make_snapshot(self, volume):
        """Take a snapshot; return it when it is settled."""
        made = self.cinder_of_member.volume_snapshots.create(volume)
        self.addCleanup(self.remove, self.cinder.volume_snapshots, made.id)
        self.wait_while(
            lambda: (
                self.cinder.volume_snapshots.get(made.id).status == 'creating'
            )
        )
        return self.cinder.volume_snapshots.get(made.id)

    def remove(self, manager, resource):
        """Delete something, unless it is gone, and wait until it is."""
        with contextlib.suppress(exceptions.NotFound):
            getattr(manager, 'force_delete', manager.delete)(resource)
        self.wait_while(
            lambda: (
                resource
                in {
                    found.id
                    for found in manager.list(search_opts={'all_tenants': 1})
                }
            )
        )

    def make_group(self, volume_type):
        """Make a group for volumes of a type; return its id.

        It is removed with its volumes.
        """
        kind = self.cinder.group_types.create(self.unique_name('group-type'))
        self.addCleanup(self.cinder.group_types.delete, kind)
        group = self.cinder_of_member.groups.create(
            kind.id, volume_type, name=self.unique_name('group')
        ).id
        self.addCleanup(self.remove_group, group)
        self.wait_while(
            lambda: self.cinder.groups.get(group).status == 'creating'
        )
        self.assertEqual('available', self.cinder.groups.get(group).status)
        return group

    def remove_group(self, group):
        self.cinder.groups.delete(group, delete_volumes=True)
        self.wait_while(
            lambda: (
                group
                in {
                    found.id
                    for found in self.cinder.groups.list(
                        search_opts={'all_tenants': 1}
                    )
                }
            )
        )

    def settled(self, volume):
        """The volume, as an administrator sees it, once it has settled."""
        self.wait_while(
            lambda: [
                status
                for status in (self.cinder.volumes.get(volume).status,)
                if status not in SETTLED
            ]
        )
        return self.cinder.volumes.get(volume)

    def place_of(self, volume):
        """(status, volume type, pool in Ceph) of a volume."""
        seen = self.settled(volume)
        self.wait_while(lambda: lab.holders(self.environment)[volume][1:])
        return (
            seen.status,
            seen.volume_type,
            *(lab.holders(self.environment)[volume] or [None]),
        )

    def migrate(self, volume, backend):
        """Ask for a migration; return the volume when that has ended."""
        self.cinder.volumes.migrate_volume(
            volume,
            HOST.format(backend),
            force_host_copy=False,
            lock_volume=False,
        )
        self.wait_while(
            lambda: (
                getattr(
                    self.cinder.volumes.get(volume),
                    'os-vol-mig-status-attr:migstat',
                )
                in ('starting', 'migrating', 'completing')
            )
        )
        return self.settled(volume)

    def retype(self, volume, volume_type):
        """Ask for another type, moving data; return the settled volume."""
        self.cinder.volumes.retype(volume, volume_type, 'on-demand')
        return self.settled(volume)

    def assert_worked_on(self, volume, volume_type, pool):
        """Extend, snapshot, clone: all of it where the volume is."""
        self.cinder_of_member.volumes.extend(volume, 2)
        self.assertEqual(
            ('available', 2),
            (self.settled(volume.id).status, self.settled(volume.id).size),
        )
        snapshot = self.make_snapshot(volume.id)
        self.assertEqual('available', snapshot.status)
        expected = ('available', volume_type, pool)
        for origin in (
            {'snapshot_id': snapshot.id},
            {'source_volid': volume.id},
        ):
            self.assertEqual(
                expected,
                self.place_of(self.make_volume(size_gib=2, **origin).id),
            )
        self.assertEqual(expected, self.place_of(volume.id))

    def sum_of(self, tier, volume):
        """SHA-256 of all bytes of a volume."""
        with subprocess.Popen(
            ('rbd', 'export', '--no-progress')
            + (f'tier-{tier}/volume-{volume}', '-'),
            stdout=subprocess.PIPE,
            env=self.environment,
        ) as export:
            found = hashlib.file_digest(export.stdout, 'sha256').hexdigest()
        self.assertEqual(0, export.returncode)
        return found
