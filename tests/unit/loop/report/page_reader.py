# SPDX-License-Identifier: Apache-2.0

"""Reads a report's page again, as a browser would."""

import base64
from html import parser
from xml.etree import ElementTree

SVG = '{http://www.w3.org/2000/svg}'
#: Classes of what is not on paper (the style of templates/page.html).
_NOT_ON_PAPER = {'behind', 'detail'}
_VOID = {'meta', 'img', 'br', 'hr', 'link', 'input', 'base'}


class Page(parser.HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        #: (name, attributes) of each element
        self.elements = []
        #: {caption of a figure's table: rows of texts}, the head first
        self.tables = []
        #: those of them that are printed, too
        self.printed = []
        self.texts = []
        self._open = []
        self._is_left_out = []
        self._keys = []
        self._read_keys = {}
        self._style = None
        self.feed(text)
        self.close()
        #: names of elements that were not closed
        self.left_open = self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)
            self._is_left_out.append(
                bool(_NOT_ON_PAPER & set(dict(attrs).get('class', '').split()))
            )
        if tag in ('figure', 'div'):
            self._read_keys = {}
        elif tag == 'img':
            self._keys.append(self._read_keys)
        if tag == 'table':
            self.tables.append([])
            if not any(self._is_left_out):
                self.printed.append(self.tables[-1])
        elif tag == 'tr':
            self.tables[-1].append([])
        elif tag in ('td', 'th'):
            self.tables[-1][-1].append('')

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == 'rect':
            self._style = int(dict(attrs)['class'].removeprefix('k'))

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()
            self._is_left_out.pop()

    def handle_data(self, data):
        self.texts.append(data)
        if self._style is not None and data.strip():
            self._read_keys[data.strip()] = self._style
            self._style = None
        if self._open and self._open[-1] in ('td', 'th'):
            self.tables[-1][-1][-1] += data

    def table(self, *columns):
        """Rows of the table that has these columns, as {column: text}."""
        for head, *rows in self.tables:
            if set(columns) <= set(head):
                return [dict(zip(head, row, strict=True)) for row in rows]
        raise AssertionError(f'no table has {columns}')

    def pictures(self):
        """(alternative text, SVG) of each chart."""
        return [
            (attributes['alt'], _svg(attributes['src']))
            for name, attributes in self.elements
            if name == 'img'
        ]

    def keys(self):
        """{name: number of its colour} of each picture, of its own chart."""
        return self._keys


def texts(svg):
    """All texts of a picture that are not empty."""
    return [
        (node.text or '').strip()
        for node in ElementTree.fromstring(svg).iter(f'{SVG}text')
        if (node.text or '').strip()
    ]


def _svg(url):
    head, _, data = url.partition(',')
    assert head == 'data:image/svg+xml;base64', head
    return ElementTree.fromstring(base64.b64decode(data))
