# SPDX-License-Identifier: Apache-2.0

"""What the API door finds out about uWSGI."""

import sys
import types

import ddt
import fixtures
import testtools

from cinder_tiers.api import wsgi_server


@ddt.ddt
class WsgiServerTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger('cinder_tiers.api.wsgi_server')
        )

    def run_under_uwsgi(self, **found):
        """Have the module `uwsgi`, with these attributes."""
        module = types.ModuleType('uwsgi')
        vars(module).update(found)
        self.useFixture(
            fixtures.MonkeyPatch(
                'sys.modules', {**sys.modules, 'uwsgi': module}
            )
        )

    def test_without_threads_the_option_is_named_once(self):
        # As 2.0.21 of Debian 12 has it without any option.
        self.run_under_uwsgi(has_threads=0, opt={'master': True})
        self.assertTrue(wsgi_server.warn_without_threads())
        self.assertEqual(1, self.log.output.count('enable-threads = true'))

    @ddt.data({'has_threads': 1}, {})
    def test_with_threads_nothing_is_said(self, found):
        self.run_under_uwsgi(**found)
        self.assertFalse(wsgi_server.warn_without_threads())
        self.assertEqual('', self.log.output)

    def test_other_servers_have_threads(self):
        self.assertFalse(wsgi_server.warn_without_threads())
        self.assertEqual('', self.log.output)
