# SPDX-License-Identifier: Apache-2.0

"""Comparison of OSDs with the requirements of a tier.

No API sets them: the object store and the disks of an OSD are fixed when it is
created, and an I/O scheduler is a kernel setting. So requirements are audited
but never planned. Pure. Must not know how OSDs are asked.
"""

import collections.abc
import dataclasses
import enum
import shlex

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import spelling
from cinder_tiers.domain import units

_SCHEDULER = 'io_scheduler'
_ROCKSDB = 'rocksdb_compression'
#: {requirement in bytes: field}
_FIELDS = {'alloc_size': 'alloc_size_bytes'}
_AGAIN = 'see "ceph osd tree" and "ceph osd metadata", and run the audit again'


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdPart:
    """A part of an OSD that may be on other disks than its data."""

    #: Kernel names of its disks, such as sdb; empty: not known.
    disks: frozenset[str] = frozenset()
    #: None: not known.
    rotational: bool | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdFacts:
    """Facts that an OSD reported when it started; None: not reported."""

    is_up: bool
    #: Host name by its kernel.
    host: str | None = None
    object_store: str | None = None
    rotational: bool | None = None
    file_system: str | None = None
    #: Kernel names of the disks of its data.
    disks: frozenset[str] = frozenset()
    #: {db, wal or journal: its place}, without parts that BlueStore keeps with
    #: the data.
    parts: collections.abc.Mapping[str, OsdPart] | None = None
    #: The unit in which BlueStore allocates.
    alloc_size_bytes: int | None = None
    #: Compression of BlueStore's database, in the words of the catalog.
    rocksdb_compression: str | None = None
    #: {disk: I/O scheduler}, as far as it could be seen.
    schedulers: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )


class RequirementAnswer(enum.Enum):
    """Result of checking a requirement."""

    MET = 'met'
    NOT_APPLICABLE = 'not applicable'
    """No OSD has what the requirement is about."""
    UNKNOWN = 'unknown'
    UNMET = 'unmet'


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequirementComparison:
    """The requirements with the same answer."""

    answer: RequirementAnswer
    #: {requirement: current values, with their OSDs}.
    current: collections.abc.Mapping[str, str]
    #: {requirement: required value}.
    expected: collections.abc.Mapping[str, str]
    reason: str
    #: Remedy as an imperative.
    remedy: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Look:
    """Answer on one requirement for one OSD."""

    answer: RequirementAnswer
    current: str
    reason: str = ''


def compare(
    requirements: catalogs.Requirements,
    osds: collections.abc.Mapping[int, OsdFacts | None],
) -> tuple[RequirementComparison, ...]:
    """Compare OSDs with requirements.

    :param osds: {OSD id: facts; None if nothing is known}
    :returns: unmet, unknown and not applicable requirements, in this order,
        each answer at most once; empty if all are met. A requirement for an
        object store that none of the OSDs has is not applicable.
    """
    looks = {
        name: {
            osd_id: _look(requirements, name, osds[osd_id])
            for osd_id in sorted(osds)
        }
        for name in requirements.declared
    }
    unmet = _of_answer(looks, RequirementAnswer.UNMET)
    unknown = _of_answer(looks, RequirementAnswer.UNKNOWN)
    nowhere = {
        name: of_osds
        for name, of_osds in _of_answer(
            looks, RequirementAnswer.NOT_APPLICABLE
        ).items()
        if of_osds == looks[name]
    }
    found = (
        (
            RequirementAnswer.UNMET,
            unmet,
            'an OSD takes it from its start'
            if unmet.keys() == {_ROCKSDB}
            else 'no API can set this',
            _remedy(unmet),
        ),
        (
            RequirementAnswer.UNKNOWN,
            unknown,
            _unknown(unknown, osds),
            _AGAIN
            if any(
                look.reason
                for of_osds in unknown.values()
                for look in of_osds.values()
            )
            else '',
        ),
        (
            RequirementAnswer.NOT_APPLICABLE,
            nowhere,
            'these OSDs have no such component',
            'also declare object_store, to require one that has it',
        ),
    )
    return tuple(
        RequirementComparison(
            answer=answer,
            reason=reason,
            remedy=remedy,
            current={name: _shown(of_osds) for name, of_osds in some.items()},
            expected={name: requirements.declared[name] for name in some},
        )
        for answer, some, reason, remedy in found
        if some
    )


def _of_answer(
    looks: dict[str, dict[int, _Look]], answer: RequirementAnswer
) -> dict[str, dict[int, _Look]]:
    """Return the looks with an answer, without requirements that have none."""
    found = {
        name: {
            osd_id: look
            for osd_id, look in of_osds.items()
            if look.answer is answer
        }
        for name, of_osds in looks.items()
    }
    return {name: of_osds for name, of_osds in found.items() if of_osds}


def _look(
    requirements: catalogs.Requirements, name: str, facts: OsdFacts | None
) -> _Look:
    if facts is None:
        return _unknown_look('reported no metadata')
    if not facts.is_up:
        return _unknown_look('is down')
    if facts.object_store is None:
        return _unknown_look('does not report its object store')
    if catalogs.STORE_OF.get(name, facts.object_store) != facts.object_store:
        return _Look(
            answer=RequirementAnswer.NOT_APPLICABLE, current=facts.object_store
        )
    if name == _SCHEDULER:
        return _scheduler(requirements.io_scheduler, facts)
    if name.startswith('fast_'):
        return _part(name.removeprefix('fast_'), facts)
    field = _FIELDS.get(name, name)
    current = getattr(facts, field)
    if current is None:
        return _unknown_look(f'does not report {name}')
    return _Look(
        answer=RequirementAnswer.MET
        if current == getattr(requirements, field)
        else RequirementAnswer.UNMET,
        current=units.size_text(current)
        if name in _FIELDS
        else str(current).lower(),
    )


def _unknown_look(reason: str) -> _Look:
    return _Look(
        answer=RequirementAnswer.UNKNOWN, current='unknown', reason=reason
    )


def _part(name: str, facts: OsdFacts) -> _Look:
    if facts.parts is None:
        return _unknown_look(f'does not report the location of its {name}')
    part = facts.parts.get(name)
    if part is None and name == 'wal':
        # Without a disk of its own, the log is on the disk of the database.
        part = facts.parts.get('db')
    if part is None:
        return _Look(answer=RequirementAnswer.UNMET, current='with the data')
    shared = sorted(part.disks & facts.disks)
    if shared:
        return _Look(
            answer=RequirementAnswer.UNMET,
            current=f'on the data disk, {", ".join(shared)}',
        )
    if part.rotational is None:
        return _unknown_look(
            f'does not report whether the disk of its {name} is rotational'
        )
    if part.rotational:
        return _Look(
            answer=RequirementAnswer.UNMET, current='on a rotational disk'
        )
    return _Look(answer=RequirementAnswer.MET, current='true')


def _scheduler(allowed: tuple[str, ...], facts: OsdFacts) -> _Look:
    if not facts.disks:
        return _unknown_look('does not report its disks')
    if facts.disks - facts.schedulers.keys():
        return _unknown_look('')
    used = sorted({facts.schedulers[disk] for disk in facts.disks})
    return _Look(
        answer=RequirementAnswer.MET
        if set(used) <= set(allowed)
        else RequirementAnswer.UNMET,
        current=', '.join(used),
    )


def _shown(looks: collections.abc.Mapping[int, _Look]) -> str:
    """Return the current values, each with its OSDs.

    >>> _shown({2: _Look(answer=RequirementAnswer.UNMET, current='true')})
    'true (osd.2)'
    """
    osds: dict[str, list[int]] = {}
    for osd_id, look in looks.items():
        osds.setdefault(look.current, []).append(osd_id)
    return ', '.join(
        f'{current} ({spelling.osds(ids)})' for current, ids in osds.items()
    )


def _unknown(
    looks: dict[str, dict[int, _Look]],
    osds: collections.abc.Mapping[int, OsdFacts | None],
) -> str:
    """Explain why answers are unknown, and how to find them out."""
    reasons: dict[str, set[int]] = {}
    elsewhere: dict[str, set[int]] = {}
    for of_osds in looks.values():
        for osd_id, look in of_osds.items():
            if look.reason:
                reasons.setdefault(look.reason, set()).add(osd_id)
            else:
                facts = osds[osd_id]
                host = (facts and facts.host) or 'the host of the OSD'
                elsewhere.setdefault(host, set()).add(osd_id)
    texts = [
        f'{spelling.osds(ids)} {reason}' for reason, ids in reasons.items()
    ]
    for host, ids in sorted(elsewhere.items()):
        disks = sorted(
            {
                disk
                for osd_id in ids
                if (facts := osds[osd_id])
                for disk in facts.disks
            }
        )
        # Names of disks come from the OSD and are not trusted.
        files = shlex.join(
            f'/sys/block/{disk}/queue/scheduler' for disk in disks
        )
        texts.append(
            f'the I/O scheduler of {spelling.osds(ids)} can only be read '
            f'on {host}: run "grep . {files}" there, or run this audit '
            'there'
        )
    return '; '.join(texts)


def _remedy(unmet: collections.abc.Collection[str]) -> str:
    remedies = []
    if _SCHEDULER in unmet:
        remedies.append(
            'set the I/O scheduler with a udev rule on the hosts of these OSDs'
        )
    if _ROCKSDB in unmet:
        remedies.append(
            'set compression=kLZ4Compression or the like in '
            'bluestore_rocksdb_options_annex for each of these OSDs, restart '
            'them, and run "ceph tell osd.N compact"'
        )
    if set(unmet) - {_SCHEDULER, _ROCKSDB}:
        remedies.append(
            'recreate these OSDs one after the other, give them another '
            'device class, or fix osd_requirements'
        )
    return '; '.join(remedies)
