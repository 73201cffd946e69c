# SPDX-License-Identifier: Apache-2.0

"""Tags that members write."""

import ddt
from django import test as django_test

from cinder_tiers.domain import tags
from tests.horizon import case
from tests.horizon import cloud


def path(image_id):
    return f'{case.MEMBER}images/{image_id}/tags/'


@ddt.ddt
class TaggingTestCase(case.HorizonTestCase):
    def setUp(self):
        super().setUp()
        self.cloud.namespace = ['archive', 'database', 'a/b c\u00e9']
        self.image_id = self.cloud.add_image(
            7, 'debian', ['Database', 'linux']
        )

    def tags_now(self):
        return sorted(self.cloud.images[self.image_id]['tags'])

    def post(self, *tags, follow=True):
        """Send the form, as a browser does that has just loaded it."""
        page = self.read(path(self.image_id))
        shown = [
            attributes['value']
            for tag, attributes in page.elements
            if tag == 'input' and attributes.get('name') == 'shown'
        ]
        return self.send(shown, *tags, follow=follow)

    def send(self, shown, *tags, follow=True):
        return self.client.post(
            path(self.image_id),
            {'tags': tags, 'shown': shown},
            follow=follow,
        )

    def test_the_form_shows_the_tags_that_the_image_has(self):
        page = self.read(path(self.image_id))
        self.assert_inert(page)
        self.assertEqual(
            {'archive': False, 'a/b c\u00e9': False, 'database': True},
            {
                attributes['value']: 'checked' in attributes
                for tag, attributes in page.elements
                if tag == 'input' and attributes['type'] == 'checkbox'
            },
        )

    @ddt.data(
        (['database'], ['Database', 'linux']),
        (['archive'], ['archive', 'linux']),
        (['archive', 'database'], ['Database', 'archive', 'linux']),
        (['a/b c\u00e9'], ['a/b c\u00e9', 'linux']),
        ([], ['linux']),
    )
    @ddt.unpack
    def test_only_tags_of_tiers_change(self, chosen, expected):
        answer = self.post(*chosen)
        self.assertEqual(expected, self.tags_now())
        self.assertIn('Tagged image debian.', answer.content.decode())

    def test_what_others_tag_while_the_form_is_open_stays(self):
        self.cloud.images[self.image_id]['tags'] = ['archive', 'linux']
        self.send(['database'], 'database', 'a/b c\u00e9')
        self.assertEqual(['a/b c\u00e9', 'archive', 'linux'], self.tags_now())

    def test_a_tag_that_is_no_choice_is_refused(self):
        answer = self.post('archive', 'secret', follow=False)
        self.assertEqual(200, answer.status_code)
        self.assertEqual(['Database', 'linux'], self.tags_now())

    def test_the_image_of_another_project_is_not_found(self):
        other = self.cloud.add_image(8, 'theirs', [], owner=cloud.OTHER)
        for ident in (other, cloud.ident(9)):
            self.get(path(ident), status=404)
            answer = self.client.post(path(ident), {'tags': ['archive']})
            self.assertEqual(404, answer.status_code)
        self.assertEqual([], self.cloud.images[other]['tags'])

    def test_what_glance_refuses_is_told(self):
        self.cloud.refused = {cloud.NAMESPACE: 403}
        page = self.read(path(self.image_id))
        self.assertIn('get_metadef_namespace', '\n'.join(page.texts))
        self.post('archive')
        self.assertEqual(['Database', 'linux'], self.tags_now())

    def test_without_published_tags_the_administrator_is_named(self):
        self.cloud.namespace = None
        page = self.read(path(self.image_id))
        self.assertIn('not published', '\n'.join(page.texts))
        self.post('archive')
        self.assertEqual(['Database', 'linux'], self.tags_now())

    def test_a_request_that_another_site_made_is_refused(self):
        client = django_test.Client(enforce_csrf_checks=True)
        client.cookies = self.client.cookies
        answer = client.post(path(self.image_id), {'tags': ['archive']})
        self.assertEqual(['Database', 'linux'], self.tags_now())
        self.assertNotEqual(200, answer.status_code)

    def test_hostile_names_are_text(self):
        self.cloud.images[self.image_id]['name'] = case.HOSTILE
        self.cloud.namespace = [case.HOSTILE]
        self.assert_inert(self.read(path(self.image_id)))
        answer = self.post(tags.normalize_tag(case.HOSTILE)).content.decode()
        self.assertIn('Tagged image', answer)
        for each in (
            '{$ constructor',
            '<script>document',
            '<img src=x',
            '\x1b',
        ):
            self.assertNotIn(each, answer)
