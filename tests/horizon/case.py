# SPDX-License-Identifier: Apache-2.0

"""Tests that are logged in to Horizon, of which nothing is replaced."""

import html.parser
import os
import warnings

os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'tests.horizon.settings')

import django  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    django.setup()

from django import test as django_test  # noqa: E402
from django.test import utils  # noqa: E402
import testtools  # noqa: E402

from tests.horizon import cloud  # noqa: E402

MEMBER = '/project/storage_tiers/'
ADMIN = '/admin/storage_tiers/'
#: What would run in a browser, were it not shown as text; the second by
#: AngularJS, which Horizon lets look at the whole page.
HOSTILE = (
    '"><script>document.title="run"</script><img src=x onerror=alert(1)>'
    '{$ constructor.constructor("alert(1)")() $}\x1b[2J\u202e'
)


class _Page(html.parser.HTMLParser):
    """The texts and elements of the main part of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if data.strip():
            self.texts.append(' '.join(data.split()))


class HorizonTestCase(testtools.TestCase):
    """Logged in as a user of `self.cloud`."""

    roles = ('member', 'reader')

    def setUp(self):
        super().setUp()
        self.cloud = cloud.serve(self, roles=self.roles)
        settings = utils.override_settings(
            OPENSTACK_KEYSTONE_URL=f'{self.cloud.url}/v3'
        )
        settings.enable()
        self.addCleanup(settings.disable)
        self.client = self.log_in(django_test.Client())

    def log_in(self, client):
        answer = client.post(
            '/auth/login/',
            {'username': 'u', 'password': 'secret', 'region': 'default'},
        )
        self.assertEqual(302, answer.status_code, answer.content[:2000])
        return client

    def get(self, path, status=200):
        answer = self.client.get(path)
        self.assertEqual(status, answer.status_code, answer.content[-3000:])
        return answer.content.decode()

    @staticmethod
    def main(text):
        """What the panel wrote of a page."""
        start = text.index('<div class="page-header">')
        return text[start : text.index('<div id="footer">', start)]

    def read(self, path):
        """The main part of a page, parsed."""
        return _Page(self.main(self.get(path)))

    def assert_inert(self, page):
        """Nothing in a page runs, or comes from elsewhere; its forms work."""
        for tag, attributes in page.elements:
            if tag == 'form':
                # AngularJS, which Horizon lets look at it, sends no other.
                self.assertTrue(attributes.get('action'))
            self.assertNotIn(tag, ('script', 'style', 'img', 'iframe'))
            self.assertEqual(
                [],
                [
                    name
                    for name in attributes
                    if name.startswith('on') or name in ('style', 'src')
                ],
            )
            self.assertRegex(attributes.get('href', '/'), '^[/?]')
