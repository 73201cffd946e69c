# SPDX-License-Identifier: Apache-2.0

"""A card as lines for people, in the form of descriptions. Pure."""

import collections.abc
import itertools

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions


def promised(card: cards.Card) -> collections.abc.Iterator[str]:
    """Yield a line for each pattern with a promise.

    >>> list(promised(cards.Card(promise={'oltp': {'iops_min': 500}})))
    ['oltp: iops at least 500']
    """
    for pattern, limits in card.promise.items():
        texts = ', '.join(
            descriptions.limit_text(name, value)
            for name, value in limits.items()
        )
        yield f'{pattern}: {texts}'


def measured(card: cards.Card) -> collections.abc.Iterator[str]:
    """Yield the time of the measurement, and a line for each pattern.

    >>> list(measured(cards.Card(not_measured_since='2026-11-29T14:05Z')))
    ['not measured since 2026-11-29T14:05Z']
    """
    known = card.measured
    if known is None:
        if card.not_measured_since is not None:
            yield f'not measured since {card.not_measured_since}'
        return
    release = (
        '' if known.ceph_release is None else f' on Ceph {known.ceph_release}'
    )
    yield f'measured {known.ended_at}{release}'
    for (pattern, runs), figures in itertools.groupby(
        known.figures, key=lambda one: (one.pattern, one.runs)
    ):
        texts = ', '.join(map(descriptions.figure_text, figures))
        yield f'{pattern} ({runs} runs): {texts}'
