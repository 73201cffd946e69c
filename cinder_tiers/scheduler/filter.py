# SPDX-License-Identifier: Apache-2.0

"""The scheduler door: keeps the backends of the tier that was decided.

A thin adapter in cinder-scheduler. Must not know any rule of placement.
Nothing that fails in here may fail a create that Cinder alone would have
served, unless the operator chose so.
"""

import collections.abc
import threading
import weakref

from cinder import context as cinder_context
from cinder.scheduler import filters
from cinder.volume import volume_utils
from oslo_log import log as logging

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors import placement_request
from cinder_tiers.doors.volume_types import matching
from cinder_tiers.scheduler import guard
from cinder_tiers.scheduler import request as requests

LOG = logging.getLogger(__name__)

#: {context of a request: the extra specs of the tier that was decided}, for
#: TierWeigher. Not in the filter properties: Cinder sends them to
#: cinder-volume.
_placed: weakref.WeakKeyDictionary[
    cinder_context.RequestContext, placement_request.Placement
] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def placement_of(
    context: cinder_context.RequestContext,
) -> placement_request.Placement | None:
    """Return the placement of this request; None if it got no tier.

    :returns: a placement with the type of a tier, and the state that contains
        it.
    """
    with _lock:
        return _placed.get(context)


def _remember(
    context: cinder_context.RequestContext,
    placed: placement_request.Placement | None,
) -> None:
    with _lock:
        if placed is not None and placed.tier_type is not None:
            _placed[context] = placed
        # A context may serve several requests: all types of a group, say.
        elif _placed:
            _placed.pop(context, None)


class TierFilter(filters.BaseBackendFilter):
    """Keeps the backends of the tier that the image of a volume selects."""

    def filter_all(
        self,
        filter_obj_list: collections.abc.Iterable,
        filter_properties: dict,
    ) -> list:
        """Return the backends that may take the volume.

        :param filter_obj_list: BackendState objects that other filters left.
        :param filter_properties: properties of the request from
            FilterScheduler.
        :returns: the backends of the tier; all for a request that leaves no
            choice to the tiers; none if no tier may serve the request.
        """
        backends = list(filter_obj_list)
        # An exception that leaves here would leave the volume in a state that
        # only an admin can reset.
        try:
            _remember(filter_properties['context'], None)
            if not _may_retype(filter_properties):
                return []
            asked = requests.parse_request(filter_properties)
            if asked is not None:
                kept = self._keep(backends, asked)
                return _beside_others(kept, backends, asked, filter_properties)
            if not filter_properties.get('resource_type'):
                return backends
            return self._keep_unbound(backends, filter_properties)
        except Exception as error:  # noqa: BLE001 - logged there
            return self._on_failure(backends, filter_properties, error)

    @staticmethod
    def _keep(
        backends: list,
        asked: placement_request.PlacementRequest,
        *,
        may_decide_again: bool = True,
    ) -> list:
        scheduler = door.of_process('scheduler')
        placed = scheduler.place(asked)
        verdict = placed.decision.verdict
        _remember(asked.context, placed)
        if verdict is decision.RequestVerdict.TIER:
            kept = _keep_of_tier(backends, asked, placed)
            if kept or not backends or not may_decide_again:
                return kept
            if not scheduler.knows_other_zones(placed, asked.context):
                return kept
            return TierFilter._keep(backends, asked, may_decide_again=False)
        if verdict is decision.RequestVerdict.NOT_OURS:
            return backends
        if (
            verdict is decision.RequestVerdict.UNDECIDED
            and placed.state is not None
        ):
            return guard.keep_permitted(backends, asked, placed.state)
        return []

    @staticmethod
    def _keep_unbound(backends: list, filter_properties: dict) -> list:
        if requests.follows_image(filter_properties):
            return backends
        asked = requests.read_unbound(filter_properties)
        if asked is None:
            return backends
        state = door.of_process('scheduler').applied(asked.context)
        return guard.keep_permitted(
            backends,
            asked,
            state,
            is_unbound=not requests.is_of_group(filter_properties),
            type_id=filter_properties['resource_type'].get('id', None),
        )

    @staticmethod
    def _on_failure(
        backends: list, filter_properties: dict, error: Exception
    ) -> list:
        """Return the backends that remain when the filter itself fails.

        Cinder places a volume with a type of its own. A volume that follows
        its image could go to the backends of private tiers as well.
        """
        context = filter_properties.get('context')
        kept = backends
        if door.chosen_on_error('scheduler', error) is decision.OnError.FAIL:
            kept = []
        else:
            try:
                kept = _without_private(backends, filter_properties)
            except Exception as second:  # noqa: BLE001
                error.add_note(
                    f'{type(second).__name__} while looking up the '
                    'backends of private tiers'
                )
                kept = []
        LOG.error(
            'TierFilter failed (request %(request)s); %(kept)d of '
            '%(all)d backends are left.',
            {
                'request': getattr(context, 'request_id', None),
                'kept': len(kept),
                'all': len(backends),
            },
            exc_info=error,
        )
        return kept


def _keep_of_tier(
    backends: list,
    asked: placement_request.PlacementRequest,
    placed: placement_request.Placement,
) -> list:
    """The backends of a tier, without those that other tiers are alone on."""
    tier_type, state = placed.chosen
    matcher = matching.matcher_of(tier_type.extra_specs)
    kept = matcher.keep(backends)
    if matcher.names_backend:
        return kept
    return guard.keep_permitted(kept, asked, state)


def _beside_others(
    kept: list,
    backends: list,
    asked: placement_request.PlacementRequest,
    filter_properties: dict,
) -> list:
    """The backends for a type that follows the image, in a group of several.

    Cinder asks for each type of a group on its own, and takes a backend that
    serves all of them. Where the fallback tier has none of these, the other
    types say where the group is.
    """
    others = requests.specs_beside(filter_properties) if kept else []
    # To name the hosts costs as much as all the rest; few requests need it.
    if not others:
        return kept
    hosts = _hosts_of(kept).intersection(
        *(
            _hosts_of(matching.matcher_of(specs).keep(backends))
            for specs in others
        )
    )
    if hosts:
        return kept
    _remember(asked.context, None)
    state = door.of_process('scheduler').applied(asked.context)
    # It keeps its type, which is not that of a private tier.
    return guard.keep_permitted(backends, asked, state, is_unbound=True)


def _hosts_of(backends: list) -> set[str]:
    """A group is on a backend, whatever the pools of its volumes."""
    return {
        volume_utils.extract_host(backend.backend_id) for backend in backends
    }


def _may_retype(filter_properties: dict) -> bool:
    retype = requests.read_retype(filter_properties)
    return retype is None or guard.may_retype(
        retype, door.of_process('scheduler').applied(retype.context)
    )


def _without_private(backends: list, filter_properties: dict) -> list:
    """The backends for a request of which no tier can be chosen."""
    if not _may_retype(filter_properties):
        return []
    is_unbound = False
    if filter_properties.get('resource_type') and not requests.follows_image(
        filter_properties
    ):
        if requests.read_unbound(filter_properties) is None:
            return backends
        is_unbound = not requests.is_of_group(filter_properties)
    context = filter_properties['context']
    state = door.of_process('scheduler').applied(context)
    return guard.keep_permitted(
        backends,
        requests.read_bare(filter_properties),
        state,
        is_unbound=is_unbound,
        type_id=(filter_properties.get('resource_type') or {}).get('id', None),
    )
