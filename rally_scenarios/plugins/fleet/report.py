# SPDX-License-Identifier: Apache-2.0


"""What a fleet was, as a table of Rally's report."""

from collections.abc import Mapping
from collections.abc import Sequence

from rally_scenarios.bench.fleet import verdict
from rally_scenarios.bench.result import result as result_file
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.report import tables as report
from rally_scenarios.plugins import servers as cloud_guests

FLEET_TABLE_TITLE = 'CinderTiers: what the guests of each tier are'
FLEET_TABLE_COLUMNS = (
    'tier',
    'guests',
    'fio works on',
    'volume types',
    'before',
    'compute hosts',
    'common clock',
)


def _hosts(guests: Sequence[cloud_guests.Guest]) -> int | str:
    """On how many hosts guests are, if that is known of all of them."""
    found = {guest.host for guest in guests}
    return report.NO_NUMBER if None in found else len(found)


def _clock(
    shape: fleet_shape.Shape, outcomes: Sequence[verdict.GuestOutcome]
) -> str:
    """What the guests' times are counted by, and how far it may be off."""
    if not shape.by_clock:
        return "the leader's, over the start volume"
    complete = [
        outcome
        for outcome in outcomes
        if outcome.verdict is verdict.Verdict.COMPLETE
    ]
    if not complete:
        return 'wall time; no guest is complete'
    unknown = [
        outcome for outcome in complete if outcome.clock_error_ms is None
    ]
    if unknown:
        return (
            f'wall time, of {len(unknown)} of {len(complete)} guests off'
            f' by nobody knows how much: {unknown[0].guest}:'
            f' {unknown[0].clock_reason}'
        )
    return (
        'wall time, off by at most'
        f' {max(each.clock_error_ms for each in complete):.1f} ms'
    )


def output(
    shape: fleet_shape.Shape,
    guests: Sequence[cloud_guests.Guest],
    outcomes: Sequence[verdict.GuestOutcome],
    volume_types: Mapping[str, result_file.Fact],
) -> dict:
    """A table for ``add_output(complete=)``.

    :param guests: all servers of the fleet
    :param outcomes: of all guests, good and bad
    :param volume_types: {tier: the types of the volumes fio works on}
    """
    rows = []
    for tier in shape.tiers:
        of_tier = [guest for guest in guests if guest.tier == tier]
        rows.append(
            [
                tier,
                len(of_tier),
                shape.made_from(tier),
                volume_types[tier].value or volume_types[tier].reason,
                shape.filled,
                _hosts(of_tier),
                _clock(
                    shape,
                    [outcome for outcome in outcomes if outcome.tier == tier],
                ),
            ]
        )
    return {
        'title': FLEET_TABLE_TITLE,
        'chart_plugin': 'Table',
        'description': 'Start skews are what the common clock makes of them',
        'data': {'cols': list(FLEET_TABLE_COLUMNS), 'rows': rows},
    }
