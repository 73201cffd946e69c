# SPDX-License-Identifier: Apache-2.0

"""The SLA that compares runs of fleets with a result that was kept.

Thin: what can be claimed is decided in ``loop.compare.comparison``.
"""

from collections.abc import Mapping
import pathlib
from typing import Any

from rally.common import validation
from rally import consts
from rally.task import sla

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from rally_scenarios.plugins import judged_runs
from rally_scenarios.plugins.results import store
from rally_scenarios.plugins import task_validator

SLA = 'cinder_tiers_compare'

_SCHEMA = {
    '$schema': consts.JSON_SCHEMA7,
    'type': 'object',
    'required': ['baseline'],
    'additionalProperties': False,
    'properties': {
        'baseline': {
            'type': 'array',
            'minItems': 1,
            'uniqueItems': True,
            'items': {'type': 'string', 'minLength': 1},
        },
        'tiers': {
            'type': 'array',
            'minItems': 1,
            'uniqueItems': True,
            'items': {'type': 'string', 'minLength': 1},
        },
        'quantities': {
            'type': 'array',
            'minItems': 1,
            'uniqueItems': True,
            'items': {'type': 'string'},
        },
        'directions': {
            'type': 'array',
            'minItems': 1,
            'uniqueItems': True,
            'items': {'enum': list(expectations.DIRECTIONS)},
        },
        'least_difference_percent': {'type': 'number', 'minimum': 0},
        'when_unsure': {'enum': ['fail', 'pass']},
    },
}


def _files(path: str) -> list[str]:
    folder = pathlib.Path(path).expanduser()
    # Of an empty one, reading the folder says what is wrong.
    return sorted(map(str, folder.glob('*.json'))) or [path]


def _baseline(paths: list[str]) -> list[run_result.RunResult]:
    """Read the results to compare with.

    :param paths: paths on the host of Rally, of files, or of folders of
        *.json; ``~`` is the home of the user of Rally
    :raises ValueError: a result cannot be read, or two are of one run; names
        all of them
    """
    found, wrong = [], []
    paths = [each for path in paths for each in _files(path)]
    for path in paths:
        try:
            found.append(store.read(path))
        except ValueError as error:
            wrong.append(f'baseline {path!r}: {error}')
    if not wrong:
        read = zip(paths, found, strict=True)
        wrong = [
            f'baseline {each}'
            for each in run_result.copies(
                {repr(path): run.run for path, run in read}
            )
        ]
    if wrong:
        raise ValueError('\n'.join(wrong))
    return found


def _question(criterion: Mapping[str, Any]) -> comparison.Question:
    """Return the parameters of the comparison.

    :raises comparison.ComparisonError: the parameters are invalid
    """
    return comparison.Question(
        quantities=expectations.of_directions(
            criterion.get('quantities', comparison.QUANTITIES),
            criterion.get('directions', ()),
        ),
        least_difference_percent=criterion.get(
            'least_difference_percent', 0.0
        ),
    )


@validation.configure(name='cinder_tiers_compare_sla')
class ComparisonSLAValidator(task_validator.TaskValidator):
    """Refuses an SLA whose baseline cannot be compared with."""

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Check the baseline and the quantities.

        :param workload: not used
        :param plugin_cfg: configuration of the plugin in the task
        :raises ValueError: the baseline or a quantity is wrong
        """
        if not task_validator.fits(_SCHEMA, plugin_cfg):
            return  # Rally says so itself
        _baseline(plugin_cfg['baseline'])
        _question(plugin_cfg)


@validation.add('cinder_tiers_compare_sla')
@sla.configure(name=SLA)
class CinderTiersCompare(judged_runs.JudgedRunsSLA):
    """No worse than a result that was kept, in runs of CinderTiers.fleet_fio.

    Figures are those of the result file, see
    doc/source/user/measure-reference.rst.
    """

    CONFIG_SCHEMA = _SCHEMA

    def __init__(self, criterion_value: Mapping[str, Any]) -> None:
        """Read the baseline and the criterion.

        :param criterion_value: configuration as in CONFIG_SCHEMA
        :raises ValueError: the baseline cannot be read, or a quantity is
            unknown
        """
        super().__init__(criterion_value)
        self._baseline = _baseline(criterion_value['baseline'])
        self._question = _question(criterion_value)
        named = criterion_value.get('tiers')
        self._tiers = named and {tier: tier for tier in named}
        self._unsure_passes = criterion_value.get('when_unsure') == 'pass'

    def judge(self, result: run_result.RunResult) -> judged_runs.JudgedRun:
        """Compare one run with the baseline."""
        name = f'run {result.run}'
        try:
            found = comparison.runs(
                self._baseline,
                {'': [result]},
                self._question,
                tiers=self._tiers,
            )
        except comparison.ComparisonError as error:
            return judged_runs.JudgedRun(False, name, (str(error),))
        bad = [claim for claim in found.claims if not self._is_good(claim)]
        texts = [_text(claim) for claim in bad or found.claims]
        if bad:
            # What else differs is what the difference may come from.
            texts += found.circumstances
        if 0 < len(bad) < len(found.claims):
            texts.append(f'the other {len(found.claims) - len(bad)} pass')
        return judged_runs.JudgedRun(not bad, name, tuple(texts))

    def _is_good(self, claim: comparison.Claim) -> bool:
        if claim.finding in (
            comparison.DifferenceFinding.WORSE,
            comparison.DifferenceFinding.NOT_COMPARED,
        ):
            return False
        return self._unsure_passes or claim.is_no_worse(
            self._question.least_difference_percent
        )


def _text(claim: comparison.Claim) -> str:
    return (
        f'{claim.first_tier} {claim.pattern} {claim.quantity}:'
        f' {claim.sentence}'
    )
