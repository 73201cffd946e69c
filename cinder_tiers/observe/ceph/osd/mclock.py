# SPDX-License-Identifier: Apache-2.0

"""Reads the capacity that OSDs with the queue mClock assume of their disks.

An OSD keeps the figure that it measured in the configuration of the monitors
(OSD::maybe_override_max_osd_capacity_for_qos), so that the OSDs need not be
asked. Writes nothing.
"""

import contextlib
import types

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers

#: The first release in which the queue is the default.
FIRST_RELEASE = 17

_OPTIONS = frozenset(
    {
        mclock.OP_QUEUE,
        *mclock.CAPACITIES.values(),
        *(name for several in mclock.THRESHOLDS.values() for name in several),
    }
)

#: {section and mask of the configuration: {option: value}}
_Stored = dict[tuple[str, str], dict[str, str]]


@answers.in_known_form
def observe(
    session: ceph_session.Session, found: ceph_state.CephState
) -> ceph_state.Mclock | None:
    """The figures of all OSDs that have the queue by their configuration.

    :param found: has the release and the OSDs.
    :returns: None of a release before 17, or an unknown one.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    if found.release is None or found.release < FIRST_RELEASE:
        return None
    is_default = _default(session, mclock.OP_QUEUE) == mclock.QUEUE
    stored: _Stored = {}
    for entry in session.command('config dump'):
        if entry['name'] in _OPTIONS:
            stored.setdefault((entry['section'], entry['mask']), {})[
                entry['name']
            ] = entry['value']
    return ceph_state.Mclock(
        capacities={
            osd.osd_id: _capacity(osd, stored)
            for osd in found.osds
            if _has_queue(osd, stored, is_default=is_default)
        },
        plausible_iops=types.MappingProxyType(
            {
                medium: _plausible(medium, stored)
                for medium in mclock.THRESHOLDS
            }
        ),
    )


@answers.in_known_form
def _default(session: ceph_session.Session, name: str) -> str:
    option = session.command('config help', key=name)
    return str(option.get('daemon_default') or option['default'])


def _has_queue(
    osd: ceph_state.Osd, stored: _Stored, *, is_default: bool
) -> bool:
    # It counts from the start of an OSD, when sections with a mask do not.
    queue = _told(
        mclock.OP_QUEUE,
        stored,
        (f'osd.{osd.osd_id}', ''),
        ('osd', ''),
        ('global', ''),
    )
    return is_default if queue is None else queue == mclock.QUEUE


def _told(name: str, stored: _Stored, *places: tuple[str, str]) -> str | None:
    """Return the value of the first section that has one; None without."""
    for place in places:
        if name in stored.get(place, {}):
            return stored[place][name]
    return None


def _number(text: str | None) -> float | None:
    with contextlib.suppress(ValueError):
        return None if text is None else float(text)
    return None


def _capacity(osd: ceph_state.Osd, stored: _Stored) -> ceph_state.OsdCapacity:
    own = stored.get((f'osd.{osd.osd_id}', ''), {})
    # An OSD sets the figure of its own medium; the class gives the other.
    medium = mclock.HDD if osd.device_class == mclock.HDD else mclock.SSD
    other = {mclock.HDD: mclock.SSD, mclock.SSD: mclock.HDD}[medium]
    if (
        mclock.CAPACITIES[other] in own
        and mclock.CAPACITIES[medium] not in own
    ):
        medium = other
    name = mclock.CAPACITIES[medium]
    iops = _number(
        _told(
            name,
            stored,
            (f'osd.{osd.osd_id}', ''),
            ('osd', f'host:{osd.location.get("host")}'),
            ('osd', f'class:{osd.device_class}'),
            ('osd', ''),
            ('global', ''),
        )
    )
    return ceph_state.OsdCapacity(
        medium=medium,
        iops=iops,
        is_own=name in own,
    )


def _plausible(medium: str, stored: _Stored) -> tuple[float, float]:
    found = []
    for name, known in zip(
        mclock.THRESHOLDS[medium], mclock.PLAUSIBLE_IOPS[medium], strict=True
    ):
        value = _number(_told(name, stored, ('osd', ''), ('global', '')))
        found.append(known if value is None else value)
    return found[0], found[1]
