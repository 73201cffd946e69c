# SPDX-License-Identifier: Apache-2.0

"""Tiers that no backend serves, as lines for people.

In a new cloud, no tier has a backend, for one reason; they share a line. Pure.
"""

import collections.abc

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.plan import unserved
from cinder_tiers.domain import spelling

_SHOWN_REASONS = 3
_SHOWN_LINES = 5


def lines(
    found: collections.abc.Iterable[unserved.Unserved],
) -> list[str]:
    """Return a line for all tiers with the same effect and remedy.

    :param found: tiers without a backend, in the order of the file.
    :returns: at most a few lines.
    """
    together: dict[tuple[str, str], list[unserved.Unserved]] = {}
    for one in found:
        together.setdefault((one.effect, one.remedy), []).append(one)
    found_lines = [
        cells.printable(
            f'no backend serves {"tiers" if len(several) > 1 else "tier"} '
            f'{spelling.listed(one.tier for one in several)}: '
            f'{_reasons(several)}; {effect}; {remedy}'
        )
        for (effect, remedy), several in together.items()
    ]
    more = len(found_lines) - _SHOWN_LINES
    return found_lines[:_SHOWN_LINES] + (
        [f'and {more} more like these'] if more > 0 else []
    )


def _reasons(several: collections.abc.Sequence[unserved.Unserved]) -> str:
    reasons = list(dict.fromkeys(one.reason for one in several))
    more = len(reasons) - _SHOWN_REASONS
    return '; '.join(reasons[:_SHOWN_REASONS]) + (
        f'; and {more} more like these' if more > 0 else ''
    )
