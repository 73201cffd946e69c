# SPDX-License-Identifier: Apache-2.0

"""Writes a recorded result, as if it was of a tier, and prints its figures.

Run by the Python of the lab, which has what figures need: TIER FILE
QUANTITY....
"""

import json
import pathlib
import sys

from cinder_tiers.domain.card import card as cards
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from tests.unit.loop.publish import recorded


def main(tier: str, path: str, *quantities: str) -> None:
    """Print {quantity: [mean, lower end, upper end]} of the only pattern."""
    slots = recorded.RUN.tiers[0].patterns[0].slots
    pathlib.Path(path).write_text(
        run_result.write(recorded.run({tier: {'x': slots}}))
    )
    found = {name: trust.estimate(slots, name) for name in quantities}
    json.dump(
        {
            name: [
                cards.rounded(one) for one in (each.mean, each.low, each.high)
            ]
            for name, each in found.items()
        },
        sys.stdout,
    )


if __name__ == '__main__':
    main(*sys.argv[1:])
