# SPDX-License-Identifier: Apache-2.0

"""Refusal of options that are not known to be safe.

Safe values are data (`known_safe`). Only changes are refused; the audit
reports values already in effect. Pure.
"""

import collections.abc
import re

from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain import units

# Numbers that Ceph reads; Python also accepts digits of other scripts.
_NUMBER = re.compile(r'[-+]?\d+(\.\d+)?([eE][-+]?\d+)?', re.ASCII)
_WHOLE = re.compile('[0-9]{1,19}', re.ASCII)

#: An option, its value, and why it is not known to be safe, as a clause.
Objection = tuple[str, str, str]

_Known = collections.abc.Mapping[str, known_safe.Safe]


def objection(known: _Known, name: str, value: str) -> str | None:
    """Return why a value of an option is not known to be safe, as a clause.

    >>> objection(known_safe.OSD, 'osd_max_scrubs', '0')[:59]
    'osd_max_scrubs 0 is not known to be safe (from 1 to 8 is): '
    >>> objection(known_safe.OSD, 'osd_max_scrubs', '1')

    :param known: a table of `known_safe`.
    :param value: text of the value in Ceph or Cinder.
    :returns: a clause; None if the value is known to be safe.
    """
    safe = known.get(name)
    if safe is None:
        return f'{name} is not among the options that are known to be safe'
    if _holds(safe, value):
        return None
    return (
        f'{name} {value} is not known to be safe ({expected(safe)} is): '
        f'{safe.beyond}'
    )


def expected(safe: known_safe.Safe) -> str:
    """Return the values known to be safe, such as `from 1 to 8`.

    >>> expected(known_safe.OSD['bluestore_cache_size'])
    '0 or from 64 MiB to 8 GiB'
    """
    known = list(safe.words)
    if safe.least is not None and safe.most is not None:
        least, most = (
            units.size_text(one) if safe.in_bytes else f'{one:.15g}'
            for one in (safe.least, safe.most)
        )
        known.append(
            least
            if least == most
            else f'{least} or more'
            if safe.most == known_safe.UNBOUNDED
            else f'from {least} to {most}'
        )
    return ' or '.join(known)


def _holds(safe: known_safe.Safe, value: str) -> bool:
    text = value.strip()
    if text in safe.words or (safe.least is None and not safe.words):
        return True
    if safe.least is None or safe.most is None:
        return False
    number: float
    if safe.in_bytes:
        try:
            number = units.size_bytes(text)
        except ValueError:
            return False
    elif _NUMBER.fullmatch(text):
        number = int(text) if _WHOLE.fullmatch(text) else float(text)
    else:
        return False
    return safe.least <= number <= safe.most


def refusals(
    objections: collections.abc.Iterable[str | None],
) -> collections.abc.Iterator[actions.Refusal]:
    """Yield one refusal for all options that are not known to be safe.

    :param objections: results of `objection`.
    """
    found = [one for one in objections if one is not None]
    if found:
        yield actions.Refusal(
            reason='; '.join(found),
            remedy='use a value that is known to be safe, or remove it from '
            'the tiers file',
            yields_to_consent=True,
        )


def of_pool(
    before: ceph_state.Pool | None, after: ceph_state.Pool
) -> collections.abc.Iterator[Objection]:
    """Yield options of a pool that change to a value not known to be safe.

    :param before: existing pool; None if it will be created.
    :param after: declared pool.
    """
    old = before.options if before else {}
    for name, value in after.options.items():
        if value == old.get(name, pool_options.of_new_pool(name)):
            continue
        # The value of the OSDs then counts.
        if value == pool_options.UNSET:
            continue
        found = objection(known_safe.POOL, name, value)
        if found:
            yield name, value, found
    old_rbd = before.rbd_options if before else {}
    for name, wanted in after.rbd_options.items():
        if wanted is not None and wanted != old_rbd.get(name):
            found = objection(known_safe.RBD, name, wanted)
            if found:
                yield name, wanted, found


def of_limits(
    specs: collections.abc.Mapping[str, str],
) -> collections.abc.Iterator[Objection]:
    """Yield limits with which a volume is unusable.

    A limit by size is judged by its value for a volume of 1 GiB. Values that
    are not numbers are left to other checks.

    :param specs: {key: value} of a QoS spec.
    """
    for name, safe in known_safe.LIMITS.items():
        for key in (name, f'{name}_max'):
            if _WHOLE.fullmatch(specs.get(key, '')):
                found = objection({key: safe}, key, specs[key])
                if found:
                    yield key, specs[key], found
        key, least = f'{name}_per_gb', f'{name}_per_gb_min'
        of_gib, floor = specs.get(key, ''), specs.get(least, '0')
        if _WHOLE.fullmatch(of_gib) and _WHOLE.fullmatch(floor):
            most = max(int(of_gib), int(floor))
            if not _holds(safe, str(most)):
                yield (
                    key,
                    of_gib,
                    f'{key} {of_gib} gives a volume of 1 GiB only {most}, '
                    f'which is not known to be safe ({expected(safe)} is): '
                    f'{safe.beyond}; '
                    f'{least} gives small volumes more',
                )
