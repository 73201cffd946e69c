# SPDX-License-Identifier: Apache-2.0

"""Findings of `tier watch` on the tiers of a cloud, while volumes move.

Reads the series that it keeps, and judges them in the same way.
"""

import collections.abc
import dataclasses
import math
import time

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import circumstances
from cinder_tiers.loop.watch import expectation
from cinder_tiers.loop.watch import files
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series

#: A series without a newer window is not that of a watch that runs.
STALE_S = 6 * series.WINDOW_S
#: No window is shorter.
_ASK_EVERY_S = series.WINDOW_S / 4
_SOUND = (judgement.TierState.SOUND, judgement.TierState.UNKNOWN)


class WatchedTiers:
    """Tiers of a catalog that have a series in a folder.

    :param folder: folder of `tier watch --state`.
    :param catalog: catalog with the tiers.
    :param clock: returns seconds since the epoch.
    :raises errors.TiersError: no tier has a series, or a series cannot be read
        or does not belong to a running watch.
    """

    def __init__(
        self,
        folder: str,
        catalog: catalogs.Catalog,
        *,
        clock: collections.abc.Callable[[], float] = time.time,
    ) -> None:
        self._files = files.SeriesFiles(folder)
        self._clock = clock
        self._asked_at = -math.inf
        self._answer = ''
        self._tiers = [
            tier for tier in catalog.ceph_tiers if self._read(tier).windows
        ]
        #: Names of tiers without a series.
        self.without = [
            tier.name for tier in catalog.ceph_tiers if tier not in self._tiers
        ]
        stale = [words for tier in self._tiers if (words := self._stale(tier))]
        if stale or not self._tiers:
            raise errors.ActionFailed(
                'Nothing was changed because of --watch:',
                *(stale or (f'folder {folder} has no series of a tier',)),
                'Start "openstack tier watch", with the same tiers file and '
                'folder; "openstack tier watch --remove --tier" removes the '
                'series of a tier that is not watched any more.',
            )

    def unknown(self) -> list[str]:
        """A sentence for each tier of which too little is known yet."""
        return [
            f'tier {tier.name}: {"; ".join(verdict.reasons)}'
            for tier in self._tiers
            if (verdict := self._verdict(tier)).state
            is judgement.TierState.UNKNOWN
        ]

    def trouble(self) -> str:
        """Explain why no volume should be changed now; empty if one may be."""
        now = self._clock()
        if not 0 <= now - self._asked_at < _ASK_EVERY_S:
            try:
                self._answer = '; '.join(
                    words for tier in self._tiers if (words := self._of(tier))
                )
            except errors.TiersError as error:
                self._answer = str(error)
            self._asked_at = now
        return self._answer

    def _read(self, tier: catalogs.CephTier) -> series.Series:
        return self._files.read(tier.name, tier.rbd.pools)

    def _of(self, tier: catalogs.CephTier) -> str:
        stale = self._stale(tier)
        if stale:
            return stale
        verdict = self._verdict(tier)
        if verdict.state in _SOUND:
            return ''
        since = (
            ''
            if verdict.since is None
            else f' since {circumstances.time_text(verdict.since)}'
        )
        return (
            f'tier {tier.name}: {verdict.state.value}{since}: '
            f'{"; ".join(verdict.reasons)}'
        )

    def _stale(self, tier: catalogs.CephTier) -> str:
        kept = self._read(tier)
        ended_at = (
            kept.windows[-1].began_at + series.WINDOW_S if kept.windows else 0
        )
        if self._clock() - ended_at <= STALE_S:
            return ''
        return (
            f'tier {tier.name} has not been watched since '
            f'{circumstances.time_text(ended_at)}'
        )

    def _verdict(self, tier: catalogs.CephTier) -> judgement.TierVerdict:
        kept = self._read(tier)
        findings = expectation.judge(tier.expect, kept.windows)
        return judgement.verdict(
            # The limits of the tiers file may have changed since.
            dataclasses.replace(
                kept,
                broken_since={
                    **{
                        one.name: one.since
                        for one in findings
                        if one.since is not None
                    },
                    **kept.broken_since,
                },
            ),
            findings,
        )
