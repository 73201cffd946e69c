# SPDX-License-Identifier: Apache-2.0

"""What members and readers see of tiers."""

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from tests.horizon import case
from tests.horizon import cloud

CARD = cards.Card(
    purpose='For databases.',
    promise={'oltp': {'iops_min': 500, 'p99_ms_max': 20}},
    measured=cards.Measured(
        ended_at='2026-11-29T14:05Z',
        ceph_release=19,
        fingerprint='aaaaaa-bbbbbb-cccccc',
        figures=(
            cards.Figure(
                pattern='oltp',
                quantity='iops',
                mean=5012,
                low=4890,
                high=5137,
                runs=5,
            ),
        ),
    ),
)


def amount(in_use, limit, reserved=0):
    return {'in_use': in_use, 'limit': limit, 'reserved': reserved}


class MemberTestCase(case.HorizonTestCase):
    def setUp(self):
        super().setUp()
        self.cloud.types = [
            cloud.volume_type(1, 'database', descriptions.write(CARD)),
            cloud.volume_type(2, 'general', 'For the rest'),
        ]

    def test_a_card_has_the_words_and_digits_of_the_description(self):
        page = self.read(case.MEMBER)
        for text in (
            'For databases.',
            'oltp: iops at least 500, p99_ms at most 20',
            'measured 2026-11-29T14:05Z on Ceph 19',
            'oltp (5 runs): iops 5012 [4890, 5137]',
        ):
            self.assertIn(text, page.texts)
        self.assert_inert(page)

    def test_a_stale_card_says_since_when(self):
        stale = cards.Card(not_measured_since='2026-11-29T14:05Z')
        self.cloud.types = [
            cloud.volume_type(1, 'database', descriptions.write(stale))
        ]
        page = self.read(case.MEMBER)
        self.assertIn('not measured since 2026-11-29T14:05Z', page.texts)

    def test_volumes_are_counted_with_those_of_retired_types(self):
        self.cloud.types.append(
            cloud.volume_type(3, 'database - retired 7c1f0a9e', '')
        )
        self.cloud.quota = {
            'volumes': amount(9, 12, reserved=1),
            'gigabytes': amount(90, 1000),
            'volumes_database': amount(4, -1),
            'gigabytes_database': amount(40, 70, reserved=5),
            'volumes_database - retired 7c1f0a9e': amount(2, 0),
            'gigabytes_database - retired 7c1f0a9e': amount(20, 0),
        }
        texts = self.read(case.MEMBER).texts
        start = texts.index('Size left (GiB)') + 1
        self.assertEqual(
            # Of the project there are 2 volumes left, of the tier 25 GiB.
            ['database', '6', '60', '2', '25'],
            texts[start : start + 5],
        )
        self.assertEqual(
            ['All volumes', '9', '90', '2', '910'],
            texts[start + 10 : start + 15],
        )

    def test_of_types_of_others_nothing_is_shown(self):
        hidden = cloud.volume_type(3, 'secret', 'For others')
        self.cloud.types.append(hidden)
        # Cinder names them in quotas.
        self.cloud.quota = {
            **self.cloud._quota(),
            'volumes': amount(1, 10),
            'gigabytes': amount(1, 10),
        }
        self.cloud.types.remove(hidden)
        self.cloud._quota = lambda: self.cloud.quota
        self.assertIn('volumes_secret', self.cloud.quota)
        self.assertNotIn('secret', self.main(self.get(case.MEMBER)))

    def test_hostile_texts_are_text(self):
        self.cloud.types = [
            cloud.volume_type(1, case.HOSTILE, f'For {case.HOSTILE}')
        ]
        self.cloud.namespace = ['database', case.HOSTILE]
        self.cloud.add_image(
            7, case.HOSTILE, [case.HOSTILE, 'x' + case.HOSTILE]
        )
        text = self.main(self.get(case.MEMBER))
        page = self.read(case.MEMBER)
        self.assert_inert(page)
        self.assertEqual(
            7, sum('<script>document.title' in each for each in page.texts)
        )
        for each in ('{$', '\x1b', '\u202e', '<script', '<img'):
            self.assertNotIn(each, text)

    def test_volumes_are_not_listed(self):
        self.get(case.MEMBER)
        self.assertEqual(
            [],
            [one for one in self.cloud.calls if '/volumes' in one[1]],
        )
        self.assertLess(len(self.cloud.calls), 15, self.cloud.calls)

    def test_one_page_of_images_is_read(self):
        for number in range(1500):
            self.cloud.add_image(number, f'image-{number}', [])
        texts = self.read(case.MEMBER).texts
        self.assertIn('image-999', texts)
        self.assertNotIn('image-1000', texts)
        self.assertIn('The first 1000 images.', texts)
        self.assertEqual(
            1, sum(one[1] == '/v2/images' for one in self.cloud.calls)
        )

    def test_a_service_that_refuses_is_named_and_the_rest_is_shown(self):
        self.cloud.refused = {
            f'/v3/{cloud.PROJECT}/os-quota-sets/{cloud.PROJECT}': 403,
            '/v2/images': 503,
        }
        page = self.read(case.MEMBER)
        self.assertIn('For databases.', page.texts)
        told = '\n'.join(page.texts)
        self.assertIn('Cinder did not show the quota', told)
        self.assertIn('volume_extension:quotas:show', told)
        self.assertIn('Glance did not list images', told)

    def test_who_is_logged_out_by_keystone_logs_in_again(self):
        self.cloud.refused = {f'/v3/{cloud.PROJECT}/types': 401}
        answer = self.client.get(case.MEMBER)
        self.assertEqual(302, answer.status_code)
        self.assertIn('/auth/login/', answer['Location'])

    def test_the_page_of_administrators_is_not_for_members(self):
        self.get(case.ADMIN, status=403)


class ReaderTestCase(case.HorizonTestCase):
    roles = ('reader',)

    def test_a_reader_sees_tiers_and_no_action(self):
        self.cloud.types = [
            cloud.volume_type(1, 'database', descriptions.write(CARD))
        ]
        self.cloud.namespace = ['database']
        self.cloud.add_image(7, 'debian', ['Database', 'linux'])
        page = self.read(case.MEMBER)
        self.assertIn('For databases.', page.texts)
        self.assertIn('debian', page.texts)
        self.assertNotIn('Tag image', page.texts)


class NobodyTestCase(case.HorizonTestCase):
    roles = ('other',)

    def test_who_has_no_role_of_cinder_sees_no_panel(self):
        self.get(case.MEMBER, status=403)
