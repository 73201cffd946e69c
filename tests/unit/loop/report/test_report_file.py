# SPDX-License-Identifier: Apache-2.0

"""The file that `openstack tier report` writes, whole or not at all."""

import os
import stat

from tests.unit.loop.report import printers
from tests.unit.loop.report import test_report_command


class ReportFileTestCase(test_report_command.ReportCase):
    def test_what_cannot_be_read_or_written_is_told(self):
        ran = self.report(str(self.folder / 'none.json'))
        self.assertEqual(1, ran.status)
        self.assertIn('none.json', ran.stderr)
        self.output.mkdir()
        ran = self.report(self.file('run.json'))
        self.assertEqual(1, ran.status)
        self.assertIn('cannot be written', ran.stderr)

    def test_a_new_page_is_for_whom_the_umask_says(self):
        former = os.umask(0o027)
        self.addCleanup(os.umask, former)
        self.report(self.file('run.json'))
        self.assertEqual(0o640, stat.S_IMODE(self.output.stat().st_mode))

    def test_a_failed_print_leaves_the_file_as_it_was(self):
        output = self.folder / 'report.pdf'
        output.write_text('before')
        ran = self.report(
            self.file('run.json'),
            output=output,
            **self.printer(printers.HALF),
        )
        self.assertEqual(1, ran.status)
        self.assertIn('printed no PDF', ran.stderr)
        # What the program says cannot steer the terminal.
        self.assertIn('No usable \\x1b[31msandbox!', ran.stderr)
        self.assertEqual('before', output.read_text())
