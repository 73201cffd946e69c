# SPDX-License-Identifier: Apache-2.0

"""Image tags as both sides of the product compare them.

A tag is free text that a tenant types, so the catalog, the extra spec
`tiers:tags` and the image must meet in one normal form. Must not know where
a tag came from.
"""

import unicodedata

#: Separator of tags in the extra spec `tiers:tags`; no tag may contain it.
SEPARATOR = ','


def normalize_tag(text: str) -> str:
    """The form in which tags are compared: stripped, NFC and casefolded.

    :param text: a tag as typed; any characters.
    :returns: the normal form; '' when nothing but white space was given.

    Casefolding can undo composition (Unicode 15.0, section 3.13, D145), so
    NFC is applied on both sides of it. Thus the function is idempotent.

    >>> normalize_tag(' Database ')
    'database'
    >>> normalize_tag('CAFE\\u0301') == normalize_tag('caf\\xe9')
    True
    """
    folded = unicodedata.normalize('NFC', text).casefold()
    return unicodedata.normalize('NFC', folded).strip()


def parse_tags(text: str) -> frozenset[str]:
    """Tags of an extra spec value.

    :param text: comma separated tags, as in `tiers:tags`.
    :returns: normal forms, without empty ones; empty for ''.

    >>> sorted(parse_tags('Database, db,,'))
    ['database', 'db']
    """
    tags = (normalize_tag(part) for part in text.split(SEPARATOR))
    return frozenset(tag for tag in tags if tag)


def format_tags(tags: frozenset[str]) -> str:
    """The extra spec value of some tags, in one fixed order.

    :param tags: tags without a comma.
    :returns: normal forms, sorted and joined; '' for no tags.

    >>> format_tags(frozenset({'Web', 'database'}))
    'database,web'
    """
    return SEPARATOR.join(sorted(normalize_tag(tag) for tag in tags))
