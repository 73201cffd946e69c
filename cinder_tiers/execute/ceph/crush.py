# SPDX-License-Identifier: Apache-2.0

"""Creates erasure code profiles and CRUSH rules."""

import errno

from cinder_tiers.clients import ceph
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.execute.ceph import crush_map

#: How often others may change the CRUSH map while a rule is added to it.
_TRIES = 5


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
            self._sessions[key.of_cluster].command(
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
        session = self._sessions[key.of_cluster]
        if current is not None:
            return
        if wanted.kind == 'erasure':
            session.command(
                'osd crush rule create-erasure',
                name=wanted.name,
                profile=wanted.name,
            )
        elif wanted.needs_crush_map:
            _add_to_map(session, wanted)
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


def _parts_of(wanted: ceph_state.CrushRule) -> list[crush_map.RulePart]:
    """The parts of a rule of two parts, or of two levels."""
    root, failure_domain = wanted.root, wanted.failure_domain
    if root is None or failure_domain is None:
        raise ValueError(f'CRUSH rule {wanted.name} has another form')

    def bucket(device_class: str | None) -> str:
        return f'{root}~{device_class}' if device_class else root

    if wanted.replicas_per_failure_domain:
        if wanted.sub_failure_domain is None:
            raise ValueError(f'CRUSH rule {wanted.name} has one level')
        return [
            crush_map.RulePart(
                bucket=bucket(wanted.device_class),
                in_each=failure_domain,
                copies=wanted.replicas_per_failure_domain,
                failure_domain=wanted.sub_failure_domain,
            )
        ]
    return [
        crush_map.RulePart(
            bucket=bucket(device_class),
            copies=copies,
            failure_domain=failure_domain,
        )
        for device_class, copies in (
            (wanted.primary_device_class, 1),
            (wanted.device_class, -1),
        )
    ]


def _add_to_map(session: ceph.Session, wanted: ceph_state.CrushRule) -> None:
    """Creates a rule for which Ceph has no command.

    The map is set only if it is unchanged since it was read; the monitors
    try it out before they take it (mon_osd_crush_smoke_test).

    :raises errors.ActionFailed: the map is not understood, or changes all the
        time; nothing was set.
    """
    parts = _parts_of(wanted)
    for left in reversed(range(_TRIES)):
        data, version = session.crush_map()
        try:
            changed = crush_map.with_rule(data, wanted.name, parts)
        except crush_map.NotUnderstood as error:
            raise errors.ActionFailed(
                f'CRUSH rule {wanted.name} is not created, because the CRUSH '
                f'map is not as expected: {error}; see "ceph osd crush dump", '
                'or create the rule by hand'
            ) from error
        try:
            session.set_crush_map(changed, prior_version=version)
            return
        except ceph.CephRefused as error:
            if error.errno != errno.EPERM or not left:
                raise
