# SPDX-License-Identifier: Apache-2.0

"""Configured options of OSDs as parts of a catalog.

Pure. An option is declared only if all its OSDs use it, so that a plan is
empty, and if a tiers file may have it; the others are in remarks. Requirements
for OSDs cannot be derived from a cloud.
"""

import collections.abc

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.export import values as export_texts
from cinder_tiers.domain.plan import owners
from cinder_tiers.domain.resources import osd_masks
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import primary_affinity as affinities
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import ceph as ceph_state

Remarks = list[str]
Options = dict[str, model.Value]


def class_options(
    known: inventory.KnownCluster, device_class: str | None, remarks: Remarks
) -> Options:
    """Return the configured options of a class that all its OSDs use."""
    configured = known.configured.get(device_class or '')
    if not configured or device_class is None:
        return {}
    return _options(
        configured,
        known.ceph.class_options[device_class],
        known,
        f'{device_class} OSDs',
        remarks,
    )


def host_options(
    known: inventory.KnownCluster, remarks: Remarks
) -> dict[str, Options]:
    """Return {host: configured options that all its OSDs use}."""
    found = {}
    for mask, configured in sorted(known.configured_elsewhere.items()):
        osd_ids = osd_masks.osds_of(mask, known.ceph.osds)
        _leave_out(
            mask,
            'a tiers file has options of a device class or of a host, and '
            'this is for ' + (spelling.osds(osd_ids) if osd_ids else 'no OSD'),
            configured,
            remarks,
        )
    for host, configured in sorted(known.configured_hosts.items()):
        if host not in known.ceph.hosts:
            why = 'no OSD is on a CRUSH host of that name'
        elif not limits.HOST.fits(host):
            why = 'the name of the host cannot be written'
        else:
            why = ''
        if why:
            _leave_out(f'host:{host}', why, configured, remarks)
            continue
        options = _options(
            configured,
            known.ceph.host_options[host],
            known,
            f'OSDs on host {host}',
            remarks,
        )
        if options:
            found[host] = options
    return found


def _leave_out(
    mask: str,
    why: str,
    configured: collections.abc.Mapping[str, str],
    remarks: Remarks,
) -> None:
    text = ', '.join(
        f'{name}={value}' for name, value in sorted(configured.items())
    )
    remarks.append(
        f"the monitors' options for the mask {mask} are left out: {why}: "
        f'{text}'
    )


def primary_affinity(
    known: inventory.KnownCluster, device_class: str | None, remarks: Remarks
) -> float | None:
    """Return the affinity that all OSDs of a class have; None for 1."""
    if device_class is None:
        return None
    found = affinities.observed(known.ceph.osds, device_class)
    if found is None:
        return None
    values = set(found.by_osd.values())
    if len(values) > 1:
        remarks.append(
            f'the primary affinity of {device_class} OSDs is left '
            f'out: it is {found.value}'
        )
        return None
    value = export_texts.plain_value(found.value)
    return None if value == 1 or isinstance(value, str) else value


def _options(
    configured: collections.abc.Mapping[str, str],
    used: ceph_state.OsdOptions,
    known: inventory.KnownCluster,
    whose: str,
    remarks: Remarks,
) -> Options:
    found: Options = {}
    for name, text in sorted(configured.items()):
        where = f'the option {name}={text} of {whose} is left out'
        schema = known.ceph.option_schemas.get(name)
        if (
            schema is None
            or not limits.OSD_OPTION.fits(name)
            or (not export_texts.is_option(text))
        ):
            remarks.append(f'{where}: it cannot be declared')
            continue
        if osd_options.ENDANGERS_DATA.fullmatch(name):
            remarks.append(
                f'{where}: OSDs can lose data with it, so a tiers file cannot '
                'declare it; it stays as it is'
            )
            continue
        if name == owners.MEMORY and known.ceph.cephadm_tunes_memory:
            remarks.append(
                f'{where}: cephadm sets it on each host according to its '
                'memory, and will overwrite it'
            )
            continue
        now = used.values.get(name)
        if now is None or _normal(schema, text) != now:
            remarks.append(
                f'{where}: not all of them use it; the value in effect '
                f'is {("not known" if now is None else now)}'
            )
            continue
        value = export_texts.plain_value(text)
        found[name] = value if _normal(schema, value) == now else text
    return found


def _normal(schema: ceph_state.OptionSchema, value: model.Value) -> str | None:
    try:
        return osd_options.normal(schema, value)
    except ValueError:
        return None
