# SPDX-License-Identifier: Apache-2.0

"""Creates erasure code profiles and CRUSH rules."""

from cinder_tiers.clients import ceph
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


class ErasureCodeProfiles:
    """Creates erasure code profiles."""

    def __init__(self, sessions: ceph.Sessions) -> None:
        self._sessions = sessions

    def write(
        self,
        wanted: ceph_state.ErasureCodeProfile,
        *,
        key: actions.Key,
        current: ceph_state.ErasureCodeProfile | None,
    ) -> None:
        """Creates the profile; Ceph refuses to change one."""
        if current is None:
            self._sessions[key.cluster].command(
                'osd erasure-code-profile set',
                name=wanted.name,
                profile=[
                    f'k={wanted.k}',
                    f'm={wanted.m}',
                    f'crush-root={wanted.root}',
                    f'crush-failure-domain={wanted.failure_domain}',
                    *(
                        [f'crush-device-class={wanted.device_class}']
                        if wanted.device_class
                        else []
                    ),
                    *(
                        f'{name}={value}'
                        for name, value in (
                            ('plugin', wanted.plugin),
                            ('technique', wanted.technique),
                            ('stripe_unit', wanted.stripe_unit_bytes),
                            (
                                'crush-num-failure-domains',
                                wanted.num_failure_domains,
                            ),
                            (
                                'crush-osds-per-failure-domain',
                                wanted.osds_per_failure_domain,
                            ),
                        )
                        if value is not None
                    ),
                ],
            )


class CrushRules:
    """Creates CRUSH rules."""

    def __init__(self, sessions: ceph.Sessions) -> None:
        self._sessions = sessions

    def write(
        self,
        wanted: ceph_state.CrushRule,
        *,
        key: actions.Key,
        current: ceph_state.CrushRule | None,
    ) -> None:
        """Creates the rule.

        One for erasure code takes root, class and failure domain from the
        profile of its name.
        """
        session = self._sessions[key.cluster]
        if current is not None:
            return
        if wanted.kind == 'erasure':
            session.command(
                'osd crush rule create-erasure',
                name=wanted.name,
                profile=wanted.name,
            )
        else:
            only = (
                {'class_': wanted.device_class} if wanted.device_class else {}
            )
            session.command(
                'osd crush rule create-replicated',
                name=wanted.name,
                root=wanted.root,
                type=wanted.failure_domain,
                **only,
            )
