# SPDX-License-Identifier: Apache-2.0

"""Layers as a table and a chart of Rally's report, and as a file.

The file is for programs: ``layers-TIME-RUN.json`` beside the result files of
fleets.  It is not a result file: those are about tiers, slots and guests, and
only the highest layer has any; that one's result file is named in it.
"""

from collections.abc import Sequence
import json
import pathlib

from cinder_tiers.domain import record
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.layers import model
from rally_scenarios.plugins.report import tables

FILE_VERSION = 1
TITLE = 'CinderTiers: figures of each layer'
COLUMNS = (
    'layer',
    'pattern',
    'in flight',
    'IOPS',
    'MiB/s',
    'p99 ms',
    '% of the layer below',
    '% it allows',
    'disks allow IOPS',
    'verdict',
)
CHART_TITLE = 'Layers: IOPS, % of what the disks allow'


def _number(value: float | None, digits: int = 1) -> float | str:
    return tables.NO_NUMBER if value is None else round(value, digits)


def _verdict(judged: model.Judgement) -> str:
    if judged.measured.figures is None:
        return f'not measured: {judged.measured.reason}'
    words = []
    if judged.percent_of_theory is not None:
        words.append(
            f'{judged.percent_of_theory:.0f} % of what layer'
            f' {judged.below} allows'
        )
    if judged.loses_most:
        words.append('loses most')
    if judged.measured.figures.remark:
        words.append(judged.measured.figures.remark)
    return '; '.join(words) or 'the lowest layer'


def _row(judged: model.Judgement) -> list:
    figures = judged.measured.figures
    row = [judged.measured.layer, judged.measured.pattern.name]
    if figures is None:
        row += [tables.NO_NUMBER] * 4
    else:
        row += [
            _number(figures.in_flight),
            _number(figures.iops),
            _number(figures.bw_bytes / 1024**2, 2),
            _number(figures.p99_ns and figures.p99_ns / 1e6, 3),
        ]
    return [
        *row,
        _number(judged.percent_of_below),
        _number(judged.percent_by_theory),
        _number(judged.disks_allow_iops),
        _verdict(judged),
    ]


def _line(judged: Sequence[model.Judgement]) -> list[list[float]]:
    return [
        [
            1 + model.LAYERS.index(each.measured.layer),
            round(
                100
                * each.measured.figures.rate(each.measured.pattern)
                / each.disks_allow_iops,
                1,
            ),
        ]
        for each in judged
        if each.measured.figures and each.disks_allow_iops
    ]


def outputs(tier: str, judged: Sequence[model.Judgement]) -> list[dict]:
    """Return a table, and a chart if a raw disk was measured.

    :param judged: judgements of all layers and patterns
    """
    names = dict.fromkeys(each.measured.pattern.name for each in judged)
    lines = [
        [
            name,
            _line(
                [each for each in judged if each.measured.pattern.name == name]
            ),
        ]
        for name in names
    ]
    lines = [line for line in lines if line[1]]
    found = [
        tables.table(
            TITLE,
            f'Tier {tier}, from its disks up. % it allows: what a layer '
            'should do of the layer below, by the number of disks and copies. '
            'Far more than 100 % of that: not the disks answered, but a '
            'journal or a cache',
            COLUMNS,
            [_row(each) for each in judged],
        )
    ]
    if lines:
        found.append(
            {
                'title': CHART_TITLE,
                'chart_plugin': 'Lines',
                'description': '; '.join(
                    f'{number} {name}'
                    for number, name in enumerate(model.LAYERS, start=1)
                ),
                'data': lines,
                'label': '%',
                'axis_label': 'layer',
            }
        )
    return found


def write(
    folder: pathlib.Path,
    *,
    run: str,
    ended_at: str,
    tier: str,
    pool: model.TierPool | None,
    method: fio_pattern.Profile,
    judged: Sequence[model.Judgement],
    guests_result: str | None,
) -> pathlib.Path:
    """Write the file.

    :param run: nonce of the run
    :param ended_at: ISO 8601, UTC
    :param guests_result: path of the result file of the guests, if any
    :returns: its path
    :raises OSError: it cannot be written
    """
    stamp = ended_at[:19].replace(':', '').replace('-', '')
    path = folder / f'layers-{stamp}-{run}.json'
    unfinished = path.with_suffix('.part')
    unfinished.write_text(
        json.dumps(
            {
                'version': FILE_VERSION,
                'run': run,
                'ended_at': ended_at,
                'tier': tier,
                'pool': record.plain(pool),
                'method': record.plain(method),
                'layers': [
                    {
                        **record.plain(each),
                        'percent_of_theory': each.percent_of_theory,
                    }
                    for each in judged
                ],
                'guests_result': guests_result,
            },
            indent=1,
        )
        + '\n'
    )
    return unfinished.replace(path)
