# SPDX-License-Identifier: Apache-2.0

"""What is said of a write to Cinder that failed."""

import ddt
import keystoneauth1.exceptions
import openstack.exceptions
import testtools

from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute.cinder import progress

KEY = actions.Key(kind=actions.Kind.TYPE_QUOTA, name='gold')


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    @ddt.data(
        keystoneauth1.exceptions.ConnectTimeout('timed out'),
        keystoneauth1.exceptions.ConnectionError('reset'),
        openstack.exceptions.HttpException('bad', http_status=502),
    )
    def test_without_an_answer_it_is_not_known_whether_it_was_made(
        self, error
    ):
        text = str(progress.failure(KEY, error, ['the first']))
        self.assertIn('did not confirm a change of default quota gold', text)
        self.assertIn('is not known', text)
        self.assertIn('changed before the failure: the first', text)
        self.assertNotIn('refused', text)

    @ddt.data(
        ([], 'no part of it was changed'),
        (['the first'], 'changed before the failure: the first; "openstack'),
    )
    @ddt.unpack
    def test_a_refusal_is_one(self, done, said):
        error = openstack.exceptions.HttpException('no', http_status=403)
        text = str(progress.failure(KEY, error, done))
        self.assertIn('Cinder refused to change default quota gold', text)
        self.assertIn(said, text)
