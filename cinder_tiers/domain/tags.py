# SPDX-License-Identifier: Apache-2.0

"""Image tags as both sides of the product compare them.

A tag is free text that a tenant types, so the catalog, the extra spec
`tiers:tags` and the image must meet in one normal form. Must not know where
a tag came from.
"""

import collections.abc
import functools
import itertools
import unicodedata

#: Separator of tags in the extra spec `tiers:tags`; no tag may contain it.
SEPARATOR = ','
#: Separators of words in a tag, on which people do not agree.
_BETWEEN_WORDS = '-_. '
#: Minimum length of a tag for a typing error: of one wrong letter, and of two
#: swapped letters; `gold` is not `cold`.
_LEAST_WRONG, _LEAST_SWAPPED = 5, 4
#: Longer tags are not compared.
_MOST_COMPARED = 80


def normalize_tag(text: str) -> str:
    """Return a tag in its compared form: stripped, NFC and casefolded.

    :param text: a tag as typed; any characters.
    :returns: normal form; '' for white space.

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
    """Return the tags of an extra spec value.

    :param text: comma separated tags, as in `tiers:tags`.
    :returns: normal forms, without empty ones; empty for ''.

    >>> sorted(parse_tags('Database, db,,'))
    ['database', 'db']
    """
    tags = (normalize_tag(part) for part in text.split(SEPARATOR))
    return frozenset(tag for tag in tags if tag)


def format_tags(tags: frozenset[str]) -> str:
    """Return the extra spec value of tags, in a fixed order.

    :param tags: tags without a comma.
    :returns: normal forms, sorted and joined; '' for no tags.

    >>> format_tags(frozenset({'Web', 'database'}))
    'database,web'
    """
    return SEPARATOR.join(sorted(normalize_tag(tag) for tag in tags))


def meant_by(tag: str, known: collections.abc.Iterable[str]) -> str | None:
    """Return the tag of a tier that a misspelled tag probably means.

    A wrong hint is worse than none. So there is a hint only for a tag that
    differs in hyphens, dots, blanks and the like, or by one typing error: a
    letter that is wrong, missing or extra, or two letters swapped, which are
    about 80 % of all errors (Damerau, A technique for computer detection and
    correction of spelling errors, CACM 7(3), 1964). These do not count as
    typing errors: another digit (`ssd1`, `ssd2`), another first letter
    (`cold`, `gold`), one letter in a short tag (`web`, `wet`), and an extra
    letter at the end (`archived`), except for an s or a doubled letter.

    >>> meant_by('Databse', ['archive', 'database'])
    'database'
    >>> meant_by('debian', ['archive', 'database'])

    :param tag: as typed; any characters.
    :param known: normal forms of the tags of tiers.
    :returns: one of `known`; None if the tag is one of them, or if none or
        several are near.
    """
    normal = normalize_tag(tag)
    if not normal or len(normal) > _MOST_COMPARED:
        return None
    tags = frozenset(known)
    if normal in tags:
        return None
    typed, shapes = _joined(normal), _by_shape(tags)
    near = {
        one
        for joined, one in shapes.get((typed[:1], len(typed)), ())
        if joined == typed
    } or {
        one
        for length in range(len(typed) - 1, len(typed) + 2)
        for joined, one in shapes.get((typed[:1], length), ())
        if _is_typing_error(typed, joined)
    }
    return near.pop() if len(near) == 1 else None


@functools.lru_cache(maxsize=4)
def _by_shape(
    known: frozenset[str],
) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Return tags by the first letter and length of their compared form.

    A tenant may tag many images with many near misses: each is compared only
    with the tags that it could mean.

    :returns: {(letter, length): [(tag without separators, tag)]}
    """
    found: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for one in known:
        joined = _joined(one)
        found.setdefault((joined[:1], len(joined)), []).append((joined, one))
    return found


def _joined(normal: str) -> str:
    """Return a tag without the separators between its words.

    >>> _joined('data-base')
    'database'
    """
    return ''.join(char for char in normal if char not in _BETWEEN_WORDS)


def _is_typing_error(typed: str, meant: str) -> bool:
    """Return whether a text differs from another one by one typing error."""
    if abs(len(typed) - len(meant)) > 1 or typed[:1] != meant[:1]:
        return False
    start = _same(typed, meant)
    end = _same(typed[: start - 1 : -1], meant[: start - 1 : -1])
    wrong = typed[start : len(typed) - end]
    right = meant[start : len(meant) - end]
    if any(map(str.isdigit, wrong + right)):
        return False
    if wrong == right[::-1] and len(wrong) == 2:
        return len(meant) >= _LEAST_SWAPPED
    if len(wrong) > 1 or len(right) > 1 or len(meant) < _LEAST_WRONG:
        return False
    # Another letter at the end makes another word.
    return typed[:-1] != meant or typed[-1] in ('s', meant[-1])


def _same(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts.

    >>> _same('abc', 'abd')
    2
    """
    return sum(
        1
        for _ in itertools.takewhile(
            lambda pair: pair[0] == pair[1], zip(one, other, strict=False)
        )
    )
