# SPDX-License-Identifier: Apache-2.0

"""A small cloud as the APIs tell of it, for explanations."""

import dataclasses

from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decision

US, THEM = 'us', 'them'


def volume_type(name, *, projects=None, backend=None, **specs):
    """A volume type; `tiers_name` is written for `tiers:name`."""
    found = {
        key.replace('tiers_', 'tiers:'): value for key, value in specs.items()
    }
    if backend:
        found['volume_backend_name'] = backend
    return facts.KnownType(
        type_id=f'id-of-{name}',
        name=name,
        extra_specs=found,
        projects=None if projects is None else frozenset(projects),
    )


def tier(name, *, tags='', priority='0', projects=None, backend=None, **specs):
    return volume_type(
        name,
        projects=projects,
        backend=backend or f'on-{name}',
        tiers_name=name,
        tiers_tags=tags,
        tiers_priority=priority,
        **specs,
    )


def backend(name, **capabilities):
    return backends.Backend(
        name=host(name),
        capabilities={'volume_backend_name': f'on-{name}', **capabilities},
    )


def host(name):
    return f'node@{name}#{name}'


DATABASE = tier(
    'database',
    tags='database',
    priority='20',
    backend='<or> on-database <or> on-general',
    tiers_overflow='general',
)
ARCHIVE = tier('archive', tags='archive', priority='10')
PREMIUM = tier('premium', tags='premium', priority='30', projects=[THEM])
GENERAL = tier('general', tiers_fallback='<is> True')
FOLLOWING = volume_type('image-tier', tiers_follow_image='<is> True')
FAST = volume_type('fast', backend='on-archive')
NOWHERE = volume_type('nowhere', backend='on-the-moon')

CLOUD = facts.VisibleCloud(
    project=US,
    is_admin=True,
    types=(ARCHIVE, DATABASE, FAST, GENERAL, FOLLOWING, NOWHERE, PREMIUM),
    default_type=facts.DefaultType(volume_type=FOLLOWING, is_projects=False),
    backends=tuple(
        map(backend, ('archive', 'database', 'general', 'premium'))
    ),
)

#: The same cloud for a member of US who sees extra specs and backends.
MEMBERS = dataclasses.replace(
    CLOUD,
    is_admin=False,
    hidden=(facts.PROJECT_DEFAULT,),
    default_type=facts.DefaultType(volume_type=FOLLOWING, is_projects=None),
    types=tuple(one for one in CLOUD.types if one is not PREMIUM),
)

#: And as Cinder's default policy shows it to a member.
TENANTS = dataclasses.replace(
    MEMBERS,
    backends=None,
    hidden=(facts.EXTRA_SPECS, facts.PROJECT_DEFAULT, facts.BACKENDS),
    types=tuple(
        dataclasses.replace(one, extra_specs={}) for one in MEMBERS.types
    ),
)


def image(*tags, owner=US, visibility='private', **fields):
    return facts.KnownImage(
        image_id='id-of-image',
        name='image',
        image=decision.Image(
            owner=owner, visibility=visibility, tags=frozenset(tags)
        ),
        **fields,
    )
