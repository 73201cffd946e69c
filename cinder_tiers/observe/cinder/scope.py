# SPDX-License-Identifier: Apache-2.0

"""Choice of the parts of Cinder to read."""

import collections.abc
import dataclasses

from cinder_tiers.domain.state import cinder as cinder_state

Choice = collections.abc.Callable[[cinder_state.VolumeType], bool]


def none(volume_type: cinder_state.VolumeType) -> bool:
    """Chooses no volume type."""
    return False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scope:
    """Choice of the details to read in addition to the volume types."""

    #: Names of the volume types of the catalog.
    named: collections.abc.Container[str] = ()
    #: Chooses types that are neither ours nor named of which the projects are
    #: read, too, if they are private.
    access_of: Choice = none
    #: Chooses the types of which the encryption is read.
    encryption_of: Choice = none
    #: Whether the default types of projects are read in any case, and not only
    #: if a managed volume type is private, or not named.
    project_defaults: bool = False
    #: Whether the namespace of tags is read from Glance.
    tag_namespace: bool = False
