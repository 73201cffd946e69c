# SPDX-License-Identifier: Apache-2.0

"""Puts a cache tier in front of a pool of Ceph, or takes it away."""

import collections.abc
import errno
import itertools
import time

from cinder_tiers.clients import ceph
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.execute.ceph import pool

#: Clients let go of objects, and monitors learn what OSDs hold, sooner.
WAIT_S = 60.0
_PAUSE_S = 1.0
#: Seconds between two lines of progress, and names of objects in a message.
_REPORT_EVERY_S = 10.0
_NAMED_OBJECTS = 3

#: Shows a line of progress to the user.
ReportProgress = collections.abc.Callable[[str], None]


def show_nothing(line: str) -> None:
    """Discard a progress line."""


class CacheTiers:
    """Sets up, changes and removes cache tiers.

    :param read_usage: reads the usage of a cluster.
    :param report_progress: called with a line now and then while Ceph empties
        a cache.
    :param wait_s: seconds without progress after which a removal is given up.
    """

    def __init__(
        self,
        sessions: ceph.Sessions,
        read_usage: pool.ReadUsage,
        *,
        report_progress: ReportProgress = show_nothing,
        wait_s: float = WAIT_S,
    ) -> None:
        self._sessions = sessions
        self._read_usage = read_usage
        self._report_progress = report_progress
        self._wait_s = wait_s

    def write(
        self,
        wanted: ceph_state.CacheTier | None,
        *,
        key: actions.Key,
        current: ceph_state.CacheTier | None,
        consented: bool = False,
    ) -> None:
        """Write the differences, and send clients to the cache last.

        :param consented: whether the operator allows removing the cache, or
            limiting it to less than it holds.
        :raises errors.ActionFailed: when the cache would have to be flushed,
            could not be emptied, is to be set up and holds objects, or holds
            more than it may.
        """
        session = self._sessions[key.of_cluster]
        if wanted is None:
            if current is not None:
                if not consented:
                    raise errors.ActionFailed(
                        f'refusing to remove {key}: not permitted by --allow; '
                        'run "openstack tier plan" for details'
                    )
                _Removal(
                    session,
                    current,
                    report_progress=self._report_progress,
                    wait_s=self._wait_s,
                ).execute()
            return
        cache = {'pool': wanted.cache_pool}
        if current is not None and not consented:
            self._check_limits(session, current, wanted)
        if current is None:
            self._add(session, wanted)
            current = ceph_state.CacheTier(
                name=wanted.name,
                cache_pool=wanted.cache_pool,
                mode=cache_tier.NO_MODE,
                overlay=False,
            )
        if current.mode != wanted.mode:
            _check_mode(current, wanted)
        # Before the mode: in mode writeback a read of an object that no pool
        # has leaves a whiteout in the cache, such as one by the manager's
        # rbd_support, which looks into each pool of RBD once a minute. A cache
        # that no client uses yet, and that is not empty, is refused.
        for name, value in wanted.settings.items():
            if current.settings.get(name) != value:
                session.command('osd pool set', var=name, val=value, **cache)
        if current.mode != wanted.mode:
            sure = (
                {'yes_i_really_mean_it': True}
                if wanted.mode == cache_tier.READONLY
                else {}
            )
            session.command(
                'osd tier cache-mode', mode=wanted.mode, **cache, **sure
            )
        if not current.overlay:
            session.command(
                'osd tier set-overlay',
                pool=wanted.name,
                overlaypool=wanted.cache_pool,
            )

    def _check_limits(
        self,
        session: ceph.Session,
        current: ceph_state.CacheTier,
        wanted: ceph_state.CacheTier,
    ) -> None:
        """Check that the cache still fits its new limits.

        :raises errors.ActionFailed: the cache holds more than it may.
        """
        if not cache_tier.lowered(current, wanted):
            return
        found = list(
            cache_tier.too_small(current, wanted, self._read_usage(session))
        )
        if found:
            raise errors.ActionFailed(
                f'the cache of pool {wanted.name} is not changed: '
                f'{"; ".join(found)}; run "openstack tier plan" again'
            )

    def _add(
        self, session: ceph.Session, wanted: ceph_state.CacheTier
    ) -> None:
        """Makes an empty pool a tier.

        The monitors refuse it while their statistics, which the OSDs send
        some seconds late, still count objects that are gone. What the OSDs
        list tells these from objects that are there.

        :raises ceph.CephRefused: Ceph refuses it for another reason, or
            still after `wait_s` seconds.
        :raises errors.ActionFailed: the pool holds objects.
        """
        until = time.monotonic() + self._wait_s
        while True:
            try:
                session.command(
                    'osd tier add',
                    pool=wanted.name,
                    tierpool=wanted.cache_pool,
                )
                return
            except ceph.CephRefused as error:
                if error.errno != errno.ENOTEMPTY:
                    raise
                count, names = _count_objects(session, wanted.cache_pool)
                if count:
                    raise errors.ActionFailed(
                        f'pool {wanted.cache_pool} holds {count} objects, '
                        f'{_some(names, count)}, which would be served as '
                        f'objects of pool {wanted.name}; an empty pool was '
                        'expected: remove the objects, or declare another '
                        'pool as the cache, and apply again'
                    ) from error
                if time.monotonic() >= until:
                    raise
            time.sleep(_PAUSE_S)


def _count_objects(session: ceph.Session, pool: str) -> tuple[int, list[str]]:
    """Return the number of objects in a pool, and the names of some."""
    names = session.objects(pool)
    some = list(itertools.islice(names, _NAMED_OBJECTS))
    return len(some) + sum(1 for _ in names), some


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
            'must be emptied first; remove it from the tiers file, apply '
            'that, and declare the other one afterwards'
        )


class _Removal:
    """The way out of a cache tier, from wherever an earlier one ended.

    Nothing is taken away that may hold what no other pool has: the steps are
    those of `cache_tier.removal_steps`, what each did is read back, and where
    one fails the cache serves its clients in mode proxy until the next apply,
    which goes on, or sets it up again.
    """

    def __init__(
        self,
        session: ceph.Session,
        tier: ceph_state.CacheTier,
        *,
        report_progress: ReportProgress,
        wait_s: float,
    ) -> None:
        self._session = session
        self._pool = tier.name
        self._cache = tier.cache_pool
        self._report_progress = report_progress
        self._wait_s = wait_s
        self._reported = time.monotonic()

    def execute(self) -> None:
        """Does all steps that are left.

        :raises errors.ActionFailed: before the first step that is unsafe.
        """
        tier = self._read()
        if len(tier.cache_pools) > 1:
            raise errors.ActionFailed(
                f'pool {self._pool} has several caches, {tier.cache_pool}; '
                'expected one: find out who added the others ("ceph osd pool '
                'ls detail"), and have them removed'
            )
        has_copies_only = tier.mode == cache_tier.READONLY
        if not has_copies_only:
            if cache_tier.why_not_flushed(tier) is None:
                self._flush(tier)
            self._check_empty(tier)
        if self._read().overlay:
            self._remove_overlay(has_copies_only)
        if self._read().mode not in (cache_tier.READONLY, cache_tier.NO_MODE):
            self._until_not_busy(cache_tier.NO_MODE)
            self._check(mode=cache_tier.NO_MODE, overlay=False)
        self._session.command(
            'osd tier remove', pool=self._pool, tierpool=self._cache
        )

    def _read(self) -> ceph_state.CacheTier:
        """The cache as it is.

        :raises errors.ActionFailed: it is gone, or is another one.
        """
        found = cache_tier.of_pools(
            self._session.command('osd pool ls', detail='detail')
        ).get(self._pool)
        if found is None or found.cache_pool != self._cache:
            raise errors.ActionFailed(
                f'pool {self._pool} no longer has the cache {self._cache}; '
                'another user has changed it meanwhile; run "openstack tier '
                'plan" again'
            )
        return found

    def _check(self, *, mode: str, overlay: bool) -> None:
        """Check that the written mode and overlay are in effect.

        :raises errors.ActionFailed: it is not.
        """
        found = self._read()
        if (found.mode, found.overlay) != (mode, overlay):
            raise errors.ActionFailed(
                f'the cache {self._cache} of pool {self._pool} has mode '
                f'{found.mode} and {_overlay(found.overlay)}, although mode '
                f'{mode} and {_overlay(overlay)} were set; run "openstack '
                'tier plan" again'
            )

    def _flush(self, tier: ceph_state.CacheTier) -> None:
        """Empties the cache, while clients go on."""
        # Before anything is changed: whether it will be possible.
        ceph.cache_flush.check_program()
        self._left()
        if tier.mode != cache_tier.PROXY:
            self._session.command(
                'osd tier cache-mode', pool=self._cache, mode=cache_tier.PROXY
            )
            self._check(mode=cache_tier.PROXY, overlay=True)
        fewest = None
        while True:
            said = self._session.flush_and_evict(self._cache, self._report)
            count, names = self._left()
            if not count:
                return
            if fewest is None or count < fewest:
                fewest, until = count, time.monotonic() + self._wait_s
            elif time.monotonic() >= until:
                raise errors.ActionFailed(
                    f'{count} objects of pool {self._cache} could not be '
                    f'evicted within {self._wait_s:g} s, '
                    f'{_some(names, count)}'
                    + (f'; Ceph says: {"; ".join(said)}' if said else '')
                    + f'; the cache stays, in mode {cache_tier.PROXY}: stop '
                    'the clients that have these objects open ("rados -p '
                    f'{self._cache} listwatchers OBJECT" names them) and '
                    'apply again, or declare the cache again'
                )
            time.sleep(_PAUSE_S)

    def _report(self, tried: int) -> None:
        if time.monotonic() - self._reported >= _REPORT_EVERY_S:
            self._reported = time.monotonic()
            self._report_progress(
                f'pool {self._cache}: {tried} objects flushed in this pass'
            )

    def _left(self) -> tuple[int, list[str]]:
        return _count_objects(self._session, self._cache)

    def _check_empty(self, tier: ceph_state.CacheTier) -> None:
        """Check that no data are in the cache only.

        :raises errors.ActionFailed: something is in it.
        """
        count, names = self._left()
        if count:
            raise errors.ActionFailed(
                f'{cache_tier.why_not_flushed(tier) or "clients wrote again"}'
                f', and pool {self._cache} holds {count} objects, '
                f'{_some(names, count)}, which may be older or newer than '
                f'those in pool {self._pool}; "openstack tier plan" shows '
                'what to do'
            )

    def _remove_overlay(self, has_copies_only: bool) -> None:
        """Sends clients to the pool behind, and back if one was quicker."""
        mode = self._read().mode
        self._session.command('osd tier remove-overlay', pool=self._pool)
        self._check(mode=mode, overlay=False)
        if has_copies_only:
            return
        count, names = self._left()
        if not count:
            return
        self._session.command(
            'osd tier set-overlay', pool=self._pool, overlaypool=self._cache
        )
        raise errors.ActionFailed(
            f'a client wrote to pool {self._cache} after it was found empty '
            f'({count} objects, {_some(names, count)}); clients use the cache '
            f'again, in mode {mode}: apply again while no client opens images'
        )

    def _until_not_busy(self, mode: str) -> None:
        """Sets a mode as soon as monitors know that nothing is unwritten."""
        until = time.monotonic() + self._wait_s
        while True:
            try:
                self._session.command(
                    'osd tier cache-mode', pool=self._cache, mode=mode
                )
                return
            except ceph.CephRefused as error:
                if error.errno != errno.EBUSY or time.monotonic() >= until:
                    raise
            time.sleep(_PAUSE_S)


def _overlay(is_set: bool) -> str:
    return 'an overlay' if is_set else 'no overlay'


def _some(names: list[str], count: int) -> str:
    more = ' and others' if count > len(names) else ''
    return f'such as {", ".join(names)}{more}'
