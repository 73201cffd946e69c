# SPDX-License-Identifier: Apache-2.0
"""Attempts of a tenant that take several requests.

Each is a function of the world that returns outcomes; what they should be is
told by the tests.
"""

import concurrent.futures
import json
import threading

from tests.functional import bypass_cases
from tests.functional import bypasses

LIMITED = bypasses.LIMITED
PRIVATE = bypasses.PRIVATE
Of = bypass_cases.Of
#: As Cinder's threads and the lab's two cores can bear.
CLIENTS = 6
_COLD_IMAGES = 30
#: {what is done: (type, policy, other words of the request)}
RETYPES = {
    'never': ('image-tier', 'never', {}),
    'on_demand': ('image-tier', 'on-demand', {}),
    'other_case': ('IMAGE-TIER ', 'never', {}),
    'method_of_query': (
        'image-tier',
        'never',
        {
            'method': 'PUT',
            'path': '/{project}/volumes/{volume}/action?_method=POST',
        },
    ),
    'without_project': (
        'image-tier',
        'never',
        {'path': '/volumes/{volume}/action'},
    ),
    'private_name': (PRIVATE, 'on-demand', {}),
    'private_id': (Of('id of the private type'), 'on-demand', {}),
}


class Attempts:
    """What a tenant does, and what it needs for that.

    :param world: where it does it.
    """

    def __init__(self, world):
        self.world = world
        self.tenant = world.tenant
        self._limits = {
            name: limit for name, (_, limit) in bypasses.TIERS.items()
        }
        self._things = {}

    def make_images(self):
        """Make the images that the cases name."""
        tenant, types = self.tenant, self.world.types
        like_uuid = bypasses.some_id()
        limited = tenant.image(LIMITED, name='functional-bypass-limited')
        self._things = {
            'limited': limited,
            'private': tenant.image(PRIVATE),
            'plain': tenant.image(),
            'name like a uuid': like_uuid,
            'ID of the limited image': limited.upper(),
            'in:name of the limited image': 'in:functional-bypass-limited',
            'ID of the following type': types[bypasses.FOLLOWS].upper(),
            'id of the private type': types[PRIVATE],
        }
        tenant.image(LIMITED, name=like_uuid)
        tenant.image(LIMITED, name='')

    def make_source(self):
        """Make the volume and the snapshot that the cases name."""
        source = self.volume()
        snapshot = self.tenant.snapshot(source)
        self._things |= {
            'source_volid': source,
            'snapshot_id': snapshot,
            'boot devices': bypasses.boot_devices(snapshot),
            'boot devices, false for 0': bypasses.boot_devices(
                snapshot, boot_index=False
            ),
        }

    def of(self, value):
        """A value of a case, when what it names is there."""
        if isinstance(value, dict):
            return {key: self.of(one) for key, one in value.items()}
        if isinstance(value, bypass_cases.Below):
            return f'/{self.tenant.project}/{value}'
        return self._things[value] if isinstance(value, Of) else value

    def complete(self, outcomes):
        return self.tenant.complete(outcomes, self._limits)

    def volume(self, **request):
        """Make a volume with a limit; return its id."""
        made = self.tenant.create(
            **{'imageRef': self._things['limited'], **request}
        )
        self.tenant.settled(made.volume)
        return made.volume

    def create(self, case):
        """Send the request of a case; return its outcome."""
        request = {'imageRef': Of('limited'), **case.request}
        if case.image:
            tags, properties = case.image
            request['imageRef'] = self.tenant.image(
                *tags, **self.of(properties)
            )
        request = {key: self.of(value) for key, value in request.items()}
        if request['imageRef'] is None:
            del request['imageRef']
        codec = request.pop('codec', None)
        if codec:
            request['data'] = json.dumps(
                {
                    'volume': {
                        'size': 1,
                        'name': 'functional-bypass',
                        **request,
                    }
                },
            ).encode(codec)
        return self.tenant.create(**request)

    def all_creates(self):
        """{name: outcome} of all cases."""
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            sent = dict(
                zip(
                    bypass_cases.CREATES,
                    clients.map(self.create, bypass_cases.CREATES.values()),
                    strict=True,
                )
            )
        self.complete(list(sent.values()))
        return sent

    def all_retypes(self):
        """{name: outcome} of all retypes of a volume with a limit."""

        def retype(row):
            new_type, policy, more = row
            volume = self.volume()
            path = more.get('path')
            if path:
                more = {
                    **more,
                    'path': path.format(
                        project=self.tenant.project, volume=volume
                    ),
                }
            return self.tenant.retype(
                volume, self.of(new_type), policy, **more
            )

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            done = dict(
                zip(
                    RETYPES, clients.map(retype, RETYPES.values()), strict=True
                )
            )
        self.complete(list(done.values()))
        return done

    def without_fallback(self):
        """D3: nothing says where such volumes go."""
        with self.world.no_fallback():
            return self.complete(
                [
                    self.tenant.create(**request)
                    for request in (
                        {},
                        {'volume_type': 'image-tier'},
                        {'imageRef': self._things['plain']},
                        {'imageRef': self._things['private']},
                    )
                    * 2
                ]
            )

    def image_changed(self, name, value):
        """The image lost a property since a door read it."""
        image = self.tenant.image(LIMITED, **{name: self.of(value)})
        self.tenant.create(imageRef=image)
        self.tenant.change_image(image, {'op': 'remove', 'path': f'/{name}'})
        return self.complete(
            [self.tenant.create(imageRef=image) for _ in range(3)]
        )

    def image_changes(self):
        """The image names a missing snapshot every now and then.

        Cinder answers 404 to that, as it does for a missing volume type.
        """
        image = self.tenant.image(LIMITED)
        path = '/block_device_mapping'
        stop = threading.Event()

        def change():
            while not stop.is_set():
                self.tenant.change_image(
                    image,
                    {
                        'op': 'add',
                        'path': path,
                        'value': bypasses.boot_devices(bypasses.some_id()),
                    },
                )
                self.tenant.change_image(image, {'op': 'remove', 'path': path})

        thread = threading.Thread(target=change)
        thread.start()
        try:
            made = [
                self.tenant.create(imageRef=image, version=version)
                for version in ('3.0', '3.71') * 10
            ]
        finally:
            stop.set()
            thread.join()
        return self.complete(made)

    def follow_image_of_metadata(self, tag, made_of):
        """Write another image into a volume, and have it follow that.

        If it moves, that takes as long as many creates: the outcome is not
        complete.

        :param tag: of the other image
        :param made_of: the image that the volume is made of
        """
        image = self.tenant.image(tag)
        volume = self.volume(imageRef=self._things[made_of])
        self.tenant.act(
            volume, 'os-set_image_metadata', {'metadata': {'image_id': image}}
        ).raise_for_status()
        return self.tenant.retype(volume, 'image-tier', 'on-demand')

    def cold_images(self):
        """D6: many images at once that no door has seen."""
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            images = list(
                clients.map(
                    lambda _: self.tenant.image(LIMITED), range(_COLD_IMAGES)
                )
            )
        with concurrent.futures.ThreadPoolExecutor(_COLD_IMAGES) as clients:
            return self.complete(
                list(
                    clients.map(
                        lambda image: self.tenant.create(imageRef=image),
                        images,
                    )
                )
            )

    def other_zone(self):
        """D7: no tier has a backend in the zone, but Cinder has."""
        images = map(self._things.get, ('plain', 'limited', 'private'))
        return self.complete(
            [
                self.tenant.create(availability_zone=bypasses.FAR_ZONE, **more)
                for more in ({}, *({'imageRef': image} for image in images))
            ]
        )

    def image_appears(self):
        """D8: Glance lets a client choose the id of its image."""
        ident = bypasses.some_id()
        before = self.tenant.create(imageRef=ident)
        self.tenant.image(LIMITED, ident=ident)
        return self.complete([before, self.tenant.create(imageRef=ident)])

    def unknown_images(self):
        """D8: ids that no image has."""
        return [
            self.tenant.create(imageRef=bypasses.some_id()) for _ in range(3)
        ]

    def restores(self):
        """A backup makes a volume without any create."""
        path = f'/{self.tenant.project}/backups'
        made = self.tenant.ask(
            'POST',
            path,
            body={
                'backup': {
                    'volume_id': self.volume(),
                    'name': 'functional-bypass',
                }
            },
        )
        made.raise_for_status()
        path = f'{path}/{made.json()["backup"]["id"]}'
        self._wait_for_backup(path)
        restored = self.tenant.outcome(
            self.tenant.ask('POST', f'{path}/restore', body={'restore': {}})
        )
        self._wait_for_backup(path)
        return self.complete([restored])

    def _wait_for_backup(self, path):
        self.world.wait_while(
            lambda: (
                self.tenant.ask('GET', path).json()['backup']['status']
                not in ('available', 'error')
            )
        )

    def groups(self):
        """A volume in a group whose type follows the image."""
        path = f'/{self.tenant.project}/groups'
        found = []
        for named, used in (
            ('image-tier', 'image-tier'),
            ('IMAGE-TIER ', 'image-tier'),
            (PRIVATE, PRIVATE),
            (PRIVATE, 'image-tier'),
        ):
            answer = self.tenant.ask(
                'POST',
                path,
                body={
                    'group': {
                        'name': 'functional-bypass',
                        'volume_types': [named],
                        'group_type': self.world.group_type,
                    }
                },
            )
            if not answer.ok:
                found.append(
                    bypasses.Outcome(
                        http_status=answer.status_code, text=answer.text
                    )
                )
                continue
            group = answer.json()['group']['id']
            self.world.wait_while(
                lambda group=group: (
                    self.tenant.ask('GET', f'{path}/{group}').json()['group'][
                        'status'
                    ]
                    == 'creating'
                )
            )
            found.append(
                self.tenant.create(
                    group_id=group,
                    volume_type=used,
                    imageRef=self._things['limited'],
                )
            )
        return self.complete(found)

    def transfer(self):
        """A project that may use the private tier gives a volume away."""
        other, tenant = self.world.other, self.tenant
        made = other.create(imageRef=other.image(PRIVATE))
        other.settled(made.volume)
        offer = other.ask(
            'POST',
            f'/{other.project}/os-volume-transfer',
            body={'transfer': {'volume_id': made.volume}},
        )
        offer.raise_for_status()
        offer = offer.json()['transfer']
        answer = tenant.ask(
            'POST',
            f'/{tenant.project}/os-volume-transfer/{offer["id"]}/accept',
            body={'accept': {'auth_key': offer['auth_key']}},
        )
        return [
            bypasses.Outcome(http_status=answer.status_code, text=answer.text)
        ]

    def key_of_image(self):
        """D5: the image is encrypted, the tier is not."""
        return self.complete(
            [
                self.tenant.create(
                    imageRef=self.tenant.image(
                        LIMITED,
                        cinder_encryption_key_id=bypasses.some_id(),
                        cinder_encryption_key_deletion_policy='do_not_delete',
                    )
                )
            ]
        )

    def type_of_image_without_glance(self):
        """D5: Glance fails for the doors, not for Cinder."""
        image = self.tenant.image(LIMITED, cinder_img_volume_type='archive')
        with self.world.glance_failing():
            return self.complete([self.tenant.create(imageRef=image)])
