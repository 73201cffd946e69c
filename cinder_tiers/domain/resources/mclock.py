# SPDX-License-Identifier: Apache-2.0

"""The mClock queue of OSDs: options in effect, and IOPS capacities.

An OSD with this queue (the default since Ceph 17) shares its I/O by a profile,
in parts of the random writes per second that it assumes for its disk. It
measures them once, at its first start, and keeps the figure in the monitors; a
wrong figure makes each share wrong. Pure. Must not know how OSDs are asked.
"""

import collections.abc
import math
import statistics
import types

from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state

#: Value of osd_op_queue for mClock.
QUEUE = 'mclock_scheduler'
OP_QUEUE = 'osd_op_queue'
PREFIX = 'osd_mclock_'
PROFILE = 'osd_mclock_profile'
#: Profile with which an OSD reads its shares from the options.
CUSTOM = 'custom'
#: Prefix of the shares of kinds of I/O, which any other profile sets itself
#: (mClockScheduler::handle_conf_change).
SHARES = 'osd_mclock_scheduler_'
#: Has that prefix but is not a share; every profile uses it.
_NO_SHARES = frozenset({'osd_mclock_scheduler_anticipation_timeout'})

HDD, SSD = 'hdd', 'ssd'
#: {medium of the data: the option with its IOPS of 4 KiB}
CAPACITIES: collections.abc.Mapping[str, str] = types.MappingProxyType(
    {medium: f'osd_mclock_max_capacity_iops_{medium}' for medium in (HDD, SSD)}
)
#: {medium: options with the least and the most IOPS of a measurement}; the
#: first came with Ceph 20, the second with 18 and 17.2.6.
THRESHOLDS: collections.abc.Mapping[str, tuple[str, str]] = (
    types.MappingProxyType(
        {
            medium: (
                f'osd_mclock_iops_capacity_low_threshold_{medium}',
                f'osd_mclock_iops_capacity_threshold_{medium}',
            )
            for medium in (HDD, SSD)
        }
    )
)
#: Defaults in Ceph 20.2.4, which 18 shares where it has them.
PLAUSIBLE_IOPS: collections.abc.Mapping[str, tuple[float, float]] = (
    types.MappingProxyType({HDD: (50, 500), SSD: (1000, 80000)})
)
#: Factor by which the figure of an OSD may differ from the median of its
#: class. Disks of one model differ by some percent; placement groups are
#: spread as if all were equal.
MOST_APART = 2

#: Remedy for the figure of one OSD (Ceph's mclock-config-ref.rst).
MEASURE = (
    'measure it while the OSD has little to do, with "ceph tell osd.N cache '
    'drop" and "ceph tell osd.N bench 12288000 4096 4194304 100", and set '
    'what is right with "ceph config set osd.N {name} IOPS"'
)


def refusals(
    changed: collections.abc.Collection[str],
    before: ceph_state.OsdOptions,
    after: ceph_state.OsdOptions,
    own: ceph_state.Mclock | None,
    osd_ids: collections.abc.Collection[int],
) -> collections.abc.Iterator[actions.Refusal]:
    """Yield refusals of mClock options that OSDs would accept and ignore.

    :param changed: options that differ from their declared values.
    :param before: options in effect.
    :param after: declared options.
    :param own: IOPS capacities of the OSDs of the cluster; None if unknown.
    :param osd_ids: ids of the OSDs of the device class or host.
    """
    names = sorted(name for name in changed if name.startswith(PREFIX))
    if not names:
        return
    if before.other_queue_osds and after.values.get(OP_QUEUE) != QUEUE:
        yield actions.Refusal(
            reason=f'{spelling.osds(before.other_queue_osds)} would not use '
            f'{", ".join(names)}: their {OP_QUEUE} is not {QUEUE}',
            remedy=f'remove it from the tiers file, or set {OP_QUEUE} to '
            f'{QUEUE} for each of these OSDs, and restart them',
        )
    shares = [
        name
        for name in names
        if name.startswith(SHARES) and name not in _NO_SHARES
    ]
    if shares and before.mclock_osds and after.values.get(PROFILE) != CUSTOM:
        yield actions.Refusal(
            reason=f'{spelling.osds(before.mclock_osds)} would not use '
            f'{", ".join(shares)}: any profile but {CUSTOM} sets them itself',
            remedy=f'remove it from the tiers file, or declare {PROFILE}: '
            f'{CUSTOM} as well',
        )
    for medium, name in CAPACITIES.items():
        if name in names and (declared := after.values[name]) is not None:
            yield from _refusals_of_capacity(medium, declared, own, osd_ids)


def _number(text: str) -> float:
    """Return the number in a text; NaN, which is in no range, without one."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _refusals_of_capacity(
    medium: str,
    declared: str,
    own: ceph_state.Mclock | None,
    osd_ids: collections.abc.Collection[int],
) -> collections.abc.Iterator[actions.Refusal]:
    name = CAPACITIES[medium]
    least, most = (own.plausible_iops if own is not None else PLAUSIBLE_IOPS)[
        medium
    ]
    if not least <= _number(declared) <= most:
        yield actions.Refusal(
            reason=f'{name} {declared} is not a plausible figure: from '
            f'{least:g} to {most:g} IOPS are expected ('
            f'{" and ".join(THRESHOLDS[medium])})',
            remedy=MEASURE.format(name=name),
            yields_to_consent=True,
        )
    having = sorted(
        osd_id
        for osd_id in osd_ids
        if own is not None
        and (figure := own.capacities.get(osd_id))
        and figure.is_own
        and figure.medium == medium
    )
    if having:
        yield actions.Refusal(
            reason=f'{spelling.osds(having)} would not use {name}: each has '
            'a figure of its own in the monitors, which takes precedence',
            remedy=f'remove theirs with "ceph config rm osd.N {name}", or '
            'remove it from the tiers file',
        )


def doubts(
    own: ceph_state.Mclock | None,
    osd_ids: collections.abc.Iterable[int],
) -> dict[str, str]:
    """Return implausible IOPS capacities of the OSDs of one device class.

    :param own: IOPS capacities of the OSDs of the cluster; None if unknown.
    :param osd_ids: ids of OSDs; those with another queue are skipped.
    :returns: {option: values found, with the OSDs}.
    """
    found: dict[str, str] = {}
    if own is None:
        return found
    osd_ids = sorted(osd_ids)
    for medium, name in CAPACITIES.items():
        figures = {
            osd_id: own.capacities[osd_id]
            for osd_id in osd_ids
            if osd_id in own.capacities
            and own.capacities[osd_id].medium == medium
        }
        least, most = own.plausible_iops[medium]
        guessed, odd, known = [], {}, {}
        for osd_id, one in figures.items():
            if one.iops is None:
                guessed.append(osd_id)
            elif least <= one.iops <= most:
                known[osd_id] = one.iops
            else:
                odd[osd_id] = one.iops
        middle = statistics.median(known.values()) if known else 0
        apart = {
            osd_id: iops
            for osd_id, iops in known.items()
            if not middle / MOST_APART <= iops <= middle * MOST_APART
        }
        texts = [
            f'{what} ({spelling.osds(of_some)})'
            for what, of_some in (
                ('the default, not measured', guessed),
                (f'{_range(odd)}, not from {least:g} to {most:g}', odd),
                (
                    f'{_range(apart)}, far from the median {middle:g} of '
                    'the class',
                    apart,
                ),
            )
            if of_some
        ]
        if texts:
            found[name] = '; '.join(texts)
    return found


def _range(figures: collections.abc.Mapping[int, float]) -> str:
    if not figures:
        return ''
    least, most = min(figures.values()), max(figures.values())
    return f'{least:g}' if least == most else f'{least:g} to {most:g}'
