# SPDX-License-Identifier: Apache-2.0

"""Volumes of the lab that are wrong in ten ways, repaired beside guests.

What the plan refuses is not touched, and the audit then names nothing else.
The p99 of guests on the same disks does not change, as `tier watch` judges
it, or the repair pauses.
"""

import collections
import json
import math
import statistics
import time

from testtools import content as details

from cinder_tiers.loop.watch import change
from tests.functional import repairs
from tests.long import guests
from tests.long import planted_lab

#: Volumes that are right.
RIGHT = 3
#: What a plan says of those that it refuses.
REASONS = {'in a group': 'it is in a group', 'error': 'its status is error'}
#: In a second, of each guest; a hard disk of the lab does 160.
MOST_IOPS = 40
#: Of 20 s each; fio needs some more to begin. A change needs ten before it.
WINDOW_S = 25
BEFORE_S = 12 * WINDOW_S
KINDS = 'type', 'placement', 'limits', 'residency'
REPAIR = *(word for kind in KINDS for word in ('--kind', kind)), '--shelve'


class PlantedBesideLoadTest(guests.GuestsTestCase, planted_lab.PlantedCase):
    def wrong(self):
        shown, _ = self.run_command(
            *('openstack', 'tier', 'audit', '--catalog', str(self.path)),
            *('--volumes', '--limits', '--residency', '-f', 'json'),
            expect=None,
        )
        return repairs.named(json.loads(shown))

    def seen(self, ids):
        """{id of a volume: what Cinder says of it, and its sums}"""
        return {
            one: (self.cinder.volumes.get(one).to_dict(), self.sums(one))
            for one in ids
        }

    def settle(self):
        """Wait until Ceph's manager copies nothing any more."""
        self.wait_while(
            lambda: json.loads(
                self.run_command('ceph', 'rbd', 'task', 'list')[0]
            ),
            planted_lab.MOST_S,
        )

    def risen(self, quiet, begun):
        """{text: the first rise of p99 of a guest since a repair has begun}

        :param quiet: when nothing but the guests was under way any more.
        """
        found = {}
        for guest in self.guests:
            before, during = (
                [
                    math.log(milliseconds)
                    for at, milliseconds in guest.latencies
                    if first <= at < end
                ]
                for first, end in ((quiet, begun), (begun, math.inf))
            )
            text = f'p99 of {guest.volume}: ' + ', then '.join(
                f'{math.exp(statistics.median(some)):.1f} ms in {len(some)} '
                'windows'
                for some in (before, during)
            )
            print(text)
            self.addDetail(guest.volume, details.text_content(text))
            self.assertGreaterEqual(len(before), change.LEAST_BEFORE, text)
            self.assertGreaterEqual(len(during), change.SHORT, text)
            levels = before + during
            found[text] = next(
                (
                    one
                    for end in range(len(before) + 1, len(levels) + 1)
                    for span in change.SPANS
                    if (one := change.find(levels[:end], span=span))
                    and one.after > one.before
                ),
                None,
            )
        return {text: one for text, one in found.items() if one}

    def test_they_are_repaired_beside_guests_that_write(self):
        planted = self.plant()
        refused = {
            one: reason
            for kind, reason in REASONS.items()
            for one in planted[kind]
        }
        can = {one for ids in planted.values() for one in ids} - set(refused)
        right = self.make(RIGHT, volume_type='general')
        self.start_windows(
            volume_types=('database', 'general'), most_iops=MOST_IOPS
        )
        for guest in self.guests:
            self.flatten(guest.volume)
        self.assertEqual(can | set(refused), self.wrong())
        before = self.seen((*can, *refused, *right))
        self.assertEqual(
            len(before),
            len({str(sums) for _, sums in before.values()}),
        )

        with self.watched() as folder:
            # Of the window that it begins in, too.
            quiet = time.monotonic() + WINDOW_S
            time.sleep(BEFORE_S)
            plan = str(self.path.with_name('plan'))
            rows = self.tier('repair', *REPAIR, '--out', plan, expect=4)
            self.assertEqual(
                dict.fromkeys(can, 'planned')
                | dict.fromkeys(refused, 'refused'),
                {row['Volume']: row['Outcome'] for row in rows},
            )
            for row in rows:
                self.assertIn(refused.get(row['Volume'], ''), row['Reason'])
            begun = time.monotonic()
            shown, said = self.run_command(
                *('openstack', 'tier', 'repair', '--catalog', str(self.path)),
                *(plan, '--shelve', '--watch', folder, '-f', 'json'),
                expect=5,
                timeout_s=3 * 3600,
            )
            took_s = time.monotonic() - begun
            self.settle()
            risen = self.risen(quiet, begun)
        print(f'repaired in {took_s:.0f} s', said)
        self.addDetail('said', details.text_content(said))
        self.assertEqual(
            dict.fromkeys(can, ('done', ''))
            | dict.fromkeys(refused, ('refused', None)),
            {
                row['Volume']: (
                    row['Outcome'],
                    None if row['Volume'] in refused else row['Reason'],
                )
                for row in json.loads(shown)
            },
        )
        self.assert_all_write()
        if risen:
            self.assertIn('paused: tier', said, risen)

        self.assertEqual(set(refused), self.wrong())
        after = self.seen(before)
        for one in (*refused, *right):
            self.assertEqual(before[one], after[one])
        for one in can:
            self.assertEqual(before[one][1], after[one][1])
        self.assertEqual(
            {
                one: place
                for kind, place in planted_lab.PLACES.items()
                for one in planted[kind]
            },
            {one: self.host_of(one) for one in can},
        )
        statuses = collections.Counter(
            self.cinder.volumes.get(one).status for one in can
        )
        self.assertEqual(
            {
                'in-use': planted_lab.EACH,
                'available': len(can) - planted_lab.EACH,
            },
            statuses,
        )
