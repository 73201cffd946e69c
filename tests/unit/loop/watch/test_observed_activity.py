# SPDX-License-Identifier: Apache-2.0

"""What a cluster does at the moment, as a watch reads it."""

from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import circumstances
from cinder_tiers.loop.watch import observed_activity
from cinder_tiers.loop.watch import series
from tests.unit.loop.watch import test_use_case
from tests.worlds import ceph_bindings


class ObservedActivityTestCase(test_use_case.WatchCase):
    def test_images_of_a_manager_that_only_begins_to_ask_are_not_known(self):
        answers = {
            **test_use_case.ANSWERS,
            'rbd perf image stats': {
                **test_use_case.ANSWERS['rbd perf image stats'],
                'stats': [],
            },
        }
        reader = observed_activity.ActivityReader(
            ceph_bindings.Session(self.ceph, answers)
        )
        found = reader.read(['tier-database'])
        self.assertEqual((None, 201.0), (found.image_iops, found.client_iops))
        # Of a pool that was just asked about, nothing is nothing.
        self.assertEqual({}, reader.read(['tier-database']).image_iops)
        self.assertIsNone(reader.read(['other']).image_iops)

    def test_the_busiest_images_are_as_many_as_are_read(self):
        self.assertEqual(
            observed_activity.MOST_IMAGES, circumstances.FULL_LIST
        )

    def test_facts_that_cannot_be_read_are_left_out(self):
        self.session.answers = {
            **test_use_case.ANSWERS,
            'osd perf': errors.NotVisible('not for this user'),
        }
        (found,) = self.watch(window_s=0.05)
        self.assertIsNone(found.last.status.osd_ms)
        self.assertEqual(201.0, found.last.status.client_iops)
        # Monitors that do not answer are waited for once.
        self.session.answers = {'status': errors.Unreachable('no quorum')}
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(series.Status(), found.last.status)
        self.assertTrue(found.last.write_ms)
        self.session.answers = {
            name: {'new': 'form'} for name in test_use_case.ANSWERS
        }
        (found,) = self.watch(window_s=0.05)
        self.assertIsNone(found.last.status.client_iops)
        self.assertTrue(found.last.write_ms)
