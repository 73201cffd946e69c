# SPDX-License-Identifier: Apache-2.0

"""The keys of the tiers file, from the table that reads it.

::

    .. tiers-keys:: tiers.rbd

lists the keys of a mapping, each with its values, its default and one
sentence. Its path has the keys that lead to it, without the names of clusters
and tiers; there is none for the whole file. A page that lists one mapping must
list all of them.
"""

import collections.abc
import typing

from docutils import nodes
from sphinx import application
from sphinx.util import docutils
from sphinx.util import logging

from cinder_tiers.files.tiers import codec
from cinder_tiers.files.tiers import shapes

_HEADINGS = ('key', 'values', 'meaning')
_WIDTHS = (26, 34, 40)
#: Attribute of a table with the path of its mapping.
_PATH = 'tiers_keys'

_LOG = logging.getLogger(__name__)


class _Row(typing.NamedTuple):
    """A key of a mapping."""

    key: str
    shape: shapes.Shape
    meaning: str
    #: In reStructuredText; empty: there is nothing to say.
    default: str


def _mappings(
    shape: shapes.Shape, path: tuple[str, ...] = ()
) -> collections.abc.Iterator[tuple[str, shapes.Shape]]:
    """(path, shape) of all mappings with known keys."""
    if isinstance(shape, shapes.Named):
        shape = shape.values
    if isinstance(shape, shapes.Settings):
        yield '.'.join(path), shape
    elif isinstance(shape, shapes.Record):
        yield '.'.join(path), shape
        for one in shape.fields:
            if one.key is not None:
                yield from _mappings(one.shape, (*path, one.key))


def _rows(shape: shapes.Shape) -> collections.abc.Iterator[_Row]:
    if isinstance(shape, shapes.Settings):
        for key, one in shape.known.items():
            yield _Row(key, one, shape.meanings[key], '')
        return
    defaults = shape.defaults_of({})
    for field in shape.fields:
        if field.key is None:
            yield from _rows(field.shape)
            continue
        if field.key in shape.required:
            default = 'Required.'
        elif field.key in shape.one_of:
            others = ' and '.join(f'``{one}``' for one in shape.one_of)
            default = f'Exactly one of {others} is required.'
        else:
            default = _default(field, defaults)
        yield _Row(field.key, field.shape, field.meaning, default)


def _default(
    field: shapes.Field, defaults: collections.abc.Mapping[str, object]
) -> str:
    value = defaults.get(field.attribute)
    if isinstance(field.shape, shapes.Constant) or not isinstance(
        value, bool | int | str
    ):
        return ''
    return f'Default: ``{_spelled(value)}``.'


def _values(shape: shapes.Shape) -> list[nodes.Node]:
    """What may be there: words as they are typed, else what is expected."""
    if isinstance(shape, shapes.Named):
        names = shape.names.expected
        return [nodes.Text(f'a mapping, see below; each key is {names}')]
    if isinstance(shape, shapes.Record | shapes.Settings):
        return [nodes.Text('a mapping, see below')]
    words = _words(shape)
    if not words:
        return [nodes.Text(_told(shape))]
    found: list[nodes.Node] = []
    for word in words:
        found += [nodes.literal('', str(word)), nodes.Text(', ')]
    return found[:-1]


def _words(shape: shapes.Shape) -> list[str]:
    """The only values of a shape; none when it is not made of words."""
    words: list[object] = []
    if isinstance(shape, shapes.Constant):
        words = [shape.value]
    elif isinstance(shape, shapes.Scalar):
        if shape.keywords.get('type') == 'boolean':
            words = [True, False]
        elif 'type' not in shape.keywords:
            words = shape.keywords['enum']
    return [_spelled(one) for one in words]


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(shape: shapes.Shape) -> str:
    """What is expected, with that of the parts."""
    told = [shape.expected]
    if isinstance(shape, shapes.ListOf):
        if shape.items.expected not in shape.expected:
            told.append(f'each is {shape.items.expected}')
    elif isinstance(shape, shapes.MapOf):
        told.append(f'each key is {shape.names.expected}')
        told.append(f'each value is {_told(shape.values)}')
    return '; '.join(told)


class TiersKeys(docutils.SphinxDirective):
    """A table of the keys of one mapping."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table.

        :raises docutils.parsers.rst.DirectiveError: there is no such mapping,
            or one of its keys lacks a sentence.
        """
        path = self.arguments[0] if self.arguments else ''
        found = dict(_mappings(codec.CATALOG))
        if path not in found:
            raise self.error(
                f'{path} is no mapping of the tiers file; expected one of '
                + ', '.join(filter(None, found))
            )
        self.env.note_dependency(codec.__file__)
        group = nodes.tgroup(cols=len(_WIDTHS))
        group.extend(nodes.colspec(colwidth=width) for width in _WIDTHS)
        heading = nodes.thead()
        heading += self._line(
            *([nodes.paragraph('', one)] for one in _HEADINGS)
        )
        body = nodes.tbody()
        for row in _rows(found[path]):
            if not row.meaning:
                raise self.error(f'{row.key} of {path} has no meaning')
            body += self._line(
                [nodes.paragraph('', '', nodes.literal('', row.key))],
                [
                    nodes.paragraph(
                        '',
                        '',
                        *_values(row.shape),
                        support_smartquotes=False,
                    ),
                    *self._parsed(row.default),
                ],
                self._parsed(row.meaning),
            )
        group += heading
        group += body
        table = nodes.table('', group, classes=['colwidths-given'])
        table[_PATH] = path
        return [table]

    def _line(self, *cells: list[nodes.Node]) -> nodes.row:
        return nodes.row('', *(nodes.entry('', *cell) for cell in cells))

    def _parsed(self, text: str) -> list[nodes.Node]:
        return self.parse_text_to_nodes(text) if text else []


def _is_complete(app: application.Sphinx, document: nodes.document) -> None:
    listed = {
        table[_PATH]
        for table in document.findall(nodes.table)
        if _PATH in table
    }
    found = dict(_mappings(codec.CATALOG))
    # That of `replicated` is in two places, and is listed once.
    shown = [found[path] for path in listed]
    missing = [path for path, shape in found.items() if shape not in shown]
    if listed and missing:
        _LOG.warning(
            'the page lists keys of the tiers file, but not those of %s; add '
            '".. tiers-keys::" for each',
            ', '.join(missing),
            location=app.env.docname,
        )


def setup(app: application.Sphinx) -> dict[str, object]:
    """Adds the directive; Sphinx calls it.

    :returns: what Sphinx may assume of the extension.
    """
    app.add_directive('tiers-keys', TiersKeys)
    app.connect('doctree-read', _is_complete)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
