# SPDX-License-Identifier: Apache-2.0

"""Rules on descriptions, which precede the card of a tier.

Pure, and total: part of `validation.catalog`, and of its warnings.
"""

import collections.abc

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import volume_type
from cinder_tiers.domain.validation import rules

Problems = collections.abc.Iterator[errors.Problem]


def _written_by_hand(catalog: catalogs.Catalog) -> Problems:
    for tier in catalog.tiers:
        text = tier.description or ''
        if descriptions.purpose(text) == text:
            continue
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name, 'description')),
            found=f'the description of tier {tier.name!r} ends with a card',
            expected='only what the tier is for; the promise comes from '
            'expect, and figures from "openstack tier publish"',
            remedy='remove the sentences that begin with "Promise:", '
            '"Measured" or "Not measured since"',
        )


def without_room(catalog: catalogs.Catalog) -> Problems:
    """Yield descriptions and promises that leave little room for figures."""
    for tier in catalog.ours:
        promise = volume_type.promise_of(tier)
        card = cards.Card(purpose=tier.description or '', promise=promise)
        left = descriptions.room(card)
        if left >= descriptions.ADVISED_CHARS:
            continue
        # The purpose is not compared: its end is changed.
        shown = descriptions.read(descriptions.write(card))
        is_cut = shown.promise != promise
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name, 'description')),
            found=f'the description of tier {tier.name!r}'
            + (', and the promise of its expect,' if promise else '')
            + (' leave' if promise else ' leaves')
            + f' {left} of {descriptions.MOST_CHARS} characters'
            + ('; a part of the promise is not shown' if is_cut else ''),
            expected=f'at least {descriptions.ADVISED_CHARS} characters, for '
            'a figure that "openstack tier publish" writes behind them',
            remedy='shorten the description'
            + (
                ', or move the limits that matter most to the top of expect'
                if promise
                else ''
            ),
        )


#: In the form of the rules in `validation.tiers`.
RULES = ((rules.CARD, _written_by_hand),)
