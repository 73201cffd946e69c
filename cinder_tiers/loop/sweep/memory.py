# SPDX-License-Identifier: Apache-2.0

"""Check that hosts have the memory that treatments give to their OSDs.

An OSD aims at `osd_memory_target`, and knows nothing of the other OSDs of its
host, nor of the memory that there is. Where all of them together aim at more,
the kernel ends processes as soon as their caches are full, which may be days
after a tuning has ended, on the production cluster.

Refused is only the impossible: more than all memory of a host. How much of it
must be left for everything else depends on its other processes, which Ceph
does not know. cephadm takes 0.7 of it for OSDs and the other daemons of a host
that does nothing else (`mgr/cephadm/autotune_memory_target_ratio`, ceph
doc/cephadm/services/osd.rst, "Automatically tuning OSD memory"), and
recommends 0.2 for one with guests; above the first there is a warning. A
treatment that lowers the sum is never refused: a host may have too little by
default. The sizes of caches of BlueStore that does not tune them itself
(`bluestore_cache_size`) count from the next start of an OSD, so that no
treatment has them in effect. Pure. Must not know how the world is read.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.plan import owners
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain import units

#: The option by which an OSD is given memory.
TARGET = owners.MEMORY
#: What cephadm takes of a host that is there for Ceph only, in percent.
USUAL_PERCENT = 70
# The least value that Ceph takes (osd.yaml.in, osd_memory_target).
_LEAST_BYTES = 896 * 2**20


#: {OSD id: facts}, of some OSDs and all others on their hosts.
Osds = collections.abc.Mapping[int, ceph_state.OsdMemory]
#: Takes the name of a cluster and ids of OSDs.
Reader = collections.abc.Callable[[str, collections.abc.Set[int]], Osds]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Room:
    """Memory that a treatment would need on one host."""

    host: str
    there_bytes: int
    #: Of all OSDs together.
    needed_bytes: int
    now_bytes: int
    #: Ids of the OSDs that the treatment changes, and of the others.
    treated: tuple[int, ...]
    others: tuple[int, ...]
    #: Of each OSD that is changed, if all together may have the usual share.
    usual_bytes: int

    def __str__(self) -> str:
        beside = f' beside {spelling.osds(self.others)}' if self.others else ''
        return (
            f'on host {self.host} the OSDs would need '
            f'{units.size_text(self.needed_bytes)} '
            f'({spelling.osds(self.treated)}{beside}), and it has '
            f'{units.size_text(self.there_bytes)} of memory'
        )

    @property
    def percent(self) -> float:
        """Percentage of the host's memory that is needed."""
        return 100 * self.needed_bytes / max(self.there_bytes, 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryJudgement:
    """Findings on the memory of hosts, a line for each."""

    #: Of treatments that may not be tried.
    objections: tuple[str, ...] = ()
    #: Of others.
    warnings: tuple[str, ...] = ()


def asked(plan: plans.Plan) -> dict[actions.Key, int]:
    """{device class with its cluster: bytes}, where a plan changes them."""
    return {
        action.key: int(value)
        for action in plan.actions
        if action.key.kind is actions.Kind.OSD_OPTIONS
        and isinstance(action.after, ceph_state.OsdOptions)
        and any(one.field == f'values.{TARGET}' for one in action.changes)
        and (value := action.after.values[TARGET]) is not None
    }


def judge(
    planned: collections.abc.Mapping[str, plans.Plan],
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
    read: Reader,
    where: collections.abc.Callable[[str], str],
) -> MemoryJudgement:
    """Compares what treatments give to OSDs with what their hosts have.

    :param planned: {treatment: what makes the world match it}.
    :param ceph: {cluster: its state}.
    :param read: is called only for what a treatment changes, once for each
        device class.
    :param where: gives the place of the option of a treatment.
    """
    known: dict[actions.Key, tuple[frozenset[int], Osds]] = {}
    objections: list[str] = []
    warnings: dict[str, None] = {}
    for treatment, plan in planned.items():
        for key, value in asked(plan).items():
            if key not in known:
                cluster = key.cluster or ''
                treated = frozenset(
                    osd.osd_id
                    for osd in ceph[cluster].osds
                    if osd.device_class == key.name
                )
                known[key] = treated, read(cluster, treated)
            treated, osds = known[key]
            warnings.update(dict.fromkeys(_unknown(key, treated, osds)))
            rooms = sorted(
                (
                    one
                    for one in _rooms(value, treated, osds)
                    if one.needed_bytes > one.now_bytes
                ),
                key=lambda one: one.percent,
                reverse=True,
            )
            beginning = (
                f'{treatment}: {where(treatment)}: {TARGET} '
                f'{units.size_text(value)} of {key}'
            )
            full = [one for one in rooms if one.needed_bytes > one.there_bytes]
            tight = [one for one in rooms if one.percent > USUAL_PERCENT]
            if full:
                objections.append(
                    f'{beginning}: {_listed(full)}; the kernel would kill '
                    f'OSDs; {_remedy(tight)}'
                )
            elif tight:
                warnings[
                    f'{beginning}: {_listed(tight)}; that leaves '
                    f'{100 - tight[0].percent:.0f} % for everything else, '
                    f'and cephadm leaves {100 - USUAL_PERCENT} %'
                ] = None
    return MemoryJudgement(
        objections=tuple(objections), warnings=tuple(warnings)
    )


def _rooms(
    value: int, treated: frozenset[int], osds: Osds
) -> collections.abc.Iterator[_Room]:
    """Each host with an OSD that is changed, if its memory is known."""
    hosts: dict[str, list[int]] = {}
    for osd_id, osd in sorted(osds.items()):
        if osd.host is not None:
            hosts.setdefault(osd.host, []).append(osd_id)
    for host, osd_ids in hosts.items():
        changed = tuple(one for one in osd_ids if one in treated)
        others = tuple(one for one in osd_ids if one not in treated)
        # Each OSD has reported it when it started; memory is added to hosts.
        there = max((osds[one].host_bytes or 0 for one in osd_ids), default=0)
        if not changed or not there:
            continue
        beside = sum(osds[one].target_bytes or 0 for one in others)
        yield _Room(
            host=host,
            there_bytes=there,
            needed_bytes=beside + value * len(changed),
            now_bytes=beside
            + sum(osds[one].target_bytes or 0 for one in changed),
            treated=changed,
            others=others,
            usual_bytes=(there * USUAL_PERCENT // 100 - beside)
            // len(changed),
        )


def _unknown(
    key: actions.Key, treated: frozenset[int], osds: Osds
) -> collections.abc.Iterator[str]:
    measured = {osd.host for osd in osds.values() if osd.host_bytes}
    homeless = sorted(
        one
        for one in treated
        if one not in osds
        or osds[one].host is None
        or osds[one].host not in measured
    )
    if homeless:
        yield (
            f'{key}: the memory of the host of {spelling.osds(homeless)} is '
            f'not known (mem_total_kb in "ceph osd metadata"), so {TARGET} '
            'was not compared with it'
        )
    silent = sorted(
        one
        for one, osd in osds.items()
        if one not in treated and osd.target_bytes is None
    )
    if silent:
        yield (
            f'{key}: {TARGET} of {spelling.osds(silent)} is not known, so '
            'these OSDs count as if they needed no memory'
        )


def _listed(rooms: collections.abc.Sequence[_Room]) -> str:
    """Describe the host with the least room, and count similar ones.

    :param rooms: at least one, the worst first.
    """
    more = len(rooms) - 1
    if not more:
        return str(rooms[0])
    return f'{rooms[0]}; {more} more host{"s" * (more > 1)} likewise'


def _remedy(rooms: collections.abc.Iterable[_Room]) -> str:
    least = min(one.usual_bytes for one in rooms)
    if least < _LEAST_BYTES:
        return 'remove the value'
    return (
        f'use at most {least // 2**20}M, which leaves '
        f'{100 - USUAL_PERCENT} % for everything else, as cephadm does'
    )
