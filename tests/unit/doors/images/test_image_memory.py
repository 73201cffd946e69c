# SPDX-License-Identifier: Apache-2.0

"""What remembered images take of the memory of a process."""

import tracemalloc
import uuid

import ddt
import testtools
from testtools import matchers

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import image_memory

SIZE = 200
#: How many KiB an image may take that counts as one: itself less than two, and
#: what remembers it. How near it comes differs between versions of Python, and
#: threads of tests before may still take some.
MOST_OF_COUNTED = 3


def image(number, tags, length, character):
    """An image with so many tags of so many characters."""
    return glance.ImageFacts(
        image_id=str(uuid.uuid4()),
        image=decision.Image(
            owner=uuid.uuid4().hex,
            visibility='private',
            tags=frozenset(
                f'{number}-{tag}'.ljust(length, character)
                for tag in range(tags)
            ),
        ),
        volume_type=f'{number}'.ljust(length, character) if length else None,
        boot_snapshot=True,
        boot_snapshot_id=str(uuid.uuid4()),
    )


@ddt.ddt
class ImageMemoryTestCase(testtools.TestCase):
    def fill(self, images, *shape):
        """Keep images; how many are left, and the bytes that they take."""
        memory = image_memory.ImageMemory(size=SIZE)
        kept = []
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for number in range(images):
                facts = image(number, *shape)
                project = uuid.uuid4().hex
                keys = (
                    (facts.image_id,),
                    (facts.image_id, project),
                    (facts.image_id, project, image_memory.BY_NAME),
                )
                kept.append(keys)
                memory.keep(
                    keys,
                    facts,
                    is_by_id=True,
                    fresh_s=10.0,
                    stale_s=3600.0,
                )
            del facts
            found = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        return sum(memory.fresh(keys) is not None for keys in kept), found

    @ddt.data(
        (0, 0, ''),
        (1, 10, 'a'),
        (3, 20, '\xe9'),
        (5, 20, 'a'),
        (128, 255, 'a'),
        (128, 255, '\u20ac'),
        (128, 255, '\U0001f600'),
    )
    def test_it_is_about_a_kibibyte_for_each_of_its_size(self, shape):
        _left, found = self.fill(2 * SIZE, *shape)
        self.assertThat(
            found, matchers.LessThan(MOST_OF_COUNTED * SIZE * 1024)
        )

    @ddt.data((0, 0, ''), (1, 10, 'a'), (3, 20, 'a'))
    def test_usual_images_count_as_one(self, shape):
        left, _found = self.fill(SIZE + 1, *shape)
        self.assertEqual(SIZE, left)

    def test_one_that_has_no_room_is_not_kept(self):
        memory = image_memory.ImageMemory(size=1)
        large, small = image(1, 128, 255, 'a'), image(2, 1, 10, 'a')
        for facts, is_kept in ((small, True), (large, False)):
            keys = ((facts.image_id, 'project', image_memory.BY_NAME),)
            self.assertEqual(
                facts,
                memory.keep(
                    keys, facts, is_by_id=False, fresh_s=10.0, stale_s=0.0
                ),
            )
            self.assertEqual(is_kept, memory.fresh(keys) is not None)
