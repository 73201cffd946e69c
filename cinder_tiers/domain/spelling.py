# SPDX-License-Identifier: Apache-2.0


"""Words of messages about wrong names.

A file may have thousands of names, so the numbers of names that are shown and
compared are limited. Pure.
"""

import collections.abc
import difflib
import itertools

_SHOWN_NAMES = 20
_SHOWN_OSDS = 20
_COMPARED_WORDS = 200
# Up to this length, words that differ by a letter usually are unrelated.
_SHORT = 4
_NEAR, _VERY_NEAR = 0.6, 0.75
# A word that is longer by this factor cannot be similar.
_LONGER = 4


def did_you_mean(word: str, known: collections.abc.Iterable[str]) -> str:
    """Return `did you mean 'x'? ` for a word near to a known one, else ''."""
    words = list(itertools.islice(known, _COMPARED_WORDS))
    # A word of megabytes is not similar to any, and is not compared.
    if len(word) > _LONGER * max(map(len, words), default=0):
        return ''
    near = difflib.get_close_matches(
        word, words, n=1, cutoff=_cutoff(len(word))
    )
    return f'did you mean {near[0]!r}? ' if near else ''


def _cutoff(length: int) -> float:
    """Return how similar a word of a length must be, from 0 to 1.

    Half of the letters of `sas` are in `ssd`, which means something else.
    """
    return _NEAR if length > _SHORT else _VERY_NEAR


def listed(names: collections.abc.Iterable[str]) -> str:
    """Return names, sorted and separated by commas.

    >>> listed(['b', 'a'])
    'a, b'
    """
    shown = sorted(names)
    more = (
        f' and {len(shown) - _SHOWN_NAMES} more'
        if len(shown) > _SHOWN_NAMES
        else ''
    )
    return (', '.join(shown[:_SHOWN_NAMES]) or 'none') + more


def osds(osd_ids: collections.abc.Iterable[int]) -> str:
    """Return the names of OSDs, in the order of their ids.

    >>> osds([10, 9])
    'osd.9, osd.10'
    >>> osds(range(10000))[-28:]
    'osd.18, osd.19 and 9980 more'
    """
    ordered = sorted(osd_ids)
    more = (
        f' and {len(ordered) - _SHOWN_OSDS} more'
        if len(ordered) > _SHOWN_OSDS
        else ''
    )
    shown = ', '.join(f'osd.{osd_id}' for osd_id in ordered[:_SHOWN_OSDS])
    return shown + more
