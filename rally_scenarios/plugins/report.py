# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A fleet's outcomes as tables and charts of Rally's report.

Rally checks outputs against a schema when results are imported again
(rally/common/objects/task.py TASK_SCHEMA): cells are strings or numbers,
never null.  The titles are constants, since ``rally task report --json``
tells tables apart by nothing else.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import re

from rally_scenarios.bench import fleet
from rally_scenarios.bench import schedule
from rally_scenarios.guest import verdict

TIER_TABLE_TITLE = "CinderTiers: what each tier does"
TIER_TABLE_COLUMNS = ("tier", "pattern", "guests", "IOPS", "MiB/s", "p50 ms",
                      "p95 ms", "p99 ms", "p99.9 ms", "start skew ms",
                      "verdict")
GUEST_TABLE_TITLE = "CinderTiers: what each guest did"
GUEST_TABLE_COLUMNS = ("guest", "tier", "pattern", "IOPS", "p99 ms",
                       "start error ms", "clock offset ms", "verdict",
                       "reason")
CONSOLE_TITLE = "CinderTiers: last words of guests that are not complete"

PERCENTILES = (50, 95, 99, 99.9)
# In place of a number that does not exist; Rally's schema has no null.
NO_NUMBER = "-"
_CONSOLE_LINES = 15
_RESULT_LINE = re.compile(r"@ctiers \w+ \w+ \w+ data ", re.ASCII)


def _ms(latency_ns: int) -> float:
    return round(latency_ns / 1e6, 3)


def _slot_row(slot: schedule.Slot, merged: fleet.FleetSlot | None,
              expected: int) -> list:
    row = [slot.tier, slot.pattern.name]
    if merged is None:
        return row + [0] + [NO_NUMBER] * 7 + [f"0 of {expected} guests"]
    complete = merged.guests == expected
    return row + [
        merged.guests, round(merged.iops, 1),
        round(merged.bw_bytes / 1024 ** 2, 2),
        *(_ms(merged.clat.percentile_ns(p)) for p in PERCENTILES),
        merged.start_skew_ms,
        "complete" if complete else f"{merged.guests} of {expected} guests"]


def _guest_row(outcome: verdict.GuestOutcome,
               found: verdict.SlotOutcome) -> list:
    figures = [NO_NUMBER] * 3
    if found.measured is not None:
        result = found.measured.result
        figures = [round(result.iops, 1),
                   _ms(result.clat.percentile_ns(99)),
                   found.measured.start_error_ms]
    offset_ms = outcome.clock_offset_ms
    return [outcome.guest, outcome.tier, found.slot.pattern.name, *figures,
            NO_NUMBER if offset_ms is None else offset_ms,
            found.verdict.value, found.reason]


def _bars(values: Sequence[tuple[str, float]]) -> list:
    """Bars out of a stacked area, as Rally has no bar chart.

    Every series has all the points; it is zero but over its own bar, which
    takes the units 10 to 90 of a hundred.
    """
    edges = (0, 10, 11, 89, 90)
    xs = [100 * bar + x for bar in range(len(values)) for x in edges]
    return [[name, [[x, value if 10 < x - 100 * bar < 90 else 0]
                    for x in [*xs, 100 * len(values)]]]
            for bar, (name, value) in enumerate(values)]


def _charts(pattern: str, tiers: Mapping[str, fleet.FleetSlot]) -> list:
    iops = [(tier, round(found.iops, 1)) for tier, found in tiers.items()]
    return [
        {"title": f"IOPS of each tier: {pattern}",
         "description": "; ".join(f"{tier} {value:g}"
                                  for tier, value in iops),
         "chart_plugin": "StackedArea", "data": _bars(iops),
         "label": "IOPS, all guests of the tier together",
         "axis_label": "tiers side by side"},
        {"title": f"Latency of each tier: {pattern}",
         "description": "How many ms the given percentage of completions did"
                        " not exceed; all guests of the tier, merged from"
                        " fio's histograms",
         "chart_plugin": "Lines",
         "data": [[tier, [[percent, _ms(found.clat.percentile_ns(percent))]
                          for percent in range(1, 100)]]
                  for tier, found in tiers.items()],
         "label": "completion latency, ms", "axis_label": "percentile"},
    ]


def complete_outputs(plan: schedule.Schedule,
                     outcomes: Sequence[verdict.GuestOutcome]) -> list[dict]:
    """Tables and charts of one iteration, for ``add_output(complete=)``.

    :param outcomes: of all guests, good and bad
    :returns: the tier table, the guest table, then two charts a pattern
    """
    merged = {slot: verdict.merged(outcomes, slot) for slot in plan.slots}
    expected = {slot: sum(o.tier == slot.tier for o in outcomes)
                for slot in plan.slots}
    charts = []
    for pattern in dict.fromkeys(slot.pattern.name for slot in plan.slots):
        tiers = {slot.tier: found for slot, found in merged.items()
                 if slot.pattern.name == pattern and found is not None}
        if tiers:
            charts += _charts(pattern, tiers)
    return [
        {"title": TIER_TABLE_TITLE, "chart_plugin": "Table",
         "description": "Sums and merged latencies over the guests that are"
                        " complete",
         "data": {"cols": list(TIER_TABLE_COLUMNS),
                  "rows": [_slot_row(slot, merged[slot], expected[slot])
                           for slot in plan.slots]}},
        {"title": GUEST_TABLE_TITLE, "chart_plugin": "Table",
         "description": "Only what is complete is in the tiers' figures",
         "data": {"cols": list(GUEST_TABLE_COLUMNS),
                  "rows": [_guest_row(outcome, found)
                           for outcome in outcomes
                           for found in outcome.slots]}},
        *charts]


def additive_output(plan: schedule.Schedule,
                    outcomes: Sequence[verdict.GuestOutcome]) -> dict | None:
    """IOPS of each tier and pattern, to follow over iterations.

    :returns: None unless all guests are complete: a trend has no place to
        say that a sum is of fewer guests
    """
    if any(outcome.verdict is not verdict.Verdict.COMPLETE
           for outcome in outcomes):
        return None
    merged = [(slot, verdict.merged(outcomes, slot)) for slot in plan.slots]
    return {"title": "CinderTiers: IOPS", "chart_plugin": "Lines",
            "description": "All guests of a tier together",
            "label": "IOPS",
            "data": [[f"{slot.tier} {slot.pattern.name}",
                      round(found.iops, 1)] for slot, found in merged]}


def console_output(texts: Mapping[str, str]) -> dict:
    """The last console lines of some guests.

    :param texts: {guest name: all of its console that was last read}
    """
    return {"title": CONSOLE_TITLE, "chart_plugin": "TextArea",
            "data": [f"{guest}: {line}" for guest, text in texts.items()
                     for line in last_lines(text)]}


def last_lines(text: str) -> list[str]:
    """Last lines of a console, printable and short; one that says so if none.

    Lines of results are left out: nobody can read them.

    :param text: anything
    """
    lines = ["".join(c if c.isprintable() else "?" for c in line.rstrip())
             for line in text.splitlines()
             if line.strip() and not _RESULT_LINE.search(line)]
    return [line[:160] for line in lines[-_CONSOLE_LINES:]] or [
        "(its console is empty)"]
