# SPDX-License-Identifier: Apache-2.0

"""Matching of backends and volume types, by Cinder's own code.

A verdict depends only on the capabilities that the extra specs name, so it is
remembered by their values: Cinder copies all capabilities of all pools anew
for each request, although they rarely change. Must not know any tier or
request.
"""

import collections.abc
import functools
import operator
import typing

from cinder.scheduler.filters import capabilities_filter

from cinder_tiers.domain.placement import backends as matching_rules

#: Verdicts that one matcher remembers at most.
_MOST_VERDICTS = 10000
_BACKEND_NAME = ('volume_backend_name',)
#: By whether a backend may serve a volume of the type.
_WEIGHT = {True: 0.0, False: 1.0}


class SchedulerBackend(typing.Protocol):
    """A pool as Cinder's scheduler knows it (BackendState)."""

    @property
    def capabilities(self) -> collections.abc.Mapping[str, object] | None:
        """Reported capabilities."""


class Matcher:
    """The matching of one set of extra specs."""

    def __init__(
        self,
        extra_specs: collections.abc.Mapping[str, str],
    ) -> None:
        """Create a matcher without verdicts.

        :param extra_specs: {key: value} of a volume type.
        """
        self._properties = {
            'resource_type': {'extra_specs': dict(extra_specs)}
        }
        #: Whether they name a backend, see `backends.names_backend`.
        self.names_backend = matching_rules.names_backend(extra_specs)
        self._names = matching_rules.capability_names(extra_specs)
        # To Cinder a bare `capabilities` is all of them (29.0.0).
        self._remembers = 'capabilities' not in extra_specs
        self._values = (
            operator.itemgetter(*self._names) if self._names else None
        )
        #: By values that are strings; others would be equal too easily,
        #: as 1 and True are.
        self._by_strings: dict[object, bool] = {}
        self._weights_by_strings: dict[object, float] = {}
        self._by_values: dict[object, bool] = {}

    @property
    def names(self) -> tuple[str, ...] | None:
        """The capabilities on which a verdict depends; None for all."""
        return self._names if self._remembers else None

    def keep(self, backends: list) -> list:
        """The backends that may serve a volume of the type, in order.

        :param backends: BackendState objects of Cinder's scheduler.
        :raises Exception: whatever Cinder's matching raises.
        """
        if self._values is None:
            return backends
        # A call of ours in the loop would cost as much as all the rest, and
        # nearly always all values are known strings, and one is named.
        known = self._by_strings
        try:
            if self._names == _BACKEND_NAME:
                return self._of_backend_name(backends) or self._judge_all(
                    backends
                )
            if len(self._names) == 1:
                (name,) = self._names
                return [
                    backend
                    for backend in backends
                    if known[backend.capabilities.data[name]]
                ]
            values = self._values
            return [
                backend
                for backend in backends
                if known[values(backend.capabilities.data)]
            ]
        except (AttributeError, KeyError, TypeError):
            return self._judge_all(backends)

    def weights(self, weighed: list) -> list[float]:
        """Return 0 for each backend that the type allows, or else 1.

        For a weigher, so the backends are those that all filters let through.

        :param weighed: WeighedHost objects of Cinder's scheduler.
        :raises Exception: Cinder's matching failed.
        """
        known, values = self._weights_by_strings, self._values
        try:
            if self._names == _BACKEND_NAME:
                # A name that is new may lag behind, as in `_of_backend_name`:
                # the backend keeps its old rank for as long.
                return [known[one.obj.volume_backend_name] for one in weighed]
            if values is not None:
                return [
                    known[values(one.obj.capabilities.data)] for one in weighed
                ]
        except (AttributeError, KeyError, TypeError):
            # One is not known yet, or not by its strings.
            return [_WEIGHT[self._judge(one.obj)] for one in weighed]
        return [_WEIGHT[True]] * len(weighed)

    def _of_backend_name(self, backends: list) -> list:
        """Do the work of `keep` for specs that name only the backend.

        The name is also an attribute of BackendState, which earlier filters
        have brought into the processor's caches, while the capabilities are
        new copies: they are read only for backends that match by the
        attribute. After a new name was reported the attribute may lag behind
        (it waits for a newer timestamp, 29.0.0); such a backend is left out
        for as long, but never if it is the only one.
        """
        known = self._by_strings
        (name,) = _BACKEND_NAME
        kept = [
            backend
            for backend in backends
            if known[backend.volume_backend_name]
        ]
        # There are few names: to look each of them up costs less than to
        # look up that of each backend.
        names = {backend.capabilities.data[name] for backend in kept}
        if all(known[one] for one in names):
            return kept
        return [
            backend
            for backend in kept
            if known[backend.capabilities.data[name]]
        ]

    def _judge_all(self, backends: list) -> list:
        return [backend for backend in backends if self._judge(backend)]

    def _judge(self, backend: SchedulerBackend) -> bool:
        capabilities = backend.capabilities
        # A mapping whose own get() is ten times slower than a dict's.
        get = getattr(capabilities, 'data', capabilities or {}).get
        values = tuple([get(name, _MISSING) for name in self._names])
        key = (values, *map(type, values))
        try:
            return self._by_values[key]
        except KeyError:
            is_hashable = True
        except TypeError:
            is_hashable = False
        passes = bool(
            capabilities_filter.CapabilitiesFilter().backend_passes(
                backend, self._properties
            )
        )
        if is_hashable and self._remembers:
            if len(self._by_values) >= _MOST_VERDICTS:
                self._by_values.clear()
                self._by_strings.clear()
                self._weights_by_strings.clear()
            self._by_values[key] = passes
            if all(isinstance(value, str) for value in values):
                strings = values if len(values) > 1 else values[0]
                self._by_strings[strings] = passes
                self._weights_by_strings[strings] = _WEIGHT[passes]
        return passes


_MISSING = object()


@functools.lru_cache(maxsize=10000)
def _matcher_of(items: tuple[tuple[str, str], ...]) -> Matcher:
    return Matcher(dict(items))


def matcher_of(extra_specs: collections.abc.Mapping[str, str]) -> Matcher:
    """The matcher of this process for some extra specs.

    :param extra_specs: {key: value} of a volume type.
    """
    # In their order: it says whether one that Cinder cannot match is reached.
    return _matcher_of(tuple(extra_specs.items()))
