# SPDX-License-Identifier: Apache-2.0

"""Check of the structure of plain values that should be a catalog.

The structure is the schema of `codec`; this module turns errors of jsonschema
into problems that a person can act on. Rules between tiers are in
`domain.validation`. Editors use the same schema:
`etc/cinder-tiers/tiers.schema.json` has the output of

    python -m cinder_tiers.files.tiers.schema
"""

import collections.abc
import copy
import functools
import itertools
import json
import sys
import typing

import jsonschema

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling
from cinder_tiers.domain.validation import rules
from cinder_tiers.files.tiers import codec
from cinder_tiers.files.tiers import includes

_TYPE_NAMES = {
    dict: 'a mapping',
    list: 'a list',
    str: 'text',
    bool: 'a boolean',
    int: 'an integer',
    float: 'a number',
    type(None): 'nothing',
}
_SHOWN_CHARS = 60
#: Suffix of a definition in the published schema for a file with `include`.
_OVERRIDE = '_override'


@functools.cache
def schema() -> dict[str, typing.Any]:
    """Return the JSON schema of the tiers file (draft 2020-12)."""
    return codec.schema()


def published() -> str:
    """Return the text of `etc/cinder-tiers/tiers.schema.json`.

    Editors see one file, and only the whole must be valid: if a file includes
    others, these may have the keys that it lacks, and null removes their
    values.
    """
    whole = schema()
    head = ('$schema', 'title', '$defs')
    alone = {key: value for key, value in whole.items() if key not in head}
    definitions = dict(whole['$defs'])
    overriding = _override(alone, definitions)
    overriding['type'] = alone['type']
    overriding['description'] = (
        'a mapping of what differs from the included files; null removes '
        'what they have'
    )
    # The key is allowed only in this schema.
    overriding['properties'][includes.INCLUDE] = alone['properties'][
        includes.INCLUDE
    ]
    described = {
        '$schema': whole['$schema'],
        'title': whole['title'],
        'if': {'type': 'object', 'required': [includes.INCLUDE]},
        'then': overriding,
        'else': alone,
        '$defs': dict(sorted(definitions.items())),
    }
    return json.dumps(described, indent=2) + '\n'


def _override(
    subschema: dict[str, typing.Any],
    definitions: dict[str, dict[str, typing.Any]],
) -> dict[str, typing.Any]:
    """Return the schema of a value that replaces or changes another one.

    Nothing is required in it, and it may be null. A list replaces another as a
    whole, so the rules for its items stay.

    :param definitions: definitions of the schema, to which those that the
        result refers to are added.
    """
    if '$ref' in subschema:
        reference = subschema['$ref'] + _OVERRIDE
        name = reference.rpartition('/')[2]
        if name not in definitions:
            definitions[name] = _override(
                definitions[name.removesuffix(_OVERRIDE)], definitions
            )
        return {**subschema, '$ref': reference}
    changed = {
        key: value
        for key, value in subschema.items()
        if key not in ('required', 'oneOf', 'minProperties')
    }
    if 'const' in changed:
        changed['enum'] = [changed.pop('const')]
    if 'enum' in changed:
        changed['enum'] = [*changed['enum'], None]
    if 'type' in changed:
        types = changed['type']
        changed['type'] = [
            *([types] if isinstance(types, str) else types),
            'null',
        ]
    if 'properties' in changed:
        changed['properties'] = {
            key: _override(one, definitions)
            for key, one in changed['properties'].items()
        }
    if isinstance(changed.get('additionalProperties'), dict):
        changed['additionalProperties'] = _override(
            changed['additionalProperties'], definitions
        )
    return changed


def check(
    value: object,
    source: catalogs.CatalogSource,
    *,
    described: dict[str, typing.Any] | None = None,
    what: str = 'the tiers file',
) -> tuple[typing.Any, tuple[errors.Problem, ...]]:
    """Compare a document with the schema.

    :param described: schema without references of another kind of file; None
        for that of the tiers file.
    :param what: kind of file, for messages.
    :returns: the document without its invalid parts, for which other rules can
        still be checked, and the problems in the order of the file.
    :raises errors.ProblemsFound: there are more problems than are listed; the
        rest of the document was not checked.
    """
    broken: list[tuple[jsonschema.ValidationError, list[errors.Problem]]] = []
    left = errors.MOST_PROBLEMS
    for error in _Validator(described or schema()).iter_errors(value):
        of_it = list(
            itertools.islice(_problems(error, source, what), left + 1)
        )
        broken.append((error, of_it))
        left -= len(of_it)
        if left < 0:
            break
    broken.sort(key=lambda one: source.lines.get(_path(one[0]), 0))
    problems = tuple(itertools.chain(*(of_it for _, of_it in broken)))
    if left < 0:
        raise errors.ProblemsFound(problems)
    sound = copy.deepcopy(value)
    for error, _ in broken:
        sound = _without(sound, error)
    return sound, problems


def _unique(
    validator: object, is_asked: bool, value: object, subschema: dict
) -> collections.abc.Iterator[jsonschema.ValidationError]:
    """Yield an error if a list has equal items; look at each item once.

    jsonschema compares all pairs of items without an order, which takes half a
    minute for some thousand mappings in place of names.
    """
    if (
        is_asked
        and isinstance(value, list)
        and (len({(type(one), repr(one)) for one in value}) < len(value))
    ):
        yield jsonschema.ValidationError('some items are repeated')


# JSON Schema treats 8.0 as an integer. Cinder and Ceph do not.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {'uniqueItems': _unique},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        'integer',
        lambda checker, value: (
            isinstance(value, int) and not isinstance(value, bool)
        ),
    ),
)


def _path(error: jsonschema.ValidationError) -> catalogs.Path:
    """Return the place of the wrong value or, for a wrong key, of the key."""
    path = tuple(error.absolute_path)
    if 'propertyNames' in error.absolute_schema_path:
        return (*path, error.instance)
    return path


def _problems(
    error: jsonschema.ValidationError,
    source: catalogs.CatalogSource,
    what: str,
) -> collections.abc.Iterator[errors.Problem]:
    path = _path(error)
    name = '.'.join(map(_part, path)) or what
    if error.validator == 'additionalProperties':
        yield from _unknown_keys(error, source, path, name)
        return
    if error.validator == 'required':
        # One error for each missing key; its message begins with the key.
        missing = error.message.partition("'")[2].partition("'")[0]
        yield errors.Problem(
            rule=rules.MISSING_KEY,
            where=source.where(path),
            found=f'{name} has no {missing!r}',
            expected=_description(error.schema['properties'][missing]),
            remedy=f'add {missing}',
        )
        return
    if error.validator == 'oneOf':
        if not isinstance(error.instance, dict):
            return  # its type is a problem of its own
        keys = [one['required'][0] for one in error.schema['oneOf']]
        both = keys[0] in error.instance
        yield errors.Problem(
            rule=rules.VALUE if both else rules.MISSING_KEY,
            where=source.where(path),
            found=f'{name} has {"both" if both else "neither"} of them',
            expected=f'one of {" and ".join(keys)}',
            remedy='remove one of them' if both else 'add one of them',
        )
        return
    if error.validator == 'uniqueItems':
        seen: set[str] = set()
        for index, one in enumerate(error.instance):
            if repr(one) in seen:
                yield errors.Problem(
                    rule=rules.VALUE,
                    where=source.where((*path, index)),
                    found=f'{name} has {_clip(one)} more than once',
                    expected=_description(error.schema),
                    remedy='remove one of them',
                )
                return
            seen.add(repr(one))
    is_bare_text = (
        error.validator == 'type'
        and error.schema['type'] == 'string'
        and not isinstance(error.instance, dict | list | None)
    )
    yield errors.Problem(
        rule=rules.VALUE,
        where=source.where(path),
        found=f'{name} is {_show(error.instance)}',
        expected=_description(error.schema),
        remedy='put it in quotes' if is_bare_text else f'fix {name}',
    )


def _unknown_keys(
    error: jsonschema.ValidationError,
    source: catalogs.CatalogSource,
    path: catalogs.Path,
    name: str,
) -> collections.abc.Iterator[errors.Problem]:
    known = list(error.schema['properties'])
    for key in error.instance:
        if key in known:
            continue
        near = spelling.did_you_mean(key, known)
        yield errors.Problem(
            rule=rules.UNKNOWN_KEY,
            where=source.where((*path, key)),
            found=f'unknown key {_clip(key)} in {name}',
            expected=f'one of {", ".join(known)}',
            remedy=f'{near}fix or remove it',
        )


def _description(subschema: dict) -> str:
    if '$ref' in subschema:
        subschema = schema()['$defs'][subschema['$ref'].rpartition('/')[2]]
    return subschema['description']


def _part(key: str | int) -> str:
    """Return a key of a place, quoted if it would spoil a message."""
    text = str(key)
    plain = text.isprintable() and len(text) <= _SHOWN_CHARS
    return text if plain else _clip(text)


def _show(value: object) -> str:
    kind = _TYPE_NAMES[type(value)]
    if isinstance(value, dict | list | None):
        return kind
    return f'{_clip(value)} ({kind})'


def _clip(value: object) -> str:
    shown = repr(value)
    return (
        shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + '...'
    )


def _without(
    value: typing.Any, error: jsonschema.ValidationError
) -> typing.Any:
    """Return the document without the part that an error is about.

    Names of tiers and clusters stay, or other rules would report existing
    tiers and clusters as missing.
    """
    path = tuple(error.absolute_path)
    if error.validator == 'additionalProperties':
        for key in set(error.instance) - set(error.schema['properties']):
            value = _drop(value, (*path, key))
        return value
    if 'propertyNames' in error.absolute_schema_path:
        return value
    if len(path) == 2 and path[0] in ('tiers', 'clusters'):
        if error.validator != 'required':
            value[path[0]][path[1]] = {}
        return value
    if not path and error.validator == 'required':
        return value
    return _drop(value, path)


def _drop(value: typing.Any, path: catalogs.Path) -> typing.Any:
    if not path:
        return {}
    holder = value
    for step in path[:-1]:
        # An error above may have removed the place already.
        if isinstance(holder, dict) and step not in holder:
            return value
        holder = holder[step]
    # Items of a list stay, or those after them would lose their lines.
    if isinstance(holder, dict):
        holder.pop(path[-1], None)
    return value


if __name__ == '__main__':
    sys.stdout.write(published())
