# SPDX-License-Identifier: Apache-2.0

"""A page printed by Debian's Chromium: its text, and what it reaches."""

import http.server
import pathlib
import re
import subprocess
import tempfile
import threading

import testtools

from cinder_tiers.loop.report import pdf
from tests.browser import pages
from tests.unit.loop.report import page_reader


def text_of(content):
    """The text of a PDF in the order of the page."""
    return subprocess.run(
        ['pdftotext', '-raw', '-', '-'],
        input=content,
        capture_output=True,
        check=True,
    ).stdout.decode()


def joined(text):
    """A text without what depends on where lines end."""
    return re.sub(r'[-\s]', '', text)


def written(content, name):
    """What `pdfinfo` says of a PDF under a name, such as Title."""
    said = subprocess.run(
        ['pdfinfo', '-'], input=content, capture_output=True, check=True
    ).stdout.decode()
    found = re.search(rf'^{name}: +(.*)$', said, re.M)
    return found and found[1]


class PrintTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = pages.hostile_page()
        cls.pdf = pdf.print_page(cls.page, pdf.find_program())

    def test_tables_are_in_it_but_those_behind_charts(self):
        text = joined(text_of(self.pdf))
        page = page_reader.Page(self.page)
        self.assertGreater(len(page.printed), 1)
        for table in page.printed:
            # The environment has its rows in two columns, without a head.
            for row in table[table[0] == ['What', 'Value'] :]:
                # A row is not torn between two pages.
                self.assertIn(joined(''.join(row)), text)
        self.assertGreater(len(page.tables), len(page.printed) + 5)
        self.assertNotIn('LongeststallsVerdict', text)
        self.assertIn('andthetablesbehindcharts', text)

    def test_injected_text_stays_text(self):
        text = joined(text_of(self.pdf))
        self.assertIn(joined(pages.INJECTED), text)
        self.assertTrue(written(self.pdf, 'Title').startswith('cinder-tiers'))
        self.assertEqual('no', written(self.pdf, 'JavaScript'))

    def test_it_is_of_a4_and_has_headings(self):
        self.assertIn('A4', written(self.pdf, 'Page size'))
        self.assertIn(b'/Outlines', self.pdf)

    def test_the_head_of_a_long_table_is_repeated(self):
        rows = ''.join(f'<tr><td>{at}</td></tr>' for at in range(200))
        style = re.search('<style>.*?</style>', self.page, re.S)[0]
        content = pdf.print_page(
            f'{style}<div class="scroll"><table><thead><tr><th>Head</th></tr>'
            f'</thead><tbody>{rows}</tbody></table></div>',
            pdf.find_program(),
        )
        sheets = int(written(content, 'Pages'))
        self.assertGreater(sheets, 1)
        self.assertEqual(sheets, text_of(content).count('Head'))

    def test_nothing_of_this_host_is_in_it(self):
        self.assertNotIn(b'file://', self.pdf)
        self.assertNotIn(tempfile.gettempdir().encode(), self.pdf)


class NetworkTestCase(testtools.TestCase):
    def test_nothing_is_reached_from_a_page_that_wants_it(self):
        """Without the policy of our page, whose job it would be first."""
        asked = []

        class Listener(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_arguments):
                pass

        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Listener)
        self.addCleanup(server.server_close)
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        self.addCleanup(serving.join)
        self.addCleanup(server.shutdown)
        url = f'http://127.0.0.1:{server.server_address[1]}/'
        content = pdf.print_page(
            f'<link rel="stylesheet" href="{url}a"><img src="{url}b">'
            f'<script>fetch("{url}c")</script><p>text',
            pdf.find_program(),
        )
        self.assertIn('text', text_of(content))
        self.assertEqual([], asked)

    def test_no_process_and_no_folder_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            former = tempfile.tempdir
            self.addCleanup(setattr, tempfile, 'tempdir', former)
            tempfile.tempdir = folder
            pdf.print_page('<p>text', pdf.find_program())
            # Before it can have written anything.
            self.assertRaises(
                pdf.PrintingError,
                pdf.print_page,
                '<p>text',
                pdf.find_program(),
                most_seconds=0.3,
            )
            self.assertEqual([], list(pathlib.Path(folder).iterdir()))
            self.assertEqual([], _naming(folder))


def _naming(text):
    """Command lines of processes that have a text in them."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            line = path.read_bytes().decode(errors='replace')
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found
