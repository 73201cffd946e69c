# SPDX-License-Identifier: Apache-2.0

"""The time told before a run, by the rates of a former one."""

import dataclasses
import json

import ddt
import hypothesis
from hypothesis import strategies
import numpy
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.result import cost
from cinder_tiers.figures.result import result as run_result
import tests
from tests.unit.figures import results

PROFILE = fio_pattern.Profile(region_mib=16, ramp_seconds=4, runtime_seconds=6)
PATTERNS = [fio_pattern.Pattern(name='x', rw='write', bs='4k')]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cloud:
    """What one cloud takes for, in seconds unless said otherwise."""

    volume: float
    attach: float
    #: of a guest that has a host of its own
    system: float
    mib_per_second: float
    delete: float
    #: hosts, each with as many cores; None: one for each guest
    cores: int | None


def plan(guests):
    return schedule.plan(
        ['a', 'b', 'c'], PATTERNS, PROFILE, guests_per_tier=guests // 3
    )


def told(guests, rates=duration.ASSUMED):
    return duration.estimate(
        plan(guests),
        PROFILE,
        guests=guests,
        tier_mib_per_second=10,
        rates=rates,
    )


def run(cloud, guests, draw):
    """What a run takes, guest by guest, with 5 % of noise on each step."""

    def noisy(seconds, size=None):
        return seconds * draw.normal(1, 0.05, size)

    volumes_s = noisy(cloud.volume, guests).sum()
    boot_s = noisy(cloud.attach, guests).sum()
    # Emulated guests share the cores until the last one has booted.
    load = max(1, guests / cloud.cores) if cloud.cores else 1
    system_s = noisy(cloud.system * load, guests).max()
    fill_s = noisy(guests * PROFILE.region_mib / cloud.mib_per_second)
    expected = told(guests)
    return run_result.Cost(
        told=expected,
        volumes_s=volumes_s,
        boot_s=boot_s,
        prepare_s=system_s + fill_s,
        fill_s=fill_s,
        turns_s=expected.turns + noisy(0.2),
        measure_s=expected.turns + noisy(6 + 0.8 * guests),
        delete_s=noisy(cloud.delete, guests).sum(),
    )


def recorded(kept, cloud):
    """A result with a cost."""
    guests = tuple(
        dataclasses.replace(
            results.guest(f'g{number:03d}', 'a'),
            host='one' if cloud.cores else str(number),
        )
        for number in range(kept.told.extent.guests)
    )
    return dataclasses.replace(
        results.run({'a': {'x': [results.slot([100.0])]}}, guests=guests),
        cost=kept,
    )


SMALL = Cloud(
    volume=0.8,
    attach=4.1,
    system=7,
    mib_per_second=15,
    delete=1.5,
    cores=2,
)
LARGE = Cloud(
    volume=3.0,
    attach=9.0,
    system=25,
    mib_per_second=400,
    delete=5.0,
    cores=None,
)


@ddt.ddt
class CostTest(testtools.TestCase):
    @ddt.data((SMALL, 6), (SMALL, 12), (LARGE, 3), (LARGE, 12), (LARGE, 60))
    @ddt.unpack
    def test_what_is_told_for_12_guests_holds_within_20_percent(
        self, cloud, before
    ):
        draw = numpy.random.default_rng(before)
        worst = 0.0
        for _run in range(tests.draws(200)):
            rates = cost.rates(
                recorded(run(cloud, before, draw), cloud), by_clock=False
            )
            taken = cost.together(cost.parts(run(cloud, 12, draw))).taken
            worst = max(worst, abs(told(12, rates).seconds / taken - 1))
        self.assertLess(worst, 0.2)

    def test_assumed_rates_do_not_hold_there(self):
        draw = numpy.random.default_rng(1)
        taken = cost.together(cost.parts(run(SMALL, 12, draw))).taken
        self.assertGreater(abs(told(12).seconds / taken - 1), 0.2)

    def test_parts_are_told_beside_what_they_took(self):
        kept = run(SMALL, 6, numpy.random.default_rng(1))
        found = {each.name: each for each in cost.parts(kept)}
        self.assertEqual(
            [
                'volumes',
                'boot',
                'prepare',
                'measure',
                'start and collect',
                'delete',
            ],
            list(found),
        )
        self.assertEqual(12, found['volumes'].told)
        self.assertEqual(kept.turns_s, found['measure'].taken)
        whole = cost.together(list(found.values()))
        self.assertEqual(kept.told.seconds, whole.told)
        self.assertAlmostEqual(
            kept.took_seconds + kept.delete_s, whole.taken, delta=1e-6
        )
        self.assertEqual(
            'rates assumed for a small cloud', cost.source(kept.told)
        )
        rates = cost.rates(recorded(kept, SMALL), by_clock=False)
        self.assertIn('rates of run', cost.source(told(12, rates)))

    def test_what_is_not_known_is_not_summed(self):
        kept = dataclasses.replace(
            run(SMALL, 6, numpy.random.default_rng(1)), delete_s=None
        )
        self.assertIsNone(cost.together(cost.parts(kept)).taken)
        rates = cost.rates(recorded(kept, SMALL), by_clock=False)
        self.assertEqual(duration.SECONDS_PER_DELETION, rates.per_deletion)

    def test_a_start_by_clock_has_one_part_for_all_that_waits_for_it(self):
        expected = duration.estimate(
            plan(12),
            PROFILE,
            guests=12,
            tier_mib_per_second=10,
            by_clock=True,
        )
        kept = run_result.Cost(
            told=expected,
            volumes_s=1.0,
            boot_s=2.0,
            prepare_s=None,
            measure_s=300.0,
            delete_s=3.0,
        )
        whole = cost.together(cost.parts(kept))
        self.assertEqual((expected.seconds, 306.0), (whole.told, whole.taken))
        rates = cost.rates(recorded(kept, SMALL), by_clock=True)
        self.assertEqual((1.0, 0.0), (rates.per_boot, rates.first_sign))

    def test_another_start_and_older_files_are_refused_with_a_reason(self):
        kept = run(SMALL, 6, numpy.random.default_rng(1))
        found = recorded(kept, SMALL)
        older = dataclasses.replace(
            kept, told=dataclasses.replace(kept.told, extent=None)
        )
        for former, by_clock, text in (
            (found, True, 'started by a volume, those of this run by clock'),
            (recorded(kept, SMALL), False, None),
            (
                dataclasses.replace(found, cost=None),
                False,
                'result of a fleet',
            ),
            (
                dataclasses.replace(found, cost=older),
                False,
                'result of a fleet',
            ),
        ):
            if text is None:
                cost.rates(former, by_clock=by_clock)
                continue
            error = self.assertRaises(
                ValueError, cost.rates, former, by_clock=by_clock
            )
            self.assertIn(text, str(error))

    @tests.examples(200)
    @hypothesis.example(
        {
            'prepare_s': None,
            'fill_s': 500000001,
            'turns_s': None,
            'delete_s': None,
        },
        1,
        1,
    )
    @hypothesis.given(
        strategies.fixed_dictionaries(
            {
                name: strategies.one_of(
                    strategies.floats(allow_nan=False, allow_infinity=False),
                    strategies.integers(-(10**30), 10**30),
                    strategies.none(),
                )
                for name in ('prepare_s', 'fill_s', 'turns_s', 'delete_s')
            }
        ),
        strategies.integers(-5, 10**9),
        strategies.integers(-5, 10**9),
    )
    def test_a_hostile_file_gives_rates_or_is_refused(
        self, seconds, guests, volumes
    ):
        """It is read as a file is, and the estimate stays a number."""
        kept = run(SMALL, 6, numpy.random.default_rng(1))
        value = json.loads(run_result.write(recorded(kept, SMALL)))
        value['cost'].update(seconds)
        value['cost']['told']['extent'].update(guests=guests, volumes=volumes)
        try:
            rates = cost.rates(
                run_result.read(json.dumps(value)), by_clock=False
            )
        except ValueError:
            return
        self.assertLess(0, told(12, rates).seconds)
