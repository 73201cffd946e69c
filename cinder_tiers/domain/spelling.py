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


"""Words of messages about names that are wrong. Pure.

A file may have thousands of names, so that what is shown and compared has an
end.
"""

import collections.abc
import difflib
import itertools

_SHOWN_NAMES = 20
_COMPARED_WORDS = 200


def did_you_mean(word: str, known: collections.abc.Iterable[str]) -> str:
    """`did you mean 'x'? ` for a word near to a known one, else ''."""
    words = list(itertools.islice(known, _COMPARED_WORDS))
    near = difflib.get_close_matches(word, words, n=1)
    return f'did you mean {near[0]!r}? ' if near else ''


def listed(names: collections.abc.Iterable[str]) -> str:
    """Names in their order, separated by commas.

    >>> listed(['b', 'a'])
    'a, b'
    """
    shown = sorted(names)
    more = (f' and {len(shown) - _SHOWN_NAMES} more'
            if len(shown) > _SHOWN_NAMES else '')
    return (', '.join(shown[:_SHOWN_NAMES]) or 'none') + more
