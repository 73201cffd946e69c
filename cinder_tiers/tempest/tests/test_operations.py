# SPDX-License-Identifier: Apache-2.0

"""Operations on a volume of a tier, which leave it on the tier."""

import contextlib

from tempest.common import waiters
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators
from tempest.lib import exceptions

from cinder_tiers.tempest.tests import tier_test

#: The first microversions with groups, with one by a group type.
_GROUPS = '3.13'
_LIMITS = {'total_iops_sec': '700', 'read_bytes_sec': '9000000'}


class OperationsTest(tier_test.TierTest):
    """Operations of a tenant on a volume of the tagged tier."""

    credentials = ('primary', 'alt', 'admin')

    @decorators.idempotent_id('388a9304-a0d6-4369-ae42-4a25c1b38cce')
    def test_clone_and_snapshot_stay_on_the_tier(self) -> None:
        """Also covers a volume of the snapshot, and an extended one."""
        volume = self.make_volume(imageRef=self.make_image(self.tiers.tag))
        snapshot = self.make_snapshot(volume['id'])
        for request in (
            {'source_volid': volume['id']},
            {'snapshot_id': snapshot},
        ):
            self.assert_on_tier(
                self.make_volume(**request), self.tiers.tier_type
            )
        self.volumes.extend_volume(volume['id'], new_size=2)
        extended = self.available(volume['id'])
        self.assertEqual(2, extended['size'])
        self.assert_on_tier(extended, self.tiers.tier_type)

    @decorators.idempotent_id('1816b784-7593-4cd2-8121-a2014ba5bb47')
    def test_a_retype_to_the_following_type_is_no_way_off_the_tier(
        self,
    ) -> None:
        """Refused, or the volume is on the tier of its image afterwards."""
        for policy in ('never', 'on-demand'):
            volume = self.make_volume(imageRef=self.make_image(self.tiers.tag))
            with contextlib.suppress(exceptions.ClientRestClientException):
                self.volumes.retype_volume(
                    volume['id'],
                    new_type=self.tiers.following_type,
                    migration_policy=policy,
                )
            self.assert_on_tier(
                self.available(volume['id']), self.tiers.tier_type
            )

    @decorators.idempotent_id('fea4d7a4-45bd-44e0-b2cf-5f0b271515fe')
    def test_a_transferred_volume_keeps_its_type(self) -> None:
        """To another project, on a public tier."""
        volume = self.make_volume(imageRef=self.make_image(self.tiers.tag))
        offers = self.os_primary.volume_transfers_client_latest
        offer = offers.create_volume_transfer(volume_id=volume['id'])[
            'transfer'
        ]
        self.addCleanup(
            test_utils.call_and_ignore_notfound_exc,
            offers.delete_volume_transfer,
            offer['id'],
        )
        waiters.wait_for_volume_resource_status(
            self.volumes, volume['id'], 'awaiting-transfer'
        )
        self.os_alt.volume_transfers_client_latest.accept_volume_transfer(
            offer['id'], auth_key=offer['auth_key']
        )
        of_alt = self.os_alt.volumes_client_latest
        self.remove_volume_later(volume['id'], of_alt)
        self.assert_on_tier(
            self.available(volume['id'], of_alt), self.tiers.tier_type
        )


class GroupsTest(tier_test.TierTest):
    """Groups need a group type, which only an admin can make."""

    needs_admin = True

    @decorators.idempotent_id('9eb5e4ff-e52a-4403-b684-74ecee2bde87')
    def test_a_group_of_the_following_type_is_on_the_fallback_tier(
        self,
    ) -> None:
        """A group has no image that could choose."""
        # Removed after the group, which takes the volume with it.
        image = self.make_image(self.tiers.tag)
        of_admin = self.os_admin.volumes_client_latest
        kind = self.ask(
            'POST',
            'group_types',
            {'group_type': {'name': tier_test.unique_name('group-type')}},
            client=of_admin,
            version='3.11',
        )['group_type']['id']
        self.addCleanup(
            self.ask,
            'DELETE',
            f'group_types/{kind}',
            client=of_admin,
            version='3.11',
        )
        following = next(
            one['id']
            for one in self.types
            if one['name'] == self.tiers.following_type
        )
        group = self.ask(
            'POST',
            'groups',
            {
                'group': {
                    'name': tier_test.unique_name('group'),
                    'group_type': kind,
                    'volume_types': [following],
                }
            },
            version=_GROUPS,
        )['group']['id']
        self.addCleanup(self._remove, group)
        self.wait_for(
            lambda: self._status(group) != 'creating', 'a group is made'
        )
        self.assertEqual('available', self._status(group))
        made = self.ask(
            'POST',
            'volumes',
            {
                'volume': {
                    'size': 1,
                    'name': tier_test.unique_name('volume'),
                    'group_id': group,
                    'volume_type': following,
                    'imageRef': image,
                }
            },
            version=_GROUPS,
        )['volume']['id']
        self.assert_on_tier(self.available(made), self.tiers.fallback_type)

    def _status(self, group: str) -> str | None:
        """Its status; None if it is gone."""
        try:
            return self.ask('GET', f'groups/{group}', version=_GROUPS)[
                'group'
            ]['status']
        except exceptions.NotFound:
            return None

    def _remove(self, group: str) -> None:
        self.ask(
            'POST',
            f'groups/{group}/action',
            {'delete': {'delete-volumes': True}},
            version=_GROUPS,
        )
        self.wait_for(
            lambda: self._status(group) is None, 'a group is deleted'
        )


class LimitsTest(tier_test.TierTest):
    """Quota and access of the tier's volume type."""

    needs_admin = True

    @decorators.idempotent_id('d48982ba-1af3-43d3-8fbb-5bdbdfa1db92')
    def test_the_quota_of_the_tier_counts(self) -> None:
        """Also covers a request that names no type."""
        quotas = self.os_admin.volume_quotas_client_latest
        project = self.volumes.project_id
        name = f'volumes_{self.tiers.tier_type}'
        before = quotas.show_quota_set(project)['quota_set'][name]
        self.addCleanup(quotas.update_quota_set, project, **{name: before})
        image = self.make_image(self.tiers.tag)
        quotas.update_quota_set(project, **{name: 0})
        self.assertRaises(
            (exceptions.OverLimit, exceptions.RateLimitExceeded),
            self.make_volume,
            imageRef=image,
        )
        volume = self.make_volume(imageRef=self.make_image())
        self.assert_on_tier(volume, self.tiers.fallback_type)


class QosTest(tier_test.TierTest):
    """QoS of a tier that is created here: those of a cloud may have none."""

    needs_admin = True

    @classmethod
    def resource_setup(cls) -> None:
        """A private tier whose volume type has limits for hosts."""
        super().resource_setup()
        client = cls.os_admin.volume_qos_client_latest
        specs = client.create_qos(
            name=tier_test.unique_name('qos'), consumer='front-end', **_LIMITS
        )['qos_specs']['id']
        cls.addClassResourceCleanup(client.delete_qos, specs)
        cls.tier = cls.make_private_tier(cls.volumes.project_id)
        client.associate_qos(specs, cls.tier['id'])

    @decorators.idempotent_id('7b36a94a-0559-4f03-a46b-f7566b3c3ee2')
    def test_the_qos_of_the_tier_reaches_the_connection(self) -> None:
        """A host that connects the volume receives the QoS."""
        volume = self.make_volume(imageRef=self.make_image(self.tier['name']))
        self.assertEqual(self.tier['name'], volume['volume_type'])
        action = f'volumes/{volume["id"]}/action'
        of_admin = self.os_admin.volumes_client_latest
        connector = {
            'connector': {
                'host': 'cinder-tiers-tempest',
                'ip': '192.0.2.1',
                'initiator': 'iqn.1993-08.org.debian:01:cinder-tiers',
                'platform': 'x86_64',
                'os_type': 'linux',
                'multipath': False,
            }
        }
        told = self.ask(
            'POST',
            action,
            {'os-initialize_connection': connector},
            client=of_admin,
        )
        self.addCleanup(
            self.ask,
            'POST',
            action,
            {'os-terminate_connection': connector},
            client=of_admin,
        )
        found = told['connection_info']['data']['qos_specs'] or {}
        self.assertEqual(
            _LIMITS, {key: found.get(key) for key in _LIMITS}, found
        )
