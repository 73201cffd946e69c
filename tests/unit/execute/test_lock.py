# SPDX-License-Identifier: Apache-2.0

import tempfile
from unittest import mock

import ddt
import testtools
from tooz.drivers import file

from cinder_tiers.domain import errors
from cinder_tiers.execute import lock as apply_lock
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
        'redis://:secret@[::1',
        'redis://:secret@host:port',
        'redis://host:secret',
    )
    def test_a_url_that_is_of_no_use_is_not_shown(self, url):
        self.url = url
        error = self.assertRaises(errors.TiersError, self.take)
        self.assertIn('--coordination-url', str(error))
        self.assertNotIn('secret', str(error))

    def test_several_servers_are_named_as_their_driver_reads_them(self):
        # One that tooz passes on as it is; the driver, or its library, is
        # not there, or no server answers.
        self.url = 'zookeeper://127.0.0.1:9,127.0.0.1:10?timeout=0.1'
        error = self.assertRaises(errors.TiersError, self.take)
        self.assertNotIn('is not a URL', str(error))

    def test_a_lock_that_was_lost_hides_no_other_error(self):
        release = file.FileLock.release
        with mock.patch.object(
            file.FileLock, 'release', lambda lock: release(lock) and False
        ):
            error = self.assertRaises(errors.TiersError, self.take)
            self.assertIn('The lock was lost', str(error))
            with self.assertRaisesRegex(
                errors.Unreachable, 'Ceph is away\nThe lock was lost'
            ):
                self.fail_with_it()

    def fail_with_it(self):
        with apply_lock.held(url=self.url, cloud=self.cloud):
            raise errors.Unreachable('Ceph is away')

    def test_a_folder_that_cannot_be_made_is_told(self):
        self.url = 'file:///proc/nonexistent'
        error = self.assertRaises(errors.TiersError, self.take)
        self.assertIn('/proc/nonexistent', str(error))
