# SPDX-License-Identifier: Apache-2.0

"""Puts a cache tier in front of a pool of Ceph."""

from cinder_tiers.clients import ceph
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


class CacheTiers:
    """Sets up cache tiers, and changes what needs no flushing."""

    def __init__(self, sessions: ceph.Sessions) -> None:
        self._sessions = sessions

    def write(
        self,
        wanted: ceph_state.CacheTier,
        *,
        key: actions.Key,
        current: ceph_state.CacheTier | None,
    ) -> None:
        """Does what is lacking, what sends clients to the cache last.

        :raises errors.ActionFailed: when the cache would have to be flushed.
        """
        session = self._sessions[key.cluster]
        pool = {'pool': wanted.cache_pool}
        if current is None:
            # Refused by Ceph when the pool holds objects.
            session.command(
                'osd tier add', pool=wanted.name, tierpool=wanted.cache_pool
            )
            current = ceph_state.CacheTier(
                name=wanted.name,
                cache_pool=wanted.cache_pool,
                mode=cache_tier.NO_MODE,
                overlay=False,
            )
        if current.mode != wanted.mode:
            _check_mode(current, wanted)
            sure = (
                {'yes_i_really_mean_it': True}
                if wanted.mode == cache_tier.READONLY
                else {}
            )
            session.command(
                'osd tier cache-mode', mode=wanted.mode, **pool, **sure
            )
        for name, value in wanted.settings.items():
            if current.settings.get(name) != value:
                session.command('osd pool set', var=name, val=value, **pool)
        if not current.overlay:
            session.command(
                'osd tier set-overlay',
                pool=wanted.name,
                overlaypool=wanted.cache_pool,
            )


def _check_mode(
    current: ceph_state.CacheTier, wanted: ceph_state.CacheTier
) -> None:
    allowed = cache_tier.SAFE_MODES_BEFORE[wanted.mode]
    if current.cache_pool != wanted.cache_pool or (
        current.mode not in allowed | {cache_tier.NO_MODE}
    ):
        raise errors.ActionFailed(
            f'pool {current.name} has the cache {current.cache_pool} in '
            f'mode {current.mode}; refusing to change it '
            f'to {wanted.cache_pool} in mode {wanted.mode}: the cache '
            'must be emptied first'
        )
