# SPDX-License-Identifier: Apache-2.0

"""Objections to a fault: everything that would endanger data. Pure.

A cluster that is not healthy, or that has no copy to spare, gets no fault, and
no consent overrides this.
"""

import collections.abc
import random

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import fault as faults


def chosen_osd(
    fault: faults.Fault, holders: collections.abc.Iterable[int], seed: int
) -> int | None:
    """The OSD that a fault strikes.

    The same seed chooses the same one, as long as the same hold the tier.

    :param holders: OSDs that have data of the tier.
    :returns: None without any.
    """
    if fault.osd is not None:
        return fault.osd
    ids = sorted(holders)
    # Not for secrets: the choice must come again with the seed.
    chance = random.Random(f'{seed} {fault.name}')  # noqa: S311
    return chance.choice(ids) if ids else None


def check(
    targets: collections.abc.Iterable[faults.Target],
    facts: cluster_facts.ClusterFacts,
) -> None:
    """Refuses faults that would endanger data.

    :raises errors.Refused: with all that speaks against them.
    """
    found = [
        *of_health(facts),
        *(
            f'{one.fault.name}: {line}'
            for one in targets
            for line in of_target(one, facts)
        ),
    ]
    if found:
        raise errors.Refused(
            'Nothing was changed because faults are refused:', *found
        )


def check_consent(
    struck: faults.Struck, allowed: collections.abc.Container[str]
) -> None:
    """Refuse faults in a cluster that the operator has not named.

    :param allowed: fsids that the operator named.
    :raises errors.Refused: the cluster's fsid is not among them.
    """
    if struck.fsid not in allowed:
        raise errors.Refused(
            'Nothing was changed because faults are injected only into a '
            f'cluster that you name: those in cluster {struck.cluster} '
            'degrade it for all of its clients, not only for the tier; '
            'check that it is the one you mean, and add --allow '
            f'{struck.fsid} (its fsid)'
        )


def of_health(
    facts: cluster_facts.ClusterFacts,
) -> collections.abc.Iterator[str]:
    """Yield objections to any fault."""
    if not facts.health.is_ok:
        yield (
            f'the cluster has {facts.health}; expected {cluster_facts.OK} and '
            'all placement groups active and clean; see "ceph health detail"'
        )


def of_target(
    target: faults.Target, facts: cluster_facts.ClusterFacts
) -> collections.abc.Iterator[str]:
    """Yield objections to a fault other than health, a line for each."""
    kind = target.fault.kind
    if kind is faults.FaultKind.DEEP_SCRUB:
        flags = facts.flags | facts.pool_flags.get(target.pool, frozenset())
        if 'nodeep-scrub' in flags:
            yield (
                f'{target} has the flag nodeep-scrub, or the cluster has '
                'it; expected no such flag; unset it first'
            )
    elif kind in faults.OF_OSDS:
        yield from _of_osd(target, facts)


def _of_osd(
    target: faults.Target, facts: cluster_facts.ClusterFacts
) -> collections.abc.Iterator[str]:
    osd_id = target.osd
    if (
        osd_id is None
        or osd_id not in facts.holders
        or osd_id not in facts.osds
    ):
        known = ', '.join(map(str, sorted(facts.holders))) or 'none'
        yield (
            f'{target} has no data of pool {target.pool}; expected one of the '
            f'OSDs {known}; name one of them'
        )
        return
    osd = facts.osds[osd_id]
    if not osd.is_up or osd.weight != 1:
        yield (
            f'{target} is {"up" if osd.is_up else "down"} with the '
            f'reweight {osd.weight:g}; expected an OSD that is up and has '
            'the reweight 1, so that it can be restored; name another OSD'
        )
    flags = sorted(cluster_facts.KEEPING & (osd.flags | facts.flags))
    if flags:
        yield (
            f'{target} or the cluster has the flags {", ".join(flags)}; '
            'expected none of them; unset them first'
        )
    if osd_id in facts.not_to_stop:
        yield (
            f'{target}: "ceph osd ok-to-stop" says: '
            f'{facts.not_to_stop[osd_id]}'
        )
    for pool in facts.pools_on.get(osd_id, ()):
        left, needed = pool.size - 1, max(pool.min_size, pool.least + 1)
        if left < needed:
            yield (
                f'{target} has data of pool {pool.name}, of whose '
                f'{pool.size} copies or chunks {left} would be left; '
                f'expected at least {needed}, so that I/O continues '
                f'(min_size {pool.min_size}) and one more OSD may fail; '
                'raise size or lower min_size'
            )
    if target.fault.kind is faults.FaultKind.OSD_OUT:
        if osd_id in facts.upmapped:
            yield (
                f'{target} has placement groups mapped by pg-upmap-items, '
                'which Ceph removes permanently when the OSD is out; '
                'expected none; name another OSD, or remove them ("ceph '
                'osd rm-pg-upmap-items")'
            )
        yield from _of_room(target, osd_id, facts)


def _of_room(
    target: faults.Target, osd_id: int, facts: cluster_facts.ClusterFacts
) -> collections.abc.Iterator[str]:
    """The data of an OSD that is out must fit where they are moved to."""
    if isinstance(facts.usage, usages.Unknown):
        yield (
            f'how full the OSDs are is not known ({facts.usage.reason}); '
            f'expected room for the data of {target}'
        )
        return
    sizes = facts.usage.osds
    for pool in facts.pools_on.get(osd_id, ()):
        others = receivers(osd_id, pool, facts)
        known = [sizes[one] for one in others if one in sizes]
        if not others or osd_id not in sizes:
            continue
        used = sizes[osd_id].used_bytes + sum(one.used_bytes for one in known)
        total = sum(one.total_bytes for one in known)
        ratio = facts.usage.nearfull_ratio
        if used > ratio * total:
            listed = ', '.join(f'osd.{one}' for one in others)
            share = f'{100 * used / total:.0f} %' if total else 'over-'
            yield (
                f'without {target}, {listed} would be {share} full; expected '
                f'at most {100 * ratio:g} % (nearfull); delete data, or name '
                'another OSD'
            )
            return


def receivers(
    osd_id: int, pool: cluster_facts.OsdPool, facts: cluster_facts.ClusterFacts
) -> tuple[int, ...]:
    """The OSDs that get the data of one that is marked out.

    With as many failure domains as copies, its own one has to take them, and
    nothing is moved if it has no other OSD. With more, all others may. With
    several copies in each failure domain, the same holds within its own one;
    if no OSD is left there for them, another one that has none takes them.
    With a rule that is not known, the OSDs of its host, the fewest that may.

    :returns: their ids; empty: nothing is moved.
    """
    rule = pool.rule
    domain = (rule and rule.failure_domain) or 'host'
    places = {one.osd_id: one for one in facts.places}
    here = places.get(osd_id)
    if here is None:
        return ()
    others = [
        one
        for one in facts.places
        if one.osd_id != osd_id
        and one.osd_id in facts.osds
        and facts.osds[one.osd_id].is_up
        and facts.osds[one.osd_id].weight > 0
        and one.device_class == here.device_class
        and (rule is None or rule.root is None or rule.takes(one))
    ]
    near = _in_bucket_of(here, domain, others)
    if rule is None or rule.root is None:
        found = near or others
    elif (
        rule.sub_failure_domain is not None
        and rule.replicas_per_failure_domain is not None
    ):
        found = _takers(
            here,
            rule.sub_failure_domain,
            rule.replicas_per_failure_domain,
            near,
        ) or _in_another(
            here, domain, rule.failure_domains_for(pool.size), others
        )
    else:
        found = _takers(here, domain, pool.size, others)
    return tuple(one.osd_id for one in found)


def _takers(
    here: ceph_state.Osd,
    domain: str,
    copies: int,
    others: list[ceph_state.Osd],
) -> list[ceph_state.Osd]:
    """Returns the OSDs that receive the data of an OSD that is out.

    :param here: the OSD that is out.
    :param domain: the CRUSH bucket type; no two copies are in one bucket.
    :param copies: the number of copies on `here` and `others` together.
    :param others: the OSDs that may receive data.
    """
    domains = _number_of(domain, others)
    near = _in_bucket_of(here, domain, others)
    if domains > copies or (domains == copies and not near):
        return others
    return near


def _in_another(
    here: ceph_state.Osd,
    domain: str,
    needed: int,
    others: list[ceph_state.Osd],
) -> list[ceph_state.Osd]:
    """Returns the OSDs in other failure domains that receive the data.

    :param needed: the number of failure domains that the pool needs.
    """
    elsewhere = [
        one
        for one in others
        if one.location.get(domain) not in (None, here.location.get(domain))
    ]
    return elsewhere if _number_of(domain, elsewhere) >= needed else []


def _number_of(domain: str, osds: list[ceph_state.Osd]) -> int:
    """Returns the number of CRUSH buckets of a type that have OSDs."""
    return len({one.location.get(domain) for one in osds} - {None})


def _in_bucket_of(
    here: ceph_state.Osd, domain: str, osds: list[ceph_state.Osd]
) -> list[ceph_state.Osd]:
    """Returns the OSDs in the same CRUSH bucket of a type as `here`."""
    return [
        one
        for one in osds
        if domain in here.location
        and one.location.get(domain) == here.location[domain]
    ]
