# SPDX-License-Identifier: Apache-2.0

"""Backends that serve only private tiers that a project may not use.

A backend that serves no tier is open to all; so is one that serves a private
tier and another tier that the project may use, if the type of that tier names
the backend. The backends of a tier that was retired or cannot be read count as
well.

A type that names no backend selects no tier. With it, a project would have
volumes on its private tier that do not have its type, and could transfer them
to any other project. So all private tiers are closed to such a type of
members. An administrator easily creates such a type, because no extra spec of
a tier is required, and a comparison that many backends meet opens no backend.

TierFilter and `openstack tier explain` use it. Must not know how backends are
matched.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain.placement import backends as matching_rules

_Backend = typing.TypeVar('_Backend', bound=collections.abc.Hashable)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackendClaim(typing.Generic[_Backend]):
    """The backends of a volume type that has the mark of a tier."""

    extra_specs: collections.abc.Mapping[str, str]
    #: Ids of the projects that may use the type; None for all.
    projects: frozenset[str] | None
    backends: frozenset[_Backend]
    #: Whether it is the type of the volume.
    is_own: bool = False


def claims_backends(extra_specs: collections.abc.Mapping[str, str]) -> bool:
    """Return whether a volume type can claim backends for its tier.

    One comparison is enough, so that rather too much is closed.

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
    """Return the backends that serve only private tiers closed to a project.

    :param project: id of the project.
    :param claims: claims of all volume types with the mark of a tier.
    :param is_admin: whether the request has Cinder's admin rights.
    :param is_unbound: whether the type of the volume names no backend and does
        not follow the image.
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
    # A backend that a closed tier names is opened only by a type that also
    # names it.
    return frozenset(
        closed[True] - opened[True]
        | closed[False] - opened[True] - opened[False]
    )
