# SPDX-License-Identifier: Apache-2.0

"""What volumes add up to, with plain values."""

import datetime
import fractions

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.state import sold
from cinder_tiers.loop.usage import usage
import tests

UTC = datetime.UTC
NOW = datetime.datetime(2028, 3, 15, 12, tzinfo=UTC)
FEBRUARY = usage.Period(
    begin=datetime.datetime(2028, 2, 1, tzinfo=UTC),
    end=datetime.datetime(2028, 3, 1, tzinfo=UTC),
)
TYPES = {
    name: facts.KnownType(type_id=f'id of {name}', name=name, extra_specs={})
    for name in ('gold', 'plain', 'gold - retired 7c1f0a9e')
}
LIMITS = {
    'id of gold': sold.Limits(specs={'total_iops_sec_per_gb': '3'}),
    'id of plain': sold.Limits(specs={}),
    'id of gold - retired 7c1f0a9e': sold.Limits(
        specs={'read_iops_sec': '100', 'write_iops_sec': '50'}
    ),
}


def day(month, number, hour=0):
    return datetime.datetime(2028, month, number, hour, tzinfo=UTC)


def volume(size_gib=10, *, tier=None, type_name='gold', project='p', **fields):
    return audit_volumes.ListedVolume(
        volume=facts.KnownVolume(
            volume_id='v',
            name=None,
            status=fields.pop('status', 'available'),
            project=project,
            type_name=type_name,
            volume_type=TYPES[type_name],
            host=None,
            size_gib=size_gib,
            **fields,
        ),
        verdict=audit_volumes.VolumeVerdict(
            state=audit.State.NOT_APPLICABLE, tier=tier
        ),
    )


def found(*listed, over=FEBRUARY, limits=LIMITS):
    return usage.of_volumes(
        listed, over=over, types={'gold tier': 'gold'}, limits=limits
    )


def hours(*listed, over=FEBRUARY):
    """GiB-hours of all volumes."""
    (one,) = found(*listed, over=over)
    return (
        float(one.gib_hours.at_least),
        float(one.gib_hours.at_most),
    )


TIMES = strategies.datetimes(
    min_value=datetime.datetime(2027, 12, 1),
    max_value=datetime.datetime(2028, 4, 1),
    timezones=strategies.just(UTC),
)
VOLUMES = strategies.builds(
    volume,
    strategies.integers(0, 10_000),
    tier=strategies.sampled_from([None, 'gold tier']),
    type_name=strategies.sampled_from(sorted(TYPES)),
    project=strategies.sampled_from(['p', 'q']),
    status=strategies.sampled_from(['available', 'in-use', 'error']),
    created_at=strategies.none() | TIMES,
    updated_at=strategies.none() | TIMES,
    servers=strategies.integers(0, 3),
)


@ddt.ddt
class GibHoursTestCase(testtools.TestCase):
    @ddt.data(
        # A leap year's February, of which the record is older.
        (day(1, 1), None, 29 * 24, 29 * 24),
        (day(1, 1), day(1, 2), 29 * 24, 29 * 24),
        # Born in the period, and available a second later.
        (day(2, 28), None, 2 * 24, 2 * 24),
        (day(2, 29), day(2, 29, 1), 23, 24),
        # Changed in the period, and since.
        (day(1, 1), day(2, 29), 24, 29 * 24),
        (day(1, 1), day(3, 2), 0, 29 * 24),
        # Not there yet.
        (day(3, 1), None, 0, 0),
        (day(3, 2), day(3, 3), 0, 0),
        # Cinder does not say.
        (None, None, 0, 29 * 24),
        # A clock that goes after.
        (day(2, 29), day(2, 28), 24, 24),
    )
    @ddt.unpack
    def test_a_volume_counts_from_at_least_to_at_most(
        self, created_at, updated_at, at_least, at_most
    ):
        self.assertEqual(
            (10 * at_least, 10 * at_most),
            hours(volume(created_at=created_at, updated_at=updated_at)),
        )

    @hypothesis.given(strategies.lists(VOLUMES, max_size=8))
    @tests.examples(100)
    def test_projects_and_parts_of_a_period_sum_up_to_the_whole(self, listed):
        whole = found(*listed)
        middle = day(2, 17, 5)
        parts = [
            one
            for over in (
                usage.Period(begin=FEBRUARY.begin, end=middle),
                usage.Period(begin=middle, end=FEBRUARY.end),
            )
            for one in found(*listed, over=over)
        ]

        def total(ones, part):
            return sum(
                (getattr(one.gib_hours, part) for one in ones),
                start=fractions.Fraction(),
            )

        self.assertEqual(len(listed), sum(one.volumes for one in whole))
        self.assertEqual(
            sum(one.volume.size_gib for one in listed),
            sum(one.size_gib for one in whole),
        )
        for part in ('at_least', 'at_most'):
            self.assertEqual(total(whole, part), total(parts, part))
            self.assertEqual(
                total(whole, part),
                sum(
                    (total(found(one), part) for one in listed),
                    start=fractions.Fraction(),
                ),
            )
        for one in whole:
            self.assertLessEqual(one.gib_hours.at_least, one.gib_hours.at_most)
            self.assertLessEqual(one.gib_hours.at_most, 29 * 24 * one.size_gib)
        keys = [(one.tier, one.volume_type, one.project) for one in whole]
        self.assertEqual(len(keys), len(set(keys)))

    @hypothesis.given(
        strategies.lists(
            strategies.tuples(TIMES, strategies.integers(1, 50)), max_size=5
        ),
        TIMES,
    )
    @tests.examples(100)
    def test_what_a_volume_really_had_lies_between(self, extends, born):
        """Simulates extends, of which Cinder keeps the time of the last."""
        size, last, changed = 1, born, None

        def had(since, until):
            begin = max(since, FEBRUARY.begin)
            end = min(until, FEBRUARY.end)
            return max(end - begin, datetime.timedelta(0)) / (
                datetime.timedelta(microseconds=3600 * 10**6)
            )

        real = 0.0
        for when, more in sorted(extends):
            if when <= born:
                continue
            real += size * had(last, when)
            size, last, changed = size + more, when, when
        real += size * had(last, day(4, 2))
        low, high = hours(volume(size, created_at=born, updated_at=changed))
        self.assertLessEqual(low, real + 1e-6)
        self.assertGreaterEqual(high, real - 1e-6)


@ddt.ddt
class PeriodTestCase(testtools.TestCase):
    @ddt.data(
        (None, None, day(3, 1), NOW),
        (None, day(3, 1), day(2, 1), day(3, 1)),
        (day(2, 1), None, day(2, 1), NOW),
        # What is to come has not been used.
        (day(3, 1), day(4, 1), day(3, 1), NOW),
    )
    @ddt.unpack
    def test_it_is_this_month_and_over(self, begin, end, first, last):
        self.assertEqual(
            usage.Period(begin=first, end=last),
            usage.period(begin, end, now=NOW),
        )

    @ddt.data(
        (day(3, 2), day(3, 1)),
        (day(3, 1), day(3, 1)),
        (day(3, 16), None),
        (day(3, 16), day(3, 17)),
        (NOW, None),
    )
    @ddt.unpack
    def test_it_begins_before_it_ends(self, begin, end):
        self.assertRaises(ValueError, usage.period, begin, end, now=NOW)

    def test_a_month_is_that_of_utc(self):
        """It is still February there, where the clock says March."""
        east = datetime.timezone(datetime.timedelta(hours=5))
        now = datetime.datetime(2028, 3, 1, 3, tzinfo=east)
        self.assertEqual(day(2, 1), usage.period(None, None, now=now).begin)


@ddt.ddt
class OfVolumesTestCase(testtools.TestCase):
    @ddt.data(
        # Each server has the limits for itself.
        ([volume(10, servers=2)], 60, 0),
        ([volume(10), volume(5)], 45, 0),
        ([volume(type_name='gold - retired 7c1f0a9e')], 150, 0),
        # It can do no I/O.
        ([volume(10), volume(10, status='error')], 30, 0),
        ([volume(10), volume(10, status='error', servers=1)], 60, 0),
    )
    @ddt.unpack
    def test_limits_are_summed(self, listed, iops, unlimited):
        (one,) = found(*listed)
        self.assertEqual((iops, unlimited), (one.iops[None], one.unlimited))

    def test_without_a_limit_there_is_no_sum(self):
        (one,) = found(
            volume(tier='gold tier'),
            volume(tier='gold tier', type_name='plain'),
        )
        self.assertEqual((None, 1), (one.iops[None], one.unlimited))
        self.assertIsNone(usage.iops_of_tier([one], 'gold tier', 'read'))

    def test_limits_may_be_hidden(self):
        (one,) = found(volume(), limits=None)
        self.assertEqual((None, None), (one.iops['read'], one.unlimited))

    def test_a_tier_sells_to_all_projects(self):
        listed = found(
            volume(tier='gold tier'),
            volume(tier='gold tier', project='q'),
            volume(),
        )
        self.assertEqual(60, usage.iops_of_tier(listed, 'gold tier', None))

    def test_rows_are_of_tiers_and_then_of_types(self):
        retired = 'gold - retired 7c1f0a9e'
        self.assertEqual(
            [
                ('gold tier', 'gold', 'p', 2),
                (None, 'gold', 'p', 2),
                (None, 'plain', 'p', 1),
            ],
            [
                (one.tier, one.volume_type, one.project, one.volumes)
                for one in found(
                    volume(type_name='plain'),
                    volume(type_name=retired),
                    volume(),
                    volume(tier='gold tier'),
                    volume(tier='gold tier', type_name=retired),
                )
            ],
        )
