# SPDX-License-Identifier: Apache-2.0

"""How the program that prints a page is found, run and ended."""

import os
import pathlib
import tempfile
import time

import testtools

from cinder_tiers.loop.report import pdf
from tests.unit.loop.report import printers


class PrintTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # What is left in it after printing is what printing left.
        self.temporary = self.folder / 'temporary'
        self.temporary.mkdir()
        former = tempfile.tempdir
        self.addCleanup(setattr, tempfile, 'tempdir', former)
        tempfile.tempdir = str(self.temporary)

    def program(self, text):
        return printers.program(self.folder, text)

    def left(self):
        return sorted(self.temporary.iterdir())

    def test_the_page_is_printed_and_nothing_is_left(self):
        found = pdf.print_page('<p>ö', self.program(printers.WHOLE)).decode()
        self.assertIn('\n<p>ö', found)
        words = found.splitlines()
        self.assertIn('--headless=new', words)
        self.assertIn('--proxy-bypass-list=<-loopback>', words)
        self.assertEqual(os.geteuid() == 0, '--no-sandbox' in words)
        self.assertEqual([], self.left())

    def test_half_a_pdf_is_none(self):
        error = self.assertRaises(
            pdf.PrintingError,
            pdf.print_page,
            '<p>',
            self.program(printers.HALF),
        )
        self.assertIn('printed no PDF', str(error))
        self.assertIn('sandbox!', str(error))
        self.assertEqual([], self.left())

    def test_what_does_not_end_is_ended(self):
        pid = self.folder / 'pid'
        started = time.monotonic()
        error = self.assertRaises(
            pdf.PrintingError,
            pdf.print_page,
            '<p>',
            self.program(printers.ENDLESS.format(pid=pid)),
            most_seconds=1,
        )
        self.assertIn('in 1 s', str(error))
        self.assertLess(time.monotonic() - started, 30)
        self.assertFalse(_runs(int(pid.read_text())))
        self.assertEqual([], self.left())

    def test_what_cannot_be_started_is_told(self):
        path = self.folder / 'chromium'
        path.write_text('no program')
        path.chmod(0o755)
        error = self.assertRaises(
            pdf.PrintingError, pdf.print_page, '<p>', str(path)
        )
        self.assertIn(f'{path} cannot print a PDF', str(error))


def _runs(pid):
    """Whether a process runs, and not merely waits to be reaped."""
    try:
        status = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(')')[2].split()[0] != 'Z'
