# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import ddt
from oslo_config import cfg
import testtools

from cinder_tiers import conf
from cinder_tiers.domain import placement


@ddt.ddt
class ConfTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = cfg.ConfigOpts()
        self.group = conf.register(self.conf)
        self.conf([])

    def test_defaults_keep_cinder_as_available_as_without_us(self):
        self.assertEqual('fallback', self.group.on_error)
        self.assertEqual(5.0, self.group.glance_timeout)
        self.assertEqual(16, self.group.glance_max_calls)

    def test_registering_twice_is_harmless(self):
        conf.register(self.conf)
        self.assertEqual('fallback', self.conf.cinder_tiers.on_error)

    def test_the_choices_are_the_policies_that_decide_knows(self):
        choices = [name for option in conf.OPTIONS
                   if option.name == 'on_error'
                   for name in option.type.choices]
        self.assertEqual([policy.value for policy in placement.OnError],
                         choices)

    @ddt.data(('on_error', 'ignore'), ('glance_timeout', 0),
              ('glance_max_calls', 0))
    @ddt.unpack
    def test_a_value_that_cannot_work_is_refused(self, option, value):
        self.assertRaises(ValueError, self.conf.set_override, option, value,
                          group=conf.GROUP)

    def test_the_sample_of_cinder_conf_has_every_option(self):
        (group, options), = conf.list_opts()
        self.assertEqual('cinder_tiers', group)
        self.assertEqual(['on_error', 'glance_timeout', 'glance_max_calls'],
                         [option.name for option in options])
        for option in options:
            self.assertTrue(option.help.endswith('.'), option.name)
