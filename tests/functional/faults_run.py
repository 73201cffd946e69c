# SPDX-License-Identifier: Apache-2.0
"""Runs a fault with doors open and shut, and compares what became of it."""

from collections.abc import Iterable
import contextlib
import dataclasses
import math

from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import faults_load
from tests.functional import glance_proxy

#: The documented bound: [cinder_tiers] glance_timeout, at one door.
BOUND_S = 5.0
#: What a request may wait for its turn on two busy cores.
MARGIN_S = 2.0
#: What a volume may: it waits in one queue more, and there is a worker less.
VOLUME_MARGIN_S = 10.0
#: Less likely differences between two runs of a fault are no accident.
LEAST_CHANCE = 0.01


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What became of the creates of one run.

    :param doors: as for :func:`faults_cloud.settings`.
    :param decisions: what the doors recorded of these creates.
    :param faulty_answers: how often the proxy gave the doors the fault.
    """

    fault: str
    doors: str
    creates: tuple[faults_load.Create, ...]
    decisions: tuple[faults_cloud.Decision, ...]
    faulty_answers: int

    @property
    def failures(self) -> list[faults_load.Create]:
        return [create for create in self.creates if create.has_failed]

    @property
    def longest_post_s(self) -> float:
        return max(create.post_s for create in self.creates)

    @property
    def longest_volume_s(self) -> float:
        """Seconds until the volume of one was available, at most."""
        return max(
            (
                create.total_s
                for create in self.creates
                if not create.has_failed
            ),
            default=0.0,
        )

    def longest_door_s(self, door: str | None = None) -> float:
        """Seconds that a door took at most, by its own record.

        :param door: ``api`` or ``scheduler``; None for both.
        """
        return max(
            (
                decision.seconds
                for decision in self.decisions
                if door in (None, decision.door)
            ),
            default=0.0,
        )


def run(
    cloud: faults_cloud.Cloud,
    proxy: glance_proxy.GlanceProxy,
    fault: faults_injected.Fault,
    doors: str,
    count: int,
) -> Run:
    """Run creates that a fault meets; leave neither volume nor fault.

    :param proxy: running.
    :param doors: ``both``, ``scheduler`` or ``off``.
    :param count: number of creates.
    :raises AssertionError: a service does not come back, or a volume cannot
        be deleted.
    """
    cloud.configure_cinder(
        faults_cloud.settings(
            cloud.root / 'venv',
            doors=doors,
            is_cold=fault.is_cold,
            glance=proxy.url if fault.through_proxy else None,
        )
    )
    load = faults_load.Load(cloud, count, fault.own_tokens)
    proxy.counts.clear()
    logs = cloud.log_sizes()
    with contextlib.ExitStack() as later:
        scene = faults_injected.Scene(
            cloud=cloud,
            proxy=proxy,
            later=(later.enter_context(contextlib.ExitStack())),
        )
        later.callback(load.clean_up)  # before what the fault leaves behind
        creates = load.run(
            fault.inject(scene),
            after_s=fault.after * load.seconds,
            for_s=fault.for_s,
        )
        requests = {create.request_id for create in creates}
        return Run(
            fault=fault.name,
            doors=doors,
            creates=tuple(creates),
            decisions=tuple(
                decision
                for decision in cloud.decisions(logs)
                if decision.request_id in requests
            ),
            faulty_answers=sum(
                number
                for (agent, answer), number in proxy.counts.items()
                if answer and agent == faults_injected.DOORS_AGENT
            ),
        )


def problems(
    fault: faults_injected.Fault, on: Run, off: Run | None
) -> list[str]:
    """What the doors made worse, a sentence for each; empty: nothing.

    :param on: the run with doors.
    :param off: the run of the same fault without; None where Cinder alone
        cannot fail.
    """
    found = []
    for kinds in (
        [frozenset((kind,)) for kind in faults_load.KINDS]
        if fault.spares_kinds
        else [frozenset(faults_load.KINDS)]
    ):
        lost = _of_kinds(on.failures, kinds)
        also = _of_kinds(off.failures, kinds) if off else []
        if kinds <= fault.must_pass:
            also = []
        chance = chance_of(
            len(lost),
            len(_of_kinds(on.creates, kinds)),
            len(also),
            len(_of_kinds(off.creates, kinds)) if off else 0,
        )
        if lost and (not also or chance < LEAST_CHANCE):
            found.append(
                f'{fault.name}: {len(lost)} creates ({" or ".join(kinds)}) '
                f'failed with doors {on.doors}, {len(also)} without; one of '
                f'them: {lost[0]}'
            )
    waits = [
        (
            'a decision of the API middleware',
            on.longest_door_s('api'),
            0.0,
            MARGIN_S,
        )
    ]
    if off:
        waits += [
            (
                'an answer',
                on.longest_post_s,
                max(off.longest_post_s, fault.holds_s),
                MARGIN_S,
            ),
            (
                'a volume',
                on.longest_volume_s,
                max(off.longest_volume_s, fault.holds_s),
                VOLUME_MARGIN_S,
            ),
        ]
    return found + [
        f'{fault.name}: {what} came after {on_s:.1f} s with doors '
        f'{on.doors}, after up to {off_s:.1f} s without; expected at most '
        f'{BOUND_S:g} + {margin_s:g} s more'
        for what, on_s, off_s, margin_s in waits
        if on_s > off_s + BOUND_S + margin_s
    ]


def chance_of(
    failed: int, total: int, others_failed: int, others_total: int
) -> float:
    """The chance that so many fail, or more, where all fail alike.

    Fisher's exact test, one-sided.

    >>> round(chance_of(3, 4, 1, 4), 3)
    0.243

    :param failed: failures among ``total``.
    :param others_failed: failures among ``others_total``.
    """
    bad, everything = failed + others_failed, total + others_total
    return sum(
        math.comb(bad, number) * math.comb(everything - bad, total - number)
        for number in range(failed, min(bad, total) + 1)
    ) / math.comb(everything, total)


def _of_kinds(
    creates: Iterable[faults_load.Create], kinds: frozenset[str]
) -> list[faults_load.Create]:
    return [create for create in creates if create.kind in kinds]
