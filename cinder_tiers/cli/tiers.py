# SPDX-License-Identifier: Apache-2.0

"""The commands `openstack tier list` and `openstack tier show`."""

import argparse
import collections.abc
import dataclasses

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import tiers as render_tiers
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import tier_list as listed_tiers
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain import text
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud as placement


_Listed = tuple[listed_tiers.ListedTier, ...]


@dataclasses.dataclass(frozen=True)
class _Offered:
    """Volume types that a user may use, without their extra specs."""

    types: tuple[listed_tiers.OfferedType, ...]


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--declared',
        action='store_true',
        help=(
            'show the tiers of the tiers file instead of the applied tiers; '
            'needs no cloud'
        ),
    )
    base.add_catalog(
        parser,
        'tiers file; implies --declared (default with --declared: '
        f'$CINDER_TIERS_CATALOG, else {base.DEFAULT_CATALOG})',
    )


def _file(parsed_args: argparse.Namespace) -> str | None:
    """Return the path of the tiers file; None to read the applied tiers."""
    if parsed_args.declared and not parsed_args.catalog:
        return base.default_catalog()
    return parsed_args.catalog


def _read(
    shown: base.StatusCommand,
    file: str | None,
    include_root: str | None,
) -> _Listed | _Offered:
    if file is not None:
        return listed_tiers.declared(
            reader.read_file(file, include_root=include_root)
        )
    known = placement.observe_types(base.connect(shown))
    if facts.EXTRA_SPECS in known.hidden:
        return _Offered(listed_tiers.offered(known))
    return listed_tiers.applied(known)


def _shown(
    is_long: bool,
    columns: tuple[str, ...],
    more: tuple[str, ...],
    rows: collections.abc.Iterable[cells.Row],
) -> cells.Shown:
    """Return columns and rows, which are the same in every format.

    :param more: columns that only --long shows, at the end of each row.
    """
    shown = columns + more if is_long else columns
    return shown, [row[: len(shown)] for row in rows]


class ListTiers(base.StatusLister):
    """List the applied tiers, or those of the tiers file.

    Reads the applied tiers from Cinder's volume types. The tier with the
    highest priority comes first, and the fallback last. "tier plan" compares
    the two. Without permission to see extra specs, which project members
    usually lack, lists the volume types that you may use, first those with a
    promise or measured figures; which of the others are tiers is hidden from
    you. Standard error then has the tags that the cloud publishes.
    """

    _epilog = """Exit status: 0 the tiers are listed; 1 an error occurred, or
the volume type of a tier cannot be read; 2 a wrong argument; 6 a service did
not answer.

Example: openstack tier list --long -c Name -c Promise
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_source(parser)
        parser.add_argument(
            '--long',
            action='store_true',
            help='list additional fields in output',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        with base.user_errors():
            listed = _read(self, _file(parsed_args), parsed_args.include_root)
        if isinstance(listed, _Offered):
            self._tell_tags()
            return _shown(
                parsed_args.long,
                render_tiers.OFFERED_COLUMNS,
                render_tiers.LONG_OFFERED_COLUMNS,
                map(render_tiers.offered_row, listed.types),
            )
        for tier in listed:
            if tier.problem:
                self.log.error('%s', cells.printable(tier.problem))
                self.exit_status = exit_status.ERROR
        return _shown(
            parsed_args.long,
            render_tiers.TIER_COLUMNS,
            render_tiers.LONG_TIER_COLUMNS,
            map(render_tiers.tier_row, listed),
        )

    def _tell_tags(self) -> None:
        """Log the published tags, because members see no tags in the list."""
        try:
            found = placement.published_tags(base.connect(self))
        except errors.TiersError as error:
            # The list comes from Cinder, regardless of Glance.
            self.log.info('%s', cells.printable(str(error)))
            return
        if found:
            self.notes = [
                'Tags of images that choose a tier: '
                f'{text.clipped_list(sorted(found))}'
            ]


class ShowTier(base.StatusShowOne):
    """Show one applied tier, or one of the tiers file.

    Reads the applied tier from its volume type. The pools that serve it, and
    their free space, are as last reported to Cinder's scheduler. Without
    permission to see extra specs, shows the description of its volume type:
    what the tier is for, and its card with promise and measured figures.
    """

    _epilog = """Exit status: 0 the tier is shown; 1 an error occurred, the
tier does not exist, or a part of it cannot be read; 2 a wrong argument; 6 a
service did not answer.

Example: openstack tier show database -f json
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_source(parser)
        parser.add_argument('name', metavar='<tier>', help='name of the tier')
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], cells.Row]:
        file = _file(parsed_args)
        with base.user_errors():
            listed = _read(self, file, parsed_args.include_root)
            if isinstance(listed, _Offered):
                return render_tiers.offered_fields(
                    listed_tiers.find_offered(listed.types, parsed_args.name)
                )
            tier = listed_tiers.find(listed, parsed_args.name)
        if tier.problem:
            self._complain(tier.problem)
        pools, projects = None, {}
        if file is None:
            try:
                projects = keystone.names(base.connect(self), tier.projects)
            except errors.Unreachable as error:
                # A user who may see volume types may still not see projects.
                self.log.info('%s', cells.printable(str(error)))
            try:
                known = placement.observe_backends(base.connect(self))
                pools = None if known is None else tier.find_pools(known)
            except errors.Unreachable as error:
                # The tier itself is known, regardless of the scheduler.
                self._complain(str(error))
        return render_tiers.tier_fields(
            tier, pools=pools, projects=projects, read_from=file or 'Cinder'
        )

    def _complain(self, problem: str) -> None:
        self.log.error('%s', cells.printable(problem))
        self.exit_status = exit_status.ERROR
