# SPDX-License-Identifier: Apache-2.0

"""The page in a browser: what is drawn, loaded, and too wide."""

import base64
import pathlib
import re
import tempfile
import zlib

import testtools

from tests.browser import chromium
from tests.browser import pages

#: Pictures as a browser has decoded them.
PICTURES = """
return [...document.images].map(image => [
    image.complete, image.naturalWidth])
"""
#: The lightest and the darkest opaque dot of the first picture.
SHADES = """
const [image] = document.images;
const canvas = document.createElement('canvas');
[canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
const brush = canvas.getContext('2d');
brush.drawImage(image, 0, 0);
const dots = brush.getImageData(0, 0, canvas.width, canvas.height).data;
const shades = [];
for (let at = 0; at < dots.length; at += 4)
    if (dots[at + 3] == 255) shades.push(dots[at]);
return [Math.max(...shades), Math.min(...shades)];
"""


class ChromiumTestCase(testtools.TestCase):
    """One browser for all tests: it takes seconds to start."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / 'report.html'
        path.write_text(pages.hostile_page(), encoding='utf-8')
        cls.url = path.as_uri()
        cls.browser = chromium.start(f'{folder.name}/profile')
        cls.addClassCleanup(cls.browser.quit)

    def open(self, *, width=1400, scheme='light'):
        self.browser.execute_cdp_cmd(
            'Emulation.setEmulatedMedia',
            {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]},
        )
        chromium.set_width(self.browser, width)
        self.browser.get(self.url)

    def run_script(self, text):
        return self.browser.execute_script(text)

    def test_each_picture_is_drawn(self):
        backs, shades = {}, {}
        for scheme in ('light', 'dark'):
            self.open(scheme=scheme)
            pictures = self.run_script(PICTURES)
            self.assertGreater(len(pictures), 10)
            for complete, width in pictures:
                self.assertTrue(complete)
                self.assertGreaterEqual(width, 300)
            shades[scheme] = self.run_script(SHADES)
            backs[scheme] = self.run_script(
                'return getComputedStyle(document.documentElement)'
                '.backgroundColor'
            )
        self.assertNotEqual(backs['light'], backs['dark'])
        # Text is #1b1f24 on a light page, #e6e8eb on a dark one.
        self.assertEqual(0x1B, shades['light'][1])
        self.assertEqual(0xE6, shades['dark'][0])

    def test_nothing_is_loaded_but_the_page(self):
        chromium.loaded(self.browser)
        self.open()
        urls = chromium.loaded(self.browser)
        self.assertIn(self.url, urls)
        self.assertEqual(
            [],
            [
                url
                for url in urls
                if url != self.url and not url.startswith('data:image/svg')
            ],
        )

    def test_injected_text_stays_text(self):
        self.open()
        self.assertTrue(self.browser.title.startswith('cinder-tiers: '))
        self.assertEqual(0, self.run_script('return document.scripts.length'))
        self.assertIn(
            pages.INJECTED, self.run_script('return document.body.textContent')
        )
        self.assertEqual(
            [],
            self.run_script(
                'return [...document.images].filter(each =>'
                ' !each.src.startsWith("data:image/svg")).map(e => e.src)'
            ),
        )

    def test_nothing_is_wider_than_the_page(self):
        for width in (1400, 400):
            self.open(width=width)
            # With all tables open.
            self.assertLessEqual(
                self.run_script(
                    'document.querySelectorAll("details").forEach('
                    'each => each.open = true);'
                    'return document.documentElement.scrollWidth'
                ),
                width,
            )

    def test_findings_are_in_sight_on_a_narrow_screen(self):
        self.open(width=400)
        edges = self.run_script(
            'return [...document.querySelectorAll("#claims th")]'
            '.filter(each => each.textContent == "Finding")'
            '.map(each => each.getBoundingClientRect().right)'
        )
        # Of all claims, and of the differences of two quantities.
        self.assertEqual(3, len(edges))
        self.assertLessEqual(max(edges), 400)

    def test_tables_are_open_when_printed_from_a_dark_page(self):
        self.open(scheme='dark')
        self.run_script(
            'for (const each of document.querySelectorAll("td"))'
            ' each.textContent = ""'
        )
        without = self.printed_bytes()
        self.open(scheme='dark')
        # Nothing is open on the screen.
        self.assertEqual(
            0,
            self.run_script(
                'return document.querySelectorAll("details[open]").length'
            ),
        )
        self.assertGreater(self.printed_bytes(), without + 3000)

    def printed_bytes(self):
        """How much text and graphics a printed page has."""
        pdf = base64.b64decode(
            self.browser.execute_cdp_cmd('Page.printToPDF', {})['data']
        )
        streams = re.findall(rb'stream\r?\n(.*?)endstream', pdf, re.S)
        found = 0
        for each in streams:
            try:
                found += len(zlib.decompress(each))
            except zlib.error:
                continue
        return found
