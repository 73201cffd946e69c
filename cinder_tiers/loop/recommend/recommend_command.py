# SPDX-License-Identifier: Apache-2.0

"""`openstack tier recommend`: which tier, by results on record."""

import argparse
import collections.abc
import typing


from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import values
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.files import read_bounded
from cinder_tiers.files.tiers import reader

if typing.TYPE_CHECKING:
    from cinder_tiers.figures.result import result as run_result
    from cinder_tiers.loop.recommend import counters
    from cinder_tiers.loop.recommend import load as loads
    from cinder_tiers.loop.recommend import recommendation

_LOAD_COLUMNS = (
    'Load',
    'Tier',
    'Tags',
    'Pattern',
    'Quantity',
    'Measured',
    'Against best',
    'Finding',
    'Reason',
)
_VOLUME_COLUMNS = (
    'Volume',
    'Tier',
    'Does',
    'Finding',
    'Move to',
    'Tags',
    'Pattern',
    'Quantity',
    'Now',
    'There',
    'Gain',
    'Reason',
)


class RecommendTier(base.StatusLister):
    """Recommend a tier and its tag for a load, from measured results.

    The load is a fio job file, a pattern of the results, or what running
    volumes do. Looks for measured patterns that are similar to it, compares
    the tiers in them in pairs, and names the tier that is better than all
    others, or reports that there are too few repeats to tell. With --volumes
    or --diagnostics, lists which volumes are on the wrong tier, and what a
    move would gain. Changes nothing, reads only files and needs no
    credentials.
    """

    _epilog = """Exit status: 0 each load has a tier, and each volume is on the
right one or idle; 4 a volume is on a wrong tier; 3 something could not be
determined, and no volume is known to be on a wrong tier; 1 an error occurred;
2 a wrong argument.

Example: openstack tier recommend run.json --job database.fio --catalog
tiers.yaml
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.add_catalog(parser)
        results.add_files(parser)
        wanted = parser.add_mutually_exclusive_group(required=True)
        wanted.add_argument(
            '--job',
            metavar='<file>',
            type=base.not_empty,
            help='job file of fio with the load',
        )
        wanted.add_argument(
            '--pattern',
            metavar='<pattern>',
            type=base.not_empty,
            action='append',
            help=(
                'the load is this pattern of the profile of the results; '
                'where guests ran in steps, each step counts (may be repeated)'
            ),
        )
        wanted.add_argument(
            '--volumes',
            metavar='<file>',
            type=base.not_empty,
            help=(
                'the loads are those of volumes: output of "rbd perf image '
                'iostat --format json"'
            ),
        )
        wanted.add_argument(
            '--diagnostics',
            metavar='<file>',
            type=base.not_empty,
            action='append',
            help=(
                'the loads are those of the disks of a server: its '
                'diagnostics from Nova as JSON, version 2.48 or later; named '
                'twice, what was done between the two counts, which is needed '
                'to call a disk idle'
            ),
        )
        parser.add_argument(
            '--cluster',
            metavar='<name>',
            type=base.not_empty,
            help=(
                'with --volumes: the Ceph cluster of the tiers file that they '
                'are in; needed for pools whose name is in several clusters'
            ),
        )
        parser.add_argument(
            '--on',
            metavar='<tier>',
            type=base.not_empty,
            help='with --diagnostics: the tier that the disks are on',
        )
        results.add_quantities(parser, default='p99_ms')
        parser.add_argument(
            '--least-difference',
            metavar='<percent>',
            type=values.percent,
            default=5.0,
            help=(
                'a smaller difference is not relevant: tiers that do not '
                'differ by more are as good (default: 5)'
            ),
        )
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Reads, compares and shows.

        :raises base.CommandFailed: a file cannot be read, or nothing can
            be compared.
        """
        # numpy and scipy take a second, which no other command should need.
        try:
            from cinder_tiers.loop.compare import comparison  # noqa: F401
        except ImportError as error:
            raise base.CommandFailed(
                f'tier recommend needs the extra "rally" of cinder-tiers: '
                f'{error}; install cinder-tiers[rally]'
            ) from error
        with base.user_errors():
            if parsed_args.on and not parsed_args.diagnostics:
                raise errors.WrongArguments(
                    '--on requires --diagnostics; with --volumes, the '
                    'pool of a volume shows its tier'
                )
            if parsed_args.cluster and not parsed_args.volumes:
                raise errors.WrongArguments(
                    '--cluster requires --volumes: it is the cluster of '
                    'their pools'
                )
            catalog = reader.read_file(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            if parsed_args.volumes or parsed_args.diagnostics:
                return self._place(parsed_args, catalog)
            return self._recommend(parsed_args, catalog)

    def _advice(
        self,
        parsed_args: argparse.Namespace,
        catalog: catalogs.Catalog,
        found: 'list[run_result.RunResult]',
        wanted: 'collections.abc.Sequence[loads.Load]',
    ) -> 'recommendation.Advice':
        from cinder_tiers.loop.compare import comparison
        from cinder_tiers.loop.recommend import recommendation

        names = {one.name for one in catalog.tiers}
        unknown = sorted(
            {tier.tier for run in found for tier in run.tiers} - names
        )
        if unknown:
            self.log.warning(
                'not recommended, because the tiers file does not have '
                'them: %s',
                cells.printable(', '.join(unknown)),
            )
        advice = recommendation.recommend(
            found,
            wanted,
            comparison.Question(
                quantities=results.quantities(
                    parsed_args, (recommendation.QUANTITY,)
                ),
                least_difference_percent=parsed_args.least_difference,
            ),
            tiers=names,
        )
        for each in advice.circumstances:
            self.log.warning('%s', cells.printable(each))
        return advice

    def _loads_of_job(self, path: str) -> 'list[loads.Load]':
        from cinder_tiers.figures.profile import job_file
        from cinder_tiers.loop.recommend import load as loads

        try:
            text = _content(path, job_file.MAX_BYTES).decode('utf-8')
        except UnicodeDecodeError as error:
            raise base.CommandFailed(
                f'{path}: found bytes that are not UTF-8; name a job file of '
                'fio'
            ) from error
        profile = job_file.profile(text, name='job', file=path)
        for each in profile.assumptions:
            self.log.warning('%s', cells.printable(each))
        return [
            loads.of_pattern(each, profile.method) for each in profile.patterns
        ]

    def _recommend(
        self, parsed_args: argparse.Namespace, catalog: catalogs.Catalog
    ) -> tuple[tuple[str, ...], list[cells.Row]]:
        found = list(results.read_all(parsed_args.results).values())
        wanted = (
            self._loads_of_job(parsed_args.job)
            if parsed_args.job
            else _loads_of_patterns(found, parsed_args.pattern)
        )
        advice = self._advice(parsed_args, catalog, found, wanted)
        for each in advice.recommendations:
            for words in each.nearly:
                self.log.warning(
                    '%s', cells.printable(f'{each.load.name} is like {words}')
                )
        self.exit_status = (
            exit_status.OK
            if all(each.tiers for each in advice.recommendations)
            else exit_status.UNKNOWN
        )
        return _LOAD_COLUMNS, [
            row
            for each in advice.recommendations
            for row in _load_rows(each, catalog)
        ]

    def _place(
        self, parsed_args: argparse.Namespace, catalog: catalogs.Catalog
    ) -> tuple[tuple[str, ...], list[cells.Row]]:
        from cinder_tiers.loop.recommend import recommendation

        if parsed_args.on and catalog.tier(parsed_args.on) is None:
            raise base.CommandFailed(
                f'--on {parsed_args.on}: the tiers file has no such tier: '
                'expected one of '
                f'{", ".join(one.name for one in catalog.tiers)}'
            )
        of_pool = _tiers_of_pools(catalog, parsed_args.cluster)
        volumes = _volumes(parsed_args)
        found = list(results.read_all(parsed_args.results).values())
        advice = self._advice(
            parsed_args,
            catalog,
            found,
            [each.load for each in volumes if each.load is not None],
        )
        moves = recommendation.moves(
            advice,
            {
                each.name: of_pool.get(each.pool, ())
                if each.pool is not None
                else tuple(filter(None, [parsed_args.on]))
                for each in volumes
            },
            doubts={each.name: each.doubt for each in volumes},
        )
        placings = {each.placing for each in moves}
        self.exit_status = exit_status.OK
        if recommendation.Placing.CANNOT_TELL in placings:
            self.exit_status = exit_status.UNKNOWN
        if recommendation.Placing.WRONG in placings:
            self.exit_status = exit_status.DIFFERENT
        return _VOLUME_COLUMNS, [
            row
            for volume, move in zip(volumes, moves, strict=True)
            for row in _volume_rows(volume, move, catalog)
        ]


def _content(path: str, max_bytes: int) -> bytes:
    """A file that a user named, whoever wrote it.

    :raises base.CommandFailed: it cannot be read, or is too long.
    """
    try:
        found = read_bounded.read(path, max_bytes=max_bytes + 1)
    except OSError as error:
        raise base.CommandFailed(
            f'cannot read {path}: {error.strerror}; name another file'
        ) from error
    if len(found) > max_bytes:
        raise base.CommandFailed(
            f'{path}: has more than {max_bytes} bytes; name another file'
        )
    return found


def _tiers_of_pools(
    catalog: catalogs.Catalog, cluster: str | None
) -> dict[str, tuple[str, ...]]:
    """{pool: its tiers}: several clusters may have a pool of one name.

    :param cluster: only its pools; None: those of all clusters
    :raises base.CommandFailed: no tier is in that cluster.
    """
    found: dict[str, tuple[str, ...]] = {}
    clusters = set()
    for one in catalog.tiers:
        if one.rbd is None:
            continue
        clusters.add(one.rbd.cluster)
        if cluster in (None, one.rbd.cluster):
            for pool in one.rbd.pools:
                found[pool] = (*found.get(pool, ()), one.name)
    if cluster is not None and cluster not in clusters:
        raise base.CommandFailed(
            f'no tier of the tiers file is in cluster {cluster}: expected '
            f'one of {", ".join(sorted(clusters)) or "none"}'
        )
    return found


def _volumes(
    parsed_args: argparse.Namespace,
) -> 'tuple[counters.Volume, ...]':
    from cinder_tiers.loop.recommend import counters

    if parsed_args.volumes:
        return counters.of_iostat(
            _content(parsed_args.volumes, counters.MAX_BYTES)
        )
    return counters.of_diagnostics(
        [
            _content(path, counters.MAX_BYTES)
            for path in parsed_args.diagnostics
        ]
    )


def _loads_of_patterns(
    found: 'list[run_result.RunResult]', names: list[str]
) -> 'list[loads.Load]':
    from cinder_tiers.loop.compare import comparison
    from cinder_tiers.loop.recommend import load as loads

    known = {
        pattern.name: loads.of_pattern(pattern, run.profile.method)
        for run in reversed(found)
        for pattern in run.profile.patterns
    }
    wrong = [name for name in dict.fromkeys(names) if name not in known]
    if wrong:
        raise comparison.ComparisonError(
            f'no profile of the results has pattern {", ".join(wrong)}: '
            f'expected one of {", ".join(sorted(known))}'
        )
    return [known[name] for name in dict.fromkeys(names)]


def _tags(catalog: catalogs.Catalog, tier: str | None) -> cells.Words:
    one = catalog.tier(tier) if tier else None
    return cells.Words(one.tags if one else ())


def _load_rows(
    found: 'recommendation.Recommendation', catalog: catalogs.Catalog
) -> collections.abc.Iterator[cells.Row]:
    """A row for each tier and pattern; one that says why there is none."""
    if not found.places:
        yield (
            cells.printable(found.load.name),
            *('-', cells.Words(()), '-', '-'),
            *(results.Amount((None, '')), results.Change(None)),
            *('cannot tell', cells.printable(found.reason)),
        )
        return
    lead, *others = found.places
    of_lead = {
        (claim.pattern, claim.quantity): claim
        for place in others
        for claim in place.claims
    }
    for (pattern, quantity), claim in of_lead.items():
        yield (
            cells.printable(found.load.name),
            cells.printable(lead.tier),
            _tags(catalog, lead.tier),
            cells.printable(pattern),
            quantity,
            results.Amount((claim.first, claim.unit)),
            results.Change(None),
            lead.standing.value,
            cells.printable(found.reason),
        )
    for place in others:
        for claim in place.claims:
            yield (
                cells.printable(found.load.name),
                cells.printable(place.tier),
                _tags(catalog, place.tier),
                cells.printable(claim.pattern),
                claim.quantity,
                results.Amount((claim.second, claim.unit)),
                results.Change(claim),
                place.standing.value,
                cells.printable(f'{claim.finding.value}: {claim.reason}'),
            )


def _volume_rows(
    volume: 'counters.Volume',
    move: 'recommendation.Move',
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[cells.Row]:
    """A row for each pattern that a volume is like; one if there is none."""
    about = (
        cells.printable(volume.name),
        cells.Optional(move.tier),
        _does(volume),
        move.placing.value,
        cells.Optional(move.to),
        _tags(catalog, move.to),
    )
    for claim in move.claims:
        yield (
            *about,
            cells.printable(claim.pattern),
            claim.quantity,
            results.Amount((claim.first, claim.unit)),
            results.Amount((claim.second, claim.unit)),
            results.Change(claim),
            cells.printable(f'{claim.finding.value}: {claim.reason}'),
        )
    if not move.claims:
        yield (
            *about,
            *(
                '-',
                '-',
                results.Amount((None, '')),
                results.Amount((None, '')),
            ),
            results.Change(None),
            cells.printable(move.reason),
        )


def _does(volume: 'counters.Volume') -> str:
    if volume.load is None:
        return f'{volume.iops:.2g} IOPS'
    sizes = '/'.join(
        f'{size / 1024:.3g}' for size in volume.load.block_bytes.values()
    )
    in_flight = (
        ''
        if volume.load.in_flight is None
        else f', {volume.load.in_flight:.3g} in flight'
    )
    return (
        f'{volume.iops:.4g} IOPS, {volume.load.read_percent:.0f} % reads, '
        f'{sizes or "0"} KiB{in_flight}'
    )
