# SPDX-License-Identifier: Apache-2.0

"""Advice on volumes that were looked at several times.

A volume is on the wrong tier only if no look says otherwise. Looks are not
known to be apart in time; who takes them sees to that. Pure.
"""

import collections
import collections.abc
import dataclasses
import math

from cinder_tiers.figures.stats import distributions
from cinder_tiers.loop.recommend import counters
from cinder_tiers.loop.recommend import recommendation

_CHANCE = 0.05

#: A volume as one look saw it, and the advice on it.
Seen = tuple[counters.Volume, recommendation.VolumeAdvice]


def merged(
    looks: collections.abc.Sequence[collections.abc.Sequence[Seen]],
) -> list[Seen]:
    """Return each volume once, with the advice of all looks.

    :param looks: volumes of each look, from the first to the last.
    """
    seen: dict[str, list[Seen]] = {}
    # {name of an image: its pools in the last look that has it}
    last: dict[str, set[str | None]] = {}
    for look in looks:
        now = collections.defaultdict(set)
        for volume, advice in look:
            seen.setdefault(volume.name, []).append((volume, advice))
            now[_image(volume)].add(volume.pool)
        last.update(now)
    return [
        _of_one_pool(
            each[0] if len(looks) == 1 else _merged(each, len(looks)),
            last[_image(each[0][0])],
        )
        for each in seen.values()
        # Another pool was that of the volume before it was moved.
        if each[0][0].pool in last[_image(each[0][0])]
    ]


def _of_one_pool(
    found: Seen, pools: collections.abc.Collection[str | None]
) -> Seen:
    """Return a volume with its advice, which is none during a move.

    :param pools: those with an image of its name.
    """
    if len(pools) == 1:
        return found
    volume, advice = found
    names = ' and '.join(sorted(filter(None, pools)))
    return volume, dataclasses.replace(
        advice,
        placing=recommendation.Placing.CANNOT_TELL,
        to=None,
        claims=(),
        reason=f'an image of its name is in pools {names}, as while a volume '
        'is moved: look again when it is in one of them',
        certainty='',
    )


def _image(volume: counters.Volume) -> str:
    return volume.name.partition('/')[2]


def _merged(found: collections.abc.Sequence[Seen], looks: int) -> Seen:
    """Return a volume with its advice.

    :param found: the volume in each look that has it.
    :param looks: number of all looks.
    """
    busy = [one for one in found if one[0].load is not None]
    if not busy:
        volume, advice = max(found, key=lambda one: one[0].iops)
        return volume, dataclasses.replace(
            advice,
            reason=f'does less than one I/O per second in each of {looks} '
            'looks',
        )
    of_finding = collections.defaultdict(list)
    for one in busy:
        if one[1].placing in (
            recommendation.Placing.RIGHT,
            recommendation.Placing.WRONG,
        ):
            of_finding[one[1].to].append(one)
    told = [one for each in of_finding.values() for one in each]
    if len(of_finding) != 1 or 2 * len(told) <= len(busy):
        volume, advice = _median(busy)
        return volume, dataclasses.replace(
            advice,
            placing=recommendation.Placing.CANNOT_TELL,
            to=None,
            claims=(),
            reason='; '.join(
                [
                    f'of {len(busy)} looks with load, {len(told)} tell',
                    *(
                        f'{len(each)} that '
                        + (f'{to} is better' if to else 'its tier is right')
                        for to, each in sorted(
                            of_finding.items(), key=lambda one: one[0] or ''
                        )
                    ),
                    *([] if told else [advice.reason]),
                ]
            ),
        )
    volume, advice = _median(told)
    share = distributions.binomial_chance_above(len(told), len(busy), _CHANCE)
    claims = {
        (claim.pattern, claim.quantity): claim
        for _, each in told
        for claim in each.claims
    }
    return volume, dataclasses.replace(
        advice,
        claims=tuple(claims.values()),
        certainty=f'seen in {len(told)} of {len(busy)} looks with load, and '
        f'in none otherwise ({looks} in all): with 95 %, so in '
        f'{math.floor(100 * share)} % or more of the '
        'time with load, if the looks were spread over it',
    )


def _median(found: collections.abc.Sequence[Seen]) -> Seen:
    """Return the look with the median of I/Os per second."""
    return sorted(found, key=lambda one: one[0].iops)[len(found) // 2]
