# SPDX-License-Identifier: Apache-2.0

"""Volume types as requests, images and projects name them.

Must not know any rule of placement.
"""

import collections.abc

from cinder import context as cinder_context
from cinder import exception
from cinder.volume import volume_types
from oslo_config import cfg

from cinder_tiers import conf
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.doors.volume_types import applied

Get = collections.abc.Callable[
    [cinder_context.RequestContext], applied.AppliedState
]
ReadAnew = collections.abc.Callable[
    [cinder_context.RequestContext, applied.AppliedState], applied.AppliedState
]


def is_closed(
    volume_type: applied.VolumeType,
    context: cinder_context.RequestContext,
    project: str | None,
) -> bool:
    """Return whether a type is of a private tier closed to a project.

    :param context: context of the request.
    :param project: id of the project of the volume.
    """
    return (
        volume_type.projects is not None
        and not context.is_admin
        and project not in volume_type.projects
        and bool(volume_type.extra_specs.get(cinder_state.NAME))
    )


def is_closed_now(
    volume_type: applied.VolumeType, context: cinder_context.RequestContext
) -> bool:
    """Do the work of `is_closed` with a fresh read, for the request's project.

    For a request for which Cinder does not check whether the type may be used.
    Needs a query for the type of a tier.

    :param context: context of the request.
    :raises Exception: Cinder's database layer failed.
    """
    if context.is_admin or not volume_type.extra_specs.get(cinder_state.NAME):
        return False
    return not _is_open_now(context, volume_type)


def _is_open_now(
    context: cinder_context.RequestContext, volume_type: applied.VolumeType
) -> bool:
    """Return whether Cinder gives a type to a request.

    What is remembered may be older than the access to it.

    :raises Exception: whatever Cinder's database layer raises.
    """
    try:
        volume_types.get_volume_type(context, volume_type.type_id)
    except exception.VolumeTypeNotFound:
        return False
    return True


class NamedTypes:
    """Finds volume types as Cinder does, mostly from memory."""

    def __init__(self, *, get: Get, read_anew: ReadAnew) -> None:
        """Create an empty memory of projects' default types.

        :param get: gives the applied state as it is remembered.
        :param read_anew: gives it as it is now.
        """
        self._get = get
        self._read_anew = read_anew
        self._defaults = applied.ProjectDefaults()

    def named(
        self,
        context: cinder_context.RequestContext,
        ident: str,
        *,
        source: decision.TypeSource = decision.TypeSource.REQUEST,
    ) -> decision.NamedType:
        """Look up a named volume type like Cinder does.

        :param context: context of the request, with which Cinder looks the
            type up.
        :param ident: name or id of the type, as a tenant wrote it.
        :param source: where the type is named.
        :returns: a type that follows the image only if the project may use it;
            Cinder itself refuses types that do not exist or are not allowed.
        :raises Exception: Cinder's database layer failed.
        """
        found = self.find(context, ident)
        if found is None or not (
            found.follows_image
            and (found.may_use(context) or _is_open_now(context, found))
        ):
            # What a tier that takes its place must give as well.
            offers = found.offers if found else frozenset()
            return decision.NamedType(
                source=source, follows_image=False, offers=offers
            )
        return decision.NamedType(
            source=source, follows_image=True, offers=found.offers
        )

    def find(
        self,
        context: cinder_context.RequestContext,
        ident: str,
    ) -> applied.VolumeType | None:
        """The volume type that Cinder takes for a name or an id.

        A database may take names for equal that differ by case or by blanks
        at their end, so what is not known to the letter is Cinder's to find.

        :param ident: name or id, hostile text.
        :returns: None when Cinder does not find one either.
        :raises Exception: whatever Cinder's database layer raises.
        """
        state = self._get(context)
        found = state.find(ident)
        if found is not None:
            return found
        try:
            type_id = volume_types.get_by_name_or_id(context, ident)['id']
        except (
            exception.VolumeTypeNotFound,
            exception.VolumeTypeNotFoundByName,
            exception.InvalidVolumeType,
        ):
            return None
        # One that is newer than what is remembered.
        return state.find(type_id) or (
            self._read_anew(context, state).find(type_id)
        )

    def find_encrypted(
        self, context: cinder_context.RequestContext, ident: str | None
    ) -> applied.VolumeType | None:
        """The encrypted volume type of a name or an id.

        :param ident: name or id, hostile text; None for no name.
        :returns: None for a type without encryption as well.
        :raises Exception: whatever Cinder's database layer raises.
        """
        found = self.find(context, ident) if ident else None
        if found is None or decision.Feature.ENCRYPTION not in found.offers:
            return None
        return found

    def default_of_project(
        self, context: cinder_context.RequestContext
    ) -> str | None:
        """Id of the default type that was set for a project, if one was.

        :raises Exception: whatever Cinder's database layer raises.
        """
        return self._defaults.type_id_of(
            context,
            context.project_id,
            ttl_s=cfg.CONF[conf.GROUP].applied_cache_seconds,
        )

    def named_by_others(
        self,
        context: cinder_context.RequestContext,
        image_type: str | None,
    ) -> tuple[decision.NamedType | None, frozenset[decision.Feature]]:
        """Find the type of a request that names none, in Cinder's order.

        :param image_type: type that the image names, as a tenant wrote it, or
            None.
        :returns: the type that the image or the project names, if any; and the
            features of the type that Cinder will use.
        :raises Exception: Cinder's database layer failed.
        """
        found = tier_specs.first_named(
            {
                decision.TypeSource.IMAGE: lambda: image_type,
                decision.TypeSource.PROJECT: lambda: self.default_of_project(
                    context
                ),
            }
        )
        if found:
            source, ident = found
            named = self.named(context, ident, source=source)
            return named, named.offers
        ident = cfg.CONF.default_volume_type
        default = self.find(context, ident) if ident else None
        return None, default.offers if default else frozenset()
