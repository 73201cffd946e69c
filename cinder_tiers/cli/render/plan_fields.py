# SPDX-License-Identifier: Apache-2.0

"""Values that an action creates, changes or deletes, field by field.

A field has the name that `--allow` takes; only access to a volume type is one
field, `access`. Fields without a value share the last line. Pure. Must not
know how lines are laid out.
"""

import collections.abc
import dataclasses
import re
import types

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain import units

#: {id of a project: label for people}
Projects = collections.abc.Mapping[str, str]
#: Each project is shown by its id.
NO_NAMES: Projects = types.MappingProxyType({})

ACCESS = 'access'
_NOT_SET = 'not set'
_LEFT = 'left as is'
_OF_ACCESS = frozenset({'is_public', 'projects'})
#: Two sets with fewer members are shown as they are.
_SHORT_SET = 4
_LEAST_SIZE_BYTES = 1024
_ID = re.compile('[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """A field of an object; characters that are not printable are escaped."""

    name: str
    #: Current value; None when there is none to compare with.
    before: str | None = None
    #: New value, or the value that is removed.
    after: str

    def __str__(self) -> str:
        """Return one line, such as `size: 2 -> 3`."""
        before = '' if self.before is None else f'{self.before} -> '
        return f'{self.name}: {before}{self.after}'


def project_labels(
    names: collections.abc.Mapping[str, str | None], catalog: catalogs.Catalog
) -> dict[str, str]:
    """Return {id of a project: its label}.

    The label is the name; the id follows if the name is not in the tiers file
    or not unique.

    :param names: {id: name; None if there is no such project}.
    """
    of_file = frozenset(catalog.projects)
    known = list(names.values())
    return {
        ident: name
        if name in of_file and known.count(name) == 1
        else f'{name} ({ident})'
        for ident, name in names.items()
        if name
    }


def named(text: str, projects: Projects) -> str:
    """Return a text with the names of projects in place of their ids.

    >>> named('taken from ' + 'a' * 32, {'a' * 32: 'alpha'})
    'taken from alpha'
    """
    return _ID.sub(lambda found: projects.get(found[0], found[0]), text)


def of_action(
    action: actions.Action, projects: Projects = NO_NAMES
) -> tuple[Line, ...]:
    """Return the values that an action creates, changes or deletes.

    :param projects: {id: name} of known projects.
    """
    lines = (
        _changes(action, projects)
        if action.before and action.after
        else _whole(action, projects)
    )
    return tuple(
        Line(
            name=cells.printable(one.name),
            before=None if one.before is None else cells.printable(one.before),
            after=cells.printable(one.after),
        )
        for one in (*lines, *_beside(action))
    )


def remarks(
    action: actions.Action, title: str, projects: Projects = NO_NAMES
) -> tuple[str, ...]:
    """Return the reason of an action and its notes.

    :param title: title of the action's group; an equal reason is left out.
    """
    why = () if action.why == title else (action.why,)
    return tuple(named(one, projects) for one in (*why, *action.notes))


def result_note(action: actions.Action) -> str:
    """Return a note on a completed action; '' for none."""
    retired = _retired_name(action)
    if not retired:
        return ''
    return (
        f'its volumes keep their volume type, which is now named "{retired}"'
    )


def _retired_name(action: actions.Action) -> str:
    """Return the new name of a retired volume type; '' if none is retired."""
    before, after = action.before, action.after
    if (
        isinstance(after, cinder_state.SuccessorType)
        and isinstance(before, cinder_state.VolumeType)
        and before.extra_specs != after.extra_specs
    ):
        return volume_type_kind.retired_name_of(before)
    return ''


def _changes(
    action: actions.Action, projects: Projects
) -> collections.abc.Iterator[Line]:
    changed = action.changes
    has_access = False
    for one in changed:
        if (
            one.field in _OF_ACCESS
            and isinstance(action.before, cinder_state.VolumeType)
            and isinstance(action.after, cinder_state.VolumeType)
        ):
            if not has_access:
                yield _access_change(action.before, action.after, projects)
            has_access = True
        elif (
            isinstance(one.before, frozenset)
            and isinstance(one.after, frozenset)
            and len(one.before | one.after) >= _SHORT_SET
        ):
            yield Line(
                name=one.field,
                after=_set_change(one.before, one.after, projects),
            )
        else:
            yield Line(
                name=one.field,
                before=_text(action.before, one.field, one.before, projects),
                after=_text(action.after, one.field, one.after, projects),
            )


def _access_change(
    before: cinder_state.VolumeType,
    after: cinder_state.VolumeType,
    projects: Projects,
) -> Line:
    members = before.projects | after.projects
    if (
        not before.is_public
        and not after.is_public
        and (len(members) >= _SHORT_SET)
    ):
        change = _set_change(before.projects, after.projects, projects)
        return Line(name=ACCESS, after=f'private: {change}')
    return Line(
        name=ACCESS,
        before=_access(before, projects),
        after=_access(after, projects),
    )


def _access(of: cinder_state.VolumeType, projects: Projects) -> str:
    if of.is_public:
        return 'public'
    return f'private: {_listed(of.projects, projects) or "no project"}'


def _set_change(
    before: frozenset[str], after: frozenset[str], projects: Projects
) -> str:
    """Return the added and removed members of a set."""
    kept = len(before & after)
    parts = [
        f'{sign} {_listed(members, projects)}'
        for sign, members in (
            ('+', after - before),
            ('-', before - after),
        )
        if members
    ]
    if kept:
        parts.append(f'{kept} stay{"s" if kept == 1 else ""}')
    return '; '.join(parts)


def _listed(members: collections.abc.Iterable[str], projects: Projects) -> str:
    return ', '.join(sorted(projects.get(one, one) for one in members))


def _whole(
    action: actions.Action, projects: Projects
) -> collections.abc.Iterator[Line]:
    """Yield all fields of an object that is created or deleted."""
    resource = action.after or action.before
    if resource is None:
        return
    left = {
        field.name
        for field in dataclasses.fields(resource)
        if action.after and field.metadata.get('none_is_any')
    }
    absent: dict[str, list[str]] = {_LEFT: [], _NOT_SET: []}
    has_access = False
    for name, value in difference.fields_of(resource).items():
        if name in _OF_ACCESS and isinstance(
            resource, cinder_state.VolumeType
        ):
            if not has_access:
                yield Line(name=ACCESS, after=_access(resource, projects))
            has_access = True
            continue
        if (
            name == 'min_size'
            and value is None
            and action.after
            and isinstance(resource, ceph_state.Pool)
        ):
            value = resource.first_min_size
        if value is None or value in ('', frozenset()):
            kind = _LEFT if value is None and name in left else _NOT_SET
            absent[kind].append(name)
        else:
            yield Line(name=name, after=_text(resource, name, value, projects))
    service = 'Ceph' if action.key.cluster else 'Cinder'
    for label, names in absent.items():
        if names:
            yield Line(
                name=f'left to {service}' if label == _LEFT else label,
                after=', '.join(names),
            )


def _beside(action: actions.Action) -> collections.abc.Iterator[Line]:
    """Yield lines about other objects that change with this one."""
    if retired := _retired_name(action):
        yield Line(name='retired as', after=retired)
    if isinstance(action.after, cinder_state.QosSpec):
        replaced = cinder_state.ReplacingQosSpec.names_in(action.after)
        if replaced:
            yield Line(name='replaces', after=', '.join(sorted(replaced)))


def _text(
    resource: actions.Resource | None,
    name: str,
    value: object,
    projects: Projects,
) -> str:
    """Return a value for people; an ambiguous text is quoted."""
    if value is None or value == frozenset() or value == '':
        return _NOT_SET
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, frozenset):
        return _listed(value, projects)
    if (
        isinstance(resource, cinder_state.TypeQuota)
        and value == cinder_state.UNLIMITED
    ):
        return 'unlimited'
    text = str(value)
    if name.endswith('_bytes') and text.isdecimal() and text.isascii():
        size_bytes = int(text)
        if size_bytes >= _LEAST_SIZE_BYTES:
            return f'{text} ({units.size_text(size_bytes)})'
    if text != text.strip() or text in (_NOT_SET, 'yes', 'no'):
        return f'"{text}"'
    return text
