# SPDX-License-Identifier: Apache-2.0

"""A volume type that stays closed until it has all that its tier asks for.

Cinder creates a type with its extra specs in one request. Its QoS spec, its
quotas and its encryption need requests of their own, and until these are done
a volume would get none of them. So the type is made private, with access for
nobody, and opened last. Its description says so meanwhile: Cinder sets that
and `is_public` in one request, and projects get access after it changed, so
that a type which an apply left half made is never taken for one that somebody
closed, or the other way round. Pure.
"""

import dataclasses

from cinder_tiers.domain.state import cinder as cinder_state


def held_back(
    before: cinder_state.VolumeType | None, after: cinder_state.VolumeType
) -> cinder_state.VolumeType | None:
    """A type as it should be, but no more open than it is.

    :param before: as it is; None when it does not exist.
    :param after: as it should be.
    :returns: None when nothing is opened: what is public is in use, and is
        never closed.
    """
    if before is not None and before.is_public:
        return None
    had = frozenset() if before is None else before.projects
    kept = had if after.is_public else had & after.projects
    if not after.is_public and kept == after.projects:
        return None
    is_new = before is None or before.is_half_made
    return dataclasses.replace(
        after,
        is_public=False,
        projects=kept,
        description=cinder_state.HALF_MADE if is_new else after.description,
    )
