# SPDX-License-Identifier: Apache-2.0

"""The SLA that holds runs of fleets against what is asked of tiers.

Thin: judging is done in ``figures.sla.judgement``, limits are checked in
``figures.sla.catalog_limits``, figures are found by ``results.reference``.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import os
import pathlib
from typing import Any

from rally.common import validation
from rally import consts
from rally.task import sla
import yaml

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.sla import catalog_limits
from cinder_tiers.figures.sla import judgement
from rally_scenarios.plugins import judged_runs
from rally_scenarios.plugins import profiles
from rally_scenarios.plugins import task_validator

SLA = 'cinder_tiers'
NAMES_VALIDATOR = 'cinder_tiers_sla_names'

_TEXT = {'type': 'string', 'minLength': 1}
_LOSS = {'type': 'integer', 'minimum': 0}
_SEVERAL = {
    'type': 'array',
    'minItems': 2,
    'uniqueItems': True,
    'items': _TEXT,
}
_CRITERIA = ('expect', 'catalog', 'order', 'placement', 'losses')


def _mapping_of(schema: dict) -> dict:
    return {
        'type': 'object',
        'minProperties': 1,
        'additionalProperties': schema,
    }


_SCHEMA = {
    '$schema': consts.JSON_SCHEMA7,
    'type': 'object',
    'anyOf': [{'required': [name]} for name in _CRITERIA],
    'additionalProperties': False,
    'properties': {
        'expect': _mapping_of(_mapping_of(_mapping_of({'type': 'number'}))),
        'catalog': _TEXT,
        'order': {
            'type': 'array',
            'minItems': 1,
            'items': {
                'type': 'object',
                'additionalProperties': False,
                'required': ['by'],
                # Tiers in a pattern, or patterns on a tier.
                'oneOf': [
                    {'required': ['pattern', 'tiers']},
                    {'required': ['tier', 'patterns']},
                ],
                'properties': {
                    'pattern': _TEXT,
                    'patterns': _SEVERAL,
                    'tier': _TEXT,
                    'by': _TEXT,
                    'direction': {'enum': list(expectations.DIRECTIONS)},
                    'at_least_percent': {'type': 'number', 'minimum': 0},
                    'tiers': _SEVERAL,
                },
            },
        },
        'placement': _mapping_of(_TEXT),
        'losses': {
            'type': 'object',
            'minProperties': 1,
            'additionalProperties': False,
            'properties': dict.fromkeys(judgement.LOSSES, _LOSS),
        },
        'when_unsure': {'enum': ['fail', 'pass']},
    },
}


def _catalog(path: str) -> dict[str, expectations.Expectations]:
    """Read the expectations of tiers from the tiers file.

    :param path: path on the host of Rally; ``~`` is the home of the user of
        Rally
    :raises cinder_tiers.domain.errors.ProblemsFound: the file cannot be read,
        is not a catalog, or an expectation is wrong
    """
    try:
        text = pathlib.Path(os.path.expanduser(path)).read_text('utf-8')
        document = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=f'catalog {path!r}',
                    found=f'cannot read it: {error}',
                    expected='a tiers file',
                    remedy='name another file',
                )
            ]
        ) from error
    return catalog_limits.read_catalog(document, file=path)


def _order(asked: Mapping) -> judgement.ExpectedOrder:
    """An order, of a value that fits the schema.

    :raises ValueError: it cannot be judged
    """
    return judgement.ExpectedOrder(
        patterns=tuple(asked.get('patterns') or [asked.get('pattern')]),
        tiers=tuple(asked.get('tiers') or [asked.get('tier')]),
        by=asked['by'],
        direction=asked.get('direction'),
        at_least_percent=asked.get('at_least_percent', 0.0),
    )


def _terms(criterion: Mapping) -> judgement.Criteria:
    """Return the criteria of a configuration that fits the schema.

    :raises cinder_tiers.domain.errors.ProblemsFound: limits or the catalog
        are wrong
    :raises ValueError: an order is wrong
    """
    required = criterion.get('expect', {})
    wrong = list(catalog_limits.problems(required, where='expect'))
    if wrong:
        raise errors.ProblemsFound(wrong)
    catalog = criterion.get('catalog')
    return judgement.Criteria(
        required=required,
        in_catalog=None if catalog is None else _catalog(catalog),
        order=tuple(_order(each) for each in criterion.get('order', ())),
        placement=criterion.get('placement', {}),
        losses=criterion.get('losses', {}),
    )


def _patterns(arguments: Mapping) -> list[fio_pattern.Pattern]:
    """Return a task's patterns as results name them, with steps of guests."""
    patterns = profiles.from_task(arguments).patterns
    steps = arguments.get('guest_steps')
    if not steps:
        return list(patterns)
    return [
        schedule.pattern_of_step(pattern, guests)
        for pattern in patterns
        for guests in steps
    ]


def _not_in_task(
    terms: judgement.Criteria, arguments: Mapping
) -> Iterator[str]:
    """Name tiers and patterns that the scenario will not run.

    :param arguments: arguments of the scenario, whose own errors are reported
        elsewhere
    """
    tiers = [fleet['tier'] for fleet in arguments['fleets']]
    measured = _patterns(arguments)
    patterns = [each.name for each in measured]
    wanted = [
        ('tier', name, tiers)
        for name in (
            *terms.required,
            *terms.placement,
            *(tier for order in terms.order for tier in order.tiers),
        )
    ]
    wanted += [
        ('pattern', name, patterns)
        for name in (
            *(
                name
                for expected in terms.required.values()
                for name in expected
            ),
            *(name for order in terms.order for name in order.patterns),
        )
    ]
    yield from _not_in_patterns(terms, measured)
    for kind, name, known in dict.fromkeys(
        (kind, name, tuple(known)) for kind, name, known in wanted
    ):
        if name not in known:
            yield (
                f'the task runs no {kind} {name!r}; expected one of'
                f' {", ".join(known)};'
                f' {spelling.did_you_mean(name, known)}fix it'
            )


def _not_in_patterns(
    terms: judgement.Criteria, patterns: Iterable[fio_pattern.Pattern]
) -> Iterator[str]:
    """Yield limits on reads of a pattern that only writes, or vice versa."""
    does = {each.name: each.directions for each in patterns}
    asked = [
        (name, limit, expectations.find(limit))
        for expected in terms.required.values()
        for name, limits in expected.items()
        for limit in limits
    ]
    asked += [
        (name, order.quantity, order.limit)
        for order in terms.order
        for name in order.patterns
    ]
    for name, words, limit in dict.fromkeys(asked):
        if limit.direction and limit.direction not in does.get(
            name, expectations.DIRECTIONS
        ):
            yield (
                f'{words} of pattern {name!r}, which does not'
                f' {limit.direction}; name one that does, or remove it'
            )


@validation.configure(name='cinder_tiers_sla')
class TierSLAValidator(task_validator.TaskValidator):
    """Refuses an SLA that could not be judged."""

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Check the limits, the order and the catalog.

        :param workload: not used
        :param plugin_cfg: configuration of the plugin in the task
        :raises Exception: one of ``WRONG``
        """
        # Else Rally says so itself.
        if task_validator.fits(_SCHEMA, plugin_cfg):
            _terms(plugin_cfg)


@validation.configure(name=NAMES_VALIDATOR)
class TierSLANamesValidator(task_validator.TaskValidator):
    """Refuses a workload whose SLA is about what it does not run.

    It is a validator of the scenario, since Rally shows it the SLAs, too.
    """

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Look at the names of tiers and patterns.

        :param workload: configuration of the workload
        :param plugin_cfg: not used
        :raises ValueError: names those that the task does not run
        """
        criterion = (workload.get('sla') or {}).get(SLA)
        if not task_validator.fits(_SCHEMA, criterion):
            return  # there is none, or Rally says so itself
        try:
            unknown = list(_not_in_task(_terms(criterion), workload['args']))
        except (errors.ProblemsFound, ValueError, TypeError, KeyError):
            return  # SLA or arguments are wrong: other validators say so
        if unknown:
            raise ValueError('\n'.join(unknown))


@validation.add('cinder_tiers_sla')
@sla.configure(name=SLA)
class CinderTiers(judged_runs.JudgedRunsSLA):
    """Limits that tiers must meet in runs of CinderTiers.fleet_fio.

    Figures are those of the result file, see
    doc/source/user/measure-reference.rst.
    """

    CONFIG_SCHEMA = _SCHEMA

    def __init__(self, criterion_value: Mapping) -> None:
        """Read the criteria.

        :param criterion_value: configuration as in CONFIG_SCHEMA
        :raises cinder_tiers.domain.errors.ProblemsFound: limits or the
            catalog are wrong
        :raises ValueError: an order is wrong
        """
        super().__init__(criterion_value)
        self._terms = _terms(criterion_value)
        self._unsure_passes = criterion_value.get('when_unsure') == 'pass'

    def judge(self, result: run_result.RunResult) -> judged_runs.JudgedRun:
        """Hold one run against what is asked."""
        found = judgement.judge(result, self._terms)
        bad = [
            one
            for one in found
            if not one.passes(unsure_passes=self._unsure_passes)
        ]
        # Rally shows all of a text in red if any of it is bad.
        texts = tuple(map(str, bad or found))
        if 0 < len(bad) < len(found):
            texts += (f'the other {len(found) - len(bad)} pass',)
        return judged_runs.JudgedRun(not bad, f'run {result.run}', texts)
