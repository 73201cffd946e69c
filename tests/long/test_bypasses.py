# SPDX-License-Identifier: Apache-2.0
"""Those of the functional part, and ways around that take long to try.

With a backup service of their own, another availability zone, and a Glance
that fails for the doors only.
"""

from tests.functional import bypass_steps
from tests.functional import bypasses
from tests.functional import test_bypasses

LIMITED = bypasses.LIMITED


class MoreBypassesTest(test_bypasses.BypassesTest):
    STEPS = {
        **test_bypasses.STEPS,
        'image_that_changes': bypass_steps.Attempts.image_changes,
        'restores': bypass_steps.Attempts.restores,
        'cold_images': bypass_steps.Attempts.cold_images,
        'other_zone': bypass_steps.Attempts.other_zone,
        'type_without_glance': (
            bypass_steps.Attempts.type_of_image_without_glance
        ),
    }
    METADATA_TAGS = ((bypasses.PRIVATE, 'limited'), ('archive', 'limited'))
    HAS_MORE = True

    def test_an_image_that_changes_all_the_time_sheds_no_type(self):
        for outcome in self.steps['image_that_changes']:
            self.assert_holds(outcome)

    def test_a_restored_backup_is_on_a_tier(self):
        for outcome in self.steps['restores']:
            self.assert_holds(outcome)

    def test_many_cold_images_are_all_followed(self):
        for outcome in self.steps['cold_images']:
            self.assert_holds(outcome, LIMITED)

    def test_a_zone_without_tiers_serves_as_cinder_alone_would(self):
        for outcome in self.steps['other_zone']:
            self.assertEqual(
                (202, 'available'),
                (outcome.http_status, outcome.status),
                outcome,
            )
            self.assertNotEqual(bypasses.PRIVATE, outcome.pool, outcome)

    def test_an_image_keeps_its_type_when_glance_fails_for_the_doors(self):
        for outcome in self.steps['type_without_glance']:
            self.assert_holds(outcome, 'archive')
