# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier recommend`."""

import argparse
import collections.abc
import dataclasses

from cinder_tiers.cli import base
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.figures.profile import job_file
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.files import read_bounded
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.recommend import counters
from cinder_tiers.loop.recommend import load as loads
from cinder_tiers.loop.recommend import looks as series
from cinder_tiers.loop.recommend import ordered
from cinder_tiers.loop.recommend import recommendation
from cinder_tiers.loop.repair import order_file

_LOAD_TABLE = results_command.columns(
    'Load',
    'Tier',
    'Tags',
    'Cost',
    'Pattern',
    'Quantity',
    'Measured',
    'Against best',
    'Finding',
    'Reason',
)
_VOLUME_TABLE = results_command.columns(
    'Volume',
    'Tier',
    'Cost',
    'Does',
    'Finding',
    'Move to',
    'Tags',
    'Cost there',
    'Pattern',
    'Quantity',
    'Now',
    'There',
    'Gain',
    'Reason',
)


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads and compares.

    :raises base.CommandFailed: a file cannot be read.
    :raises errors.LinesError: arguments do not go together, or nothing can be
        compared.
    """
    if parsed_args.on and not parsed_args.diagnostics:
        raise errors.WrongArguments(
            '--on requires --diagnostics; with --volumes, the '
            'pool of a volume shows its tier'
        )
    if parsed_args.cluster and not parsed_args.volumes:
        raise errors.WrongArguments(
            '--cluster requires --volumes: it is the cluster of their pools'
        )
    if parsed_args.out and not parsed_args.volumes:
        raise errors.WrongArguments(
            '--out requires --volumes: diagnostics do not say which volume a '
            'disk is'
        )
    catalog = reader.read_file(
        parsed_args.catalog, include_root=parsed_args.include_root
    )
    if parsed_args.volumes or parsed_args.diagnostics:
        return _place(shown, parsed_args, catalog)
    return _recommend(shown, parsed_args, catalog)


def _advice(
    shown: results_command.ResultsCommand,
    parsed_args: argparse.Namespace,
    catalog: catalogs.Catalog,
    found: list[run_result.RunResult],
    wanted: collections.abc.Sequence[loads.Load],
) -> recommendation.PlacingAdvice:
    names = {one.name for one in catalog.tiers}
    unknown = sorted(
        {tier.tier for run in found for tier in run.tiers} - names
    )
    if unknown:
        shown.warn(
            [
                'not recommended, because the tiers file does not have them: '
                + ', '.join(unknown)
            ]
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
    shown.warn(advice.circumstances)
    return advice


def _loads_of_job(
    shown: results_command.ResultsCommand, path: str
) -> list[loads.Load]:
    try:
        text = _content(path, job_file.MAX_BYTES).decode('utf-8')
    except UnicodeDecodeError as error:
        raise base.CommandFailed(
            f'{path}: found bytes that are not UTF-8; name a job file of fio'
        ) from error
    profile = job_file.profile(text, name='job', file=path)
    shown.warn(profile.assumptions)
    return [
        loads.of_pattern(each, profile.method) for each in profile.patterns
    ]


def _recommend(
    shown: results_command.ResultsCommand,
    parsed_args: argparse.Namespace,
    catalog: catalogs.Catalog,
) -> results_command.Found:
    found = list(results.read_all(parsed_args.results).values())
    wanted = (
        _loads_of_job(shown, parsed_args.job)
        if parsed_args.job
        else _loads_of_patterns(found, parsed_args.pattern)
    )
    advice = _advice(shown, parsed_args, catalog, found, wanted)
    shown.warn(
        f'{each.load.name} is like {words}'
        for each in advice.recommendations
        for words in each.nearly
    )
    return results_command.Found(
        table=_LOAD_TABLE,
        without=_without_prices(catalog),
        items=[
            row
            for each in advice.recommendations
            for row in _load_rows(each, catalog)
        ],
        is_unknown=not all(each.tiers for each in advice.recommendations),
    )


def _place(
    shown: results_command.ResultsCommand,
    parsed_args: argparse.Namespace,
    catalog: catalogs.Catalog,
) -> results_command.Found:
    if parsed_args.on and catalog.tier(parsed_args.on) is None:
        raise base.CommandFailed(
            f'--on {parsed_args.on}: the tiers file has no such tier: '
            'expected one of '
            f'{", ".join(one.name for one in catalog.tiers)}'
        )
    of_pool = _tiers_of_pools(catalog, parsed_args.cluster)
    looks = _looks(parsed_args)
    found = list(results.read_all(parsed_args.results).values())
    advice = _advice(
        shown,
        parsed_args,
        catalog,
        found,
        [
            each.load
            for look in looks
            for each in look
            if each.load is not None
        ],
    )
    recommendations = iter(advice.recommendations)
    seen = series.merged(
        [
            tuple(
                zip(
                    look,
                    recommendation.moves(
                        dataclasses.replace(
                            advice,
                            recommendations=tuple(
                                next(recommendations)
                                for each in look
                                if each.load is not None
                            ),
                        ),
                        {
                            each.name: of_pool.get(each.pool, ())
                            if each.pool is not None
                            else tuple(filter(None, [parsed_args.on]))
                            for each in look
                        },
                        doubts={each.name: each.doubt for each in look},
                    ),
                    strict=True,
                )
            )
            for look in looks
        ]
    )
    volumes, moves = [one for one, _ in seen], [one for _, one in seen]
    if parsed_args.out:
        orders, nameless = ordered.of_moves(volumes, moves)
        if nameless:
            shown.warn(
                [
                    'not saved, because their images do not have the name of '
                    f'a volume: {", ".join(nameless)}'
                ]
            )
        order_file.write(parsed_args.out, orders)
    placings = {each.placing for each in moves}
    return results_command.Found(
        table=_VOLUME_TABLE,
        without=_without_prices(catalog),
        items=[
            row
            for volume, move in zip(volumes, moves, strict=True)
            for row in _volume_rows(volume, move, catalog)
        ],
        is_worse=recommendation.Placing.WRONG in placings,
        is_unknown=recommendation.Placing.CANNOT_TELL in placings,
    )


def _content(
    path: str, max_bytes: int, *, otherwise: str = 'name another file'
) -> bytes:
    """A file that a user named, whoever wrote it.

    :param otherwise: remedy that is named if the file is too long
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
            f'{path}: has more than {max_bytes} bytes; {otherwise}'
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


def _looks(
    parsed_args: argparse.Namespace,
) -> tuple[tuple[counters.Volume, ...], ...]:
    """Read the volumes of the arguments, those of each look.

    :raises base.CommandFailed: a file cannot be read, or is something else.
    """
    paths = parsed_args.diagnostics or [parsed_args.volumes]
    otherwise = (
        'remove the oldest outputs'
        if parsed_args.volumes
        else 'name another file'
    )
    contents = [
        _content(path, counters.MAX_BYTES, otherwise=otherwise)
        for path in paths
    ]
    try:
        if parsed_args.volumes:
            return counters.of_iostat(*contents)
        return (counters.of_diagnostics(contents),)
    except record.RecordError as error:
        raise base.CommandFailed(
            *(f'{", ".join(paths)}: {line}' for line in errors.lines_of(error))
        ) from error


def _loads_of_patterns(
    found: list[run_result.RunResult], names: list[str]
) -> list[loads.Load]:
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


def _cost(catalog: catalogs.Catalog, tier: str | None) -> cells.Prices:
    one = catalog.tier(tier) if tier else None
    return cells.Prices(one.cost if one else None)


def _without_prices(catalog: catalogs.Catalog) -> tuple[str, ...]:
    """Columns that would show nothing, for the file has no prices."""
    has_prices = any(one.cost for one in catalog.tiers)
    return () if has_prices else ('Cost', 'Cost there')


def _load_rows(
    found: recommendation.Recommendation, catalog: catalogs.Catalog
) -> collections.abc.Iterator[cells.Row]:
    """A row for each tier and pattern; one that says why there is none."""
    if not found.places:
        yield (
            found.load.name,
            *('-', cells.Words(()), cells.Prices(None), '-', '-'),
            *(results.Amount((None, '')), results.ClaimedChange(None)),
            *('cannot tell', found.reason),
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
            found.load.name,
            lead.tier,
            _tags(catalog, lead.tier),
            _cost(catalog, lead.tier),
            pattern,
            quantity,
            results.Amount((claim.first, claim.unit)),
            results.ClaimedChange(None),
            lead.standing.value,
            found.reason,
        )
    for place in others:
        for claim in place.claims:
            yield (
                found.load.name,
                place.tier,
                _tags(catalog, place.tier),
                _cost(catalog, place.tier),
                claim.pattern,
                claim.quantity,
                results.Amount((claim.second, claim.unit)),
                results.ClaimedChange(claim),
                place.standing.value,
                f'{claim.finding.value}: {claim.reason}',
            )


def _volume_rows(
    volume: counters.Volume,
    move: recommendation.VolumeAdvice,
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[cells.Row]:
    """A row for each pattern that a volume is like; one if there is none."""
    about = (
        volume.name,
        cells.Optional(move.tier),
        _cost(catalog, move.tier),
        _does(volume),
        move.placing.value,
        cells.Optional(move.to),
        _tags(catalog, move.to),
        _cost(catalog, move.to),
    )
    for claim in move.claims:
        yield (
            *about,
            claim.pattern,
            claim.quantity,
            results.Amount((claim.first, claim.unit)),
            results.Amount((claim.second, claim.unit)),
            results.ClaimedChange(claim),
            '; '.join(
                filter(
                    None,
                    [
                        f'{claim.finding.value}: {claim.reason}',
                        move.certainty,
                    ],
                )
            ),
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
            results.ClaimedChange(None),
            '; '.join(filter(None, [move.reason, move.certainty])),
        )


def _does(volume: counters.Volume) -> str:
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
