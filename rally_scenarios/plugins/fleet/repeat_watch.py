# SPDX-License-Identifier: Apache-2.0

"""Ends the repeats of a run when its intervals are narrow enough.

Guests have the orders of all repeats that there may be, and cannot be told
anything later; so the host stops listening and deletes them.  What they did
after the last repeat that counts is in no figure.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from oslo_log import log as logging

from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import stopping as result_stopping
from cinder_tiers.figures.stats import stopping
from rally_scenarios.plugins import servers

LOG = logging.getLogger(__name__)

Judge = Callable[[schedule.Schedule], Sequence[verdict.GuestOutcome]]


def patterns_of(
    plan: schedule.Schedule,
    profile: named_profile.NamedProfile,
    outcomes: Sequence[verdict.GuestOutcome],
    looks: int,
) -> result_stopping.Patterns:
    """{tier: its patterns}, of the repeats of a plan."""
    return {
        tier: build.pattern_results(
            tier, plan=plan, profile=profile, outcomes=outcomes, looks=looks
        )
        for tier in dict.fromkeys(slot.tier for slot in plan.slots)
    }


class RepeatWatch:
    """Looks at the intervals after some of the repeats.

    :ivar looks: how many there were
    :ivar repeats: that count
    """

    def __init__(
        self,
        rule: stopping.StoppingRule,
        plan: schedule.Schedule,
        profile: named_profile.NamedProfile,
        *,
        consoles: Mapping[str, frames.GuestConsole],
        guests: Sequence[servers.Guest],
        judge: Judge,
    ) -> None:
        """Create the watch before its first look.

        :param plan: schedule of the maximum number of repeats
        :param consoles: {guest: text heard from it so far}
        :param guests: all guests of the fleet
        :param judge: returns the outcomes of the guests in the turns of a plan
        """
        self._rule = rule
        self._plan = plan
        self._profile = profile
        self._consoles = consoles
        self._guests = list(guests)
        self._judge = judge
        self.looks = 0
        self.repeats = plan.repeats

    def is_enough(self) -> bool:
        """Look if there is something new; whether repeats may end."""
        if self.repeats < self._plan.repeats:
            return True
        # After the last repeat, nothing can be saved.
        for repeat in self._rule.looks[self.looks : -1]:
            if not self._has_all_of(repeat):
                return False
            self.looks += 1
            part = self._plan.up_to(repeat)
            wide = result_stopping.too_wide(
                patterns_of(
                    part,
                    self._profile,
                    self._judge(part),
                    len(self._rule.looks),
                ),
                self._rule,
            )
            if not wide:
                LOG.info(
                    'After %d repeats all intervals are narrow enough', repeat
                )
                self.repeats = repeat
                return True
            LOG.info(
                'After %d repeats %d intervals are too wide, such as %s',
                repeat,
                len(wide),
                wide[0],
            )
        return False

    def _has_all_of(self, repeat: int) -> bool:
        """Return whether all guests' results up to a repeat are complete."""
        part = self._plan.up_to(repeat)
        for place, guest in enumerate(self._guests):
            console = self._consoles[guest.name]
            wanted = {
                slot.number
                for slot in part.of_guest(guest.tier, guest.position)
            }
            ended = {
                event.integer('slot')
                for event in console.events
                if event.name in ('END', 'FIO-FAILED')
            }
            if not wanted <= ended or wanted & console.missing.lines.keys():
                # It is asked for often: next time this one first.
                self._guests.insert(0, self._guests.pop(place))
                return False
        return True

    def record(
        self,
        plan: schedule.Schedule,
        outcomes: Sequence[verdict.GuestOutcome],
    ) -> run_result.Stopping:
        """Return the record of the end of the repeats.

        :param plan: schedule of the repeats that count
        :param outcomes: outcomes of all guests in these
        """
        looks = self.looks + (self.repeats == self._plan.repeats)
        return result_stopping.record(
            patterns_of(plan, self._profile, outcomes, len(self._rule.looks)),
            self._rule,
            repeats=self.repeats,
            looks=looks,
        )
