# SPDX-License-Identifier: Apache-2.0

"""Who waits for a free call to Glance, and how long."""

import threading
import time
import uuid

import ddt

from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from tests.unit.doors.images import images_case
from tests.unit.doors.images.images_case import facts
from tests.unit.doors.images.images_case import IDENT


class ColdStormTestCase(images_case.ImagesTestCase):
    def read_all(self, number, projects):
        """What each of so many readers gets, each of an image of its own."""
        self.images = known_images.Images(size=100, fetch=self.glance)
        self.glance.takes = lambda: time.sleep(0.04)
        refs = [str(uuid.uuid4()) for _ in range(number)]
        found = {}

        def read(number):
            ref = refs[number]
            found[ref] = self.read(ref, f'p{number % projects}')

        threads = [
            threading.Thread(target=read, args=(number,))
            for number in range(number)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual({ref: facts(ref) for ref in refs}, found)

    def test_60_cold_images_of_one_project(self):
        self.read_all(60, projects=1)

    def test_60_cold_images_of_many_projects(self):
        self.read_all(60, projects=7)


class QueueTestCase(images_case.ImagesTestCase):
    def hang(self, project='us', number=1, max_calls=1):
        """Let calls of a project hang; a function that lets them go."""
        go = self.hold()
        for _ in range(number):
            self.board(
                1,
                ref=str(uuid.uuid4()),
                project=project,
                timeout_s=60.0,
                max_calls=max_calls,
            )
            self.wait_for_call()
        self.glance.go = threading.Event()
        self.glance.go.set()
        return go

    def test_who_finds_no_free_call_waits_for_one(self):
        go = self.hang()
        land = self.board(8, max_calls=1)
        self.assertEqual(1, len(self.glance.calls))
        go()
        self.assertEqual([facts(IDENT)] * 8, land())
        self.assertEqual(2, len(self.glance.calls))

    def test_within_the_bound(self):
        self.hang()
        error = self.assert_fails(1, timeout_s=0.1, max_calls=1)
        self.assertEqual(
            ('no call to Glance was free within 0.1 s; at most 1 are allowed'),
            str(error),
        )

    def test_a_call_that_is_waited_for_no_longer_is_not_made(self):
        go = self.hang()
        refs = [str(uuid.uuid4()) for _ in range(5)]
        for ref in refs:
            self.assert_fails(1, ref, timeout_s=0.05, max_calls=1)
        go()
        images_case.settle(lambda: not self.images.calls_under_way)
        self.assert_reads(2, max_calls=1)
        self.assertEqual({IDENT}, {ref for _, ref in self.glance.calls[1:]})

    def test_unless_one_of_many_still_waits(self):
        go = self.hang()
        patient = self.board(1, timeout_s=60.0, max_calls=1)
        self.assert_fails(1, timeout_s=0.05, max_calls=1)
        go()
        self.assertEqual([facts(IDENT)], patient())
        self.assertEqual(2, len(self.glance.calls))

    def test_who_is_killed_takes_nobody_along(self):
        go = self.hang()
        (first,), _ = self.start(1, timeout_s=60.0, max_calls=1)
        others = self.board(3, timeout_s=60.0, max_calls=1)
        images_case.kill(first)
        go()
        self.assertEqual([facts(IDENT)] * 3, others())
        first.join(60)
        self.assertEqual(0, self.images.calls_under_way)

    def test_who_waited_in_vain_does_not_open_the_breaker(self):
        go = self.hang()
        for _ in range(5):
            self.assert_fails(
                1, str(uuid.uuid4()), timeout_s=0.05, max_calls=1
            )
        go()
        self.assert_reads(2, max_calls=1)

    def test_the_slow_calls_of_one_project_leave_half_to_the_others(self):
        self.hang('them', number=2, max_calls=4)
        self.assert_fails(
            2, str(uuid.uuid4()), 'them', timeout_s=0.05, max_calls=4
        )
        self.assert_reads(3, max_calls=4)

    def test_an_image_in_the_queue_of_one_project_is_free_to_others(self):
        """Or a project could queue all public images behind its own."""
        go = self.hang('them', max_calls=2)
        theirs = self.board(1, project='them', timeout_s=60.0, max_calls=2)
        self.assert_reads(2, max_calls=2)
        go()
        # By then, the image is known.
        self.assertEqual([facts(IDENT)], theirs())
        self.assertEqual(2, len(self.glance.calls))

    def test_a_name_that_ends_in_an_id_holds_up_only_its_project(self):
        go = self.hold()
        theirs = self.board(1, ref=f'odd/{IDENT}', project='them')
        self.wait_for_call()
        self.hold()()
        self.assert_reads(2)
        go()
        theirs()

    def test_what_another_found_meanwhile_is_not_read_anew_in_the_queue(self):
        go = self.hang('them', max_calls=2)
        theirs = self.board(1, project='them', timeout_s=60.0, max_calls=2)
        known = self.assert_reads(2, max_calls=2)
        self.now += 29
        go()
        theirs()
        self.now += 1
        self.assertIsNone(self.images.remembered(IDENT))
        self.assertIs(known, self.assert_reads(3))

    def test_a_refused_reader_of_another_call_queues_as_well(self):
        self.glance.answers['them'] = glance.ImageRefused(
            'refused', is_lasting=True
        )
        go = self.hold()
        theirs = self.board(1, project='them', max_calls=2)
        self.wait_for_call()
        ours = self.board(4, max_calls=2)
        go()
        self.assertEqual([facts(IDENT)] * 4, ours())
        theirs()


@ddt.ddt
class HangingNamesTestCase(images_case.ImagesTestCase):
    """Glance lists no image by its name, but shows those of an id."""

    def setUp(self):
        super().setUp()
        self.listed = threading.Event()
        self.addCleanup(self.listed.set)
        self.images = known_images.Images(size=100, fetch=self.fetch)
        self.shown = str(uuid.uuid4())

    def fetch(self, context, ref, on_name):
        if ref == self.shown:
            return facts(ref)
        is_id = glance.plain_ref(ref)[1]
        try:
            # What `glance.fetch_image` does where no image has the id.
            if is_id:
                on_name()
            self.listed.wait(60)
        except glance.ImageUnreadable as error:
            raise glance.ImageRefused('404', is_lasting=True) from error
        return facts(ref)

    def hold_all(self, spell, *projects):
        """Each of these projects has asked as often as it may."""
        readers = [
            threading.Thread(
                target=self.read,
                args=(spell(f'{number}'), project),
                # On a busy machine an answer for an id can be late.
                kwargs={'timeout_s': 0.3, 'failures': 1000},
                daemon=True,
            )
            for number in range(16)
            for project in projects
        ]
        for one in readers:
            one.start()
        for one in readers:
            one.join(60)

    @ddt.data(
        lambda number: f'name-{number}',
        lambda number: f'odd/{uuid.uuid4()}',
        lambda number: str(uuid.uuid4()),
    )
    def test_two_projects_take_no_image_from_a_third(self, spell):
        self.hold_all(spell, 'a', 'b')
        images_case.settle(lambda: self.images.calls_under_way == 8)
        self.assertEqual(
            facts(self.shown),
            self.read(self.shown, 'c', failures=1000),
        )

    def test_one_project_takes_no_name_from_another(self):
        self.hold_all(lambda number: f'name-{number}', 'a')
        self.assertEqual(4, self.images.calls_under_way)
        threading.Timer(0.2, self.listed.set).start()
        self.assertEqual(facts('debian'), self.read('debian', 'c'))
