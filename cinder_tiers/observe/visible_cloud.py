# SPDX-License-Identifier: Apache-2.0

"""Reads through the APIs what an explanation of placement needs.

Reads as the user that the connection is of: what the user may not see is
named, not guessed. Writes nothing. Must not know any rule of placement.
"""

import collections.abc
import dataclasses
import datetime
import itertools
import typing

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain import identifier
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import image_properties
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.domain import tags
from cinder_tiers.observe.glance import tag_namespace
from cinder_tiers.observe import keystone

#: Extra specs that Cinder shows to everybody who sees any (cinder/policies/
#: type_extra_specs.py, 29.0.0).
_SHOWN_TO_ALL = frozenset(
    {'RESKEY:availability_zones', 'multiattach', 'replication_enabled'}
)
_REFUSALS = (
    openstack.exceptions.ForbiddenException,
    openstack.exceptions.NotFoundException,
)
#: Of Cinder's API: the first that returns the id of a volume's type.
VOLUME_MICROVERSION = '3.63'
_SCHEDULER = 'cinder-scheduler'
#: Below the endpoint of Glance.
_IMAGE = '/images/{}'
_Found = typing.TypeVar('_Found')
#: Entries of a page of what is looked up by its name.
_PAGE = 1000


def observe(
    connection: openstack.connection.Connection, *, project: str | None = None
) -> facts.VisibleCloud:
    """Read volume types, defaults and backends as far as the user may.

    :param project: id of the project whose default type applies to a new
        volume; None if no type must be found.
    :raises errors.TiersError: a service does not answer, or the user may not
        query the project.
    """
    known = observe_types(connection)
    if not known.is_admin and project not in (None, known.project):
        raise errors.NotVisible(
            f'project {project} is not your own; only an administrator of '
            'block storage can query other projects'
        )
    hidden = [*known.hidden]
    default = (
        _default_type(connection, project, known.project, known.types, hidden)
        if project
        else None
    )
    return dataclasses.replace(
        known,
        default_type=default,
        backends=_backends(connection, hidden),
        hidden=tuple(hidden),
    )


def with_published_tags(
    connection: openstack.connection.Connection, known: facts.VisibleCloud
) -> facts.VisibleCloud:
    """The same facts, and the tags of tiers where Cinder hides those.

    :raises errors.Unreachable: Glance does not answer.
    """
    if facts.EXTRA_SPECS not in known.hidden:
        return known
    try:
        found = published_tags(connection)
    except errors.NotVisible:
        return dataclasses.replace(
            known, hidden=(*known.hidden, facts.PUBLISHED_TAGS)
        )
    return dataclasses.replace(known, published_tags=found)


def published_tags(
    connection: openstack.connection.Connection,
) -> frozenset[str] | None:
    """Normal forms of the tags of tiers that Glance shows to all.

    :returns: None when Glance has no namespace of ours that all see. By
        Glance's default policy only an administrator can make or change one.
    :raises errors.Unreachable: Glance does not answer.
    :raises errors.NotVisible: Glance hides namespaces from the user.
    """
    found = tag_namespace.read(connection, glance_state.NAMESPACE)
    if found is None or not found.is_ours or not found.is_public:
        return None
    return frozenset(map(tags.normalize_tag, found.tags))


def observe_types(
    connection: openstack.connection.Connection,
) -> facts.VisibleCloud:
    """Read the volume types that the user may see, and nothing else.

    :returns: facts without a default type and without backends.
    :raises errors.Unreachable: a service does not answer.
    """
    own = own_project(connection)
    hidden: list[facts.Hidden] = []
    with openstack_client.asking('Cinder did not list volume types'):
        found = volume_types.list_all(connection.block_storage)
        # Only an administrator may ask for private types, or for public ones;
        # others get the same answer, whatever they ask for. Asked for is what
        # not all of them are.
        other = 'False' if any(one.is_public for one in found) else 'True'
        is_admin = {one.id for one in found} != {
            one.id
            for one in volume_types.list_all(
                connection.block_storage, is_public=other
            )
        }
        if not is_admin and not any(
            set(one.extra_specs or {}) - _SHOWN_TO_ALL for one in found
        ):
            hidden.append(facts.EXTRA_SPECS)
        types = _types(connection, found, own, is_admin, hidden)
    return facts.VisibleCloud(
        project=own,
        is_admin=is_admin,
        types=types,
        default_type=None,
        backends=None,
        hidden=tuple(hidden),
    )


def observe_backends(
    connection: openstack.connection.Connection,
) -> tuple[backends.Backend, ...] | None:
    """The backends that report to Cinder; None when they are hidden.

    :raises errors.Unreachable: Cinder, or its scheduler, does not answer.
    """
    return _backends(connection, [])


def list_backends(
    connection: openstack.connection.Connection,
) -> tuple[backends.Backend, ...]:
    """The backends that report to Cinder's scheduler.

    :raises errors.Unreachable: it does not answer.
    :raises errors.NotVisible: they are hidden from the user.
    """
    found = observe_backends(connection)
    if found is None:
        raise errors.NotVisible(
            'Cinder shows the backends only to an administrator of block '
            'storage'
        )
    return found


def own_project(connection: openstack.connection.Connection) -> str:
    """Id of the user's project.

    :raises errors.Unreachable: the token is for no project.
    """
    with openstack_client.asking('Keystone gave no token'):
        project = connection.current_project_id
    if not project:
        raise errors.NotVisible(
            'the token has no project; authenticate with a project '
            '(--os-project-name)'
        )
    return project


def _types(
    connection: openstack.connection.Connection,
    found: collections.abc.Iterable,
    own: str,
    is_admin: bool,
    hidden: list[facts.Hidden],
) -> tuple[facts.KnownType, ...]:
    """Return all types that the user sees.

    A member sees only those private types that its project may use.
    """
    is_listed = True
    types = []
    for one in sorted(found, key=lambda one: (one.name, one.id)):
        projects = None
        if not one.is_public:
            projects = frozenset() if is_admin else frozenset({own})
            try:
                if is_listed:
                    projects = frozenset(
                        row['project_id']
                        for row in connection.block_storage.get_type_access(
                            one.id
                        )
                    )
            except openstack.exceptions.ForbiddenException:
                is_listed = False
        types.append(
            facts.KnownType(
                type_id=one.id,
                name=one.name,
                projects=projects,
                description=one.description or '',
                extra_specs=dict(one.extra_specs or {}),
            )
        )
    if is_admin and not is_listed:
        hidden.append(facts.TYPE_ACCESS)
    return tuple(types)


def _default_type(
    connection: openstack.connection.Connection,
    project: str,
    own: str,
    types: tuple[facts.KnownType, ...],
    hidden: list[facts.Hidden],
) -> facts.DefaultType | None:
    """The type of requests without one; the cloud's only for `own`.

    Cinder shows a user one default type, and not whose it is. All projects'
    are listed, for Cinder asks Keystone when it is asked for one project's.
    """
    with openstack_client.asking(
        'Cinder did not show the default volume type'
    ):
        is_projects: bool | None = False
        try:
            for one in connection.block_storage.default_types():
                if one.project_id == project:
                    return facts.DefaultType(
                        volume_type=_known(types, one.volume_type_id),
                        is_projects=True,
                    )
        except openstack.exceptions.ForbiddenException:
            is_projects = None
            hidden.append(facts.PROJECT_DEFAULT)
        if project != own:
            return None
        try:
            default = connection.block_storage.get_type('default')
        except _REFUSALS:
            return None
        return facts.DefaultType(
            volume_type=_known(types, default.id, default.name),
            is_projects=is_projects,
        )


def _known(
    types: tuple[facts.KnownType, ...], type_id: str, name: str | None = None
) -> facts.KnownType:
    return next(
        (one for one in types if one.type_id == type_id),
        facts.KnownType(
            type_id=type_id,
            name=name or type_id,
            extra_specs={},
            projects=frozenset(),
        ),
    )


def _backends(
    connection: openstack.connection.Connection,
    hidden: list[facts.Hidden],
) -> tuple[backends.Backend, ...] | None:
    with openstack_client.asking('Cinder did not list its backends'):
        _check_scheduler(connection)
        try:
            return tuple(
                backends.Backend(
                    name=pool.name, capabilities=pool.capabilities or {}
                )
                for pool in connection.block_storage.backend_pools()
            )
        except openstack.exceptions.ForbiddenException:
            hidden.append(facts.BACKENDS)
            return None


def _check_scheduler(connection: openstack.connection.Connection) -> None:
    """Fail early when no cinder-scheduler can answer.

    Cinder passes the question on to a scheduler, whether one runs or not, and
    waits for rpc_response_timeout, 60 s by default.

    :raises errors.Unreachable: no scheduler runs.
    """
    try:
        found = [
            one
            for one in connection.block_storage.services(binary=_SCHEDULER)
            if one.binary == _SCHEDULER
        ]
    except _REFUSALS:
        return
    if any(one.state != 'down' for one in found):
        return
    known = ', '.join(
        f'{one.host} last reported at {one.updated_at}'
        for one in sorted(found, key=lambda one: one.host)
    )
    raise errors.Unreachable(
        f'Cinder did not list its backends: no {_SCHEDULER} is up '
        f'({known or "none ever reported"}); see "openstack volume service '
        f'list --service {_SCHEDULER}", and start one'
    )


def find_project(connection: openstack.connection.Connection, ref: str) -> str:
    """Look up the id of a project.

    :param connection: connection of the user, who must give an id if not
        allowed to list projects.
    :param ref: name or id of the project.
    :raises errors.Unreachable: the project does not exist, or only its id is
        accepted.
    """
    try:
        found = keystone.ids(connection, ref)
    except openstack_client.API_ERRORS as error:
        if identifier.is_id(ref):
            return ref
        raise openstack_client.failure(
            error,
            f'Keystone did not look up project {ref}: '
            f'{openstack_client.why(error)}; use its ID instead',
        ) from error
    return _only(
        found,
        'project',
        ref,
        f'project {ref} does not exist; see "openstack project list"',
    )


def _only(
    found: collections.abc.Iterable[_Found], what: str, ref: str, missing: str
) -> _Found:
    """Return the only element.

    :param missing: message if there is none.
    :raises errors.NotVisible: there is none, or more than one.
    """
    first = list(itertools.islice(found, 2))
    if len(first) > 1:
        raise errors.NotVisible(
            f'more than one {what} is named {ref}; use the ID instead'
        )
    if not first:
        raise errors.NotVisible(missing)
    return first[0]


def _by_id(
    service: openstack_client.Service,
    path: str,
    ident: str,
    *,
    key: str | None = None,
    microversion: str | None = None,
) -> dict | None:
    """Look up an object by its id; None if the user cannot see one.

    :param key: key of the object in the answer; None: the answer is the
        object.
    :raises openstack.exceptions.SDKException: the service refused the request,
        or answered with another object.
    """
    if not identifier.is_id(ident):
        return None
    try:
        found = openstack_client.request(
            service,
            'GET',
            path,
            ident,
            microversion=openstack_client.highest_microversion(
                service, microversion
            ),
        ).json()
    except _REFUSALS:
        return None
    found = found[key] if key else found
    if not identifier.is_same(ident, found.get('id')):
        raise openstack.exceptions.SDKException(
            f'the answer is about {str(found.get("id"))[:100]!r}, not '
            f'{ident}; see the proxies before it'
        )
    return found


def find_image(
    connection: openstack.connection.Connection, ref: str
) -> facts.KnownImage:
    """An image as the user sees it.

    :param ref: name or id.
    :raises errors.Unreachable: there is no such image for the user, or more
        than one, or Glance does not answer.
    """
    with openstack_client.asking(f'Glance did not show image {ref}'):
        found = _by_id(connection.image, _IMAGE, ref)
        return parse_image(
            found
            or _only(
                (
                    one
                    for one in list_images(connection, name=ref, limit=_PAGE)
                    # Glance takes some names for lists of names.
                    if one['name'] == ref
                ),
                'image',
                ref,
                f'image {ref} does not exist or is not visible to this user; '
                'see "openstack image list"',
            )
        )


def list_images(
    connection: openstack.connection.Connection, **params: object
) -> collections.abc.Iterator[dict]:
    """Images as Glance shows them, hidden ones last.

    :raises openstack.exceptions.SDKException: Glance refused it.
    """
    # A list is of hidden images, or of the others.
    for is_hidden in ('False', 'True'):
        yield from openstack_client.rows(
            connection.image,
            '/images',
            key='images',
            links='next',
            params={**params, 'os_hidden': is_hidden},
        )


def read_image(
    connection: openstack.connection.Connection, image_id: str
) -> facts.KnownImage | None:
    """An image by its id; None when it is gone, or not for the user.

    :param image_id: its id, as a volume holds it.
    :raises errors.Unreachable: Glance does not answer.
    """
    with openstack_client.asking(f'Glance did not show image {image_id}'):
        found = _by_id(connection.image, _IMAGE, image_id)
        return parse_image(found) if found else None


def parse_image(found: collections.abc.Mapping) -> facts.KnownImage:
    """An image as Glance shows it."""
    return facts.KnownImage(
        image_id=found['id'],
        name=found.get('name'),
        type_ref=image_properties.volume_type(found),
        stands_for_snapshot=image_properties.boot_device(
            found.get(image_properties.BLOCK_DEVICES)
        )
        is not None,
        brings_key=image_properties.brings_key(
            found.get(image_properties.ENCRYPTION_KEY)
        ),
        image=decision.Image(
            owner=found.get('owner'),
            visibility=found['visibility'],
            tags=frozenset(found.get('tags') or ()),
        ),
    )


def find_volume(
    connection: openstack.connection.Connection,
    ref: str,
    known: facts.VisibleCloud,
) -> facts.KnownVolume:
    """Look up a volume; an administrator finds those of any project.

    :param ref: name or id of the volume.
    :param known: facts with the volume types.
    :raises errors.Unreachable: the user sees no such volume, or more than one;
        or Cinder does not answer.
    """
    with openstack_client.asking(f'Cinder did not show volume {ref}'):
        found = _by_id(
            connection.block_storage,
            '/volumes/{}',
            ref,
            key='volume',
            microversion=VOLUME_MICROVERSION,
        )
        return parse_volume(
            found
            or _only(
                (
                    one
                    for one in list_volumes(
                        connection,
                        name=ref,
                        limit=_PAGE,
                        **({'all_tenants': 'True'} if known.is_admin else {}),
                    )
                    # An operator may have removed the filter.
                    if one['name'] == ref
                ),
                'volume',
                ref,
                f'volume {ref} does not exist or is not visible to this '
                'user; see "openstack volume list"',
            ),
            known,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObservedVolume:
    """A volume, and what its explanation needs."""

    known: facts.VisibleCloud
    volume: facts.KnownVolume
    #: As it is today; None when it has none, or when that is gone.
    image: facts.KnownImage | None


def observe_volume(
    connection: openstack.connection.Connection, ref: str
) -> ObservedVolume:
    """A volume as the user sees it, with its image and the cloud around it.

    :param ref: name or id.
    :raises errors.TiersError: there is no such volume for the user, or more
        than one, or a service does not answer.
    """
    known = observe(connection)
    volume = find_volume(connection, ref, known)
    if volume.host is None and not known.is_admin:
        known = dataclasses.replace(known, hidden=(*known.hidden, facts.HOST))
    image = (
        read_image(connection, volume.image_id) if volume.image_id else None
    )
    if image is not None:
        known = with_published_tags(connection, known)
    return ObservedVolume(known=known, volume=volume, image=image)


def list_volumes(
    connection: openstack.connection.Connection, **params: object
) -> collections.abc.Iterator[dict]:
    """Volumes as Cinder shows them with details.

    :raises openstack.exceptions.SDKException: Cinder refused it.
    """
    return openstack_client.rows(
        connection.block_storage,
        '/volumes/detail',
        key='volumes',
        links='volumes_links',
        params=params,
        microversion=VOLUME_MICROVERSION,
    )


_MIGRATION = 'os-vol-mig-status-attr:migstat'
#: States of a volume that is not being migrated (AVAILABLE_MIGRATION_STATUS,
#: cinder/volume/api.py).
_NOT_MIGRATING = (None, '', 'none', 'deleting', 'error', 'success')
#: States in which "volume migrate" takes a volume (the same file).
_NOT_REPLICATED = (None, '', 'disabled', 'not-capable')


def parse_volume(
    found: collections.abc.Mapping, known: facts.VisibleCloud
) -> facts.KnownVolume:
    """Parse a volume that Cinder shows with details.

    :param known: facts with the volume types.
    """
    # Cinder gives the keys with a prefix to administrators only.
    return facts.KnownVolume(
        volume_id=found['id'],
        name=found.get('name'),
        status=found.get('status'),
        size_gib=found.get('size') or 0,
        project=found.get('os-vol-tenant-attr:tenant_id') or known.project,
        type_name=found.get('volume_type'),
        host=found.get('os-vol-host-attr:host'),
        volume_type=known.find_type(
            found.get('volume_type_id') or found.get('volume_type') or ''
        ),
        image_id=(found.get('volume_image_metadata') or {}).get('image_id'),
        metadata=found.get('metadata') or {},
        stored_id=found.get('os-vol-mig-status-attr:name_id'),
        in_group=bool(
            found.get('group_id') or found.get('consistencygroup_id')
        ),
        is_migrating=found.get(_MIGRATION) not in _NOT_MIGRATING,
        is_migration_target=is_migration_target(found),
        is_replicated=found.get('replication_status') not in _NOT_REPLICATED,
        is_encrypted=bool(found.get('encrypted')),
        is_multiattach=bool(found.get('multiattach')),
        created_at=_time(found.get('created_at')),
        updated_at=_time(found.get('updated_at')),
        servers=len(found.get('attachments') or ()),
        fixed_by=next(
            (
                fixed_by
                for source, fixed_by in (
                    (
                        found.get('source_volid'),
                        decision.FixedBy.SOURCE_VOLUME,
                    ),
                    (found.get('snapshot_id'), decision.FixedBy.SNAPSHOT),
                    (
                        found.get('group_id')
                        or found.get('consistencygroup_id'),
                        decision.FixedBy.GROUP,
                    ),
                )
                if source
            ),
            None,
        ),
    )


def is_migration_target(found: collections.abc.Mapping) -> bool:
    """Return whether Cinder made a volume to copy another one to."""
    # As of _migrate_volume_generic (cinder/volume/manager.py).
    return (found.get(_MIGRATION) or '').startswith('target:')


def _time(found: object) -> datetime.datetime | None:
    """A time that Cinder shows, in UTC without saying so."""
    if not isinstance(found, str):
        return None
    return datetime.datetime.fromisoformat(found).replace(tzinfo=datetime.UTC)
