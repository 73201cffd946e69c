# SPDX-License-Identifier: Apache-2.0


import dataclasses

import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from tests.unit.figures import results

POOL = ceph_result.CephPool(
    kind='replicated',
    size=3,
    min_size=2,
    pg_num=32,
    crush_rule='ssd',
    device_class='ssd',
    compression='none',
    rbd_options={},
    osds=3,
    osd_options={'osd_max_backfills': '1'},
)
READING = ceph_result.CephReading(
    release=('16.2.15 pacific',),
    health='HEALTH_OK',
    checks={},
    osds_down=(),
    osds_out=(),
    osd_boots={'0': 7, '1': 9},
    pg_states={'active+clean': 32},
    client_options={'rbd_cache': 'true'},
    pools={'ssd': POOL},
)
IMAGE = ceph_result.CephImage(
    pool='ssd',
    data_pool=None,
    parent='images/debian@snap',
    objects=256,
    own_objects=3,
    object_bytes=4 * 1024**2,
)
GUEST = results.guest('g000', 'fast')


def run(*slots, guests=(GUEST,), **changed):
    return dataclasses.replace(
        results.run(
            {'fast': {'x': slots or [results.slot([10])]}}, guests=guests
        ),
        **changed,
    )


def with_longest(longest_ns):
    """A repeat in which an I/O took so long."""
    slot = results.slot([10])
    moments = run_result.Moments(mean_ns=1.0, max_ns=longest_ns)
    return dataclasses.replace(
        slot,
        merged=dataclasses.replace(
            slot.merged,
            directions={
                'read': run_result.DirectionFigures(
                    iops=10,
                    bw_bytes=1,
                    total_ios=1,
                    clat=None,
                    clat_moments=moments,
                    slat_moments=None,
                    lat_moments=moments,
                )
            },
        ),
    )


def with_cpu(busy, steal=None):
    slot = results.slot([10])
    return dataclasses.replace(
        slot,
        guests=tuple(
            dataclasses.replace(
                each,
                cpu=guest_system.CpuUse(
                    busy_percent=busy, steal_percent=steal
                ),
            )
            for each in slot.guests
        ),
    )


def with_system(name='g000', **known):
    return dataclasses.replace(
        results.guest(name, 'fast'), system=guest_system.GuestSystem(**known)
    )


class CaveatsTest(testtools.TestCase):
    def assert_caveats(self, expected, found):
        self.assertEqual(
            expected,
            [(one.about, one.text) for one in caveats.find_caveats(found)],
        )

    def test_a_good_run_has_none(self):
        self.assert_caveats(
            [],
            run(
                ceph=ceph_result.CephWatch(
                    before=READING, after=READING, unread=()
                )
            ),
        )

    def test_what_was_not_asked_is_no_reason(self):
        self.assert_caveats(
            [],
            run(
                guests=[
                    results.guest('g000', 'fast'),
                    results.guest('g001', 'fast'),
                ]
            ),
        )

    def test_guests_that_are_missing_are_named(self):
        self.assert_caveats(
            [
                (
                    'guests missing',
                    'fast x: in 1 of 2 repeats, which are in no'
                    ' interval: g900 (lost)',
                )
            ],
            run(results.slot([10]), results.slot([10], without=1)),
        )

    def test_what_is_longer_than_all_buckets(self):
        self.assert_caveats([], run(with_longest(17 * 10**9)))
        self.assert_caveats(
            [
                (
                    'long latencies',
                    'fast x: the longest was 22.0 s; fio counts all above'
                    ' 17.2 s in one bucket, so that percentiles that lie'
                    ' there are too low',
                )
            ],
            run(with_longest(22 * 10**9)),
        )

    def test_steal_over_its_limit(self):
        self.assert_caveats([], run(with_cpu(20, steal=5.0)))
        self.assert_caveats(
            [
                (
                    'steal',
                    'fast x: hosts took more than 5 % of the CPU from g000'
                    ' (7.5 %)',
                )
            ],
            run(with_cpu(20, steal=7.5), with_cpu(20, steal=5.5)),
        )

    def test_a_job_can_fill_one_cpu_of_several(self):
        """At 90 % of what one process can use, which is 22.5 % of four."""
        for cpus, busy, has_caveat in (
            (1, 89.9, False),
            (1, 90.0, True),
            (4, 22.0, False),
            (4, 22.5, True),
        ):
            found = caveats.find_caveats(
                run(with_cpu(busy), guests=[with_system(cpus=cpus)])
            )
            self.assertEqual(
                ['guest CPU'] * has_caveat,
                [one.about for one in found],
                (cpus, busy),
            )

    def test_each_volume_has_a_job_that_can_fill_a_cpu(self):
        volume = run_result.VolumeFigures(
            volume='v', iops=1.0, bw_bytes=4096, total_ios=1, p99_ns=1
        )
        for volumes, busy, has_caveat in (
            (4, 89.9, False),
            (4, 90.0, True),
            (2, 44.0, False),
            (2, 45.0, True),
        ):
            slot = with_cpu(busy)
            found = caveats.find_caveats(
                run(
                    dataclasses.replace(
                        slot,
                        guests=tuple(
                            dataclasses.replace(
                                each, volumes=(volume,) * volumes
                            )
                            for each in slot.guests
                        ),
                    ),
                    guests=[with_system(cpus=4)],
                )
            )
            self.assertEqual(
                ['guest CPU'] * has_caveat,
                [one.about for one in found],
                (volumes, busy),
            )

    def test_starts_further_apart_than_they_may_be(self):
        def apart(skew_ms, error_ms=0):
            slot = results.slot([10])
            return run(
                dataclasses.replace(
                    slot,
                    merged=dataclasses.replace(
                        slot.merged,
                        start_skew_ms=skew_ms,
                        start_skew_error_ms=error_ms,
                    ),
                )
            )

        self.assert_caveats([], apart(40, 10))
        self.assert_caveats(
            [
                (
                    'start skew',
                    'fast: in 1 of 1 runs, worst in x, repeat 1:'
                    ' guests started within 51 ms, expected 50',
                )
            ],
            apart(51),
        )
        (found,) = caveats.find_caveats(apart(40, 20))
        self.assertIn('with clock error it may be 60 ms', found.text)
        (found,) = caveats.find_caveats(apart(0, None))
        self.assertIn('with unknown clock error', found.text)

    def test_a_rate_that_an_old_fio_does_not_reach(self):
        pattern = fio_pattern.Pattern(
            name='x', rw='write', bssplit='4k/60:64k/40', rate_iops=100
        )

        def by(fio, *patterns):
            found = run()
            return dataclasses.replace(
                found,
                profile=dataclasses.replace(found.profile, patterns=patterns),
                environment={
                    **found.environment,
                    'fio': run_result.Fact(value=fio),
                },
            )

        for old in ('fio-3.33', 'fio-3.42, fio-3.9', 'fio-2.99-dirty'):
            (found,) = [
                each
                for each in caveats.find_caveats(by(old, pattern))
                if each.about == 'rate'
            ]
            self.assertIn('issues fewer I/Os than rate_iops', found.text)
        self.assert_caveats([], by('fio-3.42', pattern))
        self.assert_caveats([], by('fio-4.1', pattern))
        self.assert_caveats(
            [],
            by(
                'fio-3.33',
                dataclasses.replace(pattern, rate_iops=None),
                dataclasses.replace(pattern, bssplit=None, bs='4k'),
            ),
        )

    def test_a_wide_spread_and_an_unsteady_slot(self):
        slot = results.slot([10])
        found = run(
            dataclasses.replace(
                slot,
                steadiness=dataclasses.replace(
                    slot.steadiness, steady=False, reason='slope 30 %'
                ),
            )
        )
        (tier,) = found.tiers
        (pattern,) = tier.patterns
        found = dataclasses.replace(
            found,
            tiers=(
                dataclasses.replace(
                    tier,
                    patterns=(
                        dataclasses.replace(
                            pattern, iops=intervals.estimate_mean([10, 20])
                        ),
                    ),
                ),
            ),
        )
        self.assert_caveats(
            [
                (
                    'not steady',
                    'fast x: in 1 of 1 repeats, such as repeat 1: slope 30 %',
                ),
                (
                    'spread',
                    'fast x: IOPS of the repeats spread by 47.1 %, more'
                    ' than 10 %',
                ),
            ],
            found,
        )

    def test_a_guest_that_is_slow_in_all_repeats(self):
        self.assert_caveats(
            [
                (
                    'slow guest',
                    'fast x: less than 50 % of the median of the guests in'
                    ' all 2 complete repeats: g001; a host may be slow, and'
                    ' not the tier',
                )
            ],
            run(
                results.slot([100, 40, 110, 30, 105]),
                results.slot([90, 30, 110, 100, 100]),
            ),
        )
        for slots in (
            [[100, 40, 110], [100, 90, 110]],
            [[100, 40], [100, 40]],
            [[100, 40, 110]],
            [[0, 0, 0], [0, 0, 0]],
        ):
            found = run(*map(results.slot, slots))
            self.assertNotIn(
                'slow guest',
                [each.about for each in caveats.find_caveats(found)],
            )

    def test_guests_that_are_not_alike(self):
        guests = [
            with_system('g000', cpu_model='A', cpus=1),
            with_system('g001', cpu_model='B'),
            dataclasses.replace(GUEST, kernel='6.1'),
        ]
        self.assert_caveats(
            [
                (
                    'mixed guests',
                    'cpu model is not the same in all guests: A, B',
                )
            ],
            run(guests=guests),
        )
        self.assert_caveats(
            [
                (
                    'mixed guests',
                    'kernel is not the same in all guests: 6.1, 6.12',
                )
            ],
            run(
                guests=[
                    GUEST,
                    *(
                        dataclasses.replace(GUEST, kernel=kernel)
                        for kernel in ('6.1', '6.12')
                    ),
                ]
            ),
        )

    def test_versions_of_fio_that_differ(self):
        found = run()
        self.assert_caveats(
            [('mixed guests', 'versions of fio differ: fio-3.33, fio-3.36')],
            dataclasses.replace(
                found,
                environment={
                    **found.environment,
                    'fio': run_result.Fact(value='fio-3.33, fio-3.36'),
                },
            ),
        )

    def test_volumes_that_do_not_lie_where_they_should(self):
        guests = [
            dataclasses.replace(
                results.guest(f'g{number:03d}', 'fast'),
                image=dataclasses.replace(IMAGE, pool=pool),
            )
            for number, pool in enumerate(('ssd', 'hdd'))
        ]
        found = run(guests=guests)
        (tier,) = found.tiers
        self.assert_caveats(
            [
                (
                    'placement',
                    'fast: backends of its volumes differ: a@b#c | a@d#e',
                ),
                (
                    'placement',
                    'fast: its volumes lie in several pools: hdd, ssd',
                ),
            ],
            dataclasses.replace(
                found,
                tiers=(
                    dataclasses.replace(
                        tier, backends=run_result.Fact(value='a@b#c | a@d#e')
                    ),
                ),
            ),
        )

    def test_a_region_that_cannot_have_been_filled(self):
        """8 MiB are two objects; 3 are enough, 1 is not."""

        def with_objects(count):
            return run(
                guests=[
                    dataclasses.replace(
                        GUEST,
                        image=dataclasses.replace(IMAGE, own_objects=count),
                    )
                ]
            )

        self.assert_caveats([], with_objects(2))
        self.assert_caveats([], with_objects(None))
        (found,) = caveats.find_caveats(with_objects(1))
        self.assertEqual('not filled', found.about)
        self.assertIn('g000 (1 objects of 256)', found.text)

    def as_asked(self, text, **image):
        found = run(
            guests=[
                dataclasses.replace(
                    GUEST, image=dataclasses.replace(IMAGE, **image)
                )
            ]
        )
        return dataclasses.replace(
            found,
            environment={
                **found.environment,
                'clone_or_flat': run_result.Fact(value=text),
            },
        )

    def test_a_region_that_was_left_as_it_is_is_told_once(self):
        (found,) = caveats.find_caveats(
            self.as_asked(f'boot volume, {caveats.NOT_FILLED}', own_objects=1)
        )
        self.assertIn('the task leaves regions as they are', found.text)

    def test_a_clone_that_was_asked_for_blank_is_a_contradiction(self):
        self.assert_caveats([], self.as_asked(caveats.BLANK, parent=None))
        self.assert_caveats(
            [
                (
                    'clone or flat',
                    'volumes were asked for blank, but Ceph has'
                    ' clones: g000 (of images/debian@snap)',
                )
            ],
            self.as_asked(caveats.BLANK),
        )

    def watch(self, before=None, **after):
        return run(
            ceph=ceph_result.CephWatch(
                before=dataclasses.replace(READING, **(before or {})),
                after=dataclasses.replace(READING, **after),
                unread=(),
            )
        )

    def test_an_osd_that_went_down_meanwhile(self):
        self.assert_caveats(
            [
                (
                    'cluster changed',
                    'during this run: OSD_DOWN appeared: 1 osds down',
                ),
                ('cluster changed', 'during this run: osd.1 went down'),
                (
                    'cluster health',
                    'after the measurement HEALTH_WARN: OSD_DOWN'
                    ' (1 osds down)',
                ),
                (
                    'cluster busy',
                    'after the measurement, placement groups were'
                    ' not only active+clean: 9 active+undersized+degraded',
                ),
            ],
            self.watch(
                osds_down=(1,),
                health='HEALTH_WARN',
                checks={'OSD_DOWN': '1 osds down'},
                pg_states={
                    'active+clean': 23,
                    'active+undersized+degraded': 9,
                },
            ),
        )

    def test_an_osd_that_came_and_went_is_seen_by_its_boot(self):
        self.assert_caveats(
            [('cluster changed', 'during this run: osd.1 was started again')],
            self.watch(osd_boots={'0': 7, '1': 12}),
        )

    def test_a_cluster_that_was_bad_all_the_time_did_not_change(self):
        bad = {'health': 'HEALTH_WARN', 'checks': {'PG_DEGRADED': 'some'}}
        self.assertEqual(
            ['cluster health'] * 2,
            [
                one.about
                for one in caveats.find_caveats(self.watch(bad, **bad))
            ],
        )

    def test_a_scrub_uses_the_disks_too(self):
        (found,) = caveats.find_caveats(
            self.watch(
                pg_states={
                    'active+clean': 31,
                    'active+clean+scrubbing+deep': 1,
                }
            )
        )
        self.assertIn('1 active+clean+scrubbing+deep', found.text)

    def test_an_option_that_was_changed_meanwhile(self):
        self.assert_caveats(
            [
                (
                    'cluster changed',
                    'during this run: pool ssd: option'
                    ' osd_max_backfills: 1 before, 8 after',
                ),
                (
                    'cluster changed',
                    'during this run: pool ssd: option'
                    ' rbd_cache: not set before, false after',
                ),
                (
                    'cluster changed',
                    'during this run: pool ssd: size 3 before, 2 after',
                ),
            ],
            self.watch(
                pools={
                    'ssd': dataclasses.replace(
                        POOL,
                        size=2,
                        osd_options={'osd_max_backfills': '8'},
                        rbd_options={'rbd_cache': 'false'},
                    )
                }
            ),
        )

    def test_daemons_of_several_releases(self):
        (found,) = caveats.find_caveats(
            self.watch(
                {'release': ('16.2.15', '17.2.7')},
                release=('16.2.15', '17.2.7'),
            )
        )
        self.assertEqual('cluster mixed', found.about)

    def test_a_cluster_that_could_not_be_read(self):
        self.assert_caveats(
            [('cluster unread', 'no monitor answered')],
            run(
                ceph=ceph_result.CephWatch(
                    before=READING, after=None, unread=('no monitor answered',)
                )
            ),
        )

    def test_tiers_at_the_same_time(self):
        self.assert_caveats(
            [
                (
                    'tiers at the same time',
                    'fast: measured side by side; what they share, such as'
                    ' network and cores of hosts, is in the figures of all of'
                    ' them, and that they share no disk is the word of the'
                    ' task',
                )
            ],
            run(side_by_side=True),
        )

    def test_many_names_are_cut_short(self):
        slot = results.slot([10], without=7)
        (found,) = caveats.find_caveats(run(slot))
        self.assertTrue(
            found.text.endswith('g904 (lost) and 2 more'), found.text
        )
