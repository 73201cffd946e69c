# SPDX-License-Identifier: Apache-2.0
"""Other people's text, made harmless to show. Pure."""

import re

#: Of an order to a CI system, which reads them from anywhere in a log:
#: ##vso[...] (Azure Pipelines), ##teamcity[...], ##[...] (GitHub, runner's
#: ActionCommand.TryParse).
_ORDER = re.compile(r'##(?=[A-Za-z]*\[)')


def printable(text: str) -> str:
    r"""A text in which nothing can steer a terminal, nor end a line.

    Nor is it an order to the CI system whose log it gets into.

    >>> printable('a\x1b[2J\u202eb')
    'a\\x1b[2J\\u202eb'
    >>> printable('##vso[task.setvariable variable=PATH]/x')
    '#\\x23vso[task.setvariable variable=PATH]/x'
    """
    if not text.isprintable():
        text = ''.join(
            char
            if char.isprintable()
            else char.encode('unicode_escape').decode('ascii')
            for char in text
        )
    return _ORDER.sub(r'#\\x23', text)


def printable_lines(text: str) -> str:
    r"""A text in which nothing but the ends of lines can steer a terminal.

    >>> printable_lines('a\x1b[2J\nb')
    'a\\x1b[2J\nb'
    """
    return '\n'.join(map(printable, text.split('\n')))
