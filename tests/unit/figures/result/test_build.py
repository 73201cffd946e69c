# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import load_step
from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import merge
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from tests.unit.figures import recorded
from tests.unit.figures import results
from tests.unit.guest import console_text

PATTERN = fio_pattern.Pattern(
    name='randwrite-4k', rw='randwrite', bs='4k', iodepth=16
)
PROFILE = named_profile.NamedProfile(
    name='mine',
    repeats=3,
    patterns=(PATTERN,),
    source=named_profile.Source(paper='task', where='patterns'),
    method=fio_pattern.Profile(
        region_mib=8, ramp_seconds=5, runtime_seconds=6
    ),
)
PLAN = schedule.plan(['fast'], [PATTERN], PROFILE.method, repeats=3)
UNKNOWN = run_result.Fact(value=None, reason='nobody asked')
ENVIRONMENT = dict.fromkeys(run_result.ENVIRONMENT, UNKNOWN)


def text(iops_by_second, latencies=()):
    """A fio that ends when its wall clock says 10^9, with its logs.

    :param latencies: {bucket: completions} of each second
    """
    document = json.loads(recorded.text('randwrite-4k'))
    document['timestamp_ms'] = 10**9
    begin_ms = 10**9 - 1000 * len(iops_by_second)
    return (
        json.dumps(document).encode()
        + b'\n@series\n'
        + ''.join(
            f'{begin_ms + 1000 * number}, {iops}, 1\n'
            for number, iops in enumerate(iops_by_second, start=1)
        ).encode()
        + b'\n@bandwidth\n'
        + ''.join(
            f'{begin_ms + 1000 * number}, {4 * iops}, 1\n'
            for number, iops in enumerate(iops_by_second, start=1)
        ).encode()
        + b'\n@latencies\n1000\n'
        + ''.join(
            f'{begin_ms + 1000 * number},1 '
            + ' '.join(f'{at}:{count}' for at, count in of_second.items())
            + '\n'
            for number, of_second in enumerate(latencies, start=1)
        ).encode()
    )


def outcome(guest, *, without=(), output=None):
    """A guest that did all slots but those whose results were lost."""
    output = output or recorded.text('randwrite-4k')
    heard = frames.GuestConsole(run=console_text.RUN, guest=guest)
    heard.feed(
        ''.join(
            line
            for line in console_text.whole_run(
                [
                    (slot.number, slot.number * 15000, output)
                    for slot in PLAN.slots
                ],
                guest=guest,
            )
            if not any(f' data {number} ' in line for number in without)
        )
    )
    return verdict.judge(
        heard, guest=guest, tier='fast', plan=PLAN, late_after_ms=500
    )


def result(*outcomes):
    return build.build_result(
        run='0123456789abcdef',
        ended_at='2026-11-21T20:00:00+00:00',
        profile=PROFILE,
        plan=PLAN,
        guests_per_tier=len(outcomes),
        outcomes=outcomes,
        environment=ENVIRONMENT,
        images={'fast': UNKNOWN},
        volume_types={'fast': UNKNOWN},
        hosts={each.guest: f'host of {each.guest}' for each in outcomes},
    )


class ViewTest(testtools.TestCase):
    """What every report reads."""

    def run_of(self, *names):
        profile = dataclasses.replace(
            result(outcome('g000')).profile,
            patterns=tuple(
                fio_pattern.Pattern(name=name, rw='read', bs='4k')
                for name in ('a', 'a.g1')
            ),
        )
        found = results.run(
            {'fast': {name: [results.slot([1])] for name in names}}
        )
        return dataclasses.replace(found, profile=profile)

    def test_runs_are_in_order_of_time_and_say_which_repeat_they_are(self):
        found = result(outcome('g000'))
        self.assertEqual(
            [
                ('fast', f'randwrite-4k ({repeat} of 3)', repeat - 1)
                for repeat in (1, 2, 3)
            ],
            [(run.tier.tier, run.name, run.slot.number) for run in found.runs],
        )

    def test_a_pattern_is_found_whatever_its_step(self):
        found = self.run_of('a.g1', 'a.g2', 'a.g1.g1', 'a.g1.g2')
        self.assertTrue(found.has_guest_steps)
        self.assertEqual(
            ['a', 'a', 'a.g1', 'a.g1'],
            [found.pattern_of(each).name for each in found.tiers[0].patterns],
        )

    def test_a_name_that_looks_like_a_step_need_not_be_one(self):
        found = self.run_of('a', 'a.g1')
        self.assertFalse(found.has_guest_steps)
        self.assertEqual(
            'a.g1', found.pattern_of(found.tiers[0].patterns[1]).name
        )

    def test_a_pattern_of_another_profile_is_refused(self):
        found = self.run_of('b')
        self.assertRaises(
            ValueError, found.pattern_of, found.tiers[0].patterns[0]
        )


class RunResultTest(testtools.TestCase):
    def test_ceph_has_the_last_word_on_clone_or_flat(self):
        def fact(asked, seen):
            return build.build_result(
                run='0123456789abcdef',
                ended_at='2026-11-21T20:00:00+00:00',
                profile=PROFILE,
                plan=PLAN,
                guests_per_tier=1,
                outcomes=[outcome('g000')],
                images={'fast': UNKNOWN},
                volume_types={'fast': UNKNOWN},
                hosts={'g000': None},
                environment={**ENVIRONMENT, 'clone_or_flat': asked},
                measured_on=build.Environment(
                    facts=seen and {'clone_or_flat': seen}
                )
                if seen
                else build.NOT_ASKED,
            ).environment['clone_or_flat']

        asked = run_result.Fact(value='boot volume, region filled')
        flat = run_result.Fact(value='flat')
        self.assertEqual(
            'flat by Ceph; asked for: boot volume, region filled',
            fact(asked, flat).value,
        )
        self.assertEqual(
            [asked, asked, flat, UNKNOWN],
            [
                fact(asked, None),
                fact(asked, UNKNOWN),
                fact(UNKNOWN, flat),
                fact(UNKNOWN, None),
            ],
        )

    def test_figures_are_sums_over_guests_and_means_over_repeats(self):
        found = result(outcome('g000'), outcome('g001'))
        (pattern,) = found.tiers[0].patterns
        self.assertEqual(3, pattern.complete_repeats)
        self.assertAlmostEqual(2 * 1001 / 2.001, pattern.iops.mean, 3)
        self.assertAlmostEqual(pattern.iops.mean, pattern.iops.low, 3)
        self.assertEqual(6 * 1001, pattern.clat.histogram().count)
        self.assertEqual(
            (2, 1.0, 0, 14),
            (
                pattern.slots[0].merged.guests,
                pattern.slots[0].merged.fairness,
                pattern.slots[0].merged.start_skew_ms,
                pattern.slots[0].merged.start_skew_error_ms,
            ),
        )
        self.assertEqual(
            [7, 7], [guest.clock_error_ms for guest in found.guests]
        )
        self.assertEqual('fio-3.33', found.environment['fio'].value)

    def asked(self, patterns, guest_steps=()):
        """(name, curve, IOPS of all, of a volume) of silent guests."""
        profile = dataclasses.replace(PROFILE, patterns=tuple(patterns))
        plan = schedule.plan(
            ['fast'], profile.patterns, profile.method, 1, guest_steps
        )
        silent = [
            verdict.judge(
                frames.GuestConsole(run=console_text.RUN, guest=name),
                guest=name,
                tier='fast',
                plan=dataclasses.replace(
                    plan, slots=plan.of_guest('fast', position)
                ),
                late_after_ms=500,
            )
            for position, name in enumerate(('g000', 'g001', 'g002'))
        ]
        return [
            (each.pattern, *(each.asked and vars(each.asked).values() or ()))
            for each in build.pattern_results(
                'fast', plan=plan, profile=profile, outcomes=silent
            )
        ]

    def test_a_step_says_which_load_it_asked_of_all_guests(self):
        self.assertEqual(
            [
                ('randwrite-4k.r5', 'randwrite-4k', 15, 5),
                ('randwrite-4k.r20', 'randwrite-4k', 60, 20),
            ],
            self.asked(load_step.paced([PATTERN], [5, 20])),
        )
        self.assertEqual([('randwrite-4k',)], self.asked([PATTERN]))

    def test_steps_of_guests_at_one_rate_are_a_curve_too(self):
        paced = dataclasses.replace(PATTERN, rate_iops=20)
        self.assertEqual(
            [
                ('randwrite-4k.g1', 'randwrite-4k', 20, 20),
                ('randwrite-4k.g3', 'randwrite-4k', 60, 20),
            ],
            self.asked([paced], [1, 3]),
        )

    def test_a_load_that_cannot_be_is_refused(self):
        value = json.loads(run_result.write(result(outcome('g000'))))
        value['tiers'][0]['patterns'][0]['asked'] = {
            'curve': 'x',
            'iops': 4,
            'volume_iops': 5,
        }
        self.assertIn('5 IOPS of a volume and 4 of all', self.changed(**value))

    def test_a_guest_that_got_half_makes_it_unfair(self):
        document = json.loads(recorded.text('randwrite-4k'))
        side = document['jobs'][0]['write']
        side['runtime'] *= 2
        side['iops'] /= 2
        side['bw_bytes'] //= 2
        found = result(
            outcome('g000'),
            outcome('g001', output=json.dumps(document).encode()),
        )
        (pattern,) = found.tiers[0].patterns
        # Jain: (1 + 1/2)^2 / (2 (1 + 1/4))
        self.assertAlmostEqual(0.9, pattern.slots[0].merged.fairness, 6)

    def test_a_repeat_without_a_guest_is_told_and_not_counted(self):
        found = result(outcome('g000'), outcome('g001', without=[1]))
        (pattern,) = found.tiers[0].patterns
        self.assertEqual(2, pattern.complete_repeats)
        slot = pattern.slots[1]
        self.assertEqual(
            ['complete', 'damaged result'],
            [guest.verdict for guest in slot.guests],
        )
        self.assertIn('nothing of it arrived', slot.guests[1].reason)
        self.assertIsNone(slot.guests[1].iops)
        self.assertEqual(1, slot.merged.guests)

    def test_steadiness_is_judged_in_the_common_window(self):
        """Guest 1 was slower to begin: of its 5 s, 5 are common."""
        found = result(
            outcome('g000', output=text([900, 500, 500, 500, 500, 500])),
            outcome('g001', output=text([480, 500, 520, 500, 500])),
        )
        slot = found.tiers[0].patterns[0].slots[0]
        self.assertEqual(
            [980, 1000, 1020, 1000, 1000], [iops for _ms, iops in slot.series]
        )
        self.assertEqual(
            (54000, 59000),
            (slot.merged.window.start_ms, slot.merged.window.end_ms),
        )
        self.assertEqual(
            (None, 'cannot tell: 5 s, expected at least 30', 0),
            (
                slot.steadiness.steady,
                slot.steadiness.reason,
                slot.steadiness.longest_stall_s,
            ),
        )
        self.assertEqual(
            [0, 0], [guest.longest_stall_s for guest in slot.guests]
        )
        self.assertEqual(found, run_result.read(run_result.write(found)))

    def test_what_changed_over_time_is_kept_of_guests_and_of_the_tier(self):
        """p99 of the tier is of all completions, not a mean of the guests'."""
        found = result(
            outcome(
                'g000',
                output=text([100, 50], latencies=[{300: 99, 340: 1}] * 2),
            ),
            outcome('g001', output=text([10, 20], latencies=[{320: 100}] * 2)),
        )
        slot, *_others, last = found.tiers[0].patterns[0].slots
        self.assertEqual(
            [(100, 50), (10, 20)], [guest.rates.iops for guest in last.guests]
        )
        self.assertEqual(
            [(409600, 204800), (40960, 81920)],
            [guest.rates.bw_bytes for guest in last.guests],
        )
        self.assertEqual(
            [450560, 286720], [bw_bytes for _ms, bw_bytes in slot.bw_series]
        )
        first, second = (guest.latency for guest in last.guests)
        self.assertEqual((100, 100), first.ios)
        self.assertEqual((200, 200), slot.latency.ios)
        # Of 100, one is above p99; of 200, two may be, and one is.
        self.assertLess(first.p99_ns, second.p99_ns)
        self.assertEqual(second.p99_ns, slot.latency.p99_ns)
        self.assertEqual(57000, slot.latency.begin_ms)
        self.assertEqual(found, run_result.read(run_result.write(found)))

    def test_of_many_guests_those_that_are_drawn_are_kept_over_time(self):
        """In the last repeat that is complete, evenly by rank."""
        names = [f'g{number:03d}' for number in range(40)]
        found = result(
            *(
                outcome(
                    name,
                    output=text([100 + at] * 3, latencies=[{300: 9}] * 3),
                )
                for at, name in enumerate(names)
            )
        )
        *others, last = found.tiers[0].patterns[0].slots
        kept = [guest.guest for guest in last.guests if guest.rates]
        self.assertEqual(guest_times.MOST_GUESTS, len(kept))
        self.assertEqual(
            kept, [guest.guest for guest in last.guests if guest.latency]
        )
        self.assertEqual({'g000', 'g039'}, {kept[0], kept[-1]})
        for slot in others:
            self.assertEqual(40, len(slot.guests))
            self.assertEqual(3, len(slot.series))
            self.assertEqual(3 * 9 * 40, sum(slot.latency.ios))
            self.assertEqual(
                [(None, None)] * 40,
                [(guest.rates, guest.latency) for guest in slot.guests],
            )

    def test_a_long_run_of_a_guest_is_kept_as_sixty_times(self):
        measured = dataclasses.replace(
            outcome('g000', output=text([100] * 4)).slots[0].measured,
            series=tuple((1000 * at, float(at)) for at in range(150)),
            bw_series=tuple((1000 * at, 4096.0 * at) for at in range(150)),
        )
        rates = build._rates(measured)
        self.assertEqual(
            (3000, 50, 50),
            (rates.step_ms, len(rates.iops), len(rates.bw_bytes)),
        )
        self.assertEqual((1, 4096), (rates.iops[0], rates.bw_bytes[0]))

    def test_a_guest_of_an_older_version_leaves_the_tier_without(self):
        found = result(
            outcome('g000', output=text([100, 50], latencies=[{300: 9}] * 2)),
            outcome('g001'),
        )
        slot = found.tiers[0].patterns[0].slots[-1]
        self.assertIsNone(slot.latency)
        self.assertEqual((), slot.bw_series)
        self.assertIsNotNone(slot.guests[0].latency)
        self.assertIsNone(slot.guests[1].rates)

    def test_without_the_seconds_of_all_guests_nothing_is_judged(self):
        found = result(
            outcome('g000', output=text([500] * 9)), outcome('g001')
        )
        slot = found.tiers[0].patterns[0].slots[0]
        self.assertEqual(
            (None, 'no values of each second from g001', ()),
            (slot.steadiness.steady, slot.steadiness.reason, slot.series),
        )

    def test_a_run_without_any_result_is_written_too(self):
        found = result(outcome('g000', without=[0, 1, 2]))
        (pattern,) = found.tiers[0].patterns
        self.assertEqual(
            (0, None, None),
            (pattern.complete_repeats, pattern.iops, pattern.clat),
        )
        self.assertEqual('no result arrived', found.environment['fio'].reason)
        self.assertEqual(found, run_result.read(run_result.write(found)))

    def test_what_was_written_is_read(self):
        found = result(outcome('g000'), outcome('g001', without=[2]))
        self.assertEqual(found, run_result.read(run_result.write(found)))

    def changed(self, **changes):
        value = json.loads(run_result.write(result(outcome('g000'))))
        return str(
            self.assertRaises(
                record.RecordError,
                run_result.read,
                json.dumps({**value, **changes}),
            )
        )

    def test_reads_and_writes_are_told_apart(self):
        found = run_result.read(run_result.write(result(outcome('g000'))))
        (pattern,) = found.tiers[0].patterns
        merged = pattern.slots[0].merged
        self.assertEqual(['write'], list(merged.directions))
        write = merged.directions['write']
        # It is all there was, so that its histogram is the slot's.
        self.assertIsNone(write.clat)
        self.assertEqual(
            (merged.iops, merged.bw_bytes), (write.iops, write.bw_bytes)
        )
        self.assertEqual(
            (3045432, 468606, 3055157),
            (
                write.clat_moments.max_ns,
                write.slat_moments.max_ns,
                write.lat_moments.max_ns,
            ),
        )
        over = pattern.directions['write']
        self.assertEqual(3, over.lat_mean_ns.values)
        self.assertEqual(3055157, over.lat_max_ns)
        self.assertAlmostEqual(116485.128871, over.lat_mean_ns.mean)
        self.assertAlmostEqual(92738.798202, over.clat_mean_ns.mean)

    def test_a_mix_has_a_histogram_of_each_direction(self):
        merged = merge.merge(
            [
                merge.GuestSlot(
                    guest='g000',
                    planned_ms=0,
                    started_ms=0,
                    ended_ms=1,
                    result=fio_output.parse(
                        recorded.text('randrw-4k-unified'), jobname='randrw-4k'
                    ),
                )
            ]
        )
        found = build.directions(merged)
        self.assertNotEqual(found['read'].clat, found['write'].clat)
        self.assertEqual(
            merged.clat,
            histogram.merge(each.clat.histogram() for each in found.values()),
        )

    def test_what_is_missing_is_told(self):
        value = json.loads(run_result.write(result(outcome('g000'))))
        del value['seed'], value['tiers'][0]['patterns'][0]['directions']
        error = self.assertRaises(
            record.RecordError, run_result.read, json.dumps(value)
        )
        self.assertEqual(
            'seed: it is missing\n'
            'tiers[0].patterns[0].directions: it is missing',
            str(error),
        )
        self.assertIn('environment: found', self.changed(environment=[]))

    def test_a_version_that_is_not_known_is_refused_with_a_reason(self):
        for version in (run_result.VERSION + 1, 1, 0, '1', 7.0, None, True):
            self.assertIn(
                'this code reads version 7', self.changed(version=version)
            )

    def test_what_is_no_result_file_is_refused(self):
        for text in ('', '[]', '{}', 'null', '[' * 100000):
            self.assertRaises(record.RecordError, run_result.read, text)

    def test_an_environment_that_says_nothing_of_something_is_refused(self):
        self.assertIn(
            'environment lacks cache_mode, ceph', self.changed(environment={})
        )

    def test_a_fact_without_a_value_needs_a_reason(self):
        self.assertRaises(ValueError, run_result.Fact, value=None)
        self.assertRaises(ValueError, run_result.Fact, value='x', reason='y')

    def test_percentiles_that_are_not_of_their_bins_are_refused(self):
        value = json.loads(run_result.write(result(outcome('g000'))))
        clat = value['tiers'][0]['patterns'][0]['clat']
        clat['percentiles_ns']['99'] += 1
        self.assertIn(
            'not those of its bins', self.changed(tiers=value['tiers'])
        )
        del clat['bins'][5:]
        self.assertIn(
            'not those of its bins', self.changed(tiers=value['tiers'])
        )
