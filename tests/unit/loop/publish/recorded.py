# SPDX-License-Identifier: Apache-2.0

"""Results in which nothing speaks against the figures."""

import dataclasses

from cinder_tiers.figures.result import result as run_result
from tests.unit.figures import results

MANY_MS = (1,) * 1990 + (5,) * 10


def slot(iops, *, clat_ms=MANY_MS, is_steady=True):
    found = results.slot([iops], clat_ms=clat_ms)
    return dataclasses.replace(
        found,
        steadiness=dataclasses.replace(
            found.steadiness, steady=is_steady, reason=''
        ),
    )


def run(tiers, *, nonce='0' * 16, types=None, **changes):
    """A result in which nothing speaks against the figures.

    :param tiers: {tier: {pattern: repeats}}
    """
    found = results.run(
        tiers, volume_types=types or {name: name for name in tiers}
    )
    return dataclasses.replace(
        found,
        run=nonce,
        tiers=tuple(
            dataclasses.replace(
                tier, backends=run_result.Fact(value='node@one#one')
            )
            for tier in found.tiers
        ),
        doubts=(),
        **changes,
    )


RUN = run(
    {
        'database': {'x': [slot(5012.3456), slot(5100), slot(4990.7)]},
        'general': {'x': [slot(100), slot(101), slot(99)]},
    }
)
