# SPDX-License-Identifier: Apache-2.0


"""Where volumes land when tiers overflow into each other.

With a real cinder-scheduler that runs TierFilter and TierWeigher. The backend
to which a tier overflows always has far more room than the tier's own, so
that Cinder's CapacityWeigher alone would choose it.
"""

from cinder.volume import volume_types

from tests.unit.scheduler import scheduler_case


class TierSmallTestCase(scheduler_case.SchedulerTestCase):
    """A small backend that overflows into a big one."""

    def setUp(self):
        super().setUp()
        # Room for two volumes.
        self.small = self.cinder.add_backend('tier-small', free_capacity_gb=2)
        self.big = self.cinder.add_backend(
            'tier-big', free_capacity_gb=900, total_capacity_gb=1000
        )
        self.big_type = self.cinder.add_type(
            'big',
            volume_backend_name='tier-big',
            tiers_name='big',
            tiers_fallback='<is> True',
        )

    def add_small(
        self,
        *,
        backends=('tier-small', 'tier-big'),
        overflow='big',
        **extra_specs,
    ):
        """Tier small for the tag small; the id of its type."""
        self.small_type = self.cinder.add_type(
            'small',
            tiers_name='small',
            tiers_tags='small',
            tiers_priority='10',
            tiers_overflow=overflow,
            volume_backend_name=' '.join(f'<or> {name}' for name in backends),
            **extra_specs,
        )
        return self.small_type

    def hosts(self, number, volume_type=None, **request):
        """Where so many new volumes land, one after another.

        :param volume_type: id; without it, the image asks for tier small
        """
        if volume_type is None:
            volume_type = self.follow
            request['image_id'] = self.glance.add_image('small')
        return [
            self.cinder.create_volume(volume_type=volume_type, **request).host
            for _ in range(number)
        ]


class OverflowTestCase(TierSmallTestCase):
    def test_own_backends_come_first_and_a_full_tier_overflows(self):
        self.add_small()
        self.assertEqual(
            [self.small, self.small, self.big, self.big], self.hosts(4)
        )
        self.assertEqual(
            {('small', 'big')},
            {
                (record['tier'], record['overflow'])
                for record in self.records()
            },
        )

    def test_so_they_do_for_an_explicit_type(self):
        self.assertEqual(
            [self.small, self.small, self.big],
            self.hosts(3, volume_type=self.add_small()),
        )
        self.assertEqual([], self.records())

    def test_among_own_backends_the_other_weighers_decide(self):
        other = self.cinder.add_backend('tier-small-2', free_capacity_gb=3)
        self.add_small(backends=('tier-small', 'tier-small-2', 'tier-big'))
        self.assertEqual({self.small, other}, set(self.hosts(5)))
        self.assertEqual([self.big], self.hosts(1))

    def test_the_fall_back_tier_overflows_too_after_an_error(self):
        self.add_small(tiers_fallback='<is> True')
        volume_types.destroy(self.cinder.admin, self.big_type)
        self.cinder.add_type(
            'big', volume_backend_name='tier-big', tiers_name='big'
        )
        broken = self.glance.answer(500)
        self.assertEqual(
            [self.small, self.small, self.big],
            self.hosts(3, self.follow, image_id=broken),
        )

    def test_with_a_small_multiplier_their_backends_compete(self):
        self.configure(tier_weight_multiplier=0.0)
        self.add_small()
        self.assertEqual([self.big], self.hosts(1))

    def test_a_chain_is_followed_link_by_link(self):
        """small overflows to middle, middle to big; small not to big."""
        middle = self.cinder.add_backend(
            'tier-middle', free_capacity_gb=3, total_capacity_gb=1000
        )
        self.add_small(
            backends=('tier-small', 'tier-middle'), overflow='middle'
        )
        middle_type = self.cinder.add_type(
            'middle',
            tiers_name='middle',
            tiers_overflow='big',
            volume_backend_name='<or> tier-middle <or> tier-big',
        )
        self.assertEqual([middle], self.hosts(1, middle_type))
        self.assertEqual(
            [self.small, self.small, middle, middle, None], self.hosts(5)
        )
        self.assertEqual([self.big], self.hosts(1, middle_type))

    def test_a_chain_written_out_in_full_keeps_to_its_own_first(self):
        self.cinder.add_backend(
            'tier-middle', free_capacity_gb=50, total_capacity_gb=1000
        )
        self.add_small(
            backends=('tier-small', 'tier-middle', 'tier-big'),
            overflow='middle',
        )
        self.cinder.add_type(
            'middle',
            tiers_name='middle',
            tiers_overflow='big',
            volume_backend_name='<or> tier-middle <or> tier-big',
        )
        self.assertEqual([self.small, self.small], self.hosts(2))

    def test_a_circle_made_by_hand_keeps_to_its_backends(self):
        volume_types.destroy(self.cinder.admin, self.big_type)
        self.add_small()
        big_type = self.cinder.add_type(
            'big',
            tiers_name='big',
            tiers_overflow='small',
            volume_backend_name='<or> tier-big <or> tier-small',
        )
        for volume_type in (None, self.small_type, big_type):
            self.assertIn(
                self.hosts(1, volume_type), ([self.small], [self.big])
            )
        self.assertEqual([], self.lines('ERROR'))

    def test_a_tier_that_overflows_to_itself_does_not_overflow(self):
        self.add_small(overflow='small')
        self.assertEqual([self.big], self.hosts(1))
        self.assertIsNone(self.record()['overflow'])

    def test_own_backends_come_before_those_of_a_type_that_is_no_tier(self):
        """As where the tiers file has ``take_over: false`` for it."""
        volume_types.destroy(self.cinder.admin, self.big_type)
        self.cinder.add_type('big', volume_backend_name='tier-big')
        self.add_small()
        self.assertEqual([self.small, self.small, self.big], self.hosts(3))

    def test_an_overflow_tier_that_is_missing(self):
        self.add_small(backends=('tier-small', 'tier-gone'), overflow='gone')
        self.assertEqual([self.small, self.small, None], self.hosts(3))
        self.assertIsNone(self.records()[0]['overflow'])
        self.assertIn(
            {'rule': 'overflow_missing', 'tier': 'small', 'found': 'gone'},
            self.records()[0]['reasons'],
        )

    def test_a_decision_does_not_leak_into_the_next_of_a_request(self):
        """A context may serve several requests: all types of a group, say."""
        self.add_small()
        explicit = self.cinder.add_type(
            'both', volume_backend_name='<or> tier-small <or> tier-big'
        )
        user = self.cinder.user()
        self.assertEqual([self.small], self.hosts(1, user=user))
        self.assertEqual([self.big], self.hosts(1, explicit, user=user))


class FaultsTestCase(TierSmallTestCase):
    """Whatever fails, the other weighers decide and the create goes on."""

    def test_specs_that_cinder_cannot_match(self):
        self.add_odd_tier(volume_backend_name='<or> tier-small <or> tier-big')
        self.assertEqual(
            [self.big], self.hosts(1, self.add_small(overflow='odd'))
        )
        (line,) = self.lines('ERROR TierWeigher failed')
        self.assertRegex(line, r'\(request req-[0-9a-f-]+\)')
        self.assertIn('IndexError', self.log.output)

    def test_tiers_that_cannot_be_read(self):
        self.execute('DROP TABLE encryption')
        self.assertEqual([self.big], self.hosts(1, self.add_small()))
        self.assertEqual(1, len(self.lines('ERROR TierWeigher failed')))

    def test_a_multiplier_in_cinder_conf_that_cannot_be_read(self):
        self.cinder.conf.load_raw_values(
            group='cinder_tiers', tier_weight_multiplier='much'
        )
        self.assertEqual([self.big], self.hosts(1, self.add_small()))
        self.assertEqual(1, len(self.lines('ERROR TierWeigher failed')))
