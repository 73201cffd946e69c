# SPDX-License-Identifier: Apache-2.0
"""Other people's text, made harmless to show. Pure."""

import re

#: Of an order to a CI system, which reads them from a log: ##vso[...] (Azure
#: Pipelines), ##teamcity[...], ##[...] (GitHub, runner's
#: ActionCommand.TryParse) anywhere; ::error::, ::add-path::, ... (GitHub,
#: Gitea) at the start of a line, where wrapping may put it. No word of this
#: kind is part of an IPv6 address.
_ORDER = re.compile(
    r'#(?=#[A-Za-z]*\[)|:(?=:(?:echo|[A-Za-z-]{5,})(?:\s.*?)?::)', re.DOTALL
)


def printable(text: str) -> str:
    r"""A text in which nothing can steer a terminal, nor end a line.

    Nor is it an order to the CI system whose log it gets into.

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
    r"""A text in which nothing but the ends of lines can steer a terminal.

    >>> printable_lines('a\x1b[2J\nb')
    'a\\x1b[2J\nb'
    """
    return '\n'.join(map(printable, text.split('\n')))
