# SPDX-License-Identifier: Apache-2.0

import tempfile

import ddt
import testtools

from cinder_tiers.domain import errors
from tests.contract import lock_contract


@ddt.ddt
class FileTestCase(lock_contract.LockContract, testtools.TestCase):
    cloud = 'cloud'

    def setUp(self):
        super().setUp()
        self.url = 'file://' + self.enterContext(tempfile.TemporaryDirectory())

    def test_who_holds_it_is_told(self):
        with self.other() as process:
            error = self.assertRaises(errors.TiersError, self.take)
            self.assertIn(f'process {process.pid}, since 2', str(error))

    @ddt.data(
        'nosuch://user:secret@host',
        'mysql://user:secret@127.0.0.1:9/x',
        'secret',
    )
    def test_a_url_that_is_of_no_use_is_not_shown(self, url):
        self.url = url
        error = self.assertRaises(errors.TiersError, self.take)
        self.assertIn('--coordination-url', str(error))
        self.assertNotIn('secret', str(error))

    def test_a_folder_that_cannot_be_made_is_told(self):
        self.url = 'file:///proc/nonexistent'
        error = self.assertRaises(errors.TiersError, self.take)
        self.assertIn('/proc/nonexistent', str(error))
