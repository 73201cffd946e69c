# SPDX-License-Identifier: Apache-2.0

"""Volume types as they lie in Cinder's database, in four queries.

Cinder's own functions ask once more for the access to each private type, and
make objects of all rows, which takes ten times as long for 1,000 types. Must
not know what an extra spec means.
"""

import collections
import collections.abc
import dataclasses
import typing

from cinder import context as cinder_context

try:
    from cinder.db import api as db_api
    from cinder.db import models
except ImportError:  # Cinder 26 to 28
    from cinder.db.sqlalchemy import api as db_api
    from cinder.db.sqlalchemy import models


class _Model(typing.Protocol):
    """A class of SQLAlchemy, which has no types that hold for all versions."""

    __table__: typing.Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class TypeRow:
    """A volume type, and what other tables say of it."""

    type_id: str
    name: str
    extra_specs: collections.abc.Mapping[str, str]
    #: Ids of the projects that have access to a private type; None for a
    #: public one.
    projects: frozenset[str] | None
    is_encrypted: bool
    description: str | None = None


def read_types(context: cinder_context.RequestContext) -> list[TypeRow]:
    """Read all volume types that are not deleted, in any order.

    :param context: any context; its rights do not matter.
    :raises Exception: Cinder's database layer failed.
    """
    with db_api.main_context_manager.reader.using(context) as session:
        types = session.execute(
            _select(
                models.VolumeType,
                'id',
                'name',
                'is_public',
                'description',
                deleted=False,
            )
        ).all()
        specs = session.execute(
            _select(
                models.VolumeTypeExtraSpecs,
                'volume_type_id',
                'key',
                'value',
                deleted=False,
            )
        ).all()
        # Here it is a number, for which PostgreSQL takes no boolean.
        access = session.execute(
            _select(
                models.VolumeTypeProjects,
                'volume_type_id',
                'project_id',
                deleted=0,
            )
        ).all()
        encrypted = {
            type_id
            for (type_id,) in session.execute(
                _select(models.Encryption, 'volume_type_id', deleted=False)
            )
        }
    specs_of: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for type_id, key, value in specs:
        specs_of[type_id][key] = value
    projects_of = collections.defaultdict(list)
    for type_id, project in access:
        projects_of[type_id].append(project)
    return [
        TypeRow(
            type_id=type_id,
            name=name,
            extra_specs=specs_of.get(type_id, {}),
            projects=(
                None if is_public else frozenset(projects_of.get(type_id, ()))
            ),
            is_encrypted=type_id in encrypted,
            description=description,
        )
        for type_id, name, is_public, description in types
    ]


def read_default_of(
    context: cinder_context.RequestContext, project_id: str
) -> str | None:
    """The id of the default volume type that was set for a project, if any.

    :param context: any; its rights do not matter.
    :raises Exception: whatever Cinder's database layer raises.
    """
    with db_api.main_context_manager.reader.using(context) as session:
        return session.execute(
            _select(
                models.DefaultVolumeTypes,
                'volume_type_id',
                deleted=False,
                project_id=project_id,
            )
        ).scalar()


def _select(model: _Model, *columns: str, **values: str | int) -> object:
    """A query for columns, as plain rows: objects cost twice as much."""
    table = model.__table__
    return (
        table.select()
        .with_only_columns(*(table.c[name] for name in columns))
        .filter_by(**values)
    )
