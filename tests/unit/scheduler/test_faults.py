# SPDX-License-Identifier: Apache-2.0


"""Where new volumes land when something fails around a real scheduler.

What fails, fails for real: Glance answers nonsense, hangs or is gone, a table
of the database is away, Cinder's matching code raises. What each door
remembers of Glance is the business of tests/unit/doors.
"""

import concurrent.futures
import threading
import time

from cinder.volume import volume_types
import ddt
import testtools

from cinder_tiers.scheduler import filter as tier_filter
from tests.unit.scheduler import scheduler_case
from tests.worlds import cinder_fixture

OTHER_PROJECT = cinder_fixture.OTHER_PROJECT


class FaultsTestCase(scheduler_case.SchedulerTestCase):
    def setUp(self):
        super().setUp()
        self.apply_tiers()

    def assert_image_lands_on(self, backend, image_id, **request):
        self.assert_lands_on(
            backend, volume_type=self.follow, image_id=image_id, **request
        )

    def wait_for_glance(self):
        """Creates reach their tier again soon after Glance is back."""
        image = self.glance.add_image('database')
        for _ in range(50):
            volume = self.create_from(image)
            if volume.host == self.database:
                return
            time.sleep(0.1)
        self.fail(f'still on {volume.host}')

    def create_at_once(self, images):
        """Create a volume from each image, all at one time.

        :param images: ids
        :returns: [(host, seconds that it took)] in the same order
        """

        def create(image_id):
            started = time.monotonic()
            volume = self.create_from(image_id)
            return volume.host, time.monotonic() - started

        with concurrent.futures.ThreadPoolExecutor(len(images)) as threads:
            return list(threads.map(create, images))


@ddt.ddt
class GlanceTestCase(FaultsTestCase):
    @ddt.data(
        (403, 'INFO'),
        (404, 'INFO'),
        (401, 'ERROR'),
        (500, 'ERROR'),
        (503, 'ERROR'),
        ('<html>', 'ERROR'),
        ('', 'ERROR'),
        ('[]', 'ERROR'),
        ('"image"', 'ERROR'),
        ({}, 'ERROR'),
    )
    @ddt.unpack
    def test_without_an_image_the_fallback_tier_takes_it(self, answer, level):
        """What any tenant can cause is not an error of the cloud."""
        self.assert_image_lands_on(self.general, self.glance.answer(answer))
        (line,) = self.lines('tiers.decision')
        self.assertEqual(level, line.partition(' ')[0])
        record = self.record()
        self.assertEqual(
            ['error', 'fallback'],
            [reason['rule'] for reason in record['reasons']],
        )
        self.assertRegex(
            record['error'], 'Glance (answered|returned|call failed)'
        )
        # Cinder's client may log a traceback; ours would tell nothing new.
        self.assertNotIn('cinder_tiers', self.logged())

    @ddt.data(
        '<html>evil',
        '"evil"',
        '{"evil": "evil"',
        {
            'id': 'evil',
            'owner': ['evil'],
            'visibility': 'evil\r\nERROR',
            'tags': ['evil', 5],
        },
    )
    def test_nothing_of_what_glance_answers_is_logged(self, answer):
        self.assert_image_lands_on(self.general, self.glance.answer(answer))
        self.assertNotIn('evil', self.logged())
        self.assertNotIn('token-of-user', self.logged())

    @ddt.data(
        ({'on_error': 'pass'}, 'plain'),
        ({'on_error': 'fallback'}, 'general'),
        ({'scheduler_on_error': 'pass'}, 'plain'),
        ({'on_error': 'pass', 'scheduler_on_error': 'fallback'}, 'general'),
        ({'on_error': 'fail', 'scheduler_on_error': 'pass'}, 'plain'),
        ({'api_on_error': 'fail'}, 'general'),
    )
    @ddt.unpack
    def test_the_operator_chooses_for_all_doors_or_for_one(
        self, options, backend
    ):
        self.configure(**options)
        self.assert_image_lands_on(
            getattr(self, backend), self.glance.answer(500)
        )

    @ddt.data({'on_error': 'fail'}, {'scheduler_on_error': 'fail'})
    def test_with_fail_no_volume_is_created(self, options):
        self.configure(**options)
        self.assert_refused(
            volume_type=self.follow, image_id=self.glance.answer(500)
        )

    def test_a_request_that_needs_no_image_never_notices(self):
        self.configure(on_error='fail')
        self.glance.stop()
        self.assert_lands_on(self.general, volume_type=self.follow)
        self.assert_lands_on(
            self.database,
            volume_type=self.database_type,
            image_id=self.glance.add_image(),
        )
        self.assertEqual([], self.lines('ERROR'))

    def test_glance_is_down(self):
        self.glance.stop()
        self.assert_image_lands_on(
            self.general, self.glance.add_image('database')
        )

    def test_an_image_that_is_remembered_needs_no_glance(self):
        image = self.glance.add_image('database')
        self.assert_image_lands_on(self.database, image)
        self.glance.stop()
        self.assert_image_lands_on(self.database, image)

    @ddt.data(401, 403, 404)
    def test_a_refusal_is_not_remembered(self, status):
        """Or the retry of a create would be misplaced as well."""
        image = self.glance.add_image('database', visibility='public')
        found, self.glance.images[image] = self.glance.images[image], status
        self.assert_image_lands_on(self.general, image)
        self.glance.images[image] = found
        self.assert_image_lands_on(self.database, image)

    def test_the_last_known_answer_serves_while_glance_fails(self):
        self.configure(image_cache_seconds=0)
        image = self.glance.add_image('database')
        self.assert_image_lands_on(self.database, image)
        self.glance.stop()
        self.assert_image_lands_on(self.database, image)
        self.configure(image_stale_seconds=0)
        self.assert_image_lands_on(self.general, image)

    def test_the_circuit_breaker_opens_and_closes(self):
        self.configure(glance_failures=2, glance_retry_seconds=600)
        for _ in range(4):
            self.assert_image_lands_on(self.general, self.glance.answer(503))
        self.assertEqual(2, len(self.glance.requests))
        self.assertIn(
            'failed at least 2 times in a row', self.records()[-1]['error']
        )
        # Glance is back, which nobody knows.
        image = self.glance.add_image('database')
        self.assert_image_lands_on(self.general, image)
        self.assertEqual(2, len(self.glance.requests))
        self.configure(glance_retry_seconds=0.1)
        self.wait_for_glance()
        self.configure(glance_retry_seconds=600)
        self.assert_image_lands_on(
            self.database, self.glance.add_image('database')
        )


class HangingGlanceTestCase(FaultsTestCase):
    """No create waits longer than allowed."""

    def setUp(self):
        super().setUp()
        self.configure(
            glance_timeout=0.3, glance_max_calls=2, glance_retry_seconds=0.5
        )
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def assert_bounded(self, found):
        self.assertEqual({self.general}, {host for host, _ in found})
        # What Cinder takes besides depends on the machine.
        self.assertThat(
            max(seconds for _, seconds in found),
            testtools.matchers.LessThan(30),
        )
        self.assertThat(
            max(record['seconds'] for record in self.records()),
            testtools.matchers.LessThan(30),
        )

    def errors(self, text):
        return len(
            [record for record in self.records() if text in record['error']]
        )

    def test_one_create_after_another(self):
        image = self.glance.answer(self.released)
        self.assert_bounded(
            [found for _ in range(3) for found in self.create_at_once([image])]
        )
        # One project has half of the calls.
        self.assertEqual(1, self.errors('did not answer within 0.3 s'))
        self.assertEqual(2, self.errors('at most 2 are allowed'))
        self.assertEqual(1, len(self.glance.requests))
        self.released.set()
        self.wait_for_glance()

    def test_many_at_once(self):
        image = self.glance.answer(self.released)
        self.assert_bounded(
            self.create_at_once(
                [image] * 8
                + [self.glance.answer(self.released) for _ in range(8)]
            )
        )
        self.assertThat(
            len(self.glance.requests), testtools.matchers.LessThan(3)
        )
        self.released.set()
        self.wait_for_glance()


class ManyAtOnceTestCase(FaultsTestCase):
    def test_they_land_where_they_should_with_one_call_for_an_image(self):
        # The machine may be slow.
        self.configure(glance_timeout=60)
        images = [self.glance.add_image('database'), self.glance.add_image()]
        found = self.create_at_once(images * 8)
        self.assertEqual(
            [self.database, self.general] * 8, [host for host, _ in found]
        )
        self.assertEqual(2, len(self.glance.requests))
        self.assertEqual(16, len(self.records()))


class DatabaseTestCase(FaultsTestCase):
    """Cinder's database lacks a table that only the doors read here."""

    def take_away(self):
        self.execute('ALTER TABLE encryption RENAME TO away')

    def bring_back(self):
        self.execute('ALTER TABLE away RENAME TO encryption')

    def test_before_the_tiers_were_ever_read_a_volume_is_refused(self):
        """Which backends are those of private tiers is not known either."""
        self.take_away()
        image = self.glance.add_image('database')
        for choice in ('fallback', 'pass', 'fail'):
            self.configure(on_error=choice)
            self.assert_refused(volume_type=self.follow, image_id=image)
        for record in self.records():
            self.assertIn('Error', record['error'])
            self.assertEqual('refused', record['verdict'])
        self.bring_back()
        self.assert_image_lands_on(self.database, image)

    def test_the_tiers_that_were_read_serve_on(self):
        image = self.glance.add_image('database')
        self.assert_image_lands_on(self.database, image)
        self.take_away()
        self.configure(on_error='fail')
        self.assert_image_lands_on(self.database, image)
        (line,) = self.lines('could not be read')
        self.assertRegex(line, '^WARNING .*request req-[0-9a-f-]+')
        self.bring_back()
        volume_types.destroy(self.cinder.admin, self.database_type)
        self.assert_image_lands_on(self.general, image)

    def test_an_explicit_type_never_notices(self):
        self.take_away()
        self.configure(on_error='fail')
        self.assert_lands_on(self.database, volume_type=self.database_type)
        self.assertEqual([], self.lines('ERROR'))

    def test_unless_it_asks_nothing_of_a_backend(self):
        any_type = self.cinder.add_type('any')
        self.take_away()
        self.assert_refused(volume_type=any_type)
        self.bring_back()
        self.assert_lands_on(self.plain, volume_type=any_type)


@ddt.ddt
class OurCodeTestCase(FaultsTestCase):
    @ddt.data('fallback', 'pass')
    def test_specs_that_cinder_cannot_match_leave_it_to_cinder(self, choice):
        """Among the backends that the project may use."""
        self.configure(on_error=choice)
        self.add_premium(OTHER_PROJECT)
        self.add_odd_tier()
        self.assert_image_lands_on(self.plain, self.glance.add_image('odd'))
        (line,) = self.lines('ERROR TierFilter failed')
        self.assertRegex(
            line,
            r'\(request req-[0-9a-f-]+\); 3 of 4 backends '
            r'are left\.$',
        )
        self.assertIn('IndexError', self.log.output)
        self.assert_image_lands_on(
            self.premium,
            self.glance.add_image('odd', visibility='public'),
            project=OTHER_PROJECT,
        )

    def test_unless_on_error_is_fail(self):
        self.configure(on_error='pass', scheduler_on_error='fail')
        self.add_odd_tier()
        self.assert_refused(
            volume_type=self.follow, image_id=self.glance.add_image('odd')
        )

    def write_wrong(self, option):
        """oslo.config says so only when the option is used."""
        self.cinder.conf.conf.clear_override(option, group='cinder_tiers')
        self.cinder.conf.load_raw_values(
            group='cinder_tiers', **{option: 'wrong'}
        )

    @ddt.data(
        'on_error',
        'scheduler_on_error',
        'trust_tags_of',
        'glance_timeout',
        'notify',
    )
    def test_a_value_in_cinder_conf_that_cannot_be_read(self, option):
        self.write_wrong(option)
        self.add_odd_tier()
        for answer in (self.glance.add_image('odd'), self.glance.answer(500)):
            volume = self.create_from(answer)
            self.assertEqual('creating', volume.status)

    @ddt.data('image_cache_size', 'applied_cache_seconds')
    def test_one_without_which_the_tiers_cannot_be_read(self, option):
        self.write_wrong(option)
        self.assert_refused(volume_type=self.follow)
        self.assertIn('ConfigFileValueError', self.log.output)
        self.assert_lands_on(self.database, volume_type=self.database_type)

    def test_requests_in_a_form_that_cinder_does_not_have(self):
        """Who asks for what is not known, nor what a project may use."""
        context = self.cinder.user()
        follow = {'extra_specs': {'tiers:follow_image': '<is> True'}}
        for properties in (
            {},
            {'context': None},
            {'context': 'admin'},
            {'context': context, 'resource_type': 'image-tier'},
            {'context': context, 'resource_type': {'extra_specs': 5}},
            {
                'context': context,
                'resource_type': follow,
                'request_spec': 'spec',
            },
            {
                'context': context,
                'resource_type': follow,
                'request_spec': {
                    'volume_id': 5,
                    'image_id': 5,
                    'volume_properties': 'none',
                },
            },
        ):
            for choice in ('fallback', 'pass', 'fail'):
                self.configure(on_error=choice)
                self.assertEqual(
                    [],
                    tier_filter.TierFilter().filter_all(
                        ['backend'], properties
                    ),
                    properties,
                )
