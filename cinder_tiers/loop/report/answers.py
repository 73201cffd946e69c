# SPDX-License-Identifier: Apache-2.0

"""The first lines of a report: what was found, of what, in plain sentences.

Nothing is claimed here that ``claims`` does not: a sentence is a finding in
the words of a reader who does not know the names of patterns.
"""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.fio import load_step
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

#: Patterns of which there is a sentence; of more, the tables tell.
_MOST = 4
#: Pairs of one pattern that a sentence tells of; of more, the tables tell.
_MOST_PAIRS = 3
#: A ratio as near to 1 as that has a digit more, so that it is none of 1.00.
_NEAR = 0.05
#: An interval beyond these says no more than that nothing is known.
_LEAST_TIMES, _MOST_TIMES = 0.01, 100
_TOLD = (
    comparison.DifferenceFinding.BETTER,
    comparison.DifferenceFinding.WORSE,
)
_KINDS = {
    'read': 'sequential reads',
    'write': 'sequential writes',
    'randread': 'random reads',
    'randwrite': 'random writes',
    'rw': 'sequential reads and writes',
    'readwrite': 'sequential reads and writes',
    'randrw': 'random reads and writes',
}


def blocks(pattern: fio_pattern.Pattern) -> str:
    """Return the block sizes of a pattern, as fio spells them."""
    return pattern.bs or pattern.bsrange or pattern.bssplit or ''


def in_words(pattern: fio_pattern.Pattern) -> str:
    """Describe a pattern: block size, order, direction and mix.

    >>> in_words(fio_pattern.Pattern(name="x", rw="randwrite", bs="4k"))
    '4k random writes'
    """
    words = f'{blocks(pattern)} {_KINDS.get(pattern.rw, pattern.rw)}'
    if pattern.rw in fio_pattern.MIXES:
        reads = pattern.rwmixread_percent
        words += f' ({50 if reads is None else reads} % reads)'
    return words


def _load(
    run: run_result.RunResult,
    found: run_result.PatternResult,
    pattern: fio_pattern.Pattern,
) -> str:
    """Describe the load of a step, after ``in_words``; empty without steps."""
    if run.has_guest_steps:
        guests = int(found.pattern.rpartition('.g')[2])
        return f', {report_rows.of_guests(guests)}'
    return _asked(pattern)


def _asked(pattern: fio_pattern.Pattern) -> str:
    """Describe the load that is asked for, after ``in_words``, if one is."""
    iops = load_step.asked_iops(pattern)
    return '' if iops is None else f', {iops} IOPS asked of each volume'


def words_of(run: run_result.RunResult) -> dict[str, str]:
    """Describe the patterns of a result, each with different words.

    :returns: {pattern: words}; for the steps of a load, only the last
    """
    last: dict[str, tuple[str, str]] = {}
    for tier in run.tiers:
        for each in tier.patterns:
            try:
                pattern = run.pattern_of(each)
            except ValueError:
                last[each.pattern] = each.pattern, each.pattern
                continue
            last[load_step.curve_name(pattern)] = (
                each.pattern,
                in_words(pattern) + _load(run, each, pattern),
            )
    found = dict(last.values())
    counts = collections.Counter(found.values())
    return {
        name: words
        if counts[words] == 1 or words == name
        else f'{words} ({name})'
        for name, words in found.items()
    }


def _times(percent: float) -> str:
    """A ratio, to two digits or so: what follows has no bearing.

    >>> _times(510.0), _times(-17.0), _times(1233.0), _times(-0.4)
    ('6.1', '0.83', '13', '0.996')
    """
    ratio = 1 + percent / 100
    if abs(ratio - 1) < _NEAR:
        return f'{ratio:.3f}'
    return f'{ratio:,.{2 if ratio < 2 else 1 if ratio < 10 else 0}f}'


def _clause(claim: comparison.Claim, first: str, second: str) -> str:
    """Describe the finding on two sides, in the words of ``answers``."""
    finding = claim.finding
    change = claim.change_percent
    if change and finding in _TOLD:
        times, low, high = map(_times, change)
        if claim.quantity == 'iops':
            return f'{second} does {times} times {first} ({low} to {high})'
        return (
            f'{claim.quantity} of {second} is {times} times that of {first}'
            f' ({low} to {high})'
        )
    if finding is comparison.DifferenceFinding.NO_RELEVANT_DIFFERENCE:
        return f'no relevant difference between {second} and {first}'
    if finding is comparison.DifferenceFinding.NOT_COMPARED:
        return f'{second} and {first} are not compared: {claim.reason}'
    unknown = f'cannot tell {second} and {first} apart'
    if claim.low_percent is None or claim.high_percent is None:
        return f'{unknown}: {claim.reason}'
    if (
        1 + claim.low_percent / 100 < _LEAST_TIMES
        or 1 + claim.high_percent / 100 > _MOST_TIMES
    ):
        return f'{unknown}: the repeats are too few, or differ too much'
    return (
        f'{unknown} ({_times(claim.low_percent)} to'
        f' {_times(claim.high_percent)} times)'
    )


def _is_not_told(claim: comparison.Claim) -> bool:
    """Return whether the claim comes after those with a difference."""
    return claim.finding not in _TOLD


def _of_claim(
    claim: comparison.Claim, first_result: str | None, results: Sequence[str]
) -> str:
    if first_result is not None:
        second = claim.side or results[-1]
        return _clause(
            claim,
            f'{claim.first_tier} ({first_result})',
            f'{claim.second_tier} ({second})',
        )
    if (claim.difference_percent or 0) < 0:
        # The one that does more comes first: 6 times, not 0.17 times.
        claim = claim.reversed
    return _clause(claim, claim.first_tier, claim.second_tier)


def _compared(
    results: Mapping[str, run_result.RunResult],
    claims: Sequence[comparison.Claim],
) -> Iterator[str]:
    names = list(results)
    first_result = names[0] if len(names) > 1 else None
    quantity = claims[0].quantity
    of_pattern: dict[str, list[comparison.Claim]] = {}
    for claim in claims:
        if claim.quantity == quantity:
            of_pattern.setdefault(claim.pattern, []).append(claim)
    words = {
        name: text
        for run in results.values()
        for name, text in words_of(run).items()
    }
    reasons = {
        claim.reason if claim.low_percent is None else None
        for found in of_pattern.values()
        for claim in found
    }
    if len(reasons) == 1 and None not in reasons:
        # Which it would be in each sentence.
        *sides, last = dict.fromkeys(
            names
            if first_result
            else (
                claims[0].first_tier,
                *(claim.second_tier for claim in claims),
            )
        )
        yield f'Cannot tell {", ".join(sides)} and {last} apart'
        yield f'Reason: {reasons.pop()}'
        return
    for pattern, found in of_pattern.items():
        if pattern not in words and pattern != comparison.ALL_PATTERNS:
            continue
        # What is found out comes first.
        found.sort(key=_is_not_told)
        clauses = first_of(
            dict.fromkeys(
                _of_claim(each, first_result, names) for each in found
            ),
            _MOST_PAIRS,
        )
        yield f'{words.get(pattern, pattern)}: {"; ".join(clauses)}'


def _measured(run: run_result.RunResult, quantity: str) -> Iterator[str]:
    """Yield the figures of single tiers, which are not compared."""
    unit = expectations.quantity(quantity).unit
    words = words_of(run)
    for tier in run.tiers:
        for pattern in tier.patterns:
            if pattern.pattern not in words:
                continue
            found = trust.estimate(pattern.slots, quantity, looks=run.looks)
            said = f'{quantity} is not known'
            if found is not None:
                what = 'does' if quantity == 'iops' else f'has {quantity} of'
                said = f'{what} {report_rows.number(found.mean)} {unit} ' + (
                    '(one repeat, no interval)'
                    if found.low is None
                    else f'({report_rows.number(found.low)} to'
                    f' {report_rows.number(found.high)})'
                )
            yield f'{words[pattern.pattern]}: {tier.tier} {said}'


def answers(
    results: Mapping[str, run_result.RunResult],
    claims: Sequence[comparison.Claim],
    quantity: str,
    *,
    of_curves: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return a sentence on the first quantity for each of the first patterns.

    :param results: {name that the user knows: result}
    :param claims: claims on the results; empty: nothing is compared
    :param quantity: quantity to show if nothing is compared
    :param of_curves: sentences on load curves, which come first
    """
    if claims:
        found = list(_compared(results, claims))
    else:
        found = [
            each
            for run in results.values()
            for each in _measured(run, quantity)
        ]
    return first_of([*of_curves, *found])


def first_of(found: Iterable[str], most: int = _MOST) -> tuple[str, ...]:
    """The first of some sentences, and how many are left to the tables."""
    told = list(found)
    if len(told) > most:
        left = len(told) - most
        told[most:] = [f'{left} more are in the tables below']
    return tuple(told)


def of_effects(
    default_run: run_result.RunResult,
    claims: Sequence[comparison.Claim],
    default: str,
) -> Iterator[str]:
    """Yield a sentence for each pattern of a sweep, on its first quantity.

    :param default_run: run of a slot of the default
    :param claims: claims on all treatments
    :param default: name of the treatment that changes nothing
    """
    words = words_of(default_run)
    of_pattern: dict[tuple[str, str], list[comparison.Claim]] = {}
    for claim in claims:
        if claim.quantity == claims[0].quantity:
            of_pattern.setdefault(
                (claim.pattern, claim.second_tier), []
            ).append(claim)
    several = len({tier for _pattern, tier in of_pattern}) > 1
    for (pattern, tier), found in of_pattern.items():
        found.sort(key=_is_not_told)
        clauses = first_of(
            (_clause(each, default, each.side) for each in found), _MOST_PAIRS
        )
        yield (
            words.get(pattern, pattern)
            + (f' on {tier}' if several else '')
            + f': {"; ".join(clauses)}'
        )


def of_run(run: run_result.RunResult) -> tuple[str, ...]:
    """``answers`` of one run: what IOPS say of its tiers."""
    try:
        claims = (
            comparison.tiers_of_run(run, comparison.Question()).claims
            if len(run.tiers) > 1
            else ()
        )
    except comparison.ComparisonError as error:
        return tuple(str(error).splitlines())
    return answers({run.run: run}, claims, comparison.QUANTITIES[0])


def _turns(run: run_result.RunResult) -> str:
    if len(run.tiers) == 1:
        return run.tiers[0].tier
    if run.side_by_side:
        return 'each tier, side by side'
    return 'each tier, one tier at a time'


def measured(run: run_result.RunResult) -> tuple[str, figure.Table]:
    """Return when, with what and how often a run was measured; its figures."""
    facts = {
        name: run.environment[key].value
        for name, key in (
            ('fio', 'fio'),
            ('Ceph', 'ceph'),
            ('Cinder', 'cinder'),
            ('cinder-tiers', 'cinder_tiers'),
        )
    }
    method = run.profile.method
    line = ' · '.join(
        (
            *([run.task] if run.task else []),
            run.ended_at[:16].replace('T', ' ') + ' UTC',
            f'{report_rows.of_guests(run.guests_per_tier)} of {_turns(run)}',
            f'{run.profile.repeats} '
            + ('repeat' if run.profile.repeats == 1 else 'repeats')
            + f' of {method.runtime_seconds} s',
            *(
                value if value.startswith(name) else f'{name} {value}'
                for name, value in facts.items()
                if value is not None
            ),
        )
    )
    return line, figure.Table(
        columns=figure.columns(
            'Pattern',
            'What it does',
            ('Depth', 0),
            ('Jobs', 0),
            'Engine',
            ('Data per guest MiB', 0),
        ),
        rows=tuple(
            (
                each.name,
                in_words(each) + _asked(each),
                each.iodepth,
                each.numjobs,
                each.ioengine or method.ioengine,
                each.size_mib or method.region_mib,
            )
            for each in run.profile.patterns
        ),
    )
