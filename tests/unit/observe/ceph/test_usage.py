# SPDX-License-Identifier: Apache-2.0

import errno
import json
import pathlib

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.state import usage
from cinder_tiers.observe.ceph import usage as ceph_usage

ANSWERS = json.loads(
    pathlib.Path(__file__)
    .parents[1]
    .joinpath('data')
    .joinpath('usage.json')
    .read_text('utf-8')
)


class Monitors:
    """Give the answers; other commands are refused."""

    def __init__(self, *without):
        self.without = without

    def command(self, prefix, **arguments):
        name = ' '.join((prefix, *arguments.values()))
        if name in self.without or name not in ANSWERS:
            raise ceph_session.CephRefused(
                f'{name} is refused', errno=errno.EACCES
            )
        return ANSWERS[name]


class UsageTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.usage = ceph_usage.observe(Monitors())

    def test_a_pool_is_known_with_one_copy_and_with_all(self):
        self.assertEqual(
            usage.PoolUsage(
                stored_bytes=1073741843,
                objects=261,
                used_bytes=3221237760,
                max_avail_bytes=6442450944,
            ),
            self.usage.pools['tier-general'],
        )

    def test_sizes_of_osds_are_in_bytes(self):
        self.assertEqual(
            usage.OsdUsage(total_bytes=10 * 2**30, used_bytes=4 * 2**30),
            self.usage.osds[1],
        )

    def test_an_osd_that_is_out_has_no_room(self):
        self.assertEqual(0, self.usage.osds[2].total_bytes)

    def test_osds_outside_the_tree_are_known(self):
        self.assertEqual({0, 1, 2, 7}, set(self.usage.osds))

    def test_ratios_are_as_they_were_set(self):
        self.assertEqual(
            (0.85, 0.9, 0.95),
            (
                self.usage.nearfull_ratio,
                self.usage.backfillfull_ratio,
                self.usage.full_ratio,
            ),
        )

    def test_without_an_answer_the_reason_is_told(self):
        found = ceph_usage.attempt(Monitors('osd df'))
        self.assertEqual(usage.Unknown(reason='osd df is refused'), found)


class LateMonitors:
    """They have no statistics of a pool when they are asked at first."""

    def __init__(self, late):
        self.late = late

    def command(self, prefix, **arguments):
        self.late -= 1
        known = ('old', 'new') if self.late < 0 else ('old',)
        return {'pools': [{'name': one} for one in known]}


class JustMadeTestCase(testtools.TestCase):
    def pools(self, monitors, **arguments):
        found = ceph_usage.df(monitors, {'old', 'new'}, **arguments)
        return [one['name'] for one in found['pools']]

    def test_statistics_of_a_pool_just_made_are_waited_for(self):
        self.assertEqual(['old', 'new'], self.pools(LateMonitors(2)))

    def test_the_wait_ends(self):
        self.assertEqual(['old'], self.pools(LateMonitors(10**9), wait_s=0.6))

    def test_all_pools_that_exist_are_waited_for(self):
        answers = {
            **ANSWERS,
            'osd dump': {
                **ANSWERS['osd dump'],
                'pools': [{'pool_name': 'just-made'}],
            },
        }

        class Monitors:
            asked = 0

            def command(self, prefix, **arguments):
                name = ' '.join((prefix, *arguments.values()))
                if prefix != 'df':
                    return answers[name]
                self.asked += 1
                row = {**answers[name]['pools'][0], 'name': 'just-made'}
                return {'pools': [row] if self.asked > 1 else []}

        found = ceph_usage.observe(Monitors())
        self.assertEqual({'just-made'}, found.pools.keys())
