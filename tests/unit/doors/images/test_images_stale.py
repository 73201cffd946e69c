# SPDX-License-Identifier: Apache-2.0

"""What serves while Glance fails: the last answer, for a while."""

import uuid

import ddt

from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from tests.unit.doors.images import images_case
from tests.unit.doors.images.images_case import facts
from tests.unit.doors.images.images_case import IDENT
from tests.unit.doors.images.images_case import private
from tests.unit.doors.images.images_case import refused

DOWN = glance.ImageUnreadable('down')


@ddt.ddt
class StaleTestCase(images_case.ImagesTestCase):
    def setUp(self):
        super().setUp()
        self.known = self.read()
        self.now += 100
        self.glance.answers['us'] = DOWN

    def assert_stale(self, age_s, **reading):
        self.assertEqual(
            known_images.RememberedImage(facts=self.known, age_s=age_s),
            self.answer(**reading),
        )

    def test_an_answer_from_glance_has_no_age(self):
        self.glance.answers.clear()
        for _ in range(2):
            self.assert_stale(0.0)
            self.now += 1

    def test_it_serves_while_glance_fails(self):
        for age_s in (100.0, 101.0, 102.0):
            self.assert_stale(age_s)
            self.now += 1
        self.assertIs(self.known, self.read())

    @ddt.data(IDENT.upper(), f'https://glance/v2/images/{IDENT.title()}')
    def test_it_serves_however_the_id_is_spelled(self, ref):
        self.assert_stale(100.0, ref=ref)

    def test_an_id_takes_one_place_however_it_is_spelled(self):
        self.glance.answers['us'] = facts(IDENT)
        known = self.read(IDENT.upper())
        calls = len(self.glance.calls)
        for spelled in (IDENT, IDENT.upper(), IDENT.title()):
            self.assertIs(known, self.read(spelled))
        self.assertEqual(calls, len(self.glance.calls))

    def test_it_serves_while_the_breaker_is_open(self):
        for _ in range(3):
            self.read()
        calls = len(self.glance.calls)
        self.assert_stale(100.0)
        self.assertEqual(calls, len(self.glance.calls))

    def test_it_serves_while_glance_hangs(self):
        self.hold()
        self.assert_stale(100.0, timeout_s=0.1)

    def test_it_serves_while_no_call_is_free(self):
        self.hold()
        self.read(str(uuid.uuid4()), timeout_s=0.1)
        self.assert_stale(100.0, timeout_s=0.1, max_calls=1)
        self.assertEqual(2, len(self.glance.calls))

    def test_it_serves_for_its_time(self):
        self.now += 3499.5
        self.assert_stale(3599.5)
        self.now += 0.5
        self.assertIs(DOWN, self.read())

    def test_a_shorter_time_counts_at_once(self):
        self.assertIs(DOWN, self.read(stale_s=100.0))

    def test_a_time_of_0_switches_it_off(self):
        self.assertIs(DOWN, self.read(stale_s=0.0))

    def test_what_was_never_to_be_kept_is_not(self):
        self.glance.answers.clear()
        self.read(image_ttl_s=0.0, stale_s=0.0)
        self.glance.answers['us'] = DOWN
        self.assertIs(DOWN, self.read())

    def test_without_the_normal_memory_it_serves_all_the_same(self):
        self.glance.answers.clear()
        self.read(image_ttl_s=0.0)
        self.glance.answers['us'] = DOWN
        self.now += 1
        self.assert_stale(1.0, image_ttl_s=0.0)

    def test_it_is_not_remembered_as_an_answer_of_glance(self):
        self.assert_stale(100.0)
        self.assertIsNone(self.images.remembered(IDENT))
        new = self.glance.answers['us'] = facts(IDENT, 'public', 'new')
        self.assertEqual(
            known_images.RememberedImage(facts=new, age_s=0.0), self.answer()
        )

    def test_it_never_serves_after_a_refusal(self):
        self.glance.answers['us'] = refused()
        self.assertIsInstance(self.read(), glance.ImageRefused)
        self.glance.answers['us'] = DOWN
        self.assertIs(DOWN, self.read())

    def test_nor_after_a_late_one(self):
        self.glance.answers['us'] = refused()
        go = self.hold()
        self.read(timeout_s=0.1)
        go()
        self.glance.answers['us'] = refused()
        self.settle(
            lambda: isinstance(self.read(timeout_s=0.1), glance.ImageRefused)
        )
        self.glance.answers['us'] = DOWN
        self.assertIs(DOWN, self.read())

    def test_nor_for_a_refused_token_but_for_the_next_one(self):
        self.glance.answers['us'] = refused(is_lasting=False)
        self.assertIsInstance(self.read(), glance.ImageRefused)
        self.glance.answers['us'] = DOWN
        self.assert_stale(100.0)

    def test_nor_when_another_image_has_its_place(self):
        """The id is gone; an image of that name is not that of the id."""
        self.glance.answers['us'] = facts(str(uuid.uuid4()))
        self.read()
        self.glance.answers['us'] = DOWN
        self.now += 100
        self.assertIs(DOWN, self.read())

    def test_nor_when_it_was_closed_to_others(self):
        self.glance.answers['us'] = private(IDENT)
        self.read()
        self.glance.answers['them'] = DOWN
        self.assertIs(DOWN, self.read(project='them'))

    def test_nor_for_a_name(self):
        self.glance.answers.clear()
        self.glance.answers['debian'] = facts(IDENT)
        self.assertEqual(facts(IDENT), self.read('debian'))
        self.glance.answers['us'] = DOWN
        self.now += 100
        # The tenant chose the text: as if Glance refused.
        refusal = self.read('debian')
        self.assertIsInstance(refusal, glance.ImageRefused)
        self.assertFalse(refusal.is_answer)

    @ddt.data((facts, True), (private, False))
    @ddt.unpack
    def test_for_another_project_what_all_may_see(self, make, is_served):
        self.glance.answers.update(us=make(IDENT), them=DOWN)
        self.known = self.read()
        self.now += 100
        if is_served:
            self.assert_stale(100.0, project='them')
        else:
            self.assertIs(DOWN, self.read(project='them'))
        self.glance.answers['us'] = DOWN
        self.assert_stale(100.0)

    def test_an_error_of_ours_comes_out_as_it_is(self):
        self.glance.answers['us'] = ZeroDivisionError()
        self.assertRaises(ZeroDivisionError, self.read)
