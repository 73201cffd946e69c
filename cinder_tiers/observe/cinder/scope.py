# SPDX-License-Identifier: Apache-2.0

"""How much of Cinder is read."""

import collections.abc
import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scope:
    """What is read of volume types beside the types themselves."""

    #: Names of the volume types of the catalog.
    named: collections.abc.Container[str] = ()
    #: Whether the projects of private types that are neither ours nor named
    #: are read, too.
    access_of_all: bool = False
    #: Names of the volume types of which the encryption is read.
    encryption_of: collections.abc.Container[str] = ()
    encryption_of_all: bool = False
    #: Whether the default types of projects are read in any case, and not only
    #: if a managed volume type is to be deleted.
    project_defaults: bool = False
