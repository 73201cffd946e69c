# SPDX-License-Identifier: Apache-2.0
"""No way around the doors, for a tenant with the public API alone.

The world is made and all is tried once, for the class; each test looks at
the outcome of an attempt. What must hold: no project is on the backend of a
private tier that it may not use, and a volume on a tier has the tier's type.
`bypasses_long` has more.
"""

import contextlib

import ddt
import testtools

from tests.functional import bypass_cases
from tests.functional import bypass_steps
from tests.functional import bypass_world
from tests.functional import bypasses

LIMITED = bypasses.LIMITED
STEPS = {
    'image_that_named_a_snapshot': lambda attempts: attempts.image_changed(
        'block_device_mapping', bypass_cases.Of('boot devices')
    ),
    'image_that_named_a_type': lambda attempts: attempts.image_changed(
        'cinder_img_volume_type', 'archive'
    ),
    'groups': bypass_steps.Attempts.groups,
    'image_appears': bypass_steps.Attempts.image_appears,
    'transfer': bypass_steps.Attempts.transfer,
    'key_of_image': bypass_steps.Attempts.key_of_image,
}


@ddt.ddt
class BypassesTest(testtools.TestCase):
    #: {name: what is tried in several requests}
    STEPS = STEPS
    #: Tags of images that a member writes into the metadata of a volume, and
    #: what that is made of. Where the tag opens no door, this one stays, and
    #: a gibibyte of it need not be copied.
    METADATA_TAGS = ((bypasses.PRIVATE, 'plain'),)
    #: Whether a backend in another zone and backups are tried.
    HAS_MORE = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.ExitStack() as stack:
            world = bypass_world.World(stack, has_more=cls.HAS_MORE)
            attempts = bypass_steps.Attempts(world)
            attempts.make_images()
            # while no volume keeps the types from being changed
            cls.without_fallback = attempts.without_fallback()
            attempts.make_source()
            followers = [
                attempts.follow_image_of_metadata(tag, made_of)
                for tag, made_of in cls.METADATA_TAGS
            ]
            cls.creates = attempts.all_creates()
            cls.retypes = attempts.all_retypes()
            logs = world.cloud.log_sizes()
            attempts.unknown_images()
            cls.errors = world.errors_logged(logs)
            cls.steps = {
                name: step(attempts) for name, step in cls.STEPS.items()
            }
            cls.followers = attempts.complete(followers)

    def assert_holds(self, outcome, wanted=None):
        """Refused, or where and what the tenant may have.

        :param wanted: volume type that it must have; None: that of a tier.
        """
        if outcome.volume is None:
            self.assertTrue(outcome.is_refused, outcome)
            return
        self.assertNotEqual(bypasses.PRIVATE, outcome.pool, outcome)
        self.assertIn(
            outcome.volume_type,
            [wanted] if wanted else bypasses.TIERS,
            outcome,
        )
        self.assertEqual(
            ('available', *bypasses.TIERS[outcome.volume_type]),
            (outcome.status, outcome.pool, outcome.limit),
            outcome,
        )

    @ddt.data(*bypass_cases.CREATES)
    def test_create(self, name):
        case = bypass_cases.CREATES[name]
        outcome = self.creates[name]
        if case.names_no_tier:
            self.assertNotEqual(bypasses.PRIVATE, outcome.pool, outcome)
        else:
            self.assert_holds(outcome, case.wanted)

    @ddt.data(*bypass_steps.RETYPES)
    def test_retype(self, name):
        self.assert_holds(self.retypes[name], LIMITED)

    def test_nothing_is_on_a_private_tier_where_no_tier_is_decided(self):
        for outcome in self.without_fallback:
            self.assertEqual(
                (202, 'available'),
                (outcome.http_status, outcome.status),
                outcome,
            )
            self.assertNotEqual(bypasses.PRIVATE, outcome.pool, outcome)

    def test_an_image_that_has_changed_meanwhile_sheds_no_type(self):
        for name in ('image_that_named_a_snapshot', 'image_that_named_a_type'):
            for outcome in self.steps[name]:
                self.assert_holds(outcome)

    def test_image_metadata_that_a_member_writes_sheds_no_type(self):
        self.assertEqual(len(self.METADATA_TAGS), len(self.followers))
        for outcome in self.followers:
            self.assert_holds(outcome)

    def test_a_volume_of_a_group_is_on_a_tier(self):
        for outcome in self.steps['groups']:
            self.assert_holds(outcome)

    def test_a_volume_of_a_private_tier_cannot_be_accepted(self):
        for outcome in self.steps['transfer']:
            self.assertTrue(outcome.is_refused, outcome)

    def test_an_image_that_appears_is_followed(self):
        before, after = self.steps['image_appears']
        self.assertEqual((400, None), (before.http_status, before.volume))
        self.assert_holds(after, LIMITED)

    def test_an_unknown_image_is_no_error_of_the_doors(self):
        self.assertEqual([], self.errors)

    def test_an_image_with_a_key_makes_no_volume_without(self):
        for outcome in self.steps['key_of_image']:
            self.assertTrue(
                outcome.is_refused
                or outcome.encrypted
                or outcome.pool is None,
                outcome,
            )
