# SPDX-License-Identifier: Apache-2.0

"""The part that both doors share: gather, ask `decide()`, keep a record.

A door reads a `PlacementRequest` and acts on the `Placement` that it gets.
Must not know any rule of placement, nor what a backend is. Every failure in
here ends as a placement by the operator's on_error, never as an exception.
"""

import dataclasses
import os
import sys
import threading
import time
import types
import typing
import weakref

from cinder import context as cinder_context
from cinder import exception
from cinder.volume import volume_types
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers import conf
from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import metadata
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from cinder_tiers.doors import metrics
from cinder_tiers.doors import placement_request
from cinder_tiers.doors import record
from cinder_tiers.doors.volume_types import applied as applied_tiers
from cinder_tiers.doors.volume_types import backend_zones
from cinder_tiers.doors.volume_types import named_types

LOG = logging.getLogger(__name__)

#: What the remembered placements may take of memory, and what one takes
#: beside its reasons and the texts of a tenant, in bytes (CPython 3.11).
_MOST_BYTES = 8 * 1024 * 1024
_BYTES_BESIDE = 2048
_BYTES_OF_REASON = 192
#: Seconds between two looks for what is remembered no longer.
_TIDY_S = 1.0
_ENCRYPTION = frozenset({decision.Feature.ENCRYPTION})
_NO_ZONES: backend_zones.Zones = types.MappingProxyType({})
#: Longest wait in seconds for the first answer on zones, of a request that
#: fails without it.
_LEARN_S = 5.0

conf.register(cfg.CONF)


class TierChanged(Exception):
    """The applied tiers changed again and again while they were used."""


@dataclasses.dataclass(kw_only=True, eq=False)
class _Memory:
    """Decisions that hold as long as the tiers are unchanged."""

    state: applied_tiers.AppliedState
    zones: backend_zones.Zones
    tiers: tuple[decision.AppliedTier, ...]
    policy: decision.Policy
    #: Those of all tiers.
    tags: frozenset[str]
    #: Seconds of the monotonic clock.
    renewed_at: float
    #: The image by which each was decided, and it without that: what is known
    #: of images is bounded where they are remembered.
    placements: dict[
        tuple,
        tuple[
            weakref.ref[glance.ImageFacts] | None, placement_request.Placement
        ],
    ] = dataclasses.field(default_factory=dict)
    #: What they take of memory.
    bytes_kept: int = 0

    def find(
        self, key: tuple, facts: glance.ImageFacts | None
    ) -> placement_request.Placement | None:
        """Return a remembered placement, or None.

        :param key: everything on which the placement depends, including the
            identity of the image.
        """
        known = self.placements.get(key)
        if known is None:
            return None
        image, placed = known
        if image is None:
            return placed
        # Another image may have the identity of one that is gone.
        if image() is not facts:
            return None
        return dataclasses.replace(placed, facts=facts)

    def keep(
        self,
        key: tuple,
        facts: glance.ImageFacts | None,
        placed: placement_request.Placement,
    ) -> None:
        """Remember a placement.

        Parameters as of `find`.
        """
        self.bytes_kept += (
            _BYTES_BESIDE
            + _BYTES_OF_REASON * len(placed.decision.reasons)
            + sum(map(sys.getsizeof, key))
        )
        self.placements[key] = (
            (None, placed)
            if facts is None
            else (weakref.ref(facts), dataclasses.replace(placed, facts=None))
        )

    def forget(self) -> None:
        """Forget all placements."""
        self.placements.clear()
        self.bytes_kept = 0


class Door:
    """One door of this process, with its memory."""

    def __init__(
        self,
        name: str,
        *,
        applied: applied_tiers.AppliedTiers,
        known_images: known_images.Images,
        recorder: record.Recorder,
        zones: backend_zones.BackendZones | None = None,
    ) -> None:
        """Create a door with an empty memory.

        :param name: api or scheduler; its own option is `NAME_on_error`.
        :param recorder: receives the decisions.
        :param zones: availability zones of backends; None for a door that
            ignores them.
        """
        self.name = name
        self._applied = applied
        self._images = known_images
        self._recorder = recorder
        self._zones = zones
        #: Volume types as requests name them.
        self.types = named_types.NamedTypes(
            get=self.applied, read_anew=applied.read_anew
        )
        self._options = cfg.CONF[conf.GROUP]
        self._memory: _Memory | None = None
        self._lock = threading.Lock()
        self._will_tidy = False
        self._metrics = metrics.Metrics(name, self._options, look=self._look)

    def applied(
        self,
        context: cinder_context.RequestContext,
    ) -> applied_tiers.AppliedState:
        """Return the applied tiers from memory, refreshed when they are old.

        :param context: context of the request that needs them.
        :raises Exception: Cinder's database layer failed.
        """
        return self._applied.get(
            context, ttl_s=self._options.applied_cache_seconds
        )

    @property
    def refuses_retypes(self) -> bool:
        """Return whether members must not retype to image-following types."""
        return self._options.on_retype == 'refuse'

    def zones_of(self, named: object) -> tuple[str | None, str | None]:
        """Return the availability zone of a new volume as Cinder chooses it.

        :param named: availability zone of the request, as the tenant wrote it.
        :returns: the named zone, and the zone for a request that names none.
        """
        return self._zones.requested(named) if self._zones else (None, None)

    def knows_other_zones(
        self,
        placed: placement_request.Placement,
        context: cinder_context.RequestContext,
    ) -> bool:
        """Return whether zones of backends became known since the decision.

        For a request whose tier has no backend in its zone: deciding again may
        help. In a process that has just started, this waits for the zones that
        are being read, because the request would fail otherwise.

        :param placed: the decision.
        """
        if self._zones is None or placed.state is None:
            return False
        self._zones.learn(_LEARN_S)
        return self._zones_of(placed.state, context) is not placed.zones

    def place(
        self, asked: placement_request.PlacementRequest
    ) -> placement_request.Placement:
        """Place the volume of a request. Never raises an Exception."""
        started = time.monotonic()
        error: Exception | None = None
        answer: known_images.RememberedImage | None = None
        try:
            state = self.applied(asked.context) if asked.is_ours else None
            if state is not None:
                answer = self._image_of(asked, state)
            placed = self._decide(
                asked, state, answer.facts if answer else None
            )
        except Exception as caught:  # noqa: BLE001 - see the module
            error = caught
            placed = self._on_error(
                asked, error, answer.facts if answer else None
            )
            # Glance may answer late.
            self._see_to_forgetting()
        self._keep(
            asked,
            placed,
            error,
            answer.age_s if answer else 0.0,
            time.monotonic() - started,
        )
        return placed

    def place_after_failure(
        self,
        asked: placement_request.PlacementRequest,
        error: Exception,
    ) -> placement_request.Placement:
        """Place a volume after another step of the door failed.

        Does the same as for an image that could not be read, but never leaves
        the request to Cinder and the volume type that its image may name: a
        tenant who can make a door fail would evade the tiers. Never raises an
        Exception.

        :param error: the error of that step.
        """
        placed = self._on_error(asked, error, None, is_left_to_image=False)
        self._keep(asked, placed, error, 0.0, 0.0)
        return placed

    def is_usable(
        self,
        placed: placement_request.Placement,
        context: cinder_context.RequestContext,
    ) -> bool:
        """Return whether Cinder gives the tier's type to this request.

        Looks it up by id and in the tenant's own context: by name, Cinder also
        returns private types that the project may not use (29.0.0). The
        scheduler door uses a public type only for its extra specs.

        :param placed: the decision.
        :raises Exception: Cinder's database layer failed.
        """
        tier_type = placed.tier_type
        if tier_type is None or (tier_type.is_public and self.name != 'api'):
            return True
        try:
            volume_types.get_volume_type(context, tier_type.type_id)
        except exception.VolumeTypeNotFound:
            return False
        return True

    def wait(self, timeout_s: float) -> bool:
        """Wait until all decisions so far are in the log.

        :param timeout_s: seconds to wait at most.
        :returns: whether they are.
        """
        return self._recorder.wait(timeout_s)

    def _image_of(
        self,
        asked: placement_request.PlacementRequest,
        state: applied_tiers.AppliedState,
    ) -> known_images.RememberedImage | None:
        """The image of a request, if it matters."""
        if (
            not state.tiers
            or asked.image_ref is None
            or asked.fixed_by is not None
        ):
            return None
        facts = self._images.remembered(
            asked.image_ref, asked.context.project_id
        )
        if facts is not None:
            return known_images.RememberedImage(facts=facts, age_s=0.0)
        return self._images.read(
            asked.context, asked.image_ref, self._limits()
        )

    def _decide(
        self,
        asked: placement_request.PlacementRequest,
        state: applied_tiers.AppliedState | None,
        facts: glance.ImageFacts | None,
    ) -> placement_request.Placement:
        if state is None:
            return placement_request.Placement(
                decision=placement.decide(
                    tiers=(), request=asked.for_decision()
                )
            )
        named, offers = asked.named_type, asked.type_offers
        if state.tiers and named is None and not asked.moves:
            named, offers = self.types.named_by_others(
                asked.context, facts.volume_type if facts else None
            )
        elif facts is not None and not asked.moves:
            own = self.types.find_encrypted(asked.context, facts.volume_type)
            # The request leaves the choice to the image, which chose.
            if own is not None and (own.follows_image or asked.keeps_type):
                asked = dataclasses.replace(asked, has=asked.has | _ENCRYPTION)
            elif own is not None:
                named = decision.NamedType(
                    source=decision.TypeSource.IMAGE, follows_image=False
                )
        # A tier may be gone, or closed to the project, since it was read.
        for _ in range(3):
            placed = self._placed(state, asked, named, offers, facts)
            if self.is_usable(placed, asked.context):
                return placed
            state = self._applied.read_anew(asked.context, state)
        raise TierChanged

    def _on_error(
        self,
        asked: placement_request.PlacementRequest,
        error: Exception,
        facts: glance.ImageFacts | None,
        *,
        is_left_to_image: bool = True,
    ) -> placement_request.Placement:
        """The operator's choice, as far as it drops and opens nothing."""
        known: dict[str, typing.Any] = {}
        is_image_refused = asked.image_ref is not None and getattr(
            error, 'is_final', False
        )
        state: applied_tiers.AppliedState | None = None
        tiers: tuple[decision.AppliedTier, ...] | None = None
        zones = _NO_ZONES
        policy = placement.DEFAULT_POLICY
        try:
            state = self.applied(asked.context)
            zones = self._zones_of(state, asked.context)
            tiers = self._tiers_of(state, zones)
            is_untyped = asked.named_type is None and not asked.moves
            has_image = asked.image_ref is not None and not asked.keeps_type
            names_type = facts is None or bool(facts.volume_type)
            # The default type of the project is not known, either.
            known = {
                'may_name_type': (
                    is_left_to_image and is_untyped and not asked.keeps_type
                ),
                'may_bring_key': (
                    has_image
                    and state.any_encryption
                    and (
                        facts is None
                        # Cinder takes its type only where none is named.
                        or (is_untyped and names_type)
                        or facts.image.brings_key
                    )
                ),
                'is_refused': has_image and is_image_refused,
            }
            if is_untyped:
                named, offers = self.types.named_by_others(asked.context, None)
                known |= {
                    'named_type': named,
                    'cinder_offers': offers,
                    'may_name_type': (
                        is_left_to_image and has_image and names_type
                    ),
                }
            policy = conf.policy_of(self._options)
        except Exception as second:  # noqa: BLE001 - see the module
            error.add_note(
                f'{type(second).__name__} while choosing the fallback tier'
            )
        chosen = chosen_on_error(self.name, error)
        # The fallback tier itself may be gone.
        for found in (tiers, () if state else None):
            placed = self._placement(
                placement.decide_on_error(
                    on_error=chosen,
                    tiers=found,
                    request=asked.for_decision(**known),
                    policy=policy,
                ),
                state,
                facts,
                zones,
            )
            try:
                if self.is_usable(placed, asked.context):
                    break
            except Exception as second:  # noqa: BLE001 - see the module
                error.add_note(
                    f'{type(second).__name__} while looking up the type '
                    'of the fallback tier'
                )
        return dataclasses.replace(placed, is_image_refused=is_image_refused)

    def _placed(
        self,
        state: applied_tiers.AppliedState,
        asked: placement_request.PlacementRequest,
        named: decision.NamedType | None,
        offers: frozenset[decision.Feature],
        facts: glance.ImageFacts | None,
    ) -> placement_request.Placement:
        """Decide a request, or return the decision of an equal one."""
        memory = self._memory_of(state, asked.context)
        metadata_tag = metadata.known_tag_in(
            asked.metadata, memory.policy, memory.tags
        )
        # Facts by identity, which costs nothing: who reads an image anew
        # makes new ones.
        key = (
            id(facts),
            asked.project,
            asked.context.is_admin,
            asked.moves,
            named,
            offers,
            asked.fixed_by,
            asked.zone,
            asked.default_zone,
            asked.has,
            asked.keeps_type,
            asked.takes_boot_snapshots,
            metadata_tag,
        )
        placed = memory.find(key, facts)
        if placed is None:
            fixed_by = asked.fixed_by
            if facts and facts.boot_snapshot and asked.takes_boot_snapshots:
                fixed_by = decision.FixedBy.SNAPSHOT
            request = asked.for_decision(
                named_type=named,
                cinder_offers=offers,
                fixed_by=fixed_by,
                image=facts.image if facts else None,
                metadata_tag=metadata_tag,
            )
            decided = placement.decide(
                tiers=memory.tiers,
                request=request,
                policy=memory.policy,
                has_unreadable=bool(state.marked),
            )
            placed = self._placement(decided, state, facts, memory.zones)
            with self._lock:
                memory.keep(key, facts, placed)
            self._see_to_forgetting()
        return placed

    def _see_to_forgetting(self) -> None:
        """Have what is remembered forgotten in time, with no request."""
        if not self._will_tidy:
            self._will_tidy = True
            # Without a thread the next request tries again.
            try:
                self._recorder.call_later(self._tidy, _TIDY_S)
            except RuntimeError:
                self._will_tidy = False

    def _tidy(self) -> float | None:
        """Forget what is out of date; the seconds until there may be more."""
        # Before anything is looked at: what comes later says so again.
        self._will_tidy = False
        memory = self._memory
        with self._lock:
            if memory is not None and time.monotonic() >= memory.renewed_at:
                memory.forget()
        has_images = self._images.drop_old()
        if not has_images and not (memory and memory.placements):
            return None
        self._will_tidy = True
        return _TIDY_S

    def _memory_of(
        self,
        state: applied_tiers.AppliedState,
        context: cinder_context.RequestContext,
    ) -> _Memory:
        zones = self._zones_of(state, context)
        memory, now = self._memory, time.monotonic()
        if (
            memory is None
            or memory.state is not state
            or memory.zones is not zones
            # An option may have another value.
            or now >= memory.renewed_at
            or memory.bytes_kept >= _MOST_BYTES
        ):
            memory = self._memory = _Memory(
                state=state,
                zones=zones,
                renewed_at=now + self._options.applied_cache_seconds,
                policy=conf.policy_of(self._options),
                tiers=self._tiers_of(state, zones),
                tags=frozenset().union(*(one.tags for one in state.tiers)),
            )
        return memory

    def _zones_of(
        self,
        state: applied_tiers.AppliedState,
        context: cinder_context.RequestContext,
    ) -> backend_zones.Zones:
        return self._zones.of(state, context) if self._zones else _NO_ZONES

    @staticmethod
    def _tiers_of(
        state: applied_tiers.AppliedState, zones: backend_zones.Zones
    ) -> tuple[decision.AppliedTier, ...]:
        """The applied tiers, with the zones of their backends."""
        if not zones:
            return state.tiers
        return tuple(
            dataclasses.replace(tier, backend_zones=zones.get(tier.name))
            for tier in state.tiers
        )

    @staticmethod
    def _placement(
        decided: decision.PlacementDecision,
        state: applied_tiers.AppliedState | None,
        facts: glance.ImageFacts | None,
        zones: backend_zones.Zones,
    ) -> placement_request.Placement:
        return placement_request.Placement(
            decision=decided,
            zones=zones,
            image_id=facts.image_id if facts else None,
            state=state,
            facts=facts,
            tier_type=(
                state.types[decided.tier.name]
                if state and decided.tier
                else None
            ),
        )

    def _limits(self) -> known_images.CacheLimits:
        options = self._options
        return known_images.CacheLimits(
            timeout_s=options.glance_timeout,
            max_calls=options.glance_max_calls,
            failures=options.glance_failures,
            retry_s=options.glance_retry_seconds,
            image_ttl_s=options.image_cache_seconds,
            stale_s=options.image_stale_seconds,
        )

    def _keep(
        self,
        asked: placement_request.PlacementRequest,
        placed: placement_request.Placement,
        error: Exception | None,
        age_s: float,
        seconds: float,
    ) -> None:
        try:
            self._record(asked, placed, error, age_s, seconds)
        except Exception:
            LOG.exception(
                'The decision record could not be written (request %s).',
                asked.context.request_id,
            )

    def _record(
        self,
        asked: placement_request.PlacementRequest,
        placed: placement_request.Placement,
        error: Exception | None,
        age_s: float,
        seconds: float,
    ) -> None:
        # The text of another error than of Glance may hold anything.
        is_expected = isinstance(error, glance.ImageUnreadable)
        text = kind = None
        if error is not None:
            kind = type(error).__name__
            text = '; '.join(
                (
                    str(error) if is_expected else kind,
                    *getattr(error, '__notes__', ()),
                )
            )
        kept = record.DecisionRecord(
            door=self.name,
            context=asked.context,
            decision=placed.decision,
            project=asked.project,
            volume_id=asked.volume_id,
            image_id=placed.image_id,
            volume_type_id=(
                placed.tier_type.type_id if placed.tier_type else None
            ),
            error=text,
            error_kind=kind,
            seconds=seconds,
            image_age_s=age_s or None,
            zone=asked.zone,
            is_clients_doing=getattr(error, 'caused_by_client', False),
        )
        self._metrics.observe(kept)
        self._recorder.keep(
            kept,
            notify=self._options.notify,
            bug=None if is_expected else error,
        )

    def _look(self) -> metrics.Gauges:
        memory = self._memory
        return metrics.Gauges(
            is_circuit_open=self._images.breaker_is_open,
            applied_tiers=len(memory.state.tiers) if memory else 0,
            applied_problems=len(memory.state.problems) if memory else 0,
        )


def chosen_on_error(name: str, error: Exception) -> decision.OnError:
    """Return the operator's on_error for a door.

    :param name: api or scheduler.
    :param error: the error to resolve; it gets a note if the option is not
        valid.
    """
    options = cfg.CONF[conf.GROUP]
    try:
        return decision.OnError(
            options[f'{name}_on_error'] or options.on_error
        )
    # oslo.config reports an invalid value in a file only here.
    except ValueError as wrong:
        error.add_note(f'{wrong}; fallback applies')
        return decision.OnError.FALLBACK


_doors: dict[str, Door] = {}


def of_process(name: str) -> Door:
    """The door of this process, which remembers from request to request.

    :param name: api or scheduler.
    """
    door = _doors.get(name)
    if door is None:
        # Two threads may make one each; all use the one that is stored.
        door = _doors.setdefault(
            name,
            Door(
                name,
                applied=applied_tiers.AppliedTiers(),
                known_images=known_images.Images(
                    size=cfg.CONF[conf.GROUP].image_cache_size
                ),
                recorder=record.Recorder(),
                # cinder-scheduler is whom it asks, and has other things to do.
                zones=backend_zones.BackendZones(
                    first_wait_s=1.0 if name == 'api' else 0.0
                ),
            ),
        )
    return door


def forget() -> None:
    """Let the doors of this process forget all that they remember."""
    _doors.clear()


# Locks and threads do not outlive a fork.
os.register_at_fork(after_in_child=forget)
