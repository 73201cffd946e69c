# SPDX-License-Identifier: Apache-2.0

"""Estimates of the data of a pool that moves, and of its new places.

Only CRUSH knows exactly; these estimates use sizes that Ceph reports some
seconds late. They hold for many placement groups of equal size, and for CRUSH
weights that follow the capacity of the OSDs, as Ceph sets them. Pure. Must not
know the former pool, nor how estimates are shown.
"""

import collections.abc
import typing

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages

#: {OSD id: share of the data of a pool}; the shares add up to 1.
Shares = collections.abc.Mapping[int, float]

_Place = typing.TypeVar('_Place')


def shares_of(
    rule: ceph_state.CrushRule | None,
    *,
    osds: tuple[ceph_state.Osd, ...],
    usage: usages.ClusterUsage,
    size: int,
) -> Shares:
    """Return the share of the data of a pool that each OSD stores.

    :param rule: CRUSH rule; None if unknown.
    :param size: number of copies or chunks of the pool.
    :returns: {OSD id: share}, proportional to capacity, as CRUSH weights are
        by default, while no failure domain has more than its maximum of each
        placement group. An OSD that is out has no capacity. Empty for a rule
        that was written by hand or has a class for the first copy.
    """
    if (
        rule is None
        or rule.failure_domain is None
        or rule.primary_device_class is not None
    ):
        return {}
    places = {
        osd.osd_id: osd.location
        for osd in osds
        if osd.osd_id in usage.osds and rule.takes(osd)
    }
    sizes = {
        osd_id: float(usage.osds[osd_id].total_bytes) for osd_id in places
    }
    levels = [(rule.failure_domain, rule.failure_domains_for(size))]
    if rule.sub_failure_domain is not None:
        levels.append((rule.sub_failure_domain, rule.per_failure_domain))
    return _spread(
        {osd_id: one for osd_id, one in sizes.items() if one}, places, levels
    )


def _spread(
    sizes: collections.abc.Mapping[int, float],
    places: collections.abc.Mapping[int, collections.abc.Mapping[str, str]],
    levels: list[tuple[str, int]],
    share: float = 1.0,
) -> dict[int, float]:
    """Return a share of the data of a pool, spread over OSDs.

    :param sizes: {OSD id: size}.
    :param places: {OSD id: {bucket type: bucket name}}.
    :param levels: (bucket type, number of its buckets that store each
        placement group), from the root to the OSDs.
    """
    if not levels:
        return {one: share * part for one, part in _parts(sizes, 1).items()}
    (kind, number), *below = levels
    groups: dict[object, dict[int, float]] = {}
    for osd_id, size in sizes.items():
        group = groups.setdefault(places[osd_id].get(kind, osd_id), {})
        group[osd_id] = size
    parts = _parts(
        {name: sum(group.values()) for name, group in groups.items()}, number
    )
    return {
        osd_id: part
        for name, group in groups.items()
        for osd_id, part in _spread(
            group, places, below, share * parts[name]
        ).items()
    }


def _parts(
    weights: collections.abc.Mapping[_Place, float], number: int
) -> dict[_Place, float]:
    """Divide data between places by weight, with a maximum for each.

    CRUSH chooses `number` places for each placement group, which store the
    same amount, so no place stores more than 1 / number of the data.

    >>> _parts({'a': 6, 'b': 2, 'c': 2}, 2)
    {'a': 0.5, 'b': 0.25, 'c': 0.25}
    >>> _parts({'a': 6, 'b': 2}, 3)
    {'a': 0.5, 'b': 0.5}
    """
    most = 1 / max(1, min(number, len(weights)))
    parts: dict[_Place, float] = {}
    rest, left = sum(weights.values()), 1.0
    # The heaviest place comes first: the next ones get what it cannot have.
    for place in sorted(weights, key=weights.__getitem__, reverse=True):
        parts[place] = min(most, left * weights[place] / rest)
        rest -= weights[place]
        left -= parts[place]
    return {place: parts[place] for place in weights}


def kept_by_pg_num(before: int, after: int) -> float:
    """Return the share of placement groups that stay if pg_num changes.

    A split leaves `before` of the `after` placement groups in place; the
    others, of the same size, are placed anew once pgp_num follows. A merge
    first moves the placement groups that will be removed to the remaining
    ones, `after` of `before` (Ceph, doc/rados/operations/placement-groups.rst,
    "pg_num" and "pgp_num"). Some copies that are placed anew stay by chance,
    which is not counted here. If a number is not a power of two, there are
    groups of two sizes, and the error is larger.

    >>> kept_by_pg_num(32, 64), kept_by_pg_num(64, 16), kept_by_pg_num(8, 8)
    (0.5, 0.25, 1.0)

    :param before: current number of placement groups, at least 1.
    :param after: new number of placement groups, at least 1.
    :returns: share, more than 0, at most 1.
    """
    return min(before, after) / max(before, after)


def copies_kept_by_chance(
    before: Shares,
    after: Shares,
    *,
    size_before: int,
    size_after: int,
    ordered: bool,
) -> float:
    """Return how many copies stay in place after an independent draw.

    So do the copies of a placement group that gets another number, and those
    under a CRUSH rule that takes another tree: each device class has a tree
    of its own. A copy stays where the new draw happens to put a copy of the
    same placement group. An OSD with the share p has one of n copies with the
    probability min(1, n * p), so a pool with as many copies as there are OSDs
    moves nothing. What crushtool maps differs from this by less than 0.04 of
    all copies (3 to 20 hosts with 1 to 3 OSDs of a class, 2 and 3 copies).

    >>> three = dict.fromkeys((0, 1, 2), 1 / 3)
    >>> kept = copies_kept_by_chance(three, three, size_before=3,
    ...                              size_after=3, ordered=False)
    >>> round(kept, 3)
    3.0
    >>> kept = copies_kept_by_chance(three, three, size_before=1,
    ...                              size_after=1, ordered=False)
    >>> round(kept, 3)
    0.333

    :param before: current distribution of the data.
    :param after: new distribution. Either may be empty if unknown; the result
        is then 0.
    :param size_before: current number of copies or chunks.
    :param size_after: new number of copies or chunks.
    :param ordered: whether a chunk has a fixed place, as with an erasure code.
    :returns: number of copies, from 0 to the smaller size.
    """
    kept = sum(
        min(1.0, size_before * share) * min(1.0, size_after * after[osd_id])
        for osd_id, share in before.items()
        if osd_id in after
    )
    most = min(size_before, size_after)
    return min(kept / size_after if ordered else kept, most)


def copies_kept_by_tree(
    shares: Shares,
    *,
    osds: tuple[ceph_state.Osd, ...],
    domains: tuple[str | None, str | None],
    size: int,
) -> float:
    """Return how many copies stay if only the failure domain changes.

    In the same tree the draws are the same, but for those that one of the
    rules refuses since the bucket has a copy already. A copy is refused so
    for one of those before it, (size - 1) / 2 on average, with the
    probability that two OSDs share a bucket of one domain and not of the
    other. Checked with crushtool as above, for replicated pools: rules of
    erasure coded ones draw otherwise when the failure domain is the OSD.

    :param shares: distribution of the data by both rules.
    :param domains: both failure domains, bucket types such as host.
    :param size: number of copies.
    :returns: number of copies, from 0 to `size`.
    """
    one, other = (_together(shares, osds, domain) for domain in domains)
    return size * max(0.0, 1 - (size - 1) / 2 * abs(one - other))


def _together(
    shares: Shares, osds: tuple[ceph_state.Osd, ...], domain: str | None
) -> float:
    """Return the probability that two drawn OSDs share a bucket."""
    buckets: dict[object, float] = {}
    for osd in osds:
        if osd.osd_id in shares:
            bucket = osd.location.get(domain or '', osd.osd_id)
            buckets[bucket] = buckets.get(bucket, 0) + shares[osd.osd_id]
    same_osd = sum(share**2 for share in shares.values())
    if same_osd >= 1:
        return 0.0
    return (sum(share**2 for share in buckets.values()) - same_osd) / (
        1 - same_osd
    )
