# SPDX-License-Identifier: Apache-2.0
"""Escaping of other people's text for display. Pure."""

import collections.abc
import re

#: Maximum length of a line for people, in characters.
MOST_SHOWN = 1000
#: Start of a command to a CI system that reads it from a log: ##vso[...]
#: (Azure Pipelines), ##teamcity[...], ##[...] (GitHub, runner's
#: ActionCommand.TryParse) anywhere; ::error::, ::add-path::, ... (GitHub,
#: Gitea) at the start of a line, where wrapping may put it. No word of this
#: kind is part of an IPv6 address.
_ORDER = re.compile(
    r'#(?=#[A-Za-z]*\[)|:(?=:(?:echo|[A-Za-z-]{5,})(?:\s.*?)?::)', re.DOTALL
)


def printable(text: str) -> str:
    r"""Return a text that cannot steer a terminal or end a line.

    Nor is it a command to the CI system that logs it.

    >>> printable('a\x1b[2J\u202eb')
    'a\\x1b[2J\\u202eb'
    >>> printable('##vso[task.setvariable variable=PATH]/x')
    '\\x23#vso[task.setvariable variable=PATH]/x'
    >>> printable('a\n::error file=b::c')
    'a\\n\\x3a:error file=b::c'
    """
    if not text.isprintable():
        text = ''.join(
            char
            if char.isprintable()
            else char.encode('unicode_escape').decode('ascii')
            for char in text
        )
    return _ORDER.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f'\\x{ord(found[0]):02x}'


def printable_lines(text: str) -> str:
    r"""Return a text in which only line ends can steer a terminal.

    >>> printable_lines('a\x1b[2J\nb')
    'a\\x1b[2J\nb'
    """
    return '\n'.join(map(printable, text.split('\n')))


def clipped(text: str) -> str:
    """Return the begin of a line for people, and how much was cut.

    >>> clipped('x' * 1234)[998:]
    'xx... (234 more characters)'
    """
    if len(text) <= MOST_SHOWN:
        return text
    more = len(text) - MOST_SHOWN
    return f'{text[:MOST_SHOWN]}... ({more:,} more characters)'


def clipped_list(texts: collections.abc.Sequence[str]) -> str:
    """Return the first texts in a line for people, and how many were cut.

    >>> clipped_list(['a', 'b', 'x' * 1000])
    'a, b and 1 more'
    """
    shown: list[str] = []
    left = MOST_SHOWN
    for text in map(printable, texts):
        left -= len(text)
        if left < 0:
            break
        shown.append(text)
    more = len(texts) - len(shown)
    said = ', '.join(shown)
    return f'{said} and {more} more'.lstrip() if more else said
