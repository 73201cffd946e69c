# SPDX-License-Identifier: Apache-2.0

"""Moves of volumes that are recommended, as orders of a repair. Pure."""

import collections.abc
import re

from cinder_tiers.domain import text as escaping
from cinder_tiers.loop.recommend import counters
from cinder_tiers.loop.recommend import recommendation
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import repair

#: Image of a volume, after its pool; images in namespaces are not Cinder's.
_IMAGE = re.compile(
    '[^/]+/volume-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'
)
_CERTAINTY = 'each claim holds with 95 % together with all others; '
_SEEN_ONCE = 'what the volume does was seen in one interval only'


def of_moves(
    volumes: collections.abc.Sequence[counters.Volume],
    moves: collections.abc.Sequence[recommendation.VolumeAdvice],
) -> tuple[order.Orders, list[str]]:
    """Return the orders, and the names of images that are not of volumes.

    :param volumes: the volumes with their loads.
    :param moves: advice on each volume; only moves to another tier are
        ordered.
    """
    steps, nameless = [], []
    for volume, move in zip(volumes, moves, strict=True):
        if not (move.to and move.tier):
            continue
        image = _IMAGE.fullmatch(volume.name)
        if image is None:
            nameless.append(escaping.clipped(volume.name))
            continue
        steps.append(
            order.Order(
                volume=image[1],
                kind=repair.RepairKind.RECOMMENDATION,
                tier=move.tier,
                to_tier=move.to,
                reason=escaping.clipped(
                    '; '.join(
                        [
                            *(
                                f'{claim.quantity} of {claim.pattern} '
                                f'{claim.sentence}'
                                for claim in move.claims
                            ),
                            _CERTAINTY + (move.certainty or _SEEN_ONCE),
                        ]
                    )
                ),
            )
        )
    return (
        order.Orders(origin=order.Origin.RECOMMENDATION, steps=tuple(steps)),
        nameless,
    )
