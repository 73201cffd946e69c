# SPDX-License-Identifier: Apache-2.0

"""Answers of Glance, and how long they are valid.

Must not know who asks, nor how. Not thread-safe: its user holds a lock.
"""

import collections.abc
import contextlib
import dataclasses
import sys
import time

import cachetools

from cinder_tiers.doors.images import glance

#: (id) for what every project may see, (id, project) for one project, and
#: (reference, project, BY_NAME) for an image that was found by its name.
Key = tuple[str, ...]
BY_NAME = 'name'
#: An image of less than twice that counts as one, a larger one as several.
_BYTES_OF_ONE = 1024
#: What an image takes beside the texts of a tenant (CPython 3.11).
_BYTES_BESIDE = 912


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Entry:
    """An image that is remembered."""

    facts: glance.ImageFacts
    read_at: float
    #: Seconds from then on for which Glance is not asked again.
    fresh_s: float
    #: Seconds for which it is kept for the case that Glance fails.
    kept_s: float
    #: As how many images it counts.
    size: int


class ImageMemory:
    """Images by their keys, as many as its size, of large ones fewer."""

    def __init__(
        self,
        *,
        size: int,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty memory.

        :param size: images remembered at most, each of about 1 KiB; a larger
            one counts as several.
        :param clock: seconds since any instant.
        """
        self._clock = clock
        self._entries: cachetools.TLRUCache[Key, _Entry] = (
            cachetools.TLRUCache(
                size,
                ttu=lambda _, entry, now: now + entry.kept_s,
                timer=clock,
                getsizeof=lambda entry: entry.size,
            )
        )

    def fresh(self, keys: tuple[Key, ...]) -> glance.ImageFacts | None:
        """Return an image that need not be read from Glance again, or None.

        :param keys: keys under which the image may be stored.
        """
        for key in keys:
            entry = self._entry(key)
            if (
                entry is not None
                and self._clock() < entry.read_at + entry.fresh_s
            ):
                return entry.facts
        return None

    def last(
        self,
        keys: tuple[Key, ...],
    ) -> tuple[glance.ImageFacts, float] | None:
        """Return the last known facts and their age in seconds, or None.

        :param keys: keys under which the image may be stored.
        """
        for key in keys:
            entry = self._entry(key)
            if entry is not None:
                return entry.facts, self._clock() - entry.read_at
        return None

    def keep(
        self,
        keys: tuple[Key, ...],
        facts: glance.ImageFacts,
        *,
        is_by_id: bool,
        fresh_s: float,
        stale_s: float,
    ) -> glance.ImageFacts:
        """Remember an image, and replace the entries of all its keys.

        :param keys: keys of the image; that of all projects first, that of a
            name last.
        :param is_by_id: whether the image was requested by id; a name may mean
            another image soon.
        :param fresh_s: seconds for which Glance is not asked again.
        :param stale_s: seconds for which the image is kept in case Glance
            fails.
        :returns: the image; the same object as before if it is equal.
        """
        key = keys[-1]
        if is_by_id:
            key = keys[0] if facts.is_open else keys[1]
        for entry in [self._entries.pop(key, None) for key in keys]:
            if entry is not None and entry.facts == facts:
                facts = entry.facts
        # One that is larger than all the memory is not kept.
        with contextlib.suppress(ValueError):
            self._entries[key] = _Entry(
                facts=facts,
                read_at=self._clock(),
                fresh_s=fresh_s,
                kept_s=max(fresh_s, stale_s if is_by_id else 0.0),
                size=max(
                    1,
                    (_bytes_of(facts) + sum(map(sys.getsizeof, key)))
                    // _BYTES_OF_ONE,
                ),
            )
        return facts

    def drop(self, keys: tuple[Key, ...]) -> None:
        """Forget an image.

        :param keys: keys under which the image may be stored.
        """
        for key in keys:
            self._entries.pop(key, None)

    def drop_old(self) -> bool:
        """Forget what is kept no longer.

        :returns: whether anything is left.
        """
        self._entries.expire()
        return bool(self._entries)

    def _entry(self, key: Key) -> _Entry | None:
        # Its get() looks twice.
        try:
            return self._entries[key]
        except KeyError:
            return None


def _bytes_of(facts: glance.ImageFacts) -> int:
    tags = facts.image.tags
    return _BYTES_BESIDE + sum(
        map(sys.getsizeof, (facts.volume_type, tags, *tags))
    )
