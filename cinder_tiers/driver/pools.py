# SPDX-License-Identifier: Apache-2.0

"""The pools of a backend, as its section of cinder.conf names them. Pure."""

import collections.abc
import dataclasses
import re

OPTION = 'tiers_rbd_pools'
_EXPECTED = (
    'NAME:POOL, the volume_backend_name of a tier and its RADOS pool, neither '
    'with a blank or one of : / @ #'
)
_NAME = re.compile(r'[^\s:/@#]+')


class Invalid(Exception):
    """Pools in an option or a request are not valid."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackendPool:
    """A pool of the backend: of Cinder by one name, of Ceph by another."""

    #: Behind `#` in the host of a volume; also its `volume_backend_name`.
    name: str
    rados_pool: str


def parse(entries: collections.abc.Iterable[str]) -> tuple[BackendPool, ...]:
    """The pools that the option lists, in its order.

    >>> parse(['tier-a:a'])
    (BackendPool(name='tier-a', rados_pool='a'),)

    :param entries: each NAME:POOL.
    :raises Invalid: with all that is wrong.
    """
    found: list[BackendPool] = []
    problems: list[str] = []
    for entry in entries:
        name, _, rados_pool = entry.partition(':')
        if not (_NAME.fullmatch(name) and _NAME.fullmatch(rados_pool)):
            problems.append(f'{entry!r} is not {_EXPECTED}')
            continue
        problems += [
            f'{one.name}:{one.rados_pool} and {entry} name one {what}'
            for one in found
            for what, is_same in (
                ('pool of Cinder', one.name == name),
                ('RADOS pool', one.rados_pool == rados_pool),
            )
            if is_same
        ]
        found.append(BackendPool(name=name, rados_pool=rados_pool))
    if problems:
        raise Invalid(f'{OPTION}: {"; ".join(problems)}.')
    return tuple(found)


def pool_of(host: str | None, known: collections.abc.Iterable[str]) -> str:
    """Name of the pool in a host of Cinder.

    >>> pool_of('node@ceph#tier-a', ['tier-a'])
    'tier-a'

    :param host: host of a volume or of a destination.
    :param known: names of the pools of the backend.
    :raises Invalid: the host has no pool of these.
    """
    _, _, name = (host or '').partition('#')
    if name not in known:
        raise Invalid(
            f'The host {host!r} has '
            + (f'the pool {name!r}' if name else 'no pool')
            + f'; expected HOST@BACKEND#POOL with a pool of {OPTION}: '
            f'{", ".join(known)}.'
        )
    return name
