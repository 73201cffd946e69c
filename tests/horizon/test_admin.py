# SPDX-License-Identifier: Apache-2.0

"""What administrators see of tiers, and of volumes."""

from benchmarks import generated_cloud
from tests.horizon import case
from tests.horizon import cloud

VOLUMES = f'/v3/{cloud.PROJECT}/volumes/detail'


class AdminTestCase(case.HorizonTestCase):
    roles = ('admin', 'manager', 'member', 'reader')

    def serve(self, *, volumes=300, images=30):
        self.cloud.other = generated_cloud.Cloud(
            volumes=volumes, tiers=4, images=images
        )

    def test_volumes_are_counted_by_tier(self):
        self.serve()
        page = self.read(case.ADMIN)
        self.assert_inert(page)
        told = ' '.join(page.texts)
        self.assertIn('Counts all 300 volumes.', told)
        # Of each hundred, numbers 0 and 1 are on a wrong backend.
        self.assertIn('6 are wrong, or may be', told)
        self.assertIn(generated_cloud.ident(2, 101), page.texts)

    def test_of_many_volumes_one_page_is_read(self):
        self.serve(volumes=10000, images=5000)
        told = ' '.join(self.read(case.ADMIN).texts)
        self.assertIn('the 1000 newest volumes', told)
        calls = [(method, path) for method, path, _ in self.cloud.calls]
        self.assertEqual(1, calls.count(('GET', VOLUMES)))
        self.assertEqual(1, calls.count(('GET', '/v2/images')))
        # As many as for one full page.
        self.serve(volumes=1000, images=1000)
        self.cloud.calls.clear()
        self.read(case.ADMIN)
        self.assertEqual(
            calls, [(method, path) for method, path, _ in self.cloud.calls]
        )

    def test_a_volume_is_explained(self):
        self.serve()
        page = self.read(f'{case.ADMIN}?volume=volume-101')
        self.assert_inert(page)
        told = ' '.join(page.texts)
        self.assertIn('misplaced: ', told)
        # Its tier is that of its number, and it lies on the next one's.
        self.assertIn('node@backend-2#pool', told)
        self.assertIn(generated_cloud.ident(2, 101), page.texts)

    def test_a_scheduler_that_does_not_answer_is_named(self):
        self.serve()
        self.cloud.refused = {
            f'/v3/{cloud.PROJECT}/scheduler-stats/get_pools': 504
        }
        page = self.read(case.ADMIN)
        self.assertIn('Cinder did not list its backends', ' '.join(page.texts))

    def test_hostile_texts_are_text(self):
        self.serve()
        asked = self.client.get(case.ADMIN, {'volume': case.HOSTILE})
        text = self.main(asked.content.decode())
        for each in ('{$', '\x1b', '<script', '<img'):
            self.assertNotIn(each, text)
        self.assertIn('does not exist', text)
