# SPDX-License-Identifier: Apache-2.0

"""Judgement of a run by its criteria: limits, order, places, losses.

The figure of a limit is the mean over the repeats in which all guests are
complete.  From two repeats on, its 95 % interval decides: a limit is *held*
if the whole interval keeps to it, *broken* if none of it does, and in between
one *cannot tell*.  A single repeat has no interval; its value decides, and
the text says so.  A percentile of too few I/Os, or of too few seconds, shows
nothing.  What was not
measured is never held.

Two tiers, or patterns, of an order are compared within each repeat, in which
both had their turn (``differences.of_blocks``), and all such claims of a run
are corrected for each other.  Fewer than three such repeats do not tell which
is better.

This module must not know Rally, nor where results and limits come from.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
import enum
import itertools
import math

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import between_runs
from cinder_tiers.figures.stats import differences
from cinder_tiers.figures.stats import intervals

# Verdicts of guests (run_result.GuestResult.verdict) that count as a loss.
LOSSES = {
    'lost': ('lost',),
    'late': ('late', 'wrong clock'),
    'failed': ('broken', 'fio failed', 'damaged result', 'wrong tier'),
}
_GUESTS_NAMED = 5
_THROUGHPUT = ('iops', 'mib_per_s')
# The difference for which the number of repeats is computed.
_WANTED_PERCENT = 10.0


class CriterionOutcome(enum.Enum):
    """Outcomes of a criterion."""

    HELD = 'held'
    BROKEN = 'broken'
    CANNOT_TELL = 'cannot tell'
    NOT_MEASURED = 'not measured'
    NOT_RUN = 'not run'  # and it did not have to be


@dataclass(frozen=True, kw_only=True)
class CriterionFinding:
    """A criterion and its outcome."""

    outcome: CriterionOutcome
    #: names tier and pattern, what was found and the limit
    text: str
    #: whether it cannot be told because the figure rests on too few I/Os
    has_too_few_ios: bool = False

    def passes(self, *, unsure_passes: bool) -> bool:
        """Return whether the outcome is good enough.

        :param unsure_passes: whether "cannot tell" passes
        """
        return self.outcome in (
            CriterionOutcome.HELD,
            CriterionOutcome.NOT_RUN,
        ) or (unsure_passes and self.outcome is CriterionOutcome.CANNOT_TELL)

    def __str__(self) -> str:
        return f'{self.text}: {self.outcome.value}'


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A place in an order."""

    #: which of them it is: the tier or the pattern
    name: str
    tier: str
    pattern: str


@dataclass(frozen=True, kw_only=True)
class ExpectedOrder:
    """Tiers in a pattern, or patterns on a tier, from the best to the worst.

    So there is one pattern and two tiers or more, or one tier and two patterns
    or more.
    """

    #: names as in the result, so each step of guests has its own
    patterns: tuple[str, ...]
    #: as ``expectations.find_quantity`` has it: iops or mib_per_s, of which
    #: more is better, or a latency, of which less is
    by: str
    #: labels of tiers
    tiers: tuple[str, ...]
    #: read or write, of these alone; None: as ``by`` says
    direction: str | None = None
    #: by so much more, or so much less latency, each is better than the next
    at_least_percent: float = 0.0

    def __post_init__(self) -> None:
        """Check that there is something to compare.

        :raises ValueError: there is not
        """
        wrong = [
            f'{kind} {", ".join(names)}: expected each once'
            for kind, names in (
                ('tiers', self.tiers),
                ('patterns', self.patterns),
            )
            if len(set(names)) != len(names)
        ]
        fewer, more = sorted((len(self.tiers), len(self.patterns)))
        if fewer != 1 or more < 2:
            wrong.append(
                f'an order of {len(self.tiers)} tiers and'
                f' {len(self.patterns)} patterns: expected two tiers or more'
                f' and a pattern, or a tier and two patterns or more'
            )
        if not 0 <= self.at_least_percent < math.inf:
            wrong.append(
                f'at_least_percent {self.at_least_percent:g}: expected 0 or'
                f' more'
            )
        named = expectations.find_quantity(self.by)
        if named and self.direction not in (
            None,
            named.direction or self.direction,
        ):
            wrong.append(
                f'by {self.by} with direction {self.direction}: expected'
                f' direction {named.direction}, or leave it out'
            )
        if expectations.find_quantity(self.quantity) is None:
            wrong.append(
                f'by {self.quantity[:60]!r}: expected'
                f' {expectations.QUANTITIES_EXPECTED}'
            )
        if wrong:
            raise ValueError('; '.join(wrong))

    @property
    def common(self) -> str:
        """Return the pattern or tier that all compared items share."""
        return (self.tiers if len(self.tiers) == 1 else self.patterns)[0]

    @property
    def places(self) -> tuple[_Place, ...]:
        """Return the compared items, from the best to the worst."""
        if len(self.tiers) == 1:
            return tuple(
                _Place(name=name, tier=self.tiers[0], pattern=name)
                for name in self.patterns
            )
        return tuple(
            _Place(name=name, tier=name, pattern=self.patterns[0])
            for name in self.tiers
        )

    @property
    def quantity(self) -> str:
        """Return the compared quantity with its direction."""
        (found,) = expectations.of_directions(
            [self.by], [self.direction] if self.direction else []
        )
        return found

    @property
    def bound(self) -> float:
        """Logarithm of the second to the first, as it may be at most.

        At least, where less of the quantity is better.
        """
        factor = differences.logarithm(self.at_least_percent)
        return -factor if self.limit.is_least else factor

    @property
    def limit(self) -> expectations.Limit:
        """Return the compared quantity as a limit."""
        return expectations.quantity(self.quantity)


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Criteria for a run."""

    #: {tier: expectations}, all of which the run must have tried
    required: Mapping[str, expectations.Expectations] = field(
        default_factory=dict
    )
    #: {tier: expectations}, of which it need not try all
    in_catalog: Mapping[str, expectations.Expectations] | None = None
    #: tiers, or patterns, better before worse
    order: tuple[ExpectedOrder, ...] = ()
    #: {tier: volume type that all volumes must have on which fio works}
    placement: Mapping[str, str] = field(default_factory=dict)
    #: {key of LOSSES: how many guests at most}
    losses: Mapping[str, int] = field(default_factory=dict)


def judge(
    result: run_result.RunResult, terms: Criteria
) -> tuple[CriterionFinding, ...]:
    """Hold a run against what was asked of it.

    :returns: a finding for each limit, each two neighbours of an order, each
        tier's place and each kind of loss
    """
    return (
        *_losses(result, terms.losses),
        *_placement(result, terms.placement),
        *_expected(result, terms.required, CriterionOutcome.NOT_MEASURED),
        *_catalog_expectations(result, terms.in_catalog),
        *_orders(result, terms.order),
    )


def _losses(
    result: run_result.RunResult, most: Mapping[str, int]
) -> Iterator[CriterionFinding]:
    for kind, limit in most.items():
        found = [
            guest for guest in result.guests if guest.verdict in LOSSES[kind]
        ]
        named = [
            f'{guest.guest} of {guest.tier}, {guest.verdict}:'
            f' {"; ".join(guest.reasons)}'
            for guest in found[:_GUESTS_NAMED]
        ]
        if len(found) > _GUESTS_NAMED:
            named.append(f'and {len(found) - _GUESTS_NAMED} more')
        yield CriterionFinding(
            outcome=CriterionOutcome.HELD
            if len(found) <= limit
            else CriterionOutcome.BROKEN,
            text=f'{kind} guests: {len(found)}'
            f'{" (" + ", ".join(named) + ")" if named else ""},'
            f' at most {limit}',
        )


def _placement(
    result: run_result.RunResult, wanted: Mapping[str, str]
) -> Iterator[CriterionFinding]:
    known = {tier.tier: tier.volume_types for tier in result.tiers}
    for tier, expected in wanted.items():
        if tier not in known or known[tier].value is None:
            reason = (
                known[tier].reason if tier in known else _not_in_run(known)
            )
            yield CriterionFinding(
                outcome=CriterionOutcome.NOT_MEASURED,
                text=f'{tier}: volume type {expected}: {reason}',
            )
            continue
        found = known[tier].value
        yield CriterionFinding(
            outcome=(
                CriterionOutcome.HELD
                if found == expected
                else CriterionOutcome.BROKEN
            ),
            text=f'{tier}: volumes that fio works on have the volume type'
            f' {found},'
            f' expected {expected}',
        )


def _catalog_expectations(
    result: run_result.RunResult,
    in_catalog: Mapping[str, expectations.Expectations] | None,
) -> list[CriterionFinding]:
    if in_catalog is None:
        return []
    found = list(_expected(result, in_catalog, CriterionOutcome.NOT_RUN))
    if all(one.outcome is CriterionOutcome.NOT_RUN for one in found):
        names = [
            f'{tier} {pattern}'
            for tier, expected in in_catalog.items()
            for pattern in expected
        ]
        return [
            CriterionFinding(
                outcome=CriterionOutcome.NOT_MEASURED,
                text='no expectation of the catalog was measured; it has'
                ' expectations for'
                f' {", ".join(names) or "nothing"}',
            )
        ]
    return found


def _not_in_run(names: Mapping[str, object]) -> str:
    return f'the run had only {", ".join(names) or "none"}'


def _slots(
    result: run_result.RunResult, tier: str, pattern: str
) -> tuple[run_result.SlotResult, ...] | str:
    """Return the slots of a pattern, or the reason why there are none."""
    tiers = {each.tier: each for each in result.tiers}
    if tier not in tiers:
        return _not_in_run(tiers)
    patterns = {each.pattern: each for each in tiers[tier].patterns}
    if pattern not in patterns:
        return _not_in_run(patterns)
    return patterns[pattern].slots


def _why_none(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> str:
    """Explain why ``figures.of_complete`` has no figure."""
    complete = figures.complete(slots)
    if not complete:
        return 'no repeat has all guests'
    return (
        figures.not_told(complete, limit)
        or f'in a repeat {figures.nothing_done(limit)}'
    )


def _outcome(
    found: intervals.Estimate,
    limit: expectations.Limit,
    bound: float,
    resolution: float,
) -> CriterionOutcome:
    def kept(value: float) -> bool:
        return value >= bound if limit.is_least else value <= bound

    if found.low is None or found.high is None:
        ends = {kept(found.mean)}
    else:
        # Repeats in one bucket of fio have an interval without width.
        half = abs(found.mean) * resolution / 2 if limit.unit == 'ms' else 0
        ends = {kept(found.low - half), kept(found.high + half)}
    if len(ends) > 1:
        return CriterionOutcome.CANNOT_TELL
    return CriterionOutcome.HELD if ends == {True} else CriterionOutcome.BROKEN


def _amount(value: float, limit: expectations.Limit) -> str:
    return f'{value:.6g} {limit.unit}'.rstrip()


def _title(limit: expectations.Limit) -> str:
    """Return the name of a limited quantity in texts."""
    plain = {
        'iops': 'all guests',
        'mib_per_s': 'all guests',
        'guest_iops': 'the guest that got'
        f' {"least" if limit.is_least else "most"}',
        'mean_ms': 'mean latency',
        'lat_mean_ms': 'mean total latency',
        'lat_longest_ms': 'longest total latency',
        'fairness': 'fairness (Jain)',
    }
    if limit.time_percent is not None:
        return f'all guests in {limit.time_percent:g} % of the seconds'
    title = plain.get(limit.metric) or limit.metric.removesuffix('_ms')
    return f'{title} of {limit.direction}s' if limit.direction else title


def _interval(found: intervals.Estimate, repeats: int) -> str:
    rest = (
        ''
        if found.values == repeats
        else f', {repeats - found.values} more without all guests'
    )
    if found.low is None:
        return f'one repeat, no interval{rest}'
    return (
        f'95 % from {found.low:.6g} to {found.high:.6g}, {found.method}{rest}'
    )


def _expected(
    result: run_result.RunResult,
    wanted: Mapping[str, expectations.Expectations],
    if_not_run: CriterionOutcome,
) -> Iterator[CriterionFinding]:
    """Yield a finding for each limit.

    :param if_not_run: outcome for tiers and patterns that did not run
    """
    for tier, expected in wanted.items():
        for pattern, limits in expected.items():
            slots = _slots(result, tier, pattern)
            for name, bound in limits.items():
                if isinstance(slots, str):
                    yield CriterionFinding(
                        outcome=if_not_run,
                        text=f'{tier} {pattern}: {name} {bound:g}: {slots}',
                    )
                else:
                    yield _of_limit(
                        f'{tier} {pattern}',
                        slots,
                        name,
                        bound,
                        looks=result.looks,
                    )


def _of_limit(
    place: str,
    slots: Sequence[run_result.SlotResult],
    name: str,
    bound: float,
    *,
    looks: int,
) -> CriterionFinding:
    """Hold a figure against its limit.

    :raises ValueError: there is no limit of that name
    """
    limit = expectations.find(name)
    if limit is None:
        raise ValueError(f'{place}: unknown limit {name!r}')
    side = 'at least' if limit.is_least else 'at most'
    asked = f'{side} {_amount(bound, limit)}'
    values = figures.of_complete(slots, limit)
    if not values:
        complete = len(figures.complete(slots))
        why = f', and {_why_none(slots, limit)}' if complete else ''
        return CriterionFinding(
            outcome=CriterionOutcome.NOT_MEASURED,
            text=f'{place}: {_title(limit)}: no figure, {complete} of'
            f' {len(slots)} repeats have all guests{why}, {asked}',
        )
    found = intervals.estimate_mean(values, looks=looks)
    used = figures.complete(slots)
    outcome = _outcome(found, limit, bound, figures.resolution(used, limit))
    text = (
        f'{place}: {_title(limit)} {_amount(found.mean, limit)}'
        f' ({_interval(found, len(slots))}), {asked}'
    )
    too_few = figures.too_few_ios(used, limit)
    # Hardly any I/Os are proof that IOPS or bandwidth are too low.
    is_proof = (
        limit.metric in _THROUGHPUT
        and limit.is_least
        and limit.time_percent is None
        and outcome is CriterionOutcome.BROKEN
    )
    if too_few and not is_proof:
        return CriterionFinding(
            outcome=CriterionOutcome.CANNOT_TELL,
            text=f'{text}; {too_few}',
            has_too_few_ios=True,
        )
    too_long = figures.too_long_for_fio(used, limit)
    if too_long:
        return CriterionFinding(
            # The figure is at least what it is shown as.
            outcome=outcome
            if outcome is CriterionOutcome.BROKEN
            else CriterionOutcome.CANNOT_TELL,
            text=f'{text}; {too_long}',
        )
    return CriterionFinding(outcome=outcome, text=text)


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two neighbours of an order, before all of them are judged."""

    text: str
    order: ExpectedOrder
    #: of the second to the first; None if they cannot be compared
    difference: differences.LogDifference | None = None
    #: why not
    outcome: CriterionOutcome = CriterionOutcome.CANNOT_TELL
    #: why the second may be worse than its figure; empty if it is not
    worse_is_too_long: str = ''


def _orders(
    result: run_result.RunResult, orders: Sequence[ExpectedOrder]
) -> Iterator[CriterionFinding]:
    """A finding for each two neighbours of each order."""
    pairs = [
        _pair(result, order, better, worse)
        for order in orders
        for better, worse in itertools.pairwise(order.places)
    ]
    pairs = _with_common_noise(pairs)
    claims = [pair.difference for pair in pairs if pair.difference]
    adjusted = iter(
        differences.holm(
            [
                pair.difference.p_beside(pair.order.bound)
                for pair in pairs
                if pair.difference
            ]
        )
    )
    for pair in pairs:
        if pair.difference is None:
            yield CriterionFinding(outcome=pair.outcome, text=pair.text)
        else:
            yield _of_pair(pair, pair.difference, next(adjusted), len(claims))


def _with_common_noise(pairs: Sequence[_Pair]) -> list[_Pair]:
    """See ``between_runs.with_common_noise``, for each quantity."""
    found = list(pairs)
    of_quantity: dict[str, list[tuple[int, differences.LogDifference]]] = {}
    for place, pair in enumerate(pairs):
        if pair.difference:
            of_quantity.setdefault(pair.order.quantity, []).append(
                (place, pair.difference)
            )
    for members in of_quantity.values():
        for (place, _own), common in zip(
            members,
            between_runs.with_common_noise([own for _place, own in members]),
            strict=True,
        ):
            found[place] = replace(pairs[place], difference=common)
    return found


def _pair(
    result: run_result.RunResult,
    order: ExpectedOrder,
    better: _Place,
    worse: _Place,
) -> _Pair:
    limit = order.limit
    text = (
        f'{order.common}: {better.name} before {worse.name} by'
        f' {order.quantity}'
    )
    if order.at_least_percent:
        text += f', at least {order.at_least_percent:g} %'
    found: list[Sequence[run_result.SlotResult]] = []
    not_run = []
    none = []
    for place in (better, worse):
        slots = _slots(result, place.tier, place.pattern)
        if isinstance(slots, str):
            not_run.append(f'{place.name}: {slots}')
            continue
        found.append(slots)
        if not figures.of_complete(slots, limit):
            none.append(f'{place.name}: {_why_none(slots, limit)}')
    missing = not_run or none
    if missing:
        return _Pair(
            text=f'{text}: {", ".join(missing)}',
            order=order,
            outcome=CriterionOutcome.NOT_MEASURED,
        )
    by_repeat = [
        {slot.repeat: slot for slot in figures.complete(slots)}
        for slots in found
    ]
    both = sorted(by_repeat[0].keys() & by_repeat[1].keys())
    of_places = [
        [of_place[repeat] for repeat in both] for of_place in by_repeat
    ]
    sides = [figures.of_complete(slots, limit) for slots in of_places]
    used = [slot for slots in of_places for slot in slots]
    if len(both) < differences.LEAST_PAIRS:
        return _Pair(
            text=f'{text}: {_means(sides, limit)}{len(both)} repeats with all'
            f' guests of both, expected at least {differences.LEAST_PAIRS}',
            order=order,
        )
    text = f'{text}: {_means(sides, limit)}'
    if min(min(values) for values in sides) <= 0:
        return _Pair(
            text=f'{text}in a repeat {figures.nothing_done(limit)}',
            order=order,
        )
    too_few = figures.too_few_ios(used, limit)
    if too_few:
        return _Pair(text=text + too_few, order=order)
    too_long = [figures.too_long_for_fio(slots, limit) for slots in of_places]
    if all(too_long):
        return _Pair(text=text + too_long[0], order=order)
    return _Pair(
        text=text,
        order=order,
        worse_is_too_long=too_long[1],
        difference=differences.of_blocks(
            *sides,
            resolution=figures.resolution(used, limit),
            looks=result.looks,
        ),
    )


def _means(sides: Sequence[Sequence[float]], limit: expectations.Limit) -> str:
    if not sides[0]:
        return ''
    return (
        ' and '.join(
            _amount(sum(values) / len(values), limit) for values in sides
        )
        + ': '
    )


def _of_pair(
    pair: _Pair,
    found: differences.LogDifference,
    probability: float,
    claims: int,
) -> CriterionFinding:
    """Judge whether the first side is better by the required margin.

    :param found: difference of the second to the first
    :param probability: probability that they differ by just the margin,
        corrected for other claims
    :param claims: number of claims
    """
    low, high = found.interval_percent()
    text = (
        f'{pair.text}the second differs by {found.percent:+.1f} %, 95 % from'
        f' {low:+.1f} to {high:+.1f} %, over {found.repeats} repeats'
        + f', p {probability:.2g}'
        + (f' as one of {claims} claims' if claims > 1 else '')
    )
    if probability > 1 - differences.CONFIDENCE:
        needed = differences.repeats_needed(
            found,
            wanted=differences.logarithm(_WANTED_PERCENT),
            claims=claims,
        )
        need = differences.text_of_need(
            _WANTED_PERCENT, needed, repeats=found.repeats
        )
        return CriterionFinding(
            outcome=CriterionOutcome.CANNOT_TELL, text=f'{text}; {need}'
        )
    is_kept = (found.mean < pair.order.bound) == pair.order.limit.is_least
    if pair.worse_is_too_long and not is_kept:
        return CriterionFinding(
            outcome=CriterionOutcome.CANNOT_TELL,
            text=f'{text}; {pair.worse_is_too_long}',
        )
    return CriterionFinding(
        outcome=CriterionOutcome.HELD if is_kept else CriterionOutcome.BROKEN,
        text=text,
    )
