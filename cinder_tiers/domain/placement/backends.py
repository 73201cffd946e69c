# SPDX-License-Identifier: Apache-2.0

"""Backends that serve a volume type, found by their capabilities.

The rules are those of Cinder's CapabilitiesFilter
(cinder/scheduler/filters/capabilities_filter.py and extra_specs_ops.py,
29.0.0), for use outside of the scheduler: Cinder's own answer, `get_pools`
with the filter `volume_type`, is an error if a backend reports its free space
(29.0.0: CapacityFilter adds the missing size to a number). A test compares
these rules with Cinder's. Must not know any tier, nor how pools are listed.
"""

import collections.abc
import dataclasses
import difflib
import operator
import types

from cinder_tiers.domain.state import cinder as cinder_state

#: Capabilities that name a backend, or its pool.
_NAMES = ('volume_backend_name', 'pool_name')
#: Features of Cinder that backends of any kind report.
_FEATURES = frozenset(
    {
        'multiattach',
        'replication_enabled',
        'thin_provisioning_support',
        'thick_provisioning_support',
        'online_extend_support',
        'sparse_copy_volume',
        'QoS_support',
    }
)
#: Similarity, from 0 to 1, at which a word counts as a misspelling of one of
#: `_NAMES`.
_NEAR = 0.8

#: Words that Cinder reads as true (oslo_utils.strutils).
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in _TRUE


#: {operator: function of (capability, wanted word)}
_OPERATORS = types.MappingProxyType(
    {
        '=': lambda found, wanted: float(found) >= float(wanted),
        '==': lambda found, wanted: float(found) == float(wanted),
        '!=': lambda found, wanted: float(found) != float(wanted),
        '>=': lambda found, wanted: float(found) >= float(wanted),
        '<=': lambda found, wanted: float(found) <= float(wanted),
        's==': operator.eq,
        's!=': operator.ne,
        's<': operator.lt,
        's<=': operator.le,
        's>': operator.gt,
        's>=': operator.ge,
        '<in>': lambda found, wanted: wanted in found,
        '<is>': lambda found, wanted: _is_true(found) is _is_true(wanted),
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Backend:
    """A pool of a backend that reports to Cinder's scheduler."""

    #: host@backend#pool
    name: str
    #: Capabilities as reported by the driver.
    capabilities: collections.abc.Mapping[str, object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mismatch:
    """An extra spec that a backend does not meet."""

    key: str
    #: None for an extra spec without a value.
    wanted: str | None
    #: None if the backend does not report the capability.
    found: str | None

    def __str__(self) -> str:
        found = 'is not reported' if self.found is None else f'is {self.found}'
        return f'{self.key} {found}, expected {self.wanted}'


def capability_names(
    extra_specs: collections.abc.Mapping[str, str | None],
) -> tuple[str, ...]:
    """Return the capabilities that Cinder's CapabilitiesFilter checks, sorted.

    These are the top level names. A type without any claims no backend.

    :param extra_specs: {key: value} of a volume type.

    >>> capability_names({'capabilities:a:b': '1', 'tiers:name': 'x', 'c': ''})
    ('a', 'c')
    """
    names = set()
    for key in extra_specs:
        scope, *rest = key.split(':')
        if not rest:
            names.add(scope)
        elif scope == 'capabilities':
            names.add(rest[0])
    return tuple(sorted(names))


def alternatives(wanted: str | None) -> tuple[str, ...]:
    """Return the values that an extra spec allows, in its order.

    Cinder takes every second word as a value if the first is ``<or>``.

    :param wanted: value of the extra spec; None or empty for none.

    >>> [alternatives(one) for one in ('<or> ssd <or> hdd', 'ssd', '')]
    [('ssd', 'hdd'), ('ssd',), ()]
    """
    words = (wanted or '').split()
    if words[:1] == [cinder_state.OR]:
        return tuple(words[1::2])
    return (wanted,) if wanted else ()


def _values(wanted: str | None) -> tuple[str, ...]:
    """Return the values that an extra spec names; none for a comparison.

    >>> [_values(one) for one in ('s== ssd', '<in> ssd', 's!= ssd', ' ')]
    [('ssd',), (), (), ()]
    """
    words = (wanted or '').split()
    if not words:
        return ()
    if words[0] == 's==':
        return tuple(words[1:2])
    return () if words[0] in _OPERATORS else alternatives(wanted)


def _asks_for_true(wanted: str | None) -> bool:
    words = (wanted or '').split()
    return words[:1] == ['<is>'] and len(words) > 1 and _is_true(words[1])


def names_backend(
    extra_specs: collections.abc.Mapping[str, str | None],
) -> bool:
    """Return whether a volume type names where its volumes lie.

    Other extra specs and comparisons, which many backends meet, are not names.

    :param extra_specs: {key: value} of the type.

    >>> names_backend({'capabilities:pool_name': '<or> ssd <or> hdd'})
    True
    >>> names_backend({'tiers:name': 'a', 'volume_backend_name': '<in> a'})
    False
    """
    return any(
        _values(extra_specs.get(key))
        for name in _NAMES
        for key in (name, f'capabilities:{name}')
    )


def selects_backends(
    extra_specs: collections.abc.Mapping[str, str | None],
) -> bool:
    """Return whether a volume type selects some backends and not others.

    A comparison, such as ``>= 100``, and a feature of Cinder's own, such as
    ``multiattach``, do not. Nor does a misspelled ``volume_backend_name``.

    :param extra_specs: {key: value} of the type.

    >>> [selects_backends(one) for one in (
    ...     {'vendor_name': 'x'}, {'multiattach': '<is> True'},
    ...     {'volume_backend': 'ssd'})]
    [True, False, False]
    """
    return names_backend(extra_specs) or any(
        _values(wanted) or _asks_for_true(wanted)
        for key, wanted in extra_specs.items()
        for name in capability_names({key: wanted})
        if (name not in _FEATURES)
        and not difflib.get_close_matches(name.lower(), _NAMES, cutoff=_NEAR)
    )


def may_share(
    one: collections.abc.Mapping[str, str],
    other: collections.abc.Mapping[str, str],
) -> bool:
    """Return whether a backend could serve two volume types.

    :param one: extra specs {key: value} of a volume type.
    :param other: extra specs of the other type. A backend may have any value
        of a capability that only one of them names.

    >>> ssd, both = {'volume_backend_name': 'ssd'}, '<or> ssd <or> hdd'
    >>> may_share(ssd, {'volume_backend_name': both, 'tiers:name': 'x'})
    True
    >>> may_share(ssd, {'volume_backend_name': 'hdd'})
    False
    >>> may_share(ssd, {'multiattach': '<is> True'})
    True
    """
    return all(
        set(alternatives(one.get(key))) & set(alternatives(wanted))
        for key, wanted in other.items()
        if key in one and capability_names({key: wanted})
    )


def find_mismatch(
    backend: Backend,
    extra_specs: collections.abc.Mapping[str, str | None],
) -> Mismatch | None:
    """Return why a backend may not serve a volume type; None if it may.

    :param extra_specs: {key: value} of the type; keys with another scope than
        `capabilities` do not concern backends.
    :returns: the first mismatch, in the order of the keys.

    >>> one = Backend(name='a@b#c', capabilities={'multiattach': True})
    >>> find_mismatch(one, {'multiattach': '<is> True'}) is None
    True
    >>> str(find_mismatch(one, {'volume_backend_name': 'ssd'}))
    'volume_backend_name is not reported, expected ssd'
    """
    for key in sorted(extra_specs):
        scope, *rest = key.split(':')
        if rest and scope != 'capabilities':
            continue
        found: object = backend.capabilities
        for part in rest if scope == 'capabilities' else [scope]:
            if not isinstance(found, collections.abc.Mapping) or (
                part not in found
            ):
                return Mismatch(key=key, wanted=extra_specs[key], found=None)
            found = found[part]
        values = found if isinstance(found, list) else [found]
        if not any(_is_met(value, extra_specs[key]) for value in values):
            return Mismatch(key=key, wanted=extra_specs[key], found=str(found))
    return None


def _is_met(found: object, wanted: str | None) -> bool:
    if wanted is None:
        return found is None
    words = wanted.split()
    name = words[0] if words else ''
    if name == cinder_state.OR:
        return found in alternatives(wanted)
    if name not in _OPERATORS:
        return found == wanted
    if found is None or len(words) < 2:
        return False
    try:
        return bool(_OPERATORS[name](found, words[1]))
    except (TypeError, ValueError):
        return False
