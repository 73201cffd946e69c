# SPDX-License-Identifier: Apache-2.0

"""The judge: what must hold of volumes, whatever was sent.

It looks at the world before and after a step: at rows of Cinder's database,
at the types' access lists, and at what Cinder's own CapabilitiesFilter says
of a backend. Must not know a rule of placement of the product.

I1  no volume of a project is brought to a backend that only private tiers'
    types serve which the project may not use;
I2  what is brought to a tier's backend, or given a type there, has no type
    that follows the image, unless there is no tier for it to have; and none
    sheds the type of its tier where it is;
I3  an image that brings a key, or names an encrypted type, never ends in a
    volume without a key, unless it is not known and Cinder alone does so;
I4  what Cinder alone serves is served.
"""

import dataclasses

from cinder.db import api as db_api
from cinder import exception
from cinder import objects
from cinder.scheduler.filters import capabilities_filter

from tests.unit.invariants import operations
from tests.unit.invariants import world as worlds

#: Steps that make volumes whose type and place are theirs to choose.
_MAKES = (operations.Create, operations.Restore)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """A volume, or a group, at one instant."""

    project: str
    host: str | None
    volume_type: str | None
    has_key: bool = False
    status: str = ''
    is_of_source: bool = False
    #: Id of the image from which it was made, as Cinder has it.
    image_id: str | None = None

    def __str__(self):
        where = worlds.backend_of(self.host) if self.host else 'no backend'
        return (
            f'{self.status}, on {where}, of type {self.volume_type}, '
            f'{"with" if self.has_key else "without"} a key'
        )


def look(cloud):
    """{id: Seen} of all volumes and groups there are.

    :param cloud: Cloud
    """
    names = {ident: name for name, ident in cloud.ids.items()}
    volumes = cloud.volumes()
    images = {
        row['volume_id']: row['value']
        for row in db_api.volume_glance_metadata_list_get(
            cloud.admin, list(volumes)
        )
        if row['key'] == 'image_id'
    }
    found = {
        volume.id: Seen(
            project=volume.project_id,
            host=volume.host,
            volume_type=names.get(volume.volume_type_id),
            has_key=volume.encryption_key_id is not None,
            status=volume.status,
            image_id=images.get(volume.id),
            is_of_source=bool(volume.snapshot_id or volume.source_volid),
        )
        for volume in volumes.values()
    }
    found.update(
        {
            group.id: Seen(
                project=group.project_id,
                host=group.host,
                volume_type=None,
                status=group.status,
            )
            for group in cloud.groups().values()
        }
    )
    return found


def _matches(one, backend):
    name, _zone, free = worlds.BACKENDS[backend]
    return capabilities_filter.CapabilitiesFilter()._satisfies_extra_specs(
        {
            'volume_backend_name': name,
            'pool_name': backend,
            'free_capacity_gb': free,
            'multiattach': True,
        },
        {'resource_type': {'extra_specs': one.specs}},
    )


def _may_use(one, project):
    return one.projects is None or project in (*one.projects, worlds.ADMIN)


def _is_tier(one):
    return (
        'tiers:name' in one.specs and not one.is_slip and not one.is_half_made
    )


def _follows(one):
    return one is not None and 'tiers:follow_image' in one.specs


class Judge:
    """What is wrong after each step of an example."""

    def __init__(self, play, example):
        """Nothing has been done yet.

        :param play: Play
        :param example: Example
        """
        self._play = play
        self._example = example
        self._world = example.world
        self._types = {one.name: one for one in self._world.types()}
        self._before = look(play.cloud)

    def problems(self, step, project):
        """Sentences on what a step has broken.

        :param step: the step that was done
        :param project: id of the project that asked for it
        """
        before, after = self._before, look(self._play.cloud)
        self._before = after
        if isinstance(step, operations.Given):
            return []
        found = []
        for ident, now in after.items():
            then = before.get(ident)
            if now == then:
                continue
            where = f'{type(step).__name__} by {_name(project)}: {now}'
            found += [
                f'{rule} {where}'
                for rule, is_broken in (
                    ('I1', self._is_forbidden(step, then, now, before)),
                    ('I2', self._lacks_type(step, then, now)),
                    ('I3', self._lacks_key(step, then, now, project)),
                )
                if is_broken
            ]
        return found

    def _servers(self, host):
        """Types of tiers that serve the backend of a host."""
        backend = worlds.backend_of(host)
        return [
            one
            for one in self._types.values()
            if _is_tier(one) and _matches(one, backend)
        ]

    def _is_forbidden(self, step, then, now, before):
        if not now.host or then is not None and then.host == now.host:
            return False
        # A copy lies where its source is, such as one that an administrator
        # made for the project.
        if now.is_of_source and any(
            one.host == now.host and one.project == now.project
            for one in before.values()
        ):
            return False
        servers = self._servers(now.host)
        named = self._types.get(now.volume_type)
        # Nobody may use it, whatever its backend serves beside.
        if (
            named is not None
            and named.is_half_made
            and not getattr(step, 'is_admin', False)
        ):
            return True
        # Cinder lets an administrator use each type, for its own volumes, and
        # give volumes of others a type that it names.
        if getattr(step, 'is_admin', False) and (
            then is None or now.volume_type in [one.name for one in servers]
        ):
            return False
        # A public type of no tier may name the backend: the operator's word.
        if (
            named is not None
            and not _is_tier(named)
            and (
                ('volume_backend_name' in named.specs and not named.is_slip)
                # A volume without a tier goes where an administrator sends
                # it (functional, test_operations).
                or (
                    isinstance(step, operations.Migrate)
                    and not _follows(named)
                )
            )
        ):
            return False
        return bool(servers) and not any(
            _may_use(one, now.project) for one in servers
        )

    def _lacks_type(self, step, then, now):
        named = self._types.get(now.volume_type)
        if (
            not now.host
            or not _follows(named)
            or (now.status.startswith('error'))
        ):
            return False
        if then is not None and then.volume_type == now.volume_type:
            return False
        servers = [one for one in self._servers(now.host) if _is_applied(one)]
        if not servers:
            return False
        if (
            then is not None
            and then.host == now.host
            and any(one.name == then.volume_type for one in servers)
        ):
            # Only who administers may have volumes without a tier.
            return not (step.is_admin and self._is_undecided(step, now, named))
        if self._example.fault != 'none' or isinstance(
            step, operations.Group | operations.Manage
        ):
            return False
        return not self._is_undecided(step, now, named)

    def _is_undecided(self, step, now, named):
        """Whether there is no tier that the volume could have."""
        if 'multiattach' in named.specs:
            return True
        if now.is_of_source and not (
            isinstance(step, operations.Create) and step.volume_type
        ):
            return True  # The source's type is that of the copy.
        if now.is_of_source and any(
            isinstance(one, operations.Given)
            and _follows(self._types.get(one.volume_type))
            for one in self._example.steps
        ):
            return True  # It is one that follows the image, from before.
        image = None
        if now.image_id is not None:
            if now.image_id != self._play.image_id:
                return True  # Of no image that Glance knows.
            image = self._play.image
            if image.volume_type:
                return True
        needs_key = (
            named.encrypted
            or now.has_key
            or (image is not None and image.brings_key)
        )
        zone = worlds.BACKENDS[worlds.backend_of(now.host)][1]
        usable = [
            one
            for one in self._types.values()
            if _is_tier(one)
            and _is_applied(one)
            and _may_use(one, now.project)
            and (one.encrypted or not needs_key)
            and any(
                _matches(one, backend) and worlds.BACKENDS[backend][1] == zone
                for backend in self._world.backends
            )
        ]
        if any('tiers:fallback' in one.specs for one in usable):
            return False
        return not self._is_asked_for(image, usable, now.project)

    def _is_asked_for(self, image, types, project):
        trust = self._world.trust
        return (
            image is not None
            and (
                # The project from which a volume was transferred keeps it.
                (image.is_own and project == self._example.project)
                or trust == 'all'
                or image.visibility == 'public'
                and trust != 'own'
            )
            and any(_asks_for(image, one) for one in types)
        )

    def _lacks_key(self, step, then, now, project):
        image = self._play.image
        if (
            then is not None
            or now.has_key
            or image is None
            or (
                not isinstance(step, operations.Create)
                or now.image_id is None
                or now.is_of_source
                or not now.host
                or now.status.startswith('error')
            )
        ):
            return False
        named = self._type_of(image.volume_type, project)
        asked = self._asked_type(step, image, project)
        if asked is not None and not _follows(asked):
            # The type is not ours to choose, but to leave as it is.
            return asked.encrypted
        if self._example.fault != 'none' and now.volume_type == (
            asked.name if asked else self._world.default
        ):
            return False  # As by Cinder alone; the doors could not know.
        return image.brings_key or named is not None and named.encrypted

    def _asked_type(self, step, image, project):
        """The type that somebody named, or None for Cinder's default type,
        in the place of which the doors put a tier's, too.
        """
        odd = dict(step.odd)
        text = odd.get('volume_type') or step.volume_type
        for name in (
            text and self._play.type_text(text),
            image.volume_type,
            {'none': None}.get(
                self._world.project_default, self._world.project_default
            ),
        ):
            if name:
                return self._type_of(name, project)
        return None

    def _type_of(self, name, project):
        """A type by name or id, as Cinder finds it for a project."""
        if not name:
            return None
        try:
            found = objects.VolumeType.get_by_name_or_id(
                self._play.cloud.context(project), name
            )
        except exception.CinderException:
            return None
        return self._types.get(found.name)


def is_excused(example, project, step, types):
    """Whether a create may fail although Cinder alone serves it.

    Because the operator said so, or I1 or I3 would be broken else.

    :param example: Example
    :param project: id of the project
    :param step: Create
    :param types: {name: VolumeType}
    """
    world, image = example.world, example.image
    if step.is_admin:
        project = worlds.ADMIN
    if (
        image is not None
        and step.source == 'image'
        and (image.brings_key or image.volume_type)
    ):
        return True  # I3 may be the reason.
    if (
        world.on_no_access == 'refuse'
        and image is not None
        and any(
            _asks_for(image, one) and not _may_use(one, project)
            for one in types.values()
        )
    ):
        return True
    if (
        world.on_no_access == 'refuse'
        and world.metadata != 'none'
        and isinstance(step.metadata, str)
        and any(
            _is_tag_of(step.metadata, one) and not _may_use(one, project)
            for one in types.values()
        )
    ):
        return True
    if world.fallback == 'private' and project == worlds.OTHER:
        return True
    zone = step.zone or 'nova'
    asked = (
        step.volume_type,
        dict(step.odd).get('volume_type'),
        world.default,
        world.project_default,
    )
    if worlds.UNBOUND in asked or worlds.SLIP in asked:
        # To it private tiers are closed, but to an administrator's volume.
        project = project if step.is_admin else None
    return not any(
        worlds.BACKENDS[backend][1] == zone
        and (not servers or any(_may_use(one, project) for one in servers))
        # A slip may lead to none but the backends of private tiers.
        and (worlds.SLIP not in asked or _leads_to(types, backend))
        for backend, servers in (
            (
                backend,
                [
                    one
                    for one in types.values()
                    if _is_tier(one) and _matches(one, backend)
                ],
            )
            for backend in world.backends
        )
    )


def _leads_to(types, backend):
    """Whether Cinder would place a volume of the slip on a backend."""
    slip = types.get(worlds.SLIP)
    return slip is None or _matches(slip, backend)


def _asks_for(image, one):
    return any(_is_tag_of(tag, one) for tag in image.tags)


def _is_tag_of(tag, one):
    return one.specs.get('tiers:tags') == tag.strip().casefold()


def _is_applied(one):
    """Whether new volumes may get the type of a tier."""
    return (
        one.specs.get('tiers:priority', '0').isdigit()
        and ' - retired ' not in one.name
    )


def _name(project):
    return {
        worlds.ENTITLED: 'the entitled project',
        worlds.OTHER: 'the other project',
    }[project]
