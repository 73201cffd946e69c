# SPDX-License-Identifier: Apache-2.0

"""How often Glance is asked for images, and what is remembered."""

import uuid

from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from tests.unit.doors.images import images_case
from tests.unit.doors.images.images_case import facts
from tests.unit.doors.images.images_case import IDENT
from tests.unit.doors.images.images_case import private
from tests.unit.doors.images.images_case import refused


class CacheTestCase(images_case.ImagesTestCase):
    def test_one_call_when_cold_and_none_when_warm(self):
        self.assert_reads(1)
        for _ in range(5):
            self.assert_reads(1)

    def test_one_call_for_32_at_once(self):
        go = self.hold()
        land = self.board(32)
        self.wait_for_call()
        go()
        self.assertEqual([facts(IDENT)] * 32, land())
        self.assertEqual(1, len(self.glance.calls))

    def test_an_image_is_remembered_for_its_time(self):
        self.assert_reads(1)
        self.now += 29.999
        self.assert_reads(1)
        self.now += 0.001
        self.assert_reads(2)

    def test_a_time_of_0_asks_for_each(self):
        for calls in (1, 2, 3):
            self.assert_reads(calls, image_ttl_s=0.0)

    def test_with_a_time_of_0_those_at_once_still_share_a_call(self):
        go = self.hold()
        land = self.board(32, image_ttl_s=0.0)
        go()
        self.assertEqual([facts(IDENT)] * 32, land())
        self.assertEqual(1, len(self.glance.calls))

    def test_an_id_is_the_same_to_all_projects_and_in_a_url(self):
        self.assert_reads(1)
        self.assert_reads(1, project='them')
        self.assert_reads(1, ref=f'http://host/images/{IDENT}')

    def test_nor_is_a_private_one_remembered_by_its_spelling(self):
        self.glance.answers['us'] = private(IDENT)
        for number in range(200):
            self.assert_reads(1, ref=f'{number}/{IDENT}')
        self.assert_reads(1)

    def test_what_has_a_name_like_an_id_has_no_other_name(self):
        named, other = facts(str(uuid.uuid4())), facts(str(uuid.uuid4()))
        self.glance.answers.update(
            {IDENT: named, f'1/{IDENT}': other, f'2/{IDENT}': private(IDENT)}
        )
        for _ in range(2):
            self.assertEqual(named, self.assert_reads(1))
        for _ in range(2):
            self.assertEqual(other, self.assert_reads(2, ref=f'1/{IDENT}'))
        # The image of the id appears, which goes before a name.
        self.assert_reads(3, ref=f'2/{IDENT}')
        self.assertEqual(private(IDENT), self.assert_reads(3))

    def test_a_private_image_is_that_of_the_project_that_sees_it(self):
        """Another project may have an image of that name."""
        self.glance.answers['us'] = private(IDENT)
        theirs = self.glance.answers['them'] = facts(str(uuid.uuid4()))
        self.assert_reads(1)
        self.assertIsNone(self.images.remembered(IDENT))
        self.assertIsNone(self.images.remembered(IDENT, 'them'))
        self.assertEqual(theirs, self.assert_reads(2, project='them'))
        self.assertEqual(private(IDENT), self.assert_reads(2))
        self.assertEqual(private(IDENT), self.images.remembered(IDENT, 'us'))

    def test_nor_do_those_who_wait_at_that_time_get_it(self):
        self.glance.answers['us'] = private(IDENT)
        go = self.hold()
        ours = self.board(4)
        self.wait_for_call()
        theirs = self.board(4, project='them')
        go()
        self.assertEqual(
            ([private(IDENT)] * 4, [facts(IDENT)] * 4), (ours(), theirs())
        )
        self.assertEqual([('us', IDENT), ('them', IDENT)], self.glance.calls)

    def test_an_image_named_like_an_id_is_that_of_the_project(self):
        other = str(uuid.uuid4())
        self.glance.answers['us'] = facts(other)
        for _ in range(2):
            self.assertEqual(facts(other), self.assert_reads(1))
        self.assertIsNone(self.images.remembered(IDENT))
        self.assertEqual(facts(IDENT), self.assert_reads(2, project='them'))

    def test_an_image_named_like_a_url_is_not_one_named_like_its_id(self):
        """The name is the whole of the reference."""
        url, first, second = f'a/{IDENT}', str(uuid.uuid4()), str(uuid.uuid4())
        self.glance.answers.update({url: facts(first), IDENT: facts(second)})
        go = self.hold()
        landed = [self.board(4, ref=url), self.board(4, ref=IDENT)]
        self.wait_for_call()
        go()
        self.assertEqual(
            [[facts(first)] * 4, [facts(second)] * 4],
            [land() for land in landed],
        )
        for _ in range(2):
            self.assertEqual(facts(first), self.assert_reads(2, ref=url))
            self.assertEqual(facts(second), self.assert_reads(2))

    def test_what_is_the_same_again_is_the_same_object(self):
        """The doors remember by it."""
        first = self.assert_reads(1)
        self.now += 30
        self.assertIs(first, self.assert_reads(2))
        self.assertIs(first, self.images.remembered(IDENT))
        self.glance.answers[IDENT] = facts(IDENT, 'public', 'new')
        self.now += 30
        self.assertEqual({'new'}, self.assert_reads(3).image.tags)

    def test_a_name_is_what_the_project_sees(self):
        mine = self.glance.answers['us'] = facts(str(uuid.uuid4()))
        theirs = self.glance.answers['them'] = facts(str(uuid.uuid4()))
        for _ in range(2):
            self.assertEqual(
                mine,
                self.assert_reads(len(self.glance.calls) or 1, ref='debian'),
            )
        self.assertEqual(
            theirs, self.assert_reads(2, ref='debian', project='them')
        )
        self.assertEqual(mine, self.assert_reads(2, ref='debian'))

    def test_no_name_stands_for_an_id(self):
        self.glance.answers['debian'] = facts(IDENT)
        self.assert_reads(1, ref='debian')
        self.assertIsNone(self.images.remembered('debian'))
        self.assertIsNone(self.images.remembered(IDENT))
        self.assert_reads(2)

    def test_what_is_remembered_by_id_can_be_had_alone(self):
        self.assertIsNone(self.images.remembered(IDENT))
        self.assert_reads(1)
        self.assertEqual(facts(IDENT), self.images.remembered(IDENT))
        self.now += 30
        self.assertIsNone(self.images.remembered(IDENT))
        self.assertEqual(1, len(self.glance.calls))

    def test_no_more_images_are_remembered_than_allowed(self):
        self.images = known_images.Images(size=3, fetch=self.glance)
        refs = [str(uuid.uuid4()) for _ in range(10)]
        for ref in refs:
            self.read(ref)
        self.assertEqual(
            3, sum(self.images.remembered(ref) is not None for ref in refs)
        )

    def test_nor_for_the_case_that_glance_fails(self):
        self.images = known_images.Images(
            size=3, fetch=self.glance, clock=lambda: self.now
        )
        refs = [str(uuid.uuid4()) for _ in range(10)]
        for ref in refs:
            self.read(ref)
        self.now += 30
        self.glance.answers['us'] = glance.ImageUnreadable('down')
        self.assertEqual(
            3,
            sum(isinstance(self.read(ref), glance.ImageFacts) for ref in refs),
        )

    def test_an_error_is_not_remembered(self):
        self.glance.answers[IDENT] = glance.ImageUnreadable('down')
        self.assert_fails(1)
        self.glance.answers.clear()
        self.assert_reads(2)

    def test_an_error_of_ours_comes_out_as_it_is(self):
        self.glance.answers[IDENT] = ZeroDivisionError()
        self.assertRaises(ZeroDivisionError, self.read)
        self.glance.answers.clear()
        self.assert_reads(2)


class RefusalTestCase(images_case.ImagesTestCase):
    def setUp(self):
        super().setUp()
        self.glance.answers['them'] = refused()

    def test_it_is_not_remembered(self):
        """The next try may be after the image was shared or created."""
        for calls in (1, 2, 3):
            error = self.assert_fails(calls, project='them')
            self.assertIsInstance(error, glance.ImageRefused)
            self.assertTrue(error.caused_by_client)
        self.glance.answers.clear()
        self.assert_reads(4, project='them')

    def test_it_is_that_of_one_project(self):
        self.assert_fails(1, project='them')
        self.assert_reads(2)

    def test_those_of_the_project_at_that_time_share_it(self):
        go = self.hold()
        land = self.board(32, project='them')
        self.wait_for_call()
        go()
        for error in land():
            self.assertIsInstance(error, glance.ImageRefused)
        self.assertEqual(1, len(self.glance.calls))

    def test_it_does_not_reach_another_project_at_that_time(self):
        go = self.hold()
        theirs = self.board(4, project='them')
        self.wait_for_call()
        ours = self.board(8)
        go()
        self.assertEqual([facts(IDENT)] * 8, ours())
        for error in theirs():
            self.assertIsInstance(error, glance.ImageRefused)
        self.assertEqual([('them', IDENT), ('us', IDENT)], self.glance.calls)

    def test_an_expired_token_does_not_reach_another_of_the_project(self):
        expired = images_case.user()
        self.glance.answers[expired] = refused(is_lasting=False)
        go = self.hold()
        theirs = self.board(1, who=expired)
        self.wait_for_call()
        ours = self.board(8)
        go()
        self.assertEqual([facts(IDENT)] * 8, ours())
        self.assertIsInstance(theirs()[0], glance.ImageRefused)
        self.assertEqual(2, len(self.glance.calls))
