# SPDX-License-Identifier: Apache-2.0

"""What both doors do, with a real database and a Glance over HTTP.

Where a failure must be provoked, the part that fails is a parameter.
"""

import itertools
import json
import time

from cinder import exception
from cinder.volume import volume_types
import ddt
import fixtures
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from cinder_tiers.doors import placement_request
from cinder_tiers.doors import record
from cinder_tiers.doors.volume_types import applied
from tests.unit.doors import cinder_fixture

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT
FOLLOWS = decision.NamedType(
    source=decision.TypeSource.REQUEST, follows_image=True
)
EXPLICIT = decision.NamedType(
    source=decision.TypeSource.REQUEST, follows_image=False
)
ERRORS = (
    ValueError('secret'),
    KeyError(),
    RecursionError(),
    MemoryError(),
    OSError(),
    exception.VolumeTypeNotFound(volume_type_id='x'),
    glance.ImageUnreadable('down'),
    UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'secret'),
)


class BrokenRecorder(record.Recorder):
    """A recorder that has a bug."""

    def keep(self, kept, *, notify, bug=None):
        raise ZeroDivisionError


def fail_with(error):
    """A function that fails."""

    def fail(*arguments):
        raise error

    return fail


class DoorTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.glance = self.cinder.glance
        self.types = {
            'database': self.cinder.add_type(
                'database',
                tiers_name='database',
                tiers_tags='db',
                tiers_priority='20',
            ),
            'general': self.cinder.add_type(
                'general', tiers_name='general', tiers_fallback='<is> True'
            ),
        }

    def configure(self, **options):
        self.cinder.conf.config(group='cinder_tiers', **options)

    def door(
        self,
        name='api',
        *,
        read=applied.read_applied,
        fetch=glance.fetch_image,
        recorder=None,
    ):
        return door.Door(
            name,
            applied=applied.AppliedTiers(read=read, pauses_s=(0, 0)),
            known_images=known_images.Images(size=100, fetch=fetch),
            recorder=recorder or record.Recorder(),
        )

    def asked(self, user=None, **asked):
        return placement_request.PlacementRequest(
            **{
                'context': user or self.cinder.user(),
                'project': PROJECT,
                **asked,
            }
        )

    def assert_placed(self, tier, placed, *rules):
        """The verdict is this tier and its type, and these rules are why."""
        self.assertEqual(
            (decision.RequestVerdict.TIER, tier, self.types[tier]),
            (
                placed.decision.verdict,
                placed.decision.tier.name,
                placed.tier_type.type_id,
            ),
        )
        self.assert_because(placed, *rules)

    def assert_verdict(self, verdict, placed, *rules):
        self.assertEqual(
            (verdict, None), (placed.decision.verdict.value, placed.tier_type)
        )
        self.assert_because(placed, *rules)

    def assert_because(self, placed, *rules):
        for rule in rules:
            self.assertTrue(placed.decision.because_of(rule), placed)


@ddt.ddt
class PlaceTestCase(DoorTestCase):
    def test_a_tagged_image_goes_to_its_tier(self):
        image = self.glance.add_image('db')
        placed = self.door().place(self.asked(image_ref=image))
        self.assert_placed('database', placed, decision.Rule.TAG)
        self.assertEqual(image, placed.image_id)

    def test_a_volume_without_an_image_falls_back(self):
        placed = self.door().place(self.asked())
        self.assert_placed('general', placed, decision.Rule.NO_IMAGE)
        self.assertIsNone(placed.image_id)

    def test_what_is_not_ours_needs_no_service(self):
        broken = self.door(
            read=fail_with(ZeroDivisionError()),
            fetch=fail_with(ZeroDivisionError()),
        )
        self.assert_verdict(
            'not_ours',
            broken.place(
                self.asked(
                    image_ref=self.glance.add_image('db'), named_type=EXPLICIT
                )
            ),
        )
        self.assertNotIn('ERROR', self.log.output)

    @ddt.data(*decision.FixedBy)
    def test_what_has_a_place_needs_no_image(self, fixed_by):
        broken = self.door(fetch=fail_with(ZeroDivisionError()))
        placed = broken.place(
            self.asked(
                image_ref=self.glance.add_image('db'),
                fixed_by=fixed_by,
                named_type=FOLLOWS,
            )
        )
        self.assertIn(
            placed.decision.verdict,
            (
                decision.RequestVerdict.UNDECIDED,
                decision.RequestVerdict.NOT_OURS,
            ),
        )
        self.assertNotIn('ERROR', self.log.output)

    def test_without_tiers_glance_is_not_asked(self):
        for ident in self.types.values():
            volume_types.destroy(self.cinder.admin, ident)
        self.assert_verdict(
            'not_ours',
            self.door().place(
                self.asked(image_ref=self.glance.add_image('db'))
            ),
            decision.Rule.NO_TIERS,
        )
        self.assertEqual([], self.glance.requests)

    @ddt.data(
        (None, 'database', None),
        (FOLLOWS, 'database', None),
        (None, None, decision.Rule.IMAGE_TYPE),
    )
    @ddt.unpack
    def test_the_type_that_an_image_names(self, named, tier, rule):
        """Only when the request names none, as in Cinder."""
        self.cinder.add_type('follow', tiers_follow_image='<is> True')
        type_name = 'follow' if rule is None else 'plain'
        placed = self.door().place(
            self.asked(
                named_type=named,
                image_ref=self.glance.add_image(
                    'db', cinder_img_volume_type=type_name
                ),
            )
        )
        if rule is None:
            self.assert_placed(tier, placed)
        else:
            self.assert_verdict('not_ours', placed, rule)

    def test_the_default_type_of_the_project(self):
        self.cinder.set_project_default(self.cinder.add_type('plain'))
        asked = self.asked(image_ref=self.glance.add_image('db'))
        self.assert_verdict(
            'not_ours', self.door().place(asked), decision.Rule.PROJECT_TYPE
        )
        self.cinder.set_project_default(
            self.cinder.add_type('follow', tiers_follow_image='<is> True')
        )
        self.assert_placed('database', self.door().place(asked))

    def test_it_does_not_count_for_a_volume_that_moves(self):
        self.cinder.set_project_default(self.cinder.add_type('plain'))
        self.assert_placed(
            'database',
            self.door().place(
                self.asked(
                    moves=True,
                    image_ref=self.glance.add_image(
                        'db', cinder_img_volume_type='plain'
                    ),
                )
            ),
        )

    def test_the_image_of_a_server_with_a_volume_is_a_snapshot(self):
        image = self.glance.add_image(
            'db',
            block_device_mapping=json.dumps(
                [
                    {
                        'source_type': 'snapshot',
                        'boot_index': 0,
                        'snapshot_id': 'x',
                    }
                ]
            ),
        )
        self.assert_verdict(
            'undecided',
            self.door().place(
                self.asked(image_ref=image, takes_boot_snapshots=True)
            ),
            decision.Rule.FIXED,
        )
        self.assert_placed(
            'database', self.door().place(self.asked(image_ref=image))
        )

    @ddt.data('http://host/', '')
    def test_an_image_is_asked_for_once(self, start):
        api, image = self.door(), self.glance.add_image('db')
        for _ in range(3):
            self.assert_placed(
                'database', api.place(self.asked(image_ref=start + image))
            )
        self.assertEqual(1, len(self.glance.requests))

    def test_an_administrator_who_moves_a_volume_does_not_own_it(self):
        self.types['premium'] = self.cinder.add_type(
            'premium',
            [],
            tiers_name='premium',
            tiers_tags='p',
            tiers_priority='30',
        )
        asked = {
            'user': self.cinder.user(role='admin'),
            'image_ref': self.glance.add_image('p', visibility='public'),
        }
        self.assert_placed('premium', self.door().place(self.asked(**asked)))
        self.assert_placed(
            'general',
            self.door().place(self.asked(moves=True, **asked)),
            decision.Rule.NO_ACCESS,
        )


@ddt.ddt
class OnErrorTestCase(DoorTestCase):
    def place(self, name='api', named_type=FOLLOWS, **parts):
        failing = {'fetch': fail_with(glance.ImageUnreadable('down'))}
        return self.door(name, **{**failing, **parts}).place(
            self.asked(
                image_ref=self.glance.add_image('db'),
                named_type=named_type,
                keeps_type=name == 'scheduler',
            )
        )

    @ddt.data('api', 'scheduler')
    def test_each_choice(self, name):
        self.assert_placed('general', self.place(name), decision.Rule.ERROR)
        self.configure(on_error='pass')
        self.assert_verdict('undecided', self.place(name), decision.Rule.ERROR)
        self.configure(on_error='fail')
        self.assert_verdict('refused', self.place(name), decision.Rule.ERROR)

    def test_an_image_that_was_not_read_may_name_a_type(self):
        self.assert_verdict(
            'undecided',
            self.place(named_type=None),
            decision.Rule.IMAGE_UNREAD,
        )

    def test_an_image_that_was_not_read_may_bring_a_key(self):
        self.cinder.add_encryption(self.cinder.add_type('luks'))
        self.assert_verdict(
            'undecided', self.place(), decision.Rule.IMAGE_UNREAD
        )
        self.assert_placed('general', self.place('scheduler'))

    @ddt.data(None, FOLLOWS)
    def test_an_image_that_is_refused_brings_no_type(self, named):
        """Cinder will refuse it, unless it appears at this very moment."""
        refusing = fail_with(glance.ImageRefused('404', is_lasting=True))
        self.assert_placed(
            'general',
            self.place(named_type=named, fetch=refusing),
            decision.Rule.IMAGE_REFUSED,
        )
        self.cinder.add_encryption(self.cinder.add_type('luks'))
        self.assert_verdict(
            'refused',
            self.place(named_type=named, fetch=refusing),
            decision.Rule.IMAGE_REFUSED,
        )
        self.assertNotIn('ERROR', self.log.output)

    @ddt.data(('api', 'scheduler'), ('scheduler', 'api'))
    @ddt.unpack
    def test_each_door_may_have_its_own(self, name, other):
        self.configure(**{f'{name}_on_error': 'fail', 'on_error': 'pass'})
        self.assert_verdict('refused', self.place(name))
        self.assert_verdict('undecided', self.place(other))

    def test_a_wrong_word_in_the_file_is_told_and_falls_back(self):
        self.cinder.conf.load_raw_values(
            group='cinder_tiers', on_error='fall-back'
        )
        self.assert_placed('general', self.place(), decision.Rule.ERROR)
        self.assertIn('fall-back', self.log.output)

    @ddt.data('fallback', 'pass', 'fail')
    def test_a_project_with_a_type_of_its_own_keeps_it(self, on_error):
        """Only the image could have changed that."""
        self.configure(on_error=on_error)
        self.cinder.set_project_default(self.cinder.add_type('plain'))
        self.assert_verdict(
            'not_ours', self.place(named_type=None), decision.Rule.PROJECT_TYPE
        )

    @ddt.data(
        ('api', 'fallback', 'undecided'),
        ('api', 'pass', 'undecided'),
        ('api', 'fail', 'refused'),
        ('scheduler', 'fail', 'refused'),
        ('scheduler', 'fallback', 'refused'),
        ('scheduler', 'pass', 'refused'),
    )
    @ddt.unpack
    def test_the_tiers_cannot_be_read(self, name, on_error, verdict):
        self.configure(on_error=on_error)
        placed = self.place(name, read=fail_with(ZeroDivisionError()))
        self.assert_verdict(verdict, placed, decision.Rule.ERROR)

    def test_a_private_fall_back(self):
        volume_types.destroy(self.cinder.admin, self.types['general'])
        self.cinder.add_type(
            'closed', [], tiers_name='closed', tiers_fallback='<is> True'
        )
        self.assert_verdict(
            'refused',
            self.place(),
            decision.Rule.ERROR,
            decision.Rule.NO_ACCESS,
        )

    @ddt.data('fallback', 'pass', 'fail')
    def test_no_error_at_all_comes_out(self, on_error):
        """Whatever fails, wherever, in whatever way."""
        self.configure(on_error=on_error)
        for error, broken in itertools.product(
            ERRORS, (('read',), ('fetch',), ('read', 'fetch'))
        ):
            placed = self.place(**{part: fail_with(error) for part in broken})
            self.assert_because(placed, decision.Rule.ERROR)
        self.assertNotIn('down; secret', self.log.output)

    def test_a_record_that_cannot_be_kept_fails_nothing(self):
        self.assert_placed('general', self.place(recorder=BrokenRecorder()))
        self.assertIn(
            'ERROR The decision record could not be written', self.log.output
        )

    def test_the_record_says_what_failed_and_no_more(self):
        self.place()
        self.assertIn('"error": "down"', self.log.output)
        self.place(fetch=fail_with(ValueError('secret')))
        self.assertIn('"error": "ValueError"', self.log.output)

    def test_a_frozen_glance_holds_a_create_up_for_a_bounded_time(self):
        self.configure(glance_timeout=0.3)
        self.glance.gate.clear()
        started = time.monotonic()
        self.assert_placed(
            'general',
            self.place(fetch=glance.fetch_image),
            decision.Rule.ERROR,
        )
        self.assertThat(
            time.monotonic() - started, testtools.matchers.LessThan(30)
        )
