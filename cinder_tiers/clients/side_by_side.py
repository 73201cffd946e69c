# SPDX-License-Identifier: Apache-2.0

"""Many requests of which none waits for another one, a few at a time."""

import collections.abc
import concurrent.futures
import typing

_Item = typing.TypeVar('_Item')
_Answer = typing.TypeVar('_Answer')

#: Commands to OSDs, or to monitors; librados keeps a connection to each OSD,
#: and asks in a thread.
CEPH_AT_ONCE = 32
#: Requests to an API of OpenStack: fewer than the connections that a session
#: keeps (10, requests.adapters.DEFAULT_POOLSIZE), and than the workers of an
#: API service that others want to use as well.
API_AT_ONCE = 8


def each(
    ask: collections.abc.Callable[[_Item], _Answer],
    items: collections.abc.Iterable[_Item],
    *,
    at_once: int,
) -> list[_Answer]:
    """The answers, in the order of the items.

    When one raises, those that were not begun are not; what is under way is
    waited for.

    >>> each(abs, (-2, 1), at_once=2)
    [2, 1]

    :param ask: is called in a thread.
    :param at_once: most calls at one time.
    :raises Exception: what `ask` raised for the first of them.
    """
    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(ask, items))
