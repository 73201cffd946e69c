# SPDX-License-Identifier: Apache-2.0

"""Images as a Glance answers them over HTTP, whatever it answers."""

import json
import threading
import urllib.parse

import ddt
import fixtures
from oslo_context import context as oslo_context
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.images import glance
from tests.worlds import cinder_fixture

PROJECT = cinder_fixture.PROJECT
HOSTILE = 'x\r\n\x1b[2J"<>&=#?/\u202e\U0001f600\x00'
IDENT = 'c0ffee00-0000-4000-8000-000000000000'
BOOT = {'source_type': 'snapshot', 'boot_index': 0, 'snapshot_id': IDENT}


class GlanceTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.glance = self.cinder.glance
        self.user = self.cinder.user()

    def fetch(self, ref):
        return glance.fetch_image(self.user, ref)

    def fetch_with(self, **properties):
        return self.fetch(self.glance.add_image('db', **properties))

    def assert_refused(self, ref, is_lasting, *, is_final=True):
        error = self.assertRaises(glance.ImageRefused, self.fetch, ref)
        self.assertEqual(
            (is_lasting, is_final, is_final),
            (error.is_lasting, error.is_final, error.caused_by_client),
        )
        return error

    def assert_unreadable(self, ref):
        """Glance failed: it did not refuse the image."""
        error = self.assertRaises(glance.ImageUnreadable, self.fetch, ref)
        self.assertNotIsInstance(error, glance.ImageRefused)
        self.assertFalse(error.caused_by_client)
        return error


@ddt.ddt
class ByIdTestCase(GlanceTestCase):
    def test_an_image_in_the_words_of_placement(self):
        ident = self.glance.add_image(
            'db', HOSTILE, owner='o', visibility='public'
        )
        self.assertEqual(
            glance.ImageFacts(
                image_id=ident,
                image=decision.Image(
                    owner='o',
                    visibility='public',
                    tags=frozenset({'db', HOSTILE}),
                ),
                volume_type=None,
                boot_snapshot=False,
            ),
            self.fetch(ident),
        )

    def test_one_request_with_the_token_of_the_user(self):
        ident = self.glance.add_image()
        self.fetch(ident)
        self.assertEqual(
            [(f'/v2/images/{ident}', 'token-of-user')], self.glance.requests
        )

    @ddt.data('keystone', 'noauth')
    def test_glance_can_tell_our_calls_from_those_of_cinder(self, strategy):
        self.cinder.conf.config(auth_strategy=strategy)
        self.fetch(self.glance.add_image())
        self.assertEqual(['cinder-tiers'], self.glance.agents)

    def test_what_glance_logs_has_the_request_id(self):
        """A thread of its own, as that of a call, knows no request."""
        seen = []

        def call():
            self.fetch(self.glance.add_image())
            seen.append(oslo_context.get_current().request_id)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join(60)
        self.assertEqual([self.user.request_id], seen)

    @ddt.data('http://host:9292/v2/images/', '/', 'images/', '//')
    def test_a_url_that_ends_in_an_id(self, start):
        ident = self.glance.add_image()
        self.assertEqual(ident, self.fetch(start + ident).image_id)

    def test_an_image_that_nobody_owns(self):
        self.assertIsNone(self.fetch_with(owner=None).image.owner)

    @ddt.data((400, False), (403, True), (404, True), (413, False))
    @ddt.unpack
    def test_a_refusal(self, status, is_lasting):
        """Also what a user can provoke: it must open no circuit breaker."""
        self.assert_refused(self.glance.answer(status), is_lasting)

    def test_an_expired_token_is_not_what_cinder_is_refused_for(self):
        """Nor is the request wrong: Cinder may renew it."""
        self.assert_refused(
            self.glance.answer(401), is_lasting=False, is_final=False
        )

    @ddt.data(429, 500, 502, 503)
    def test_a_failure(self, status):
        """429 has no name in glanceclient; it says "slow down" anyway."""
        self.assert_unreadable(self.glance.answer(status))

    def test_no_glance_at_all(self):
        ident = self.glance.add_image()
        self.glance.stop()
        error = self.assert_unreadable(ident)
        self.assertEqual(
            'Glance call failed: GlanceConnectionFailed', str(error)
        )

    @ddt.data(
        '',
        'garbage',
        '<html>',
        '[]',
        'null',
        '1',
        '"text"',
        '{}',
        '{"images": []}',
        '[' * 100000,
    )
    def test_garbage(self, body):
        self.assert_unreadable(self.glance.answer(body))

    @ddt.data(
        ('id', None),
        ('id', 7),
        ('id', []),
        ('id', {}),
        ('id', HOSTILE),
        ('owner', 7),
        ('owner', []),
        ('visibility', None),
        ('visibility', HOSTILE),
        ('visibility', []),
        ('visibility', {}),
        ('tags', None),
        ('tags', 'db'),
        ('tags', {'db': 1}),
        ('tags', ['db', 1]),
        ('tags', [['db']]),
        ('tags', [None]),
    )
    @ddt.unpack
    def test_a_hostile_value(self, key, value):
        ident = self.glance.add_image()
        self.glance.images[ident][key] = value
        error = self.assert_unreadable(ident)
        self.assertEqual(
            f'the image that Glance returned has no usable {key}', str(error)
        )

    def test_values_of_other_types_that_nobody_reads(self):
        self.assertEqual(
            frozenset({'db'}),
            self.fetch_with(
                name=[], size='big', status=None, other={}
            ).image.tags,
        )

    def test_as_many_tags_as_glance_accepts(self):
        tags = [f'{number}'.ljust(255, '\ud800') for number in range(128)]
        ident = self.glance.add_image(*tags)
        self.assertEqual(frozenset(tags), self.fetch(ident).image.tags)

    def test_a_tag_that_no_tier_can_have(self):
        ident = self.glance.add_image('db', 'a' * 256)
        self.assertEqual(frozenset({'db'}), self.fetch(ident).image.tags)

    @ddt.data(
        (IDENT, IDENT),
        (IDENT.upper(), IDENT.upper()),
        (f'{{{IDENT}}}', None),
        ('-' * 60000 + IDENT, None),
        (f'{IDENT} ', None),
        ('\ud800', None),
        (HOSTILE, None),
        ('', None),
        (7, None),
        ([IDENT], None),
        (None, None),
    )
    @ddt.unpack
    def test_the_snapshot_that_an_image_names(self, value, expected):
        found = self.fetch_with(
            block_device_mapping=json.dumps([{**BOOT, 'snapshot_id': value}])
        )
        self.assertEqual(
            (True, expected), (found.boot_snapshot, found.boot_snapshot_id)
        )

    @ddt.data(
        ('ssd', 'ssd'),
        ('', ''),
        (None, None),
        (7, None),
        ([], None),
        (HOSTILE, HOSTILE),
        ('a' * 255, 'a' * 255),
        # One that no type can have is still one, and refused by Cinder.
        ('a' * 65000, 'a' * 256),
    )
    @ddt.unpack
    def test_the_type_that_an_image_names(self, value, expected):
        self.assertEqual(
            expected, self.fetch_with(cinder_img_volume_type=value).volume_type
        )

    @ddt.data(
        [BOOT],
        json.dumps([BOOT]),
        json.dumps([{'source_type': 'blank'}, BOOT]),
        json.dumps([{**BOOT, 'boot_index': False}]),
        json.dumps([{**BOOT, 'boot_index': -0.0}]),
    )
    def test_an_image_that_stands_for_a_snapshot(self, mapping):
        self.assertTrue(
            self.fetch_with(block_device_mapping=mapping).boot_snapshot
        )

    @ddt.data(
        '[]',
        '{}',
        'null',
        '7',
        '[7]',
        '[null]',
        '[[]]',
        7,
        None,
        BOOT,
        [{**BOOT, 'boot_index': 1}],
        [{**BOOT, 'boot_index': '0'}],
        [{**BOOT, 'source_type': 'image'}],
        [{'boot_index': 0}],
    )
    def test_an_image_that_does_not(self, mapping):
        self.assertFalse(
            self.fetch_with(block_device_mapping=mapping).boot_snapshot
        )

    @ddt.data('', 'garbage', '[' * 100000, '9' * 100000)
    def test_an_image_that_cinder_cannot_read(self, text):
        """It is the tenant's text, and no failure of Glance."""
        for name in ('block_device_mapping', 'mappings'):
            self.assert_refused(
                self.glance.add_image(**{name: text}), is_lasting=True
            )

    @ddt.data(('c0ffee', True), (7, True), ('', False), (None, False))
    @ddt.unpack
    def test_an_image_that_brings_a_key(self, key_id, expected):
        self.assertIs(
            expected,
            self.fetch_with(cinder_encryption_key_id=key_id).image.brings_key,
        )

    def test_no_text_of_an_image_is_logged(self):
        ident = self.glance.add_image(HOSTILE, 'tag-of-the-image')
        self.glance.images[ident]['visibility'] = 'tag-of-the-image'
        error = self.assert_unreadable(ident)
        self.assertNotIn('tag-of-the-image', str(error) + self.log.output)


@ddt.ddt
class ByNameTestCase(GlanceTestCase):
    @ddt.data(
        'debian',
        'debian 12/x86&name=other',
        'in:a,b',
        '%00',
        HOSTILE,
        '#?;=',
        'x' * 255,
    )
    def test_exactly_one_image_of_the_name(self, name):
        self.glance.add_image('other', name='other')
        ident = self.glance.add_image('db', name=name)
        self.assertEqual(ident, self.fetch(name).image_id)
        ((path, token),) = self.glance.requests
        url = urllib.parse.urlsplit(path)
        self.assertEqual(
            ('/v2/images', {'name': [name], 'limit': ['2']}, 'token-of-user'),
            (url.path, urllib.parse.parse_qs(url.query), token),
        )
        self.assertEqual(['cinder-tiers'], self.glance.agents)

    def test_the_rest_of_a_url_is_part_of_a_name(self):
        """As for cinder-api, unless it ends in an id."""
        ident = self.glance.add_image(name='http://host/debian')
        self.assertEqual(ident, self.fetch('http://host/debian').image_id)

    def test_none_or_several_images_of_the_name(self):
        """A refusal, but another image may soon have the name."""
        self.assert_refused('debian', is_lasting=False)
        for _ in range(2):
            self.glance.add_image(name='debian')
        self.assert_refused('debian', is_lasting=False)

    @ddt.data(
        {},
        [],
        'null',
        'garbage',
        {'images': None},
        {'images': {}},
        {'images': 'text'},
    )
    def test_garbage_is_no_image(self, listing):
        self.glance.listing = listing
        self.assertRaises(glance.ImageUnreadable, self.fetch, 'debian')

    def test_garbage_for_an_image(self):
        self.glance.listing = {'images': [7]}
        self.assert_unreadable('debian')

    @ddt.data(400, 403, 404)
    def test_a_refusal(self, status):
        self.glance.listing = status
        self.assertRaises(glance.ImageRefused, self.fetch, 'debian')

    def test_a_failure(self):
        self.glance.listing = 500
        self.assert_unreadable('debian')

    def test_a_name_that_is_no_text(self):
        """JSON can hold what no URL can: Glance is not to blame."""
        self.assertFalse(
            self.assert_refused('\ud800', is_lasting=False).is_answer
        )
        self.assertEqual([], self.glance.requests)


@ddt.ddt
class NamedLikeAnIdTestCase(GlanceTestCase):
    @ddt.data(400, 401, 403, 404, 413)
    def test_what_is_not_shown_by_its_id_is_a_name(self, status):
        ident = self.glance.answer(status)
        image = self.glance.add_image('db', name=ident)
        self.assertEqual(image, self.fetch(ident).image_id)
        self.assertEqual(2, len(self.glance.requests))

    def test_the_name_is_the_whole_of_the_reference(self):
        self.glance.add_image('db', name=IDENT)
        image = self.glance.add_image('db', name=f'a/{IDENT}')
        self.assertEqual(image, self.fetch(f'a/{IDENT}').image_id)

    def test_without_a_search_the_id_is_refused(self):
        def refuse():
            raise glance.ImageUnreadable('no call was free')

        self.glance.add_image('db', name=f'a/{IDENT}')
        error = self.assertRaises(
            glance.ImageRefused,
            glance.fetch_image,
            self.user,
            f'a/{IDENT}',
            refuse,
        )
        self.assertEqual('Glance answered 404', str(error))
        self.assertEqual(1, len(self.glance.requests))

    def test_an_id_goes_before_a_name(self):
        image = self.glance.add_image('db')
        self.glance.add_image('db', name=image)
        self.assertEqual(image, self.fetch(image).image_id)
        self.assertEqual(1, len(self.glance.requests))

    def test_an_id_that_glance_fails_to_show_is_no_name(self):
        ident = self.glance.answer(500)
        self.glance.add_image('db', name=ident)
        self.assert_unreadable(ident)

    @ddt.data(500, 404, {'images': None})
    def test_without_such_a_name_the_id_is_refused(self, listing):
        """No failure of Glance: the odd name is the tenant's."""
        self.glance.listing = listing
        error = self.assert_refused(f'\u202e/{IDENT}', is_lasting=True)
        self.assertEqual('Glance answered 404', str(error))


@ddt.ddt
class PlainRefTestCase(testtools.TestCase):
    @ddt.data(
        (IDENT, IDENT, True),
        (IDENT.upper(), IDENT.upper(), True),
        (f'http://host/v2/images/{IDENT}', IDENT, True),
        (f'{IDENT}/x', f'{IDENT}/x', False),
        ('debian/12', 'debian/12', False),
        ('debian', 'debian', False),
        ('/', '/', False),
        ('', '', False),
        (HOSTILE, HOSTILE, False),
    )
    @ddt.unpack
    def test_what_a_reference_says(self, ref, plain, is_id):
        self.assertEqual((plain, is_id), glance.plain_ref(ref))
