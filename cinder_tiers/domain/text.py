# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Other people's text, made harmless to show. Pure."""


def printable(text: str) -> str:
    r"""A text in which nothing can steer a terminal, nor end a line.

    >>> printable('a\x1b[2J\u202eb')
    'a\\x1b[2J\\u202eb'
    """
    return ''.join(
        char if char.isprintable()
        else char.encode('unicode_escape').decode('ascii') for char in text)


def printable_lines(text: str) -> str:
    r"""A text in which nothing but the ends of lines can steer a terminal.

    >>> printable_lines('a\x1b[2J\nb')
    'a\\x1b[2J\nb'
    """
    return '\n'.join(map(printable, text.split('\n')))
