# SPDX-License-Identifier: Apache-2.0

"""What a tenant, and an administrator, may send to cinder-api.

Each step is plain values with a `perform`, which sends its requests in a
`Play` and says what came of them. Text that names a volume type is '@NAME'
for its id, '@@NAME' for that in upper case. Must not know what should come of
a step.
"""

import dataclasses
import json
import typing
import uuid

from hypothesis import strategies

from tests.unit.invariants import services
from tests.unit.invariants import world as worlds

#: One of each schema of a create, and of each rule that came without one.
VERSIONS = (
    None,
    '3.12',
    '3.13',
    '3.45',
    '3.46',
    '3.47',
    '3.52',
    '3.53',
    '3.60',
    '3.61',
    '3.71',
)
_SNAPSHOT = {'source_type': 'snapshot', 'boot_index': 0}
#: Values of the property `block_device_mapping`; '#' is the id of a snapshot
#: of the project.
BLOCK_DEVICES = (
    json.dumps([{**_SNAPSHOT, 'snapshot_id': '#'}]),
    json.dumps([{**_SNAPSHOT, 'snapshot_id': str(uuid.UUID(int=7))}]),
    json.dumps([{**_SNAPSHOT, 'snapshot_id': None}]),
    json.dumps([{**_SNAPSHOT, 'boot_index': False, 'snapshot_id': '#'}]),
    json.dumps([{**_SNAPSHOT, 'boot_index': 0.0, 'snapshot_id': '#'}]),
    json.dumps([{**_SNAPSHOT, 'boot_index': '0'}]),
    json.dumps([{'boot_index': 0}, {**_SNAPSHOT, 'snapshot_id': '#'}]),
    json.dumps({**_SNAPSHOT, 'snapshot_id': '#'}),
    '[]',
    '{}',
    'null',
    '[[',
    '[null]',
    '"snapshot"',
)
#: Values that some schema lets pass, and Cinder takes for nothing, or ignores.
ODD = tuple(
    (key, value)
    for key, values in {
        'source_replica': ('x', 0),
        'backup_id': (0, False, [], {}, '', 'x'),
        'group_id': (0, '', False),
        'consistencygroup_id': ('', 0),
        'snapshot_id': (None, ''),
        'source_volid': (None, ''),
        'image_id': (None, ''),
        'volume_type': (None, '', 0, []),
        'multiattach': (False, 'false'),
        'scheduler_hints': ({}, 'x'),
        'size': ('1', 1.0),
        'unknown': (1,),
        'imageRef': ('',),
    }.items()
    for value in values
)
TYPES = (
    'image-tier',
    'IMAGE-TIER',
    'image-tier ',
    ' image-tier',
    '@image-tier',
    '@@image-tier',
    'image-private',
    '@image-private',
    'image-multi',
    'image-luks',
    'plain',
    worlds.UNBOUND,
    worlds.SLIP,
    'luks',
    'database',
    '@database',
    'premium',
    '@premium',
    'PREMIUM',
    'general',
    'fresh',
    '@fresh',
    'missing',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Image:
    """An image in Glance."""

    tags: tuple[str, ...] = ()
    #: Whether the project owns it that creates from it.
    is_own: bool = True
    visibility: str = 'private'
    #: Property cinder_img_volume_type.
    volume_type: str | None = None
    block_devices: str | None = None
    #: Property cinder_encryption_key_id.
    brings_key: bool = False
    #: Its name looks like an id.
    is_named_as_id: bool = False
    is_encoded: bool = True

    def add(self, play):
        """Put it into Glance; the text that names it."""
        properties = {}
        if self.volume_type is not None:
            properties['cinder_img_volume_type'] = self.volume_type
        if self.brings_key:
            properties['cinder_encryption_key_id'] = services.KEY
        if self.block_devices is not None:
            text = self.block_devices
            if '#' in text:
                text = text.replace('#', play.given_snapshot())
            properties['block_device_mapping'] = (
                text if self.is_encoded else json.loads(text)
            )
        if self.is_named_as_id:
            properties['name'] = uuid.uuid4().hex
        ident = play.cloud.glance.add_image(
            *self.tags,
            visibility=self.visibility,
            owner=play.project if self.is_own else 'f' * 32,
            **properties,
        )
        play.image_id = ident
        return properties.get('name', ident)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Create:
    """POST /volumes."""

    #: image (if there is one), blank, volume, snapshot, backup or current (a
    #: clone of it).
    source: str = 'image'
    volume_type: str | None = None
    version: str | None = '3.71'
    zone: str | None = None
    #: Value of the key in its metadata that may count; None: none are sent.
    metadata: object = None
    #: (key, value) of the volume, whatever else is there.
    odd: tuple = ()
    #: How the image is named: id, key (by image_id) or url.
    image_by: str = 'id'
    is_admin: bool = False

    def perform(self, play):
        return play.post(
            'volumes',
            {'volume': self.body(play)},
            version=self.version,
            is_admin=self.is_admin,
        )

    def body(self, play):
        """The volume that is asked for."""
        volume = {'size': 1}
        if self.source == 'image' and play.image is not None:
            ref = play.image_ref()
            volume['image_id' if self.image_by == 'key' else 'imageRef'] = (
                f'http://glance/images/{ref}'
                if self.image_by == 'url'
                else ref
            )
        elif self.source == 'current':
            if play.current:
                volume['source_volid'] = play.current
        elif self.source not in ('blank', 'image'):
            key = {'volume': 'source_volid'}.get(
                self.source, f'{self.source}_id'
            )
            volume[key] = getattr(play, f'given_{self.source}')()
        if self.volume_type is not None:
            volume['volume_type'] = play.type_text(self.volume_type)
        if self.zone is not None:
            volume['availability_zone'] = self.zone
        if self.metadata is not None:
            volume['metadata'] = {worlds.METADATA_KEY: self.metadata}
        volume.update(
            {
                key: value
                for key, value in self.odd
                if value is not None or key not in volume
            }
        )
        return volume


@dataclasses.dataclass(frozen=True, kw_only=True)
class Given:
    """A volume that was there before the doors were."""

    volume_type: str = 'database'
    has_image: bool = True

    def perform(self, play):
        play.current = play.given_volume(
            self.volume_type, has_image=self.has_image
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Retype:
    """os-retype of the current volume."""

    new_type: str = 'image-tier'
    policy: str = 'never'
    is_admin: bool = False

    def perform(self, play):
        return play.act(
            {
                'os-retype': {
                    'new_type': play.type_text(self.new_type),
                    'migration_policy': self.policy,
                }
            },
            is_admin=self.is_admin,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Migrate:
    """os-migrate_volume of the current volume, by an administrator."""

    is_admin: typing.ClassVar[bool] = True
    backend: str = 'premium'

    def perform(self, play):
        return play.act(
            {
                'os-migrate_volume': {
                    'host': play.cloud.world.host_of(self.backend)
                }
            },
            is_admin=True,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SetImage:
    """os-set_image_metadata: what it was made from is another image now."""

    #: The image of the example, or one that there is not.
    is_image: bool = True

    def perform(self, play):
        return play.act(
            {
                'os-set_image_metadata': {
                    'metadata': {
                        'image_id': play.image_ref()
                        if self.is_image
                        else str(uuid.UUID(int=9))
                    }
                }
            }
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SetMetadata:
    """POST /volumes/ID/metadata, of the current volume."""

    metadata: object = 'premium'

    def perform(self, play):
        return play.post(
            f'volumes/{play.current}/metadata',
            {'metadata': {worlds.METADATA_KEY: self.metadata}},
            answers=None,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extend:
    """os-extend of the current volume."""

    def perform(self, play):
        return play.act({'os-extend': {'new_size': 2}})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transfer:
    """The current volume becomes the other project's, which goes on."""

    def perform(self, play):
        status, answer = play.post(
            'volume-transfers',
            {'transfer': {'volume_id': play.current or str(uuid.UUID(int=8))}},
            version='3.71',
            answers='transfer',
        )
        if status == 202:
            play.project = (
                worlds.OTHER
                if play.project == worlds.ENTITLED
                else worlds.ENTITLED
            )
            status, answer = play.post(
                f'volume-transfers/{answer["transfer"]["id"]}/accept',
                {'accept': {'auth_key': answer['transfer']['auth_key']}},
                version='3.71',
                answers='transfer',
            )
        return status, answer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Restore:
    """A backup is restored to a new volume."""

    def perform(self, play):
        return play.post(
            f'backups/{play.given_backup()}/restore',
            {'restore': {}},
            answers='restore',
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Group:
    """A group, and a volume of its first type in it."""

    volume_types: tuple[str, ...] = ('image-tier',)
    #: As of `Create`, of the volume.
    metadata: object = None

    def perform(self, play):
        names = [play.type_text(name) for name in self.volume_types]
        metadata = (
            {}
            if self.metadata is None
            else {'metadata': {worlds.METADATA_KEY: self.metadata}}
        )
        status, answer = play.post(
            'groups',
            {'group': {'group_type': 'any', 'volume_types': names}},
            version='3.71',
            answers='group',
        )
        if status != 202:
            return status, answer
        return play.post(
            'volumes',
            {
                'volume': {
                    'size': 1,
                    'group_id': answer['group']['id'],
                    'volume_type': names[0],
                    **metadata,
                }
            },
            version='3.71',
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manage:
    """An administrator puts a volume on a backend under Cinder's care."""

    backend: str = 'plain'
    volume_type: str = 'image-tier'
    is_admin = True

    def perform(self, play):
        return play.post(
            'manageable_volumes',
            {
                'volume': {
                    'host': play.cloud.world.host_of(self.backend),
                    'volume_type': self.volume_type,
                    'ref': {'source-name': 'any'},
                }
            },
            version='3.71',
            is_admin=True,
        )


def _mostly(usual, others):
    return strategies.sampled_from([usual] * (len(others) + 1) + [*others])


IMAGES = strategies.builds(
    Image,
    tags=strategies.lists(
        strategies.sampled_from(
            (*worlds.TAGS, ' Premium ', 'DATABASE', 'other', '', 'a,premium')
        ),
        max_size=2,
        unique=True,
    ).map(tuple),
    is_own=_mostly(True, [False]),
    visibility=_mostly('private', ['public', 'shared', 'community']),
    volume_type=_mostly(
        None,
        [
            'luks',
            'plain',
            'image-tier',
            'premium',
            'LUKS',
            'missing',
            'image-luks',
            '',
        ],
    ),
    block_devices=_mostly(None, BLOCK_DEVICES),
    is_encoded=_mostly(True, [False]),
    brings_key=_mostly(False, [True]),
    is_named_as_id=_mostly(False, [False, True]),
).map(
    lambda image: dataclasses.replace(
        image, is_encoded=image.is_encoded or not _is_json(image.block_devices)
    )
)


def _is_json(text):
    try:
        json.loads(text)
    except (TypeError, ValueError):
        return False
    return True


def _weighed(*pairs):
    """One of some strategies, the one more often than the other."""
    return strategies.sampled_from(
        [strategy for weight, strategy in pairs for _ in range(weight)]
    ).flatmap(lambda strategy: strategy)


_NAMES = _mostly('image-tier', TYPES)
#: Values in metadata: tags, what is compared as one, and what is none.
METADATA = (
    *worlds.TAGS,
    *worlds.TAGS,
    ' PREMIUM ',
    'database,premium',
    # One word to the eye, and to none of the databases.
    'premium\u200b',
    '\u202epremium',
    '\uff50remium',
    'premium\u0301',
    'other',
    '',
    '\x1b[31m\n',
    'x' * 255,
    'x' * 256,
    None,
    7,
    ['premium'],
    {'premium': 'premium'},
)
CREATES = strategies.builds(
    Create,
    source=_mostly(
        'image', ['blank', 'blank', 'volume', 'snapshot', 'backup', 'current']
    ),
    volume_type=strategies.none() | _NAMES,
    version=strategies.sampled_from(VERSIONS),
    zone=_mostly(None, ['nova', 'az2', 'az9']),
    metadata=strategies.none() | strategies.sampled_from(METADATA),
    odd=strategies.just(())
    | strategies.lists(strategies.sampled_from(ODD), max_size=2).map(tuple),
    image_by=_mostly('id', ['key', 'url']),
    is_admin=_mostly(False, [False, False, True]),
)
BACKENDS = strategies.sampled_from(list(worlds.BACKENDS))
FIRST = _weighed(
    (12, CREATES),
    (
        4,
        strategies.builds(
            Given,
            volume_type=strategies.sampled_from(
                ['database', 'premium', 'image-tier', 'plain', 'luks', 'vault']
            ),
            has_image=strategies.booleans(),
        ),
    ),
    (
        2,
        strategies.builds(
            Group,
            volume_types=strategies.lists(
                _NAMES, min_size=1, max_size=2, unique=True
            ).map(tuple),
            metadata=strategies.none() | strategies.sampled_from(METADATA),
        ),
    ),
    (1, strategies.just(Restore())),
    (
        1,
        strategies.builds(
            Manage,
            backend=BACKENDS,
            volume_type=strategies.sampled_from(
                ['image-tier', 'database', 'plain', 'premium']
            ),
        ),
    ),
)
LATER = _weighed(
    (
        4,
        strategies.builds(
            Retype,
            new_type=_NAMES,
            policy=strategies.sampled_from(['never', 'on-demand']),
            is_admin=_mostly(False, [False, True]),
        ),
    ),
    (2, strategies.builds(Migrate, backend=BACKENDS)),
    (2, strategies.builds(SetImage, is_image=strategies.booleans())),
    (
        2,
        strategies.builds(
            SetMetadata, metadata=strategies.sampled_from(METADATA)
        ),
    ),
    (2, CREATES),
    (1, strategies.just(Transfer())),
    (1, strategies.just(Extend())),
)
STEPS = strategies.tuples(FIRST, strategies.lists(LATER, max_size=3)).map(
    lambda steps: (steps[0], *steps[1])
)
