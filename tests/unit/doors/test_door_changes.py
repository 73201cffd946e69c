# SPDX-License-Identifier: Apache-2.0

"""A door whose tiers change under it, and whose process forks."""

import subprocess
import sys

from cinder.volume import volume_types
import ddt
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.volume_types import applied
from tests.unit.doors import test_door
from tests.worlds import cinder_fixture

PROJECT = cinder_fixture.PROJECT

FORK = """
import os
import threading
from cinder import context
from cinder import objects
objects.register_all()
from cinder_tiers.doors import door
before = door.of_process('api')
same = [door.of_process('api') is before for _ in range(3)]
print(all(same), door.of_process('scheduler') is before, flush=True)
child = os.fork()
if not child:
    print(door.of_process('api') is before, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(door.of_process('api') is before)
door.forget()
print(door.of_process('api') is before)
"""


@ddt.ddt
class TierChangedTestCase(test_door.DoorTestCase):
    """The tiers that are remembered are not those that there are."""

    def setUp(self):
        super().setUp()
        self.stale = applied.read_applied(self.cinder.admin)
        self.reads = 0
        self.image = self.glance.add_image('db', 'x', visibility='public')

    def place(self, stale_reads, name='api', user=None):
        def read(context):
            self.reads += 1
            return (
                self.stale
                if self.reads <= stale_reads
                else applied.read_applied(context)
            )

        self.configure(applied_cache_seconds=1000)
        return self.door(name, read=read).place(
            self.asked(
                user, image_ref=self.image, named_type=test_door.FOLLOWS
            )
        )

    def test_a_tier_is_gone(self):
        volume_types.destroy(self.cinder.admin, self.types['database'])
        self.assert_placed('general', self.place(1), decision.Rule.NO_TIER_TAG)

    def test_the_type_of_a_tier_is_another_one(self):
        volume_types.destroy(self.cinder.admin, self.types['database'])
        self.types['database'] = self.cinder.add_type(
            'db2', tiers_name='database', tiers_tags='db'
        )
        self.assert_placed('database', self.place(1), decision.Rule.TAG)

    @ddt.data('api', 'scheduler')
    def test_access_was_taken_away(self, name):
        closed = self.cinder.add_type(
            'closed',
            [PROJECT],
            tiers_name='closed',
            tiers_tags='x',
            tiers_priority='90',
        )
        self.stale = applied.read_applied(self.cinder.admin)
        volume_types.remove_volume_type_access(
            self.cinder.admin, closed, PROJECT
        )
        self.assert_placed(
            'database', self.place(1, name), decision.Rule.NO_ACCESS
        )

    def test_it_changes_again_and_again(self):
        """The fall-back tier is the operator's choice for every error."""
        volume_types.destroy(self.cinder.admin, self.types['database'])
        self.assert_placed('general', self.place(1000), decision.Rule.ERROR)
        self.assertIn('"error": "TierChanged"', self.log.output)
        self.assertThat(self.reads, testtools.matchers.LessThan(6))

    def test_all_tiers_are_gone(self):
        for ident in self.types.values():
            volume_types.destroy(self.cinder.admin, ident)
        self.assert_verdict('not_ours', self.place(1), decision.Rule.NO_TIERS)

    def test_all_tiers_are_gone_and_nobody_notices(self):
        for ident in self.types.values():
            volume_types.destroy(self.cinder.admin, ident)
        self.assert_verdict('undecided', self.place(1000), decision.Rule.ERROR)


class OfProcessTestCase(testtools.TestCase):
    def test_a_fork_forgets(self):
        """Locks and threads of the parent are not those of the child."""
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', FORK],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(
            ['True False', 'False', 'True', 'False'],
            done.stdout.splitlines(),
            done.stderr,
        )
