# SPDX-License-Identifier: Apache-2.0
"""Other people's text, made harmless to show. Pure."""


def printable(text: str) -> str:
    r"""A text in which nothing can steer a terminal, nor end a line.

    >>> printable('a\x1b[2J\u202eb')
    'a\\x1b[2J\\u202eb'
    """
    return ''.join(
        char
        if char.isprintable()
        else char.encode('unicode_escape').decode('ascii')
        for char in text
    )


def printable_lines(text: str) -> str:
    r"""A text in which nothing but the ends of lines can steer a terminal.

    >>> printable_lines('a\x1b[2J\nb')
    'a\\x1b[2J\nb'
    """
    return '\n'.join(map(printable, text.split('\n')))
