# SPDX-License-Identifier: Apache-2.0

"""Tiers, and problems of a tiers file, as rows of a table.

Pure. Other people's text, such as a file's, may hold what steers a terminal:
what is not printable is escaped, in each format. Must not know where its
arguments came from, nor how cliff prints.
"""

from cliff import columns

from cinder_tiers.cli.render.plan import printable
from cinder_tiers.cli.render.plan import Row
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import tier_list as listed_tiers
from cinder_tiers.domain.placement import backends

TIER_COLUMNS = (
    'Name',
    'Tags',
    'Priority',
    'Fallback',
    'Overflow',
    'Backend',
    'Take Over',
    'Description',
)
PROBLEM_COLUMNS = ('Where', 'Found', 'Expected', 'Remedy')

# Some problems list all that the file declares, which has no end.
_SHOWN_CHARS = 500


def problem_row(problem: errors.Problem) -> Row:
    """A problem under PROBLEM_COLUMNS; long texts are cut."""
    return tuple(
        printable(
            text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + '...'
        )
        for text in (
            problem.where,
            problem.found,
            problem.expected,
            problem.remedy,
        )
    )


class Words(columns.FormattableColumn):
    """Texts: separated by commas for people, a list for programs."""

    def human_readable(self) -> str:
        """The texts in one line; a dash when there are none."""
        return ', '.join(map(printable, self._value)) or '-'

    def machine_readable(self) -> list[str]:
        """The texts."""
        return [printable(text) for text in self._value]


class YesNo(columns.FormattableColumn):
    """A boolean: yes or no for people."""

    def human_readable(self) -> str:
        """`yes` or `no`."""
        return 'yes' if self._value else 'no'

    def machine_readable(self) -> bool:
        """The boolean."""
        return self._value


class Optional(columns.FormattableColumn):
    """A value that may be absent: a dash for people."""

    def human_readable(self) -> str:
        """The value as text."""
        return '-' if self._value is None else printable(str(self._value))

    def machine_readable(self) -> object:
        """The value; None when it is absent."""
        return (
            printable(self._value)
            if isinstance(self._value, str)
            else self._value
        )


class Specs(columns.FormattableColumn):
    """Extra specs: a line for each for people, a map for programs."""

    def human_readable(self) -> str:
        """`key=value` lines; a dash when there are none."""
        return (
            '\n'.join(
                f'{printable(key)}={printable(str(value))}'
                for key, value in sorted(self._value.items())
            )
            or '-'
        )

    def machine_readable(self) -> dict[str, str]:
        """{key: value}"""
        return {
            printable(key): printable(str(value))
            for key, value in sorted(self._value.items())
        }


class Pools(columns.FormattableColumn):
    """Pools that report to Cinder: a line for each, a map for programs."""

    def human_readable(self) -> str:
        """Name and room of each; a dash when there are none."""
        return (
            '\n'.join(
                f'{printable(one.name)}: '
                f'{printable(str(one.capabilities.get("free_capacity_gb")))} '
                'of '
                f'{printable(str(one.capabilities.get("total_capacity_gb")))} '
                'GiB free'
                for one in self._value
            )
            or '-'
        )

    def machine_readable(self) -> list[dict[str, object]]:
        """{name, free_gib, total_gib} of each; Cinder writes GiB as gb."""
        return [
            {
                'name': printable(one.name),
                'free_gib': one.capabilities.get('free_capacity_gb'),
                'total_gib': one.capabilities.get('total_capacity_gb'),
            }
            for one in self._value
        ]


class Expected(columns.FormattableColumn):
    """Limits of fio patterns: a line for each pattern, a map for programs."""

    def human_readable(self) -> str:
        """`pattern: limit=value, ...` lines; a dash when there are none."""
        return (
            '\n'.join(
                f'{printable(pattern)}: '
                + ', '.join(
                    f'{printable(name)}={value}'
                    for name, value in sorted(limits.items())
                )
                for pattern, limits in sorted(self._value.items())
            )
            or '-'
        )

    def machine_readable(self) -> dict[str, dict[str, float]]:
        """{pattern: {limit: value}}"""
        return {
            printable(pattern): dict(sorted(limits.items()))
            for pattern, limits in sorted(self._value.items())
        }


def tier_row(tier: listed_tiers.ListedTier) -> Row:
    """A tier under TIER_COLUMNS."""
    return (
        printable(tier.name),
        Words(tier.tags),
        Optional(tier.priority),
        YesNo(tier.fallback),
        Optional(tier.overflow),
        Words(tier.backend_names),
        YesNo(tier.take_over),
        printable(tier.description),
    )


def tier_fields(
    tier: listed_tiers.ListedTier,
    *,
    read_from: str,
    pools: tuple[backends.Backend, ...] | None,
) -> tuple[tuple[str, ...], Row]:
    """A tier as names of fields and their values.

    :param tier: the tier.
    :param read_from: the tiers file, or the service.
    :param pools: those that serve an applied tier; None when not told.
    """
    fields = {
        'name': printable(tier.name),
        'volume_type': printable(tier.volume_type),
        'description': printable(tier.description),
        'tags': Words(tier.tags),
        'priority': Optional(tier.priority),
        'fallback': YesNo(tier.fallback),
        'overflow': Optional(tier.overflow),
        'take_over': YesNo(tier.take_over),
        'access': 'public' if tier.is_public else 'private',
        'projects': Words(sorted(tier.projects)),
        'backends': Words(tier.backend_names),
        'pools': (
            Words(tier.pools)
            if tier.pools is not None
            else Optional(None)
            if pools is None
            else Pools(pools)
        ),
        'extra_specs': Specs(tier.extra_specs),
        **({} if tier.expect is None else {'expect': Expected(tier.expect)}),
        'read_from': printable(read_from),
    }
    return tuple(fields), tuple(fields.values())
