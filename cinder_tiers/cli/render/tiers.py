# SPDX-License-Identifier: Apache-2.0

"""Tiers, and problems of a tiers file, as rows of a table.

Pure. Text of other people, such as a file's, can contain terminal escape
sequences, so characters that are not printable are escaped in each format.
Must not know where its arguments came from, nor how cliff prints.
"""

import collections.abc
import types

from cinder_tiers.cli.render import cards
from cinder_tiers.cli.render import cells
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import tier_list as listed_tiers
from cinder_tiers.domain.placement import backends

#: Columns that help to choose a tier.
TIER_COLUMNS = ('Name', 'Tags', 'Description', 'Measured')
#: Columns that follow with --long.
LONG_TIER_COLUMNS = (
    'Promise',
    'Priority',
    'Fallback',
    'Overflow',
    'Backend',
    'Take Over',
)
OFFERED_COLUMNS = ('Name', 'Description', 'Measured')
LONG_OFFERED_COLUMNS = ('Promise', 'Access')
PROBLEM_COLUMNS = ('Where', 'Found', 'Expected', 'Remedy')

# Some problems list all that the file declares, which may be long.
_SHOWN_CHARS = 500


def problem_row(problem: errors.Problem) -> cells.Row:
    """Return a problem under PROBLEM_COLUMNS; long texts are cut."""
    return tuple(
        cells.printable(
            text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + '...'
        )
        for text in (
            problem.where,
            problem.found,
            problem.expected,
            problem.remedy,
        )
    )


def tier_row(tier: listed_tiers.ListedTier) -> cells.Row:
    """Return a tier under TIER_COLUMNS and LONG_TIER_COLUMNS."""
    return (
        cells.printable(tier.name),
        cells.Words(tier.tags),
        cells.Paragraph(tier.card.purpose),
        cards.MeasuredLines(tier.card),
        cards.Promise(tier.card),
        cells.Optional(tier.priority),
        cells.YesNo(tier.fallback),
        cells.Optional(tier.overflow),
        cells.Words(tier.backend_names),
        cells.YesNo(tier.take_over),
    )


def offered_row(offer: listed_tiers.OfferedType) -> cells.Row:
    """Return a volume type under OFFERED_COLUMNS and LONG_OFFERED_COLUMNS."""
    return (
        cells.printable(offer.name),
        cells.Paragraph(offer.card.purpose),
        cards.MeasuredLines(offer.card),
        cards.Promise(offer.card),
        'public' if offer.is_public else 'private',
    )


def offered_fields(
    offer: listed_tiers.OfferedType,
) -> tuple[tuple[str, ...], cells.Row]:
    """Return the names of the fields of a volume type, and their values."""
    fields = {
        'name': cells.printable(offer.name),
        'description': cells.printable(offer.card.purpose),
        'access': 'public' if offer.is_public else 'private',
        'card': cards.WholeCard(offer.card),
        'read_from': 'Cinder',
    }
    return tuple(fields), tuple(fields.values())


def tier_fields(
    tier: listed_tiers.ListedTier,
    *,
    read_from: str,
    projects: collections.abc.Mapping[str, str | None] = (
        types.MappingProxyType({})
    ),
    pools: tuple[backends.Backend, ...] | None,
) -> tuple[tuple[str, ...], cells.Row]:
    """Return the names of the fields of a tier, and their values.

    :param read_from: path of the tiers file, or name of the service.
    :param projects: {id: name; None if it does not exist}, as far as Keystone
        lists them.
    :param pools: pools of an applied tier; None if unknown.
    """
    fields = {
        'name': cells.printable(tier.name),
        'volume_type': cells.printable(tier.volume_type),
        'description': cells.printable(tier.card.purpose),
        'tags': cells.Words(tier.tags),
        'priority': cells.Optional(tier.priority),
        'fallback': cells.YesNo(tier.fallback),
        'overflow': cells.Optional(tier.overflow),
        'take_over': cells.YesNo(tier.take_over),
        'access': 'public' if tier.is_public else 'private',
        'projects': cells.Words(sorted(tier.projects)),
        **(
            {
                'project_names': cells.Words(
                    sorted(filter(None, projects.values()))
                )
            }
            if projects
            else {}
        ),
        'backends': cells.Words(tier.backend_names),
        'pools': (
            cells.Words(tier.pools)
            if tier.pools is not None
            else cells.Optional(None)
            if pools is None
            else cells.Pools(pools)
        ),
        'extra_specs': cells.Specs(tier.extra_specs),
        **(
            {'card': cards.WholeCard(tier.card)}
            if tier.expect is None
            else {'expect': cells.Expected(tier.expect)}
        ),
        'read_from': cells.printable(read_from),
    }
    return tuple(fields), tuple(fields.values())
