# SPDX-License-Identifier: Apache-2.0

"""Choice of the figures that go on the cards of tiers.

Pure. Untrustworthy figures are not chosen: one of a single repeat or of too
few I/Os has no interval, and the caveats of a run apply to all of its figures.
Must not know how a card is kept.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import datetime
import itertools
import math
import re

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import fingerprint
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.publish import changes

#: Of each pattern, beside what is promised.
_ALWAYS = ('iops', 'p99_ms')
#: Caveats that an interval shows, and those about single figures, which are
#: looked at one by one.
_SHOWN = frozenset(
    {'spread', 'wide intervals', trust.ONE_REPEAT, trust.TOO_FEW_IOS}
)
#: What was not looked at, and speaks neither for a figure nor against it.
_NOT_LOOKED_AT = frozenset({'host load not known', 'storage load not known'})
_TYPE_NOT_KNOWN = (
    'the result does not say which QoS and extra specs the volume type had, '
    'so changes since the measurement are not noticed; it does when Rally has '
    'an administrator and this version'
)
_RELEASE = re.compile('[0-9]{1,3}', re.ASCII)

#: {path of a result file: its run}
Runs = Mapping[str, run_result.RunResult]

#: By how much the clocks of two hosts may differ.
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Figures of a tier to publish."""

    tier: str
    #: minute in UTC, as in a card; of several results, of the first
    ended_at: str
    #: the most important first; none: nothing is to be trusted
    figures: tuple[cards.Figure, ...]
    #: why others are not among them, and what was not looked at; a clause each
    remarks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A tier of a result."""

    path: str
    run: run_result.RunResult
    tier: run_result.TierResult


def choose(
    runs: Runs,
    catalog: catalogs.Catalog,
    wanted: Sequence[str] = (),
    *,
    now: datetime.datetime,
) -> tuple[Chosen, ...]:
    """Choose the figures of each tier of some results.

    :param wanted: names of tiers; empty: all of the results.
    :param now: time with a UTC offset. A card from a clock that is fast would
        keep later results from replacing it.
    :returns: choices in the order of the catalog.
    :raises errors.ProblemsFound: a result does not fit the catalog, or the
        results do not fit each other; all problems.
    """
    parts = [
        _Part(path=path, run=run, tier=tier)
        for path, run in runs.items()
        for tier in run.tiers
        if not wanted or tier.tier in wanted
    ]
    problems = [
        *_not_measured(parts, runs, wanted),
        *_unfit(parts, catalog, now + _CLOCKS_DIFFER),
        *_twice(parts),
    ]
    if problems:
        raise errors.ProblemsFound(problems)
    return tuple(
        _chosen(tier, [one for one in parts if one.tier.tier == tier.name])
        for tier in catalog.tiers
        if any(one.tier.tier == tier.name for one in parts)
    )


def _not_measured(
    parts: Sequence[_Part], runs: Runs, wanted: Sequence[str]
) -> Iterator[errors.Problem]:
    have = {one.tier.tier for one in parts}
    for name in wanted:
        if name not in have:
            yield errors.Problem(
                where=', '.join(runs),
                found=f'no tier {name!r}',
                expected='a result of each tier that --tier names',
                remedy='fix --tier, or name another result',
            )


def _unfit(
    parts: Sequence[_Part],
    catalog: catalogs.Catalog,
    latest: datetime.datetime,
) -> Iterator[errors.Problem]:
    """Yield measured tiers that do not fit the catalog."""
    for path, run in {one.path: one.run for one in parts}.items():
        ended_at = _ended_at(run)
        if ended_at is None or ended_at > latest:
            yield errors.Problem(
                where=path,
                found=f'ended_at {run.ended_at[:40]!r}',
                expected='a time in ISO 8601 with its offset, which is not '
                'in the future',
                remedy='name another result, or correct the clock of this '
                'host or of the one where Rally runs, and measure again',
            )
    for one in parts:
        name = one.tier.tier
        where = f'{one.path}: tier {name}'
        tier = catalog.tier(name)
        if tier is None or not tier.take_over:
            yield errors.Problem(
                where=where,
                found='a tier that '
                + (
                    'is not in the tiers file'
                    if tier is None
                    else 'has take_over: false in the tiers file'
                ),
                expected='one that "tier apply" manages: '
                + ', '.join(each.name for each in catalog.ours),
                remedy='name those to publish with --tier, or another tiers '
                'file with --catalog',
            )
            continue
        found = one.tier.volume_types.value
        if found not in (None, tier.type_name):
            yield errors.Problem(
                where=where,
                found=f'volumes of volume type {found}',
                expected=f'{tier.type_name}, which the tier has',
                remedy='measure the tier again',
            )
        pools = {
            each.image.pool
            for each in one.run.guests
            if each.tier == name and each.image
        }
        if tier.rbd and pools - set(tier.rbd.pools):
            yield errors.Problem(
                where=where,
                found=f'volumes in pool {", ".join(sorted(pools))}',
                expected=f'{", ".join(tier.rbd.pools)}, which the tier has',
                remedy='measure the tier again',
            )


def _twice(parts: Sequence[_Part]) -> Iterator[errors.Problem]:
    """Yield figures that two results contain; only the user can choose."""
    for one, other in itertools.combinations(parts, 2):
        if one.tier.tier != other.tier.tier:
            continue
        both = {each.pattern for each in one.tier.patterns} & {
            each.pattern for each in other.tier.patterns
        }
        if both:
            yield errors.Problem(
                where=f'{one.path}, {other.path}: tier {one.tier.tier}',
                found=f'both have {", ".join(sorted(both))}',
                expected='one result for each pattern of a tier',
                remedy='name the one that is to be published',
            )


def _ended_at(run: run_result.RunResult) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(run.ended_at)
        return None if found.tzinfo is None else found.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _chosen(tier: catalogs.Tier, parts: Sequence[_Part]) -> Chosen:
    promised: list[cards.Figure] = []
    others: list[cards.Figure] = []
    remarks: list[str] = []
    if any(one.tier.type_as_measured is None for one in parts):
        remarks.append(_TYPE_NOT_KNOWN)
    for one in parts:
        known = trust.caveats(one.run)
        remarks += [
            each.text for each in known if each.about in _NOT_LOOKED_AT
        ]
        grave = [
            each for each in known if each.about not in _SHOWN | _NOT_LOOKED_AT
        ]
        for pattern in one.tier.patterns:
            kinds = trust.kinds(grave, one.run, tier.name, pattern.pattern)
            if kinds:
                remarks.append(
                    f'{pattern.pattern} is not published: '
                    f'{", ".join(kinds)}; see "tier result {one.path}"'
                )
                continue
            limits = tier.expect.get(pattern.pattern, {})
            asked = [
                quantity
                for name in limits
                if expectations.find_quantity(
                    quantity := expectations.limit(name).quantity
                )
            ]
            for quantity in dict.fromkeys((*asked, *_ALWAYS)):
                found = _figure(pattern, quantity, one.run)
                if isinstance(found, str):
                    remarks.append(
                        f'{pattern.pattern} {quantity} is not published: '
                        f'{found}'
                    )
                elif quantity in asked:
                    promised.append(found)
                else:
                    others.append(found)
    return Chosen(
        tier=tier.name,
        ended_at=min(
            cards.time_text(ended_at)
            for one in parts
            if (ended_at := _ended_at(one.run)) is not None
        ),
        figures=(*promised, *others),
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _figure(
    pattern: run_result.PatternResult,
    quantity: str,
    run: run_result.RunResult,
) -> cards.Figure | str:
    """A figure of a card, or why there is none."""
    found = trust.estimate(pattern.slots, quantity, looks=run.looks)
    if found is None:
        complete = figures.complete(pattern.slots)
        limit = expectations.quantity(quantity)
        if not complete:
            return figures.NONE_COMPLETE
        return (
            figures.not_told(complete, limit)
            or (
                figures.of_complete(complete, limit)
                and figures.too_few_ios(complete, limit)
            )
            or figures.nothing_done(limit)
        )
    if found.low is None or found.high is None:
        return f'its interval is not known: {found.method}'
    if not math.isfinite(found.high):
        return 'its repeats differ so much that the interval has no end'
    try:
        return cards.Figure(
            pattern=pattern.pattern,
            quantity=quantity,
            mean=cards.rounded(found.mean),
            low=cards.rounded(found.low),
            high=cards.rounded(found.high),
            runs=found.values,
        )
    except ValueError as error:
        return str(error)


def out_of_date(
    chosen: Chosen, card: cards.Card, reasons: Sequence[str]
) -> Iterator[errors.Problem]:
    """Yield newer facts on a tier than its measurement.

    :param card: current card of the tier.
    :param reasons: why its figures are not those of today's tier.
    """
    published = card.measured and card.measured.ended_at
    if published and chosen.ended_at < published:
        yield errors.Problem(
            where=f'tier {chosen.tier}',
            found=f'a measurement that ended at {chosen.ended_at}',
            expected=f'none before {published}, of which the figures are '
            'published already',
            remedy='name the newest result',
        )
        return
    since = published if reasons else card.not_measured_since
    if since and chosen.ended_at <= since:
        yield errors.Problem(
            where=f'tier {chosen.tier}',
            found=f'a measurement that ended at {chosen.ended_at}, before the '
            'tier changed' + ''.join(f'; {one}' for one in reasons),
            expected=f'one after {since}',
            remedy='measure the tier again',
        )


def measured(
    chosen: Chosen,
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    state: ceph_state.CephState | None,
) -> cards.Measured:
    """Return the figures for a card, with what they depend on today.

    :param chosen: choice that has figures.
    :param tier: tier of the figures.
    :param state: state of the tier's cluster; None without one.
    """
    return cards.Measured(
        ended_at=chosen.ended_at,
        ceph_release=None if state is None else state.release,
        fingerprint=fingerprint.of_tier(catalog, tier, state),
        figures=chosen.figures,
    )


def type_objections(
    runs: Runs, tier: catalogs.Tier, now: cinder_state.CinderState
) -> Iterator[errors.Problem]:
    """Yield facts on a tier's volume type that changed since the results.

    :param runs: results that include the tier.
    :param now: state of Cinder, with or without the volume type.
    """
    if tier.type_name not in now.volume_types:
        return
    for path, run in runs.items():
        for one in run.tiers:
            if one.tier != tier.name or one.type_as_measured is None:
                continue
            found = tuple(changes.of_type(one.type_as_measured, tier, now))
            if found:
                yield errors.Problem(
                    where=f'{path}: tier {tier.name}',
                    found=f'volume type {tier.type_name} changed since it '
                    f'was measured: {"; ".join(found)}',
                    expected='the volume type that was measured',
                    remedy='measure the tier again',
                )


def objections(
    runs: Runs,
    tier: catalogs.Tier,
    state: ceph_state.CephState | None,
) -> Iterator[errors.Problem]:
    """Yield facts on Ceph that changed since the results.

    :param runs: results that include the tier.
    :param state: state of the tier's cluster; None without one.
    """
    if state is None or tier.rbd is None:
        return
    osds = fingerprint.osds_of(tier.rbd.pools, state)
    for path, run in runs.items():
        watch = run.ceph
        reading = watch and (watch.after or watch.before)
        if not reading or all(each.tier != tier.name for each in run.tiers):
            continue
        # A run has one cluster, and may have tiers of several.
        if reading.pools and reading.pools.keys().isdisjoint(tier.rbd.pools):
            continue
        where = f'{path}: tier {tier.name}'
        releases = {
            int(found[0])
            for text in reading.release
            if (found := _RELEASE.match(text))
        }
        if state.release is not None and releases - {state.release}:
            yield errors.Problem(
                where=where,
                found='measured on Ceph '
                + ', '.join(map(str, sorted(releases))),
                expected=f'Ceph {state.release}, which the cluster has now',
                remedy='measure the tier again',
            )
        changed = tuple(changes.of_pools(reading.pools, tier.rbd.pools, state))
        if changed:
            yield errors.Problem(
                where=where,
                found='what serves the tier changed since it was measured: '
                + '; '.join(changed),
                expected='the pools that were measured',
                remedy='measure the tier again',
            )
        new = sorted(osd for osd in osds if str(osd) not in reading.osd_boots)
        if new:
            yield errors.Problem(
                where=where,
                found='measured before these OSDs of the tier were there: '
                + ', '.join(f'osd.{osd}' for osd in new),
                expected='the OSDs of today',
                remedy='measure the tier again',
            )
