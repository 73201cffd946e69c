# SPDX-License-Identifier: Apache-2.0

"""Clouds in which the invariants are tried.

A `World` is a few plain values; from them come the volume types, as apply
would have left them, and the backends. Must not know what a door does with
any of it.
"""

import dataclasses

from hypothesis import strategies

from cinder_tiers.domain.state import cinder as cinder_state

#: {backend: (name by which types ask for it, availability zone, free GiB)}.
#: The private tier's have the most room: without us they take all.
BACKENDS = {
    'plain': ('plain', 'nova', 90),
    'plain-2': ('plain', 'az2', 90),
    'database': ('tier-database', 'nova', 50),
    'general': ('tier-general', 'nova', 50),
    'general-2': ('tier-general-2', 'az2', 50),
    'vault': ('tier-vault', 'nova', 50),
    'premium': ('tier-premium', 'nova', 99),
    'premium-2': ('tier-premium', 'az2', 99),
}
TAGS = ('database', 'premium', 'vault')
#: `metadata_key` of the doors, where metadata count.
METADATA_KEY = 'tier'
FOLLOW = {'tiers:follow_image': '<is> True'}
#: What each cloud has: types that follow the image, and types that do not.
FOLLOWING = ('image-tier', 'image-private', 'image-multi', 'image-luks')
EXPLICIT = ('plain', 'luks')
#: A type that names no backend, as Cinder's own `__DEFAULT__`.
UNBOUND = 'unbound'
#: The public type by which an administrator slips, in place of naming one.
SLIP = 'slip'
#: {what it has of a backend: its extra specs}, none of which names one.
SLIPS = {
    'nothing': {},
    'our scope': {'tiers:volume_backend_name': 'tier-premium'},
    'a misspelling': {'volume_backend': 'tier-premium'},
    'another case': {'Volume_Backend_Name': 'tier-premium'},
    'no name': {'volume_backend_name': ''},
    'a part of names': {'volume_backend_name': '<in> tier-'},
    'not a name': {'volume_backend_name': 's!= plain'},
    'names from one on': {'capabilities:volume_backend_name': 's>= tier'},
    'a part of pools': {'pool_name': '<in> prem'},
    'a capability': {'multiattach': '<is> True'},
    'room': {'capabilities:free_capacity_gb': '>= 1'},
    'the room of one': {'free_capacity_gb': '== 99'},
}
#: {its mark: more of its extra specs}; it would win by its tag.
MARKS = {
    'unmarked': {},
    'a tier': {'tiers:name': SLIP, 'tiers:priority': '95'},
    'a fallback': {'tiers:name': SLIP, 'tiers:fallback': '<is> True'},
    'unreadable': {'tiers:name': SLIP, 'tiers:priority': 'x'},
    'a copy': {'tiers:name': 'premium', 'tiers:priority': '95'},
}
#: {name of a type that is not opened yet: its extra specs}; each would win by
#: its tags, or close the backends of others.
HALF_MADE = {
    'fresh': {
        'volume_backend_name': 'plain',
        'tiers:name': 'fresh',
        'tiers:tags': 'database,premium',
        'tiers:priority': '95',
        'tiers:fallback': '<is> True',
    },
    'database - new': {
        'volume_backend_name': 'tier-general',
        'tiers:name': 'database',
        'tiers:tags': 'database',
        'tiers:priority': '95',
    },
    'by capability': {
        'free_capacity_gb': '>= 1',
        'tiers:name': 'by capability',
        'tiers:tags': 'database',
        'tiers:priority': '95',
    },
}
#: Ids of `World.projects`; `entitled` may use the private tiers.
ENTITLED = 'e' * 32
OTHER = 'd' * 32
ADMIN = 'a' * 32


def backend_of(host):
    """The backend of a host, see `World.host_of`."""
    service, _, pool = host.partition('@')[2].partition('#')
    return next(
        name
        for name, (asked_by, zone, _free) in BACKENDS.items()
        if service == name or (service, pool) == (f'tiers-{zone}', asked_by)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeType:
    """A volume type as it is in Cinder's database."""

    name: str
    specs: dict
    #: Projects that may use it; None when all may.
    projects: tuple[str, ...] | None = None
    encrypted: bool = False
    #: Whether it names no backend, whatever else it says.
    is_slip: bool = False
    description: str = ''

    @property
    def is_half_made(self):
        """Whether an apply has made it, and not opened it yet."""
        return self.projects == () and bool(self.description)


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """What the operator has set up."""

    #: general, private, unreadable, zones (one in each) or none.
    fallback: str = 'general'
    #: private, unreadable, retired, described (as if it were half made) or
    #: none.
    premium: str = 'private'
    #: What an apply has made and not opened: a key of `HALF_MADE`, or none.
    half_made: str = 'none'
    #: The tier that overflows to the backend of general, or none.
    overflow: str = 'none'
    #: Whether there is a tier whose volumes are encrypted.
    vault: bool = False
    #: A key of `SLIPS`, or none; and one of `MARKS`.
    slip: str = 'none'
    mark: str = 'a tier'
    #: Whether there are backends that no tier asks for.
    plain: bool = True
    #: Whether the backends of a zone's tiers are pools of one backend, as
    #: with TieredRBDDriver.
    has_pools: bool = False
    #: Cinder's default_volume_type.
    default: str = 'image-tier'
    #: Default type of both projects, or none.
    project_default: str = 'none'
    #: Whether names compare as in MariaDB: without case or trailing blanks.
    folds_case: bool = False
    snapshot_same_host: bool = True
    #: Options of the doors.
    on_error: str = 'fallback'
    on_no_access: str = 'fallback'
    trust: str = 'own_and_public'
    #: Volumes whose metadata count: none, blank or all.
    metadata: str = 'none'
    project_type: str = 'first'

    @property
    def stored(self):
        """What of it is in the database."""
        return dataclasses.replace(
            self,
            default='',
            snapshot_same_host=True,
            on_error='',
            on_no_access='',
            trust='',
            metadata='',
            project_type='',
        )

    @property
    def backends(self):
        """Names of the backends that are up."""
        return [
            name
            for name in BACKENDS
            if (self.plain or not name.startswith('plain'))
            and (name != 'general-2' or self.fallback == 'zones')
        ]

    def service_of(self, backend):
        """The backend of Cinder, in its cinder-volume, that serves one."""
        asked_by, zone, _free = BACKENDS[backend]
        if self.has_pools and asked_by.startswith('tier-'):
            return f'node@tiers-{zone}'
        return f'node@{backend}'

    def host_of(self, backend):
        """The host that Cinder writes for volumes on a backend."""
        return f'{self.service_of(backend)}#{BACKENDS[backend][0]}'

    def types(self):
        """All volume types."""

        def named(name):
            return {'volume_backend_name': name}

        found = [
            VolumeType(name='image-tier', specs=FOLLOW),
            VolumeType(name='image-private', specs=FOLLOW, projects=(OTHER,)),
            VolumeType(
                name='image-multi',
                specs={**FOLLOW, 'multiattach': '<is> True'},
            ),
            VolumeType(name='image-luks', specs=FOLLOW, encrypted=True),
            VolumeType(name='plain', specs=named('plain')),
            VolumeType(name=UNBOUND, specs={}),
            VolumeType(
                name='luks',
                encrypted=True,
                specs=named('<or> plain <or> tier-general'),
            ),
            VolumeType(
                name='database',
                specs={
                    **self._reach('database'),
                    'tiers:name': 'database',
                    'tiers:tags': 'database',
                    'tiers:priority': '20',
                },
            ),
        ]
        if self.vault:
            found.append(
                VolumeType(
                    name='vault',
                    encrypted=True,
                    specs={
                        **named('tier-vault'),
                        'tiers:name': 'vault',
                        'tiers:tags': 'vault',
                        'tiers:priority': '10',
                    },
                )
            )
        return [
            *found,
            *self._premium(),
            *self._fallbacks(),
            *self._slips(),
            *self._half_made(),
        ]

    def _slips(self):
        if self.slip == 'none':
            return []
        return [
            VolumeType(
                name=SLIP,
                is_slip=True,
                specs={
                    **SLIPS[self.slip],
                    **MARKS[self.mark],
                    'tiers:tags': 'premium',
                },
            )
        ]

    def _half_made(self):
        if self.half_made == 'none':
            return []
        return [
            VolumeType(
                name=self.half_made,
                projects=(),
                description=cinder_state.HALF_MADE,
                specs=HALF_MADE[self.half_made],
            )
        ]

    def _reach(self, tier):
        if self.overflow != tier:
            return {'volume_backend_name': f'tier-{tier}'}
        return {
            'volume_backend_name': f'<or> tier-{tier} <or> tier-general',
            'tiers:overflow': 'general',
        }

    def _premium(self):
        if self.premium == 'none':
            return []
        name = 'premium'
        if self.premium == 'retired':
            name = 'premium - retired 1'
        return [
            VolumeType(
                name=name,
                projects=(ENTITLED,),
                description=cinder_state.HALF_MADE
                if self.premium == 'described'
                else '',
                specs={
                    **self._reach('premium'),
                    'tiers:name': 'premium',
                    'tiers:tags': 'premium',
                    'tiers:priority': (
                        '3O' if self.premium == 'unreadable' else '30'
                    ),
                },
            )
        ]

    def _fallbacks(self):
        if self.fallback == 'none':
            return []
        specs = {
            'volume_backend_name': 'tier-general',
            'tiers:name': 'general',
            'tiers:fallback': '<is> True',
        }
        if self.fallback == 'unreadable':
            specs['tiers:priority'] = 'O'
        found = [
            VolumeType(
                name='general',
                specs=specs,
                projects=((ENTITLED,) if self.fallback == 'private' else None),
            )
        ]
        if self.fallback == 'zones':
            found.append(
                VolumeType(
                    name='general-2',
                    specs={
                        **specs,
                        'volume_backend_name': 'tier-general-2',
                        'tiers:name': 'general-2',
                        'RESKEY:availability_zones': 'az2',
                    },
                )
            )
        return found


def _mostly(usual, *others):
    return strategies.sampled_from([usual] * (len(others) + 1) + [*others])


WORLDS = strategies.builds(
    World,
    fallback=_mostly('general', 'none', 'private', 'unreadable', 'zones'),
    premium=_mostly('private', 'unreadable', 'retired', 'described', 'none'),
    half_made=_mostly('none', *HALF_MADE),
    overflow=_mostly('none', 'database', 'premium'),
    vault=strategies.booleans(),
    slip=_mostly('none', *SLIPS),
    mark=strategies.sampled_from(list(MARKS)),
    plain=_mostly(True, False),
    has_pools=strategies.booleans(),
    default=_mostly(
        'image-tier',
        'plain',
        'luks',
        'image-private',
        'image-multi',
        'image-luks',
        SLIP,
    ),
    project_default=_mostly(
        'none', 'none', 'image-tier', 'plain', 'luks', SLIP
    ),
    folds_case=strategies.booleans(),
    snapshot_same_host=_mostly(True, False),
    on_error=_mostly('fallback', 'pass', 'fail'),
    on_no_access=_mostly('fallback', 'refuse'),
    trust=_mostly('own_and_public', 'own', 'all'),
    metadata=strategies.sampled_from(('none', 'blank', 'all')),
    project_type=_mostly('first', 'last'),
).map(
    lambda world: dataclasses.replace(
        world,
        project_default=world.project_default
        if world.slip != 'none' or world.project_default != SLIP
        else 'none',
    )
)
