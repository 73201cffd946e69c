# SPDX-License-Identifier: Apache-2.0

"""What Glance answered, and for how long it counts.

Must not know who asks, nor how. Not safe by itself for many threads: its user
holds a lock.
"""

import collections.abc
import dataclasses
import time

import cachetools

from cinder_tiers.doors import glance

#: (id) for what every project may see, or (reference, project).
Key = tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Entry:
    """An image that is remembered."""

    facts: glance.ImageFacts
    read_at: float
    #: Seconds from then on for which Glance is not asked again.
    fresh_s: float
    #: Seconds for which it is kept for the case that Glance fails.
    kept_s: float


class ImageMemory:
    """Images by their keys, as many as its size."""

    def __init__(
        self,
        *,
        size: int,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is remembered yet.

        :param size: images remembered at most.
        :param clock: seconds since any instant.
        """
        self._clock = clock
        self._entries: cachetools.TLRUCache[Key, _Entry] = (
            cachetools.TLRUCache(
                size, ttu=lambda _, entry, now: now + entry.kept_s, timer=clock
            )
        )

    def fresh(self, keys: tuple[Key, ...]) -> glance.ImageFacts | None:
        """An image for which Glance need not be asked.

        :param keys: where it may be.
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
        """What was known last, and its age in seconds.

        :param keys: where it may be.
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
        """Remember an image, in place of what all its keys had.

        :param keys: that of all projects first, that of one project last.
        :param facts: the image.
        :param is_by_id: whether the id is what was asked for; a name may mean
            another image soon.
        :param fresh_s: seconds for which Glance is not asked again.
        :param stale_s: seconds for which it is kept for the case that Glance
            fails.
        :returns: the image; the same object as before if it is equal.
        """
        key = keys[0] if is_by_id and facts.is_open else keys[-1]
        for entry in [self._entries.pop(key, None) for key in keys]:
            if entry is not None and entry.facts == facts:
                facts = entry.facts
        self._entries[key] = _Entry(
            facts=facts,
            read_at=self._clock(),
            fresh_s=fresh_s,
            kept_s=max(fresh_s, stale_s if is_by_id else 0.0),
        )
        return facts

    def drop(self, keys: tuple[Key, ...]) -> None:
        """Forget an image.

        :param keys: where it may be.
        """
        for key in keys:
            self._entries.pop(key, None)

    def _entry(self, key: Key) -> _Entry | None:
        # Its get() looks twice.
        try:
            return self._entries[key]
        except KeyError:
            return None
