# SPDX-License-Identifier: Apache-2.0

import ddt
from oslo_config import cfg
import testtools

from cinder_tiers import conf
from cinder_tiers.domain.placement import decision

#: The options whose values are the words of `decide()`.
WORDS = {
    'trust_tags_of': decision.TagTrust,
    'on_no_access': decision.OnNoAccess,
    'on_error': decision.OnError,
    'api_on_error': decision.OnError,
    'scheduler_on_error': decision.OnError,
}


@ddt.ddt
class ConfTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.conf = cfg.ConfigOpts()
        self.group = conf.register(self.conf)
        self.conf([])

    def configure(self, **options):
        for name, value in options.items():
            self.conf.set_override(name, value, group=conf.GROUP)

    def test_the_defaults(self):
        self.assertEqual(
            {
                'trust_tags_of': 'own_and_public',
                'on_no_access': 'fallback',
                # Nothing but tags of images, as long as nobody asks for more:
                'metadata_key': None,
                'metadata_with_image': False,
                'project_type': 'first',
                # As available as Cinder is without us:
                'on_error': 'fallback',
                'api_on_error': None,
                'scheduler_on_error': None,
                'tier_weight_multiplier': 1000000.0,
                'glance_timeout': 5.0,
                'glance_max_calls': 16,
                'glance_failures': 3,
                'glance_retry_seconds': 10.0,
                'image_cache_seconds': 10.0,
                'image_stale_seconds': 3600.0,
                'image_cache_size': 10000,
                'applied_cache_seconds': 5.0,
                'zones_cache_seconds': 60.0,
                'notify': True,
                'on_retype': 'tier',
                'metrics_directory': None,
                'metrics_interval_seconds': 15.0,
            },
            dict(self.group.items()),
        )

    def test_registering_twice_is_harmless(self):
        conf.register(self.conf)
        self.assertEqual('fallback', self.conf.cinder_tiers.on_error)

    @ddt.data(*WORDS)
    def test_the_choices_are_the_words_that_decide_knows(self, name):
        (option,) = (option for option in conf.OPTIONS if option.name == name)
        self.assertEqual(
            [word.value for word in WORDS[name]], list(option.type.choices)
        )

    def test_the_policy_without_any_option_is_that_of_decide(self):
        self.assertEqual(decision.Policy(), conf.policy_of(self.group))

    def test_the_policy_is_what_the_options_say(self):
        self.configure(trust_tags_of='all', on_no_access='refuse')
        self.assertEqual(
            decision.Policy(
                tag_trust=decision.TagTrust.ALL,
                on_no_access=decision.OnNoAccess.REFUSE,
            ),
            conf.policy_of(self.group),
        )

    @ddt.data(
        ('trust_tags_of', 'public'),
        ('on_no_access', 'fail'),
        ('on_error', 'ignore'),
        ('api_on_error', ''),
        ('scheduler_on_error', 'refuse'),
        ('tier_weight_multiplier', -1),
        ('glance_timeout', 0),
        ('glance_timeout', 601),
        ('glance_max_calls', 0),
        ('glance_failures', 0),
        ('glance_retry_seconds', 0),
        ('image_cache_seconds', -1),
        ('image_stale_seconds', -1),
        ('image_cache_size', 0),
        ('applied_cache_seconds', -1),
        ('zones_cache_seconds', 0),
        ('notify', 'perhaps'),
        ('metrics_interval_seconds', 0.9),
    )
    @ddt.unpack
    def test_a_value_that_cannot_work_is_refused(self, option, value):
        self.assertRaises(
            ValueError, self.conf.set_override, option, value, group=conf.GROUP
        )

    def test_memory_can_be_switched_off(self):
        self.configure(
            image_cache_seconds=0,
            image_stale_seconds=0,
            applied_cache_seconds=0,
        )
        self.assertEqual(0.0, self.group.image_cache_seconds)

    def test_the_sample_of_cinder_conf_has_every_option(self):
        ((group, options),) = conf.list_opts()
        self.assertEqual('cinder_tiers', group)
        self.assertEqual(list(self.group), [option.name for option in options])
        for option in options:
            self.assertTrue(option.help.endswith('.'), option.name)
