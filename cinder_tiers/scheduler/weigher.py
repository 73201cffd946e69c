# SPDX-License-Identifier: Apache-2.0

"""Ranks the own backends of a tier above those to which it overflows.

Its own are those that the type of the other tier does not allow. That of a
tier with ``take_over: false`` is not known here; then its backend is the last
alternative of the own type, which is where ``apply`` writes it.

A thin adapter in cinder-scheduler. Whether a tier has room is Cinder's
CapacityFilter's to say: this only keeps volumes out of the overflow while
the tier has any.
"""

from cinder.scheduler import weights
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers import conf
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.doors import door
from cinder_tiers.doors.volume_types import matching
from cinder_tiers.scheduler import filter as tier_filter

LOG = logging.getLogger(__name__)


class TierWeigher(weights.BaseHostWeigher):
    """1 for a tier's own backends, 0 for those of its overflow."""

    minval = 0.0
    maxval = 1.0

    def __init__(self) -> None:
        """A weigher of one request."""
        self._multiplier: float | None = None

    def weight_multiplier(self) -> float:
        """Return the option tier_weight_multiplier, read once per request."""
        # Cinder asks once for each backend, and an option is slow to read.
        if self._multiplier is None:
            self._multiplier = cfg.CONF[conf.GROUP].tier_weight_multiplier
        return self._multiplier

    def _weigh_object(self, obj: object, weight_properties: dict) -> float:
        """The weight of one backend; see `weigh_objects`."""
        weighed = self.weigh_objects(
            [weights.WeighedHost(obj, 0.0)], weight_properties
        )
        return weighed[0] if weighed else 0.0

    def weigh_objects(
        self, weighed_obj_list: list, weight_properties: dict
    ) -> list[float]:
        """Return the weight of each backend.

        :param weighed_obj_list: WeighedHost objects.
        :param weight_properties: properties of the request from
            FilterScheduler.
        :returns: a weight for each object; empty if there is nothing to rank,
            for which Cinder leaves all weights unchanged.
        """
        # As in TierFilter: nothing may leave here.
        try:
            weighed = self._weigh(weighed_obj_list, weight_properties)
            if weighed:
                # oslo.config reports an invalid number in a file only when it
                # is read, which Cinder does next.
                self.weight_multiplier()
            return weighed
        except Exception:
            context = weight_properties.get('context')
            LOG.exception(
                'TierWeigher failed (request %s); the other weighers decide.',
                getattr(context, 'request_id', None),
            )
            return []

    @staticmethod
    def _weigh(weighed: list, properties: dict) -> list[float]:
        context = properties.get('context')
        if context is None:
            return []
        placed = tier_filter.placement_of(context)
        chosen = placed.chosen if placed else None
        specs = (
            chosen[0].extra_specs
            if chosen
            else (properties.get('resource_type') or {}).get(
                'extra_specs', None
            )
            or {}
        )
        name = specs.get(cinder_state.OVERFLOW)
        if not name or not specs.get(cinder_state.NAME):
            return []
        applied = (
            chosen[1]
            if chosen
            else door.of_process('scheduler').applied(context)
        )
        other = applied.types.get(name)
        if name == specs[cinder_state.NAME]:
            return []
        if other is not None:
            others = other.extra_specs
        else:
            names = backends.alternatives(specs.get(cinder_state.BACKEND))
            others = {cinder_state.BACKEND: names[-1] if names else ''}
        ranks = matching.matcher_of(others).weights(weighed)
        # Cinder's own work for the weights of one weigher takes longer.
        return ranks if 0.0 in ranks and 1.0 in ranks else []
