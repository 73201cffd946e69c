# SPDX-License-Identifier: Apache-2.0

"""Which backends serve only private tiers that a project may not use.

A backend that serves no tier is for all; so is one that serves, beside a
private tier, another tier that the project may use. The backends of a tier
that was retired or cannot be read count as well.

A type that names no backend asks for no tier. With it a project would have
volumes on its private tier that are not of its type, and could give them to
any other project: to members all private tiers are closed.

TierFilter and `openstack tier explain` ask here. Must not know how backends
are matched.
"""

import collections.abc
import typing

from cinder_tiers.domain.state import cinder as cinder_state

#: Extra specs by which an operator says where volumes of a type lie.
_BACKEND_NAMES = frozenset(
    {
        'volume_backend_name',
        'capabilities:volume_backend_name',
        'pool_name',
        'capabilities:pool_name',
    }
)

_Backend = typing.TypeVar('_Backend', bound=collections.abc.Hashable)


def names_backend(extra_specs: collections.abc.Mapping[str, str]) -> bool:
    """Whether a volume type says where its volumes lie.

    :param extra_specs: {key: value} of the type. That of a tier does.
    """
    return cinder_state.NAME in extra_specs or not (
        _BACKEND_NAMES.isdisjoint(extra_specs)
    )


def closed_to(
    project: str,
    served: collections.abc.Iterable[
        tuple[frozenset[str] | None, collections.abc.Iterable[_Backend]]
    ],
    *,
    is_admin: bool,
    is_unbound: bool,
) -> frozenset[_Backend]:
    """The backends that serve only private tiers closed to a project.

    :param project: its id.
    :param served: for each volume type with the mark of a tier the ids of the
        projects that may use it, None for all, and the backends that serve
        it.
    :param is_admin: whether the request has Cinder's admin rights.
    :param is_unbound: whether the type of the volume names no backend, and
        does not follow the image.
    """
    closed: set[_Backend] = set()
    opened: set[_Backend] = set()
    for projects, backends in served:
        is_open = projects is None or (
            project in projects and (is_admin or not is_unbound)
        )
        (opened if is_open else closed).update(backends)
    return frozenset(closed - opened)
