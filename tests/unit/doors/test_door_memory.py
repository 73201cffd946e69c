# SPDX-License-Identifier: Apache-2.0

"""What a door remembers has a bound, and does not outlive its time."""

import gc
import time
import tracemalloc
import uuid

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from tests.unit.doors import cinder_fixture
from tests.unit.doors import test_door

MIB = 1024 * 1024


def fetch_large(context, ref, on_name=None):
    """An image with as many tags as Glance takes, each as long as it may."""
    return glance.ImageFacts(
        image_id=ref,
        image=decision.Image(
            owner=cinder_fixture.PROJECT,
            visibility='private',
            tags=frozenset(
                f'{number}-{ref}'.ljust(255, '\U0001f4a3')
                for number in range(127)
            )
            | {'db'},
        ),
        volume_type=None,
        boot_snapshot=False,
    )


class MemoryTestCase(test_door.DoorTestCase):
    def setUp(self):
        super().setUp()
        self.user = self.cinder.user()

    def place(self, api, **asked):
        placed = api.place(self.asked(self.user, **asked))
        self.assertEqual(decision.RequestVerdict.TIER, placed.decision.verdict)
        return placed

    def bytes_of(self, work):
        """What is still there of what was made meanwhile."""
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            work()
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()

    def large_door(self):
        """One that remembers images of a MiB, each of 140 kB."""
        plain = self.door()
        return door.Door(
            'api',
            applied=plain._applied,
            known_images=known_images.Images(size=1000, fetch=fetch_large),
            recorder=plain._recorder,
        )

    def test_images_with_long_tags(self):
        """Who decides by an image does not keep it."""
        self.configure(applied_cache_seconds=600, image_cache_seconds=600)
        api = self.large_door()
        self.place(api)

        def work():
            for _ in range(40):
                self.place(api, image_ref=str(uuid.uuid4()))

        # All of them are 5.6 MB.
        self.assertLess(self.bytes_of(work), 2 * MIB)

    def test_it_goes_without_a_request(self):
        self.configure(
            applied_cache_seconds=1,
            image_cache_seconds=1,
            image_stale_seconds=1,
        )
        api = self.large_door()
        self.place(api)

        def work():
            for _ in range(6):
                self.place(api, image_ref=str(uuid.uuid4()))
            self.assertTrue(api.wait(60))
            # The second for which it counts, and that until the next look.
            time.sleep(3)

        self.assertLess(self.bytes_of(work), MIB // 4)
        # It goes on: the image is read anew.
        self.place(api, image_ref=str(uuid.uuid4()))

    def test_the_same_answer_from_memory(self):
        self.configure(applied_cache_seconds=600, image_cache_seconds=600)
        api = self.large_door()
        ref = str(uuid.uuid4())
        first = self.place(api, image_ref=ref)
        second = self.place(api, image_ref=ref)
        self.assertIs(first.facts, second.facts)
        self.assertIs(first.decision, second.decision)
