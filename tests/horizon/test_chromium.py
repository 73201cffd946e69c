# SPDX-License-Identifier: Apache-2.0

"""The panels in a browser, used by keyboard alone, under a policy."""

import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

from selenium.webdriver.common import by
from selenium.webdriver.common import keys
from selenium.webdriver.support import wait
import testtools

from benchmarks import generated_cloud
from benchmarks import served_cloud
from cinder_tiers.domain.card import description as descriptions
from tests.browser import chromium
from tests.horizon import case
from tests.horizon import cloud
from tests.horizon import test_member

TOP = pathlib.Path(__file__).resolve().parents[2]
#: Links before the main part of a page, and in it.
MOST_TABS = 150
#: For a page of Horizon, whose styles are compiled at the first one.
PAGE_SECONDS = 180
#: What a screen reader says of the element that has the focus.
FOCUSED = """
const one = document.activeElement;
const label = one.labels && one.labels[0];
return one.getAttribute('aria-label')
    || (label && label.innerText) || one.innerText || one.name || '';
"""
#: What is wider than the window, and cannot be scrolled by itself.
TOO_WIDE = """
return document.documentElement.scrollWidth
    - document.documentElement.clientWidth;
"""


class HostileVolumes(generated_cloud.Cloud):
    """A cloud of which each volume has a name that would be markup."""

    def answer(self, method, path, query, body):
        kind, _, ident = path.rpartition('-')
        if kind.startswith('/v3/p/volumes/'):
            return 200, {'volume': self._volume(int(ident, 16))}
        return super().answer(method, path, query, body)

    def _volume(self, number):
        return {**super()._volume(number), 'name': case.HOSTILE}


class ChromiumTestCase(testtools.TestCase):
    """One browser, and one Horizon, for all tests: they take seconds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cloud = cloud.Cloud()
        services = served_cloud.serve(cls.cloud)
        cls.addClassCleanup(services.server_close)
        cls.addClassCleanup(services.shutdown)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        horizon = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m', 'tests.horizon.served'],
            cwd=TOP,
            env={
                **os.environ,
                'PYTHONPATH': str(TOP),
                'CINDER_TIERS_TEST_KEYSTONE': f'{cls.cloud.url}/v3',
                'CINDER_TIERS_TEST_STATIC': f'{folder.name}/static',
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        cls.addClassCleanup(horizon.wait)
        cls.addClassCleanup(horizon.stdout.close)
        cls.addClassCleanup(horizon.stdin.close)
        cls.url = f'http://127.0.0.1:{int(horizon.stdout.readline())}'
        cls.browser = chromium.start(f'{folder.name}/profile')
        cls.addClassCleanup(cls.browser.quit)

    def start(self, *roles):
        """Begin with a new cloud, whose user has roles and no session."""
        fresh = cloud.Cloud(roles=roles)
        fresh.url = self.cloud.url
        vars(self.cloud).update(vars(fresh))
        self.cloud.types = [
            cloud.volume_type(
                1, 'database', descriptions.write(test_member.CARD)
            ),
            cloud.volume_type(2, case.HOSTILE, f'For {case.HOSTILE}'),
        ]
        self.cloud.namespace = ['archive', 'database']
        self.image_id = self.cloud.add_image(7, 'debian', ['linux'])
        self.cloud.add_image(8, case.HOSTILE, [case.HOSTILE])
        self.browser.delete_all_cookies()
        chromium.loaded(self.browser)
        self.browser.get_log('browser')

    def press(self, *what):
        self.browser.switch_to.active_element.send_keys(*what)

    def log_in(self, path):
        """Open a page, to which the form of Horizon leads."""
        self.browser.get(self.url + path)
        self.reach('User Name')
        self.press('u', keys.Keys.TAB)
        self.press('secret', keys.Keys.ENTER)
        self.wait_for(path)

    def wait_for(self, path):
        """Wait until a page is there, and what is told when it is not."""
        wait.WebDriverWait(self.browser, PAGE_SECONDS).until(
            lambda browser: (
                urllib.parse.urlsplit(browser.current_url).path == path
                and browser.execute_script('return document.readyState')
                == 'complete'
                and browser.find_elements(by.By.CSS_SELECTOR, '.page-header')
            ),
            f'{path} is not there',
        )

    def reach(self, name):
        """Tab to what a screen reader calls so."""
        seen = []
        for _each in range(MOST_TABS):
            seen.append(self.browser.execute_script(FOCUSED).strip())
            if seen[-1] == name:
                return
            self.press(keys.Keys.TAB)
        self.fail(
            f'the keyboard does not reach {name!r}, but {sorted({*seen})}'
        )

    def text(self):
        return self.browser.find_element(by.By.ID, 'content_body').text

    def width(self, pixels):
        chromium.set_width(self.browser, pixels)

    def assert_harmless(self):
        """Nothing ran, was refused by the policy, or came from elsewhere."""
        self.assertNotEqual('run', self.browser.title)
        self.assertEqual(
            [],
            [
                one['message']
                for one in self.browser.get_log('browser')
                if 'Content Security Policy' in one['message']
            ],
        )
        self.assertEqual(
            [],
            [
                url
                for url in chromium.loaded(self.browser)
                if not url.startswith((self.url, 'data:'))
            ],
        )

    def assert_fits(self):
        """A page is as wide as the window, whichever width that has."""
        for pixels in (1400, 400):
            self.width(pixels)
            self.assertEqual(0, self.browser.execute_script(TOO_WIDE), pixels)

    def test_a_member_tags_an_image_by_keyboard(self):
        for pixels in (1400, 400):
            self.width(pixels)
            self.start('member', 'reader')
            self.log_in(case.MEMBER)
            for words in (
                'oltp (5 runs): iops 5012 [4890, 5137]',
                'For "><script>document.title="run"</script>',
            ):
                self.assertIn(words, self.text())
            self.reach('Tag image debian')
            self.press(keys.Keys.ENTER)
            self.wait_for(f'{case.MEMBER}images/{self.image_id}/tags/')
            self.reach('database')
            self.press(keys.Keys.SPACE)
            self.reach('Tag image')
            self.press(keys.Keys.ENTER)
            self.wait_for(case.MEMBER)
            self.assertEqual(
                ['database', 'linux'],
                self.cloud.images[self.image_id]['tags'],
            )
            self.assert_fits()
            self.assert_harmless()

    def test_a_reader_sees_tiers_and_no_action(self):
        self.start('reader')
        self.log_in(case.MEMBER)
        self.assertIn('oltp (5 runs): iops 5012 [4890, 5137]', self.text())
        self.assertNotIn('Tag image', self.text())
        self.assert_fits()
        self.assert_harmless()

    def test_an_administrator_has_a_volume_explained_by_keyboard(self):
        for pixels in (1400, 400):
            self.width(pixels)
            self.start('admin', 'manager', 'member', 'reader')
            self.cloud.other = HostileVolumes(volumes=300, tiers=4, images=30)
            self.log_in(case.ADMIN)
            self.assertIn('Counts all 300 volumes.', self.text())
            self.reach('Volume (ID or name)')
            self.press(generated_cloud.ident(2, 101), keys.Keys.ENTER)
            wait.WebDriverWait(self.browser, PAGE_SECONDS).until(
                lambda _browser: 'Why the volume' in self.text()
            )
            for words in (
                'misplaced: ',
                'node@backend-2#pool',
                '"><script>document.title="run"</script>',
            ):
                self.assertIn(words, self.text())
            self.assert_fits()
            self.assert_harmless()
