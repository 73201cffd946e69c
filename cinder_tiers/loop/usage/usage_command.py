# SPDX-License-Identifier: Apache-2.0

"""`openstack tier usage`: what each project uses of each tier."""

import argparse
import collections
import collections.abc
import dataclasses
import datetime
import os
import typing

import openstack.connection

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import metrics_file
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.usage import metrics
from cinder_tiers.loop.usage import usage
from cinder_tiers.loop.usage import usage_rows
from cinder_tiers.observe.cinder import sold as cinder_sold
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud
from cinder_tiers import workflow

if typing.TYPE_CHECKING:
    from cinder_tiers.loop.headroom import headroom_rows

_HEADROOM = 'cinder_tiers.loop.headroom.headroom_rows'
_NOT_KNOWN = (
    'Cinder shows neither deleted volumes nor what left a tier or a project, '
    'so they are in no GiB-hours'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ObservedVolumes:
    """Volumes that Cinder shows, summed up."""

    #: Of all projects that the user sees.
    found: tuple[usage.Usage, ...]
    #: Why tiers of volumes are not known; empty when they are.
    unknown: tuple[str, ...]


class ShowUsage(base.StatusLister):
    """Show what each project uses of each tier, and what that costs.

    Shows the volumes that exist and their size; their GiB-hours in a period,
    from at least to at most, as far as Cinder's records tell; what they may do
    by their IOPS limits; and prices, if the tiers file has "cost". As an
    administrator, shows all projects; as any other user, the own project by
    volume types, without what Cinder hides from members. Changes nothing.
    """

    _epilog = """Exit status: 0 the usage is shown; 3 the tier of some volumes
is unknown; 1 an error occurred, or the project is not yours; 2 a wrong
argument; 6 a service did not answer.

Example: openstack tier usage --from 2028-02-01 --to 2028-03-01 -f json
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_name(
            parser,
            '--project',
            '<project>',
            'only this project (name or ID; default: all that you see)',
        )
        parser.add_argument(
            '--from',
            metavar='<date>',
            type=values.moment,
            dest='begin',
            help='when the period of GiB-hours begins: a date or a time of '
            'ISO 8601, in UTC unless it says otherwise (default: the first '
            'of the month in which it ends)',
        )
        parser.add_argument(
            '--to',
            metavar='<date>',
            type=values.moment,
            dest='end',
            help='when it ends; a date is not part of it (default: now)',
        )
        base.add_names(
            parser,
            '--headroom',
            '<result>',
            'result file with the load curve of a tier, as of "tier '
            'headroom": also show how much of it the IOPS limits of all '
            'volumes sell; needs administrator rights (may be repeated)',
        )
        base.add_catalog(
            parser,
            'tiers file with prices and, for --headroom, expectations '
            '(default: $CINDER_TIERS_CATALOG, else '
            f'{base.DEFAULT_CATALOG} if you can read it)',
        )
        placement_policy.add_config_file(parser)
        metrics_file.add_metrics(parser, when='also ')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Reads and shows.

        Expected failures end as CommandError of OSC.
        """
        with base.user_errors():
            return self._shown(parsed_args)

    def _shown(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[cells.Row]]:
        try:
            over = usage.period(
                parsed_args.begin,
                parsed_args.end,
                now=datetime.datetime.now(datetime.UTC),
            )
        except ValueError as error:
            raise errors.WrongArguments(
                f'{error}; correct --from or --to'
            ) from error
        file = (
            metrics_file.MetricsFile(parsed_args.metrics)
            if parsed_args.metrics
            else None
        )
        declared = _declared(parsed_args)
        sellable = _sellable(parsed_args.headroom, declared)
        policy = placement_policy.read(parsed_args.config_file)
        connection = base.connect(self)
        known = visible_cloud.observe_types(connection)
        if sellable and not known.is_admin:
            raise errors.NotVisible(
                '--headroom needs the volumes of all projects, which Cinder '
                'shows only to an administrator of block storage; remove it, '
                'or run the command as an administrator'
            )
        project = _project(connection, known, parsed_args.project)
        observed = _observe(connection, known, over, policy)
        if observed.unknown:
            self.exit_status = exit_status.UNKNOWN
        table = usage_rows.UsageColumns(
            all_found=observed.found,
            projects=self._names(connection, known),
            declared=declared,
            sellable=sellable,
        )
        shown = [
            one for one in observed.found if project in (None, one.project)
        ]
        if file is not None:
            file.write(metrics.Collector(shown, table))
        self.notes = (
            f'GiB-hours from {_text(over.begin)} to {_text(over.end)}. '
            + _NOT_KNOWN,
            *observed.unknown,
        )
        return table.columns, [table.row(one) for one in shown]

    def _names(
        self,
        connection: openstack.connection.Connection,
        known: facts.VisibleCloud,
    ) -> dict[str, str]:
        """{id of a project: its name}, as far as the user sees them."""
        if not known.is_admin:
            own = connection.current_project
            return {known.project: own.name} if own and own.name else {}
        try:
            return keystone.all_names(connection)
        except errors.Unreachable as error:
            self.log.info('%s', cells.printable(str(error)))
            return {}


def _text(moment: datetime.datetime) -> str:
    return moment.isoformat(timespec='seconds')


def _declared(parsed_args: argparse.Namespace) -> catalogs.Catalog | None:
    """The tiers file; None: none was named, and there is no usual one.

    :raises errors.TiersError: the one that was named cannot be read.
    """
    path = parsed_args.catalog or base.default_catalog()
    if (
        not parsed_args.catalog
        and path == base.DEFAULT_CATALOG
        # A member on a host of administrators has no rights on it.
        and not os.access(path, os.R_OK)
    ):
        return None
    return reader.read_file(path, include_root=parsed_args.include_root)


def _sellable(
    paths: list[str], declared: catalogs.Catalog | None
) -> 'list[headroom_rows.Sellable]':
    if not paths:
        return []
    loaded = results_command.load(
        _HEADROOM, command='tier usage --headroom', extra='rally'
    )
    return loaded.sellable(paths, declared)


def _project(
    connection: openstack.connection.Connection,
    known: facts.VisibleCloud,
    ref: str | None,
) -> str | None:
    """Id of the project to show; None: all.

    :raises errors.NotVisible: it is not the user's.
    """
    if ref is None:
        return None
    if known.is_admin:
        return visible_cloud.find_project(connection, ref)
    own = connection.current_project
    if ref in (known.project, own and own.name):
        return known.project
    raise errors.NotVisible(
        f'project {ref} is not your own, which Cinder shows only to an '
        'administrator of block storage; remove --project, or authenticate '
        'with that project'
    )


def _observe(
    connection: openstack.connection.Connection,
    known: facts.VisibleCloud,
    over: usage.Period,
    policy: decision.Policy,
) -> _ObservedVolumes:
    """Sums up the volumes that the user sees, as they are listed.

    :raises errors.TiersError: Cinder does not answer.
    """
    reasons: collections.Counter[str] = collections.Counter()

    def listed() -> collections.abc.Iterator[audit_volumes.ListedVolume]:
        for one in workflow.volumes_of(connection, known, policy=policy):
            if (
                one.verdict.state is audit.State.UNKNOWN
                and one.verdict.tier is None
            ):
                reasons[one.verdict.reason] += 1
            yield one

    found = usage.of_volumes(
        listed(),
        over=over,
        types={
            tier: one.name
            for tier, one in explanation.read_tiers(known.types).types.items()
        },
        limits=cinder_sold.limits(connection) if known.is_admin else None,
    )
    number = sum(reasons.values())
    # A reason may be about one image, and there may be many.
    return _ObservedVolumes(
        found=found,
        unknown=(
            f'the tier of {number} volume{"s" if number > 1 else ""} is '
            f'unknown, for example: {next(iter(reasons))}',
        )
        if reasons
        else (),
    )
