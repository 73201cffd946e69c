# SPDX-License-Identifier: Apache-2.0

"""`openstack tier watch`: whether tiers are as fast as they were, and should.

Exit statuses and table are those of all tier commands.
"""

import argparse
import collections.abc
import signal
import threading
import types
import typing

from cliff import columns

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import metrics_file
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.watch import files
from cinder_tiers.loop.watch import series

if typing.TYPE_CHECKING:
    from cinder_tiers.loop.watch import use_case as watching

_COLUMNS = (
    'Tier',
    'State',
    'Since',
    'Reason',
    'At the same time',
    'Write ms',
    'Read ms',
    'Probe IOPS',
    'Client IOPS',
)
_NOT_WATCHED = 'not watched'


class _Rounded(columns.FormattableColumn):
    """A number: rounded for people, a dash when there is none."""

    def human_readable(self) -> str:
        return '-' if self._value is None else f'{self._value:.3g}'

    def machine_readable(self) -> float | None:
        return self._value


class WatchTiers(base.CatalogLister):
    """Watch the latency of tiers with a small paced load.

    In the Ceph pool of each tier, does one I/O at a time, a flushed write or a
    read of 4 KiB, at 1 % of the I/O rate of the pool's clients, but at least
    one and at most four I/Os per second. Reports which tier broke a latency
    limit of its "expect", became slower than it was, or hangs, since when, and
    what else changed in the cluster at that time. Keeps a time series of each
    tier, and includes those of earlier runs. Runs until it is interrupted,
    unless --once or --for is given. Writes to an RBD image of its own in the
    namespace cinder-tiers-watch of the pool, which it creates if needed, and
    needs no credentials of OpenStack. Tiers that are not on Ceph are not
    watched.
    """

    _epilog = """Exit status: 0 every tier is as expected; 3 too little is
known of some tier yet, and nothing is wrong with the others, or no tier is
watched; 4 a tier broke an expectation, became slower, fails or hangs; 1 an
error occurred; 2 a wrong argument; 6 Ceph did not answer.

Example: openstack tier watch --tier database --for 10min -f json
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--tier',
            metavar='<tier>',
            action='append',
            default=[],
            dest='tiers',
            help='watch only this tier (may be repeated; default: all)',
        )
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            '--once',
            action='store_true',
            help='measure one window of 20 s, judge, and end',
        )
        group.add_argument(
            '--for',
            dest='seconds',
            metavar='<duration>',
            type=values.duration_s,
            help=f'end after this time, such as {values.DURATIONS}',
        )
        group.add_argument(
            '--remove',
            action='store_true',
            help='remove the images and the series of the tiers, and end',
        )
        parser.add_argument(
            '--least-change',
            metavar='<percent>',
            type=values.positive,
            default=50.0,
            help=(
                'report a tier as slower if its median latency grew by at '
                'least this percentage (default: 50)'
            ),
        )
        metrics_file.add_metrics(parser, when='after each window, ')
        base.add_state(parser, 'the series of the tiers')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Measures, judges and shows.

        :raises base.CommandFailed: expected failures, or numpy and scipy
            are not installed.
        """
        module = results_command.load(
            'cinder_tiers.loop.watch.use_case',
            command='tier watch',
            extra='rally',
        )
        with base.user_errors():
            catalog = reader.read_file(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            tiers = catalog.chosen(parsed_args.tiers)
            kept = files.SeriesFiles(parsed_args.state)
            if parsed_args.remove:
                return self._remove(module, catalog, tiers, kept)
            windows = None
            if parsed_args.once:
                windows = 1
            elif parsed_args.seconds:
                windows = max(1, round(parsed_args.seconds / series.WINDOW_S))
            found = self._watch(
                module, catalog, tiers, kept, windows, parsed_args
            )
        self.exit_status = status_of(found)
        return _COLUMNS, [
            *map(_row, found),
            *(
                _row_of_not_watched(tier.name, module.NOT_WATCHED)
                for tier in tiers
                if tier.rbd is None
            ),
        ]

    def _watch(
        self,
        module: types.ModuleType,
        catalog: catalogs.Catalog,
        tiers: collections.abc.Sequence[catalogs.Tier],
        kept: files.SeriesFiles,
        windows: int | None,
        parsed_args: argparse.Namespace,
    ) -> 'list[watching.Watched]':
        from cinder_tiers.loop.watch import metrics

        stop = threading.Event()
        written = (
            metrics.WindowMetricsFile(parsed_args.metrics)
            if parsed_args.metrics
            else None
        )
        states: dict[str, object] = {}

        def report(found: 'list[watching.Watched]') -> None:
            for each in found:
                tier, verdict = each.kept.tier, each.verdict
                if states.get(tier) is not verdict.state:
                    states[tier] = verdict.state
                    self._say(each)
            # The last, for it may fail.
            if written is not None:
                written.write(found)

        said = ''

        def complain(failure: errors.TiersError | None) -> None:
            nonlocal said
            text = '' if failure is None else str(failure)
            # Not every 20 s as long as a disk is full.
            if text and text != said:
                self.log.error('%s; watching continues', cells.printable(text))
            said = text

        before = {
            one: signal.signal(one, lambda *unused: stop.set())
            for one in (signal.SIGINT, signal.SIGTERM)
            # Python allows it in the main thread only, where commands run.
            if threading.current_thread() is threading.main_thread()
        }
        try:
            return module.watch(
                catalog=catalog,
                tiers=tiers,
                kept=kept,
                windows=windows,
                stop=stop,
                report=report,
                complain=complain,
                least_percent=parsed_args.least_change,
            )
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _say(self, watched: 'watching.Watched') -> None:
        """Write one line when the state of a tier changes."""
        verdict = watched.verdict
        text = f'tier {watched.kept.tier}: {verdict.state.value}'
        if verdict.since is not None:
            text += f' since {_time_text(verdict.since)}'
        if verdict.reasons:
            text += f': {"; ".join(verdict.reasons)}'
        if verdict.circumstances:
            text += f'; at the same time: {"; ".join(verdict.circumstances)}'
        if verdict.since is None:
            if self.app.options.verbose_level:
                self.app.stderr.write(f'{cells.printable(text)}\n')
        else:
            self.log.error('%s', cells.printable(text))

    def _remove(
        self,
        module: types.ModuleType,
        catalog: catalogs.Catalog,
        tiers: collections.abc.Sequence[catalogs.Tier],
        kept: files.SeriesFiles,
    ) -> cells.Shown:
        had = module.remove(catalog=catalog, tiers=tiers, kept=kept)
        return ('Tier', 'Image removed'), [
            (cells.printable(tier.name), cells.YesNo(tier.name in had))
            for tier in tiers
        ]


def status_of(found: 'list[watching.Watched]') -> int:
    """The exit status of tiers that were watched.

    :param found: none: nothing is known.
    """
    from cinder_tiers.loop.watch import judgement

    states = {each.verdict.state for each in found}
    if states - {judgement.TierState.UNKNOWN, judgement.TierState.SOUND}:
        return exit_status.DIFFERENT
    if judgement.TierState.UNKNOWN in states or not states:
        return exit_status.UNKNOWN
    return exit_status.OK


def _time_text(seconds: float) -> str:
    from cinder_tiers.loop.watch import circumstances

    return circumstances.time_text(seconds)


def _row(watched: 'watching.Watched') -> cells.Row:
    verdict, last = watched.verdict, watched.last
    return (
        cells.printable(watched.kept.tier),
        verdict.state.value,
        '' if verdict.since is None else _time_text(verdict.since),
        cells.Words(verdict.reasons),
        cells.Words(verdict.circumstances),
        _Rounded(last.median_ms('write')),
        _Rounded(last.median_ms('read')),
        _Rounded(watched.probe_iops),
        _Rounded(last.status and last.status.client_iops),
    )


def _row_of_not_watched(name: str, reason: str) -> cells.Row:
    nothing = _Rounded(None)
    return (
        cells.printable(name),
        _NOT_WATCHED,
        '',
        cells.Words((reason,)),
        cells.Words(()),
        *[nothing] * 4,
    )
