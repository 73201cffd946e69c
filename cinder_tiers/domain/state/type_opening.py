# SPDX-License-Identifier: Apache-2.0

"""A volume type that stays closed until it is complete.

Cinder creates a type with its extra specs in one request. Its QoS spec, quotas
and encryption need further requests, and until these are done a volume would
have none of them. So the type is created private, without access for any
project, and opened last. Meanwhile its description says so. Cinder sets the
description and `is_public` in one request, and projects get access afterwards,
so a type that apply left half made is never confused with one that somebody
closed. Pure.
"""

import dataclasses

from cinder_tiers.domain.state import cinder as cinder_state


def held_back(
    before: cinder_state.VolumeType | None, after: cinder_state.VolumeType
) -> cinder_state.VolumeType | None:
    """Return a declared type, but not more open than it is now.

    :param before: existing type; None if it does not exist.
    :param after: declared type.
    :returns: the type; None if nothing would be opened: a public type is in
        use, and is never closed.
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
