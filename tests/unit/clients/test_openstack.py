# SPDX-License-Identifier: Apache-2.0

import ddt
import openstack.exceptions
import testtools

from cinder_tiers.clients import openstack as clients
from cinder_tiers.domain import errors


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    @ddt.data(400, 401, 403, 404, 409)
    def test_a_refusal_is_an_answer(self, status):
        self.assertIs(errors.NotVisible, type(self.failure(status)))

    @ddt.data(None, 408, 413, 429, 500, 503)
    def test_what_may_be_answered_later_is_no_refusal(self, status):
        self.assertIs(errors.Unreachable, type(self.failure(status)))

    def failure(self, status):
        return clients.failure(
            openstack.exceptions.HttpException('no', http_status=status), 'no'
        )
