# SPDX-License-Identifier: Apache-2.0

"""The moment that a command which measures announces, in a file."""

import pathlib
import tempfile
import time

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.sweep import file_announcement


@ddt.ddt
class AnnouncementTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = (
            pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
            / 'begin'
        )

    def test_none_yet(self):
        self.assertIsNone(file_announcement.read(str(self.path)))
        self.path.write_text('17640', 'utf-8')
        self.assertIsNone(file_announcement.read(str(self.path)))

    def test_a_moment(self):
        now = time.time() + 300
        self.path.write_text(f'{now}\n', 'utf-8')
        self.assertEqual(now, file_announcement.read(str(self.path)))

    @ddt.data('soon\n', 'nan\n', 'inf\n', '0\n', '9' * 80, '1e400\n', '\n')
    def test_something_else(self, text):
        self.path.write_text(text, 'utf-8')
        self.assertRaises(
            errors.TiersError, file_announcement.read, str(self.path)
        )
