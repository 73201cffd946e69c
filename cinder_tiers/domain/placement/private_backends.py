# SPDX-License-Identifier: Apache-2.0

"""Backends that serve only private tiers that a project may not use.

A backend that serves no tier is for all; so is one that serves, beside a
private tier, another tier that the project may use, if the type of that names
it. The backends of a tier that was retired or cannot be read count as well.

A type that names no backend asks for no tier. With it a project would have
volumes on its private tier that are not of its type, and could give them to
any other project: to members all private tiers are closed. An administrator
forgets to name one easily: no extra spec of a tier stands for it, and a
comparison that many backends meet opens none.

TierFilter and `openstack tier explain` ask here. Must not know how backends
are matched.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain.placement import backends as matching_rules

_Backend = typing.TypeVar('_Backend', bound=collections.abc.Hashable)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackendClaim(typing.Generic[_Backend]):
    """The backends that a volume type with the mark of a tier leads to."""

    extra_specs: collections.abc.Mapping[str, str]
    #: Ids of the projects that may use the type; None for all.
    projects: frozenset[str] | None
    backends: frozenset[_Backend]
    #: Whether it is the type of the volume.
    is_own: bool = False


def claims_backends(extra_specs: collections.abc.Mapping[str, str]) -> bool:
    """Whether backends can be those of a tier by its volume type.

    What closes backends is taken widely: one comparison is enough.

    :param extra_specs: {key: value} of the type.
    """
    return bool(matching_rules.capability_names(extra_specs))


def closed_to(
    project: str,
    claims: collections.abc.Iterable[BackendClaim[_Backend]],
    *,
    is_admin: bool,
    is_unbound: bool,
) -> frozenset[_Backend]:
    """The backends that serve only private tiers closed to a project.

    :param project: its id.
    :param claims: those of all volume types with the mark of a tier.
    :param is_admin: whether the request has Cinder's admin rights.
    :param is_unbound: whether the type of the volume names no backend, and
        does not follow the image.
    """
    closed: dict[bool, set[_Backend]] = {True: set(), False: set()}
    opened: dict[bool, set[_Backend]] = {True: set(), False: set()}
    for claim in claims:
        names = matching_rules.names_backend(claim.extra_specs)
        if claim.projects is None:
            is_open, opens = True, names
        else:
            is_open = project in claim.projects and (
                is_admin or not is_unbound or claim.is_own
            )
            opens = matching_rules.selects_backends(claim.extra_specs)
        if not is_open:
            closed[names].update(claim.backends)
        elif opens:
            opened[names].update(claim.backends)
    # A backend that some tier names is not opened by what another asks for.
    return frozenset(
        closed[True] - opened[True]
        | closed[False] - opened[True] - opened[False]
    )
