# SPDX-License-Identifier: Apache-2.0

"""Counts the volumes that Ceph still copies after a repair.

Cinder answers a retype in place before that.
"""

import collections.abc
import contextlib

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import repair
from cinder_tiers.observe.cinder import volumes


def text(
    results: collections.abc.Iterable[carry_out.StepResult],
    sessions: collections.abc.Iterable[ceph_session.Session],
) -> str:
    """Say how many moved volumes managers have tasks for; '' for none.

    What a manager does not tell this user is not counted.

    :param sessions: sessions with the clusters.
    """
    moved = {
        volumes.image_of(one.step.volume)
        for one in results
        if one.outcome is repair.StepOutcome.DONE and one.host
    }
    copied: set[str] = set()
    for session in sessions if moved else ():
        with contextlib.suppress(errors.TiersError):
            copied |= carry_out.images_with_tasks([session])
    count = len(moved & copied)
    if not count:
        return ''
    return (
        f"Ceph's manager still copies {count} of {len(moved)} volumes that "
        'moved: see "ceph rbd task list"'
    )
