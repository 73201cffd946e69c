# SPDX-License-Identifier: Apache-2.0

"""Finds an object of Cinder by its name without listing all of them.

Cinder cannot be asked for a volume type or a QoS spec of a name: a look-up of
a type by name would take a name for an id, and the filter `name` of QoS specs
matches none (29.0.0). So the ids of a list are remembered, and an object is
then read by its id.
"""

import collections.abc
import time
import typing
import weakref

import openstack.block_storage.v3._proxy
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client

BlockStorage: typing.TypeAlias = openstack.block_storage.v3._proxy.Proxy

#: How long a list is believed, in seconds. Cinder refuses a second object of
#: a name, so that a list that is out of date does no harm.
FRESH_S = 60.0


class NamedObject(typing.Protocol):
    """An object of Cinder."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def name(self) -> str:
        """Its name."""


_One = typing.TypeVar('_One', bound=NamedObject)


class ByName(typing.Generic[_One]):
    """The objects of one kind, by connection and name.

    :param list_all: lists all of them.
    :param path: path of one object, with a placeholder for its ID.
    :param key: key of the object in the response.
    :param parse: function that makes the object of that value.
    """

    def __init__(
        self,
        *,
        list_all: collections.abc.Callable[[BlockStorage], list[_One]],
        path: str,
        key: str,
        parse: collections.abc.Callable[[dict], _One],
    ) -> None:
        self._list_all = list_all
        self._path = path
        self._key = key
        self._parse = parse
        self._known: weakref.WeakKeyDictionary[BlockStorage, _KnownObjects] = (
            weakref.WeakKeyDictionary()
        )

    def find(
        self, block_storage: BlockStorage, name: str, *, is_sure: bool = False
    ) -> _One | None:
        """Find an object by its name; None if it does not exist.

        Takes one call if the name was seen before. Otherwise the last list is
        trusted once for each name, since a caller that asks again may have
        created the object meanwhile; after that all are listed anew.

        :param is_sure: whether to ignore earlier lists.
        """
        known = self._known.setdefault(block_storage, _KnownObjects())
        if name in known.ids:
            found = self._show(block_storage, known.ids[name])
            if found is not None and found.name == name:
                return found
            # Deleted or renamed since: another may have the name now.
            known.listed_s = None
        if not is_sure and known.is_fresh and name not in known.believed:
            known.believed.add(name)
            return None
        listed = {one.name: one for one in self._list_all(block_storage)}
        self.remember(block_storage, listed.values())
        known.believed.add(name)
        return listed.get(name)

    def _show(self, block_storage: BlockStorage, ident: str) -> _One | None:
        try:
            answer = openstack_client.request(
                block_storage, 'GET', self._path, ident
            )
        except openstack.exceptions.NotFoundException:
            return None
        return self._parse(answer.json()[self._key])

    def remember(
        self,
        block_storage: BlockStorage,
        found: collections.abc.Iterable[_One],
    ) -> None:
        """Takes a list of all objects that exist."""
        known = self._known.setdefault(block_storage, _KnownObjects())
        known.ids = {one.name: one.id for one in found}
        known.listed_s = time.monotonic()
        known.believed = set()

    def add(self, block_storage: BlockStorage, name: str, ident: str) -> None:
        """Takes an object that was made."""
        self._known.setdefault(block_storage, _KnownObjects()).ids[name] = (
            ident
        )


class _KnownObjects:
    """Objects known from one connection."""

    def __init__(self) -> None:
        #: {name: id}; one that is no longer right shows when it is used.
        self.ids: dict[str, str] = {}
        self.listed_s: float | None = None
        #: Names that the list was believed not to have.
        self.believed: set[str] = set()

    @property
    def is_fresh(self) -> bool:
        """Return whether the list of names is recent enough to be trusted."""
        return (
            self.listed_s is not None
            and time.monotonic() - self.listed_s < FRESH_S
        )
