# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What both doors do: gather, ask `decide()`, keep a record.

A door reads a `Wish` from its request and acts on the `Placement` that it
gets. Must not know any rule of placement, nor what a backend is. Whatever
fails in here ends as a placement by the operator's on_error, never as an
exception.
"""

import dataclasses
import os
import time

from cinder import context as cinder_context
from cinder import exception
from cinder.volume import volume_types
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers import conf
from cinder_tiers.domain import decision
from cinder_tiers.domain import placement
from cinder_tiers.doors import applied as applied_tiers
from cinder_tiers.doors import glance
from cinder_tiers.doors import images
from cinder_tiers.doors import record

LOG = logging.getLogger(__name__)

_MOST_PLACEMENTS = 10000

conf.register(cfg.CONF)


class TierChanged(Exception):
    """The applied tiers changed again and again while they were used."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """A request as a door reads it."""

    context: cinder_context.RequestContext
    #: Project id of the volume.
    project: str
    #: None for a volume that has no id yet.
    volume_id: str | None = None
    #: UUID or name of the image; None for a volume not made from one.
    image_ref: str | None = None
    #: The type that the request names; None when it names none.
    named_type: decision.NamedType | None = None
    fixed_by: decision.FixedBy | None = None
    #: Whether the volume exists and is to move.
    moves: bool = False

    def request(self, named_type: decision.NamedType | None = None,
                facts: glance.ImageFacts | None = None) -> decision.Request:
        """The wish in the words of `decide()`.

        :param named_type: the type that counts, whoever named it.
        :param facts: the image, if there is one.
        """
        fixed_by = self.fixed_by
        if facts is not None and facts.boot_snapshot:
            fixed_by = decision.FixedBy.SNAPSHOT
        return decision.Request(
            # An administrator who moves a volume does not own it.
            project=self.project,
            is_admin=bool(self.context.is_admin) and not self.moves,
            named_type=named_type or self.named_type, fixed_by=fixed_by,
            moves=self.moves, image=facts and facts.image)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Placement:
    """A decision, and where its tier's volume type is."""

    decision: decision.PlacementDecision
    #: Set when the verdict is TIER.
    tier_type: applied_tiers.TierType | None = None
    image_id: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Memory:
    """What was decided as long as the tiers are the same."""

    state: applied_tiers.AppliedState
    policy: decision.Policy
    placements: dict[tuple, tuple[glance.ImageFacts | None, Placement]] = (
        dataclasses.field(default_factory=dict))


class Door:
    """One door of this process, with all that it remembers."""

    def __init__(self, name: str, *, applied: applied_tiers.AppliedTiers,
                 known_images: images.Images, recorder: record.Recorder,
                 ) -> None:
        """A door that knows nothing yet.

        :param name: api or scheduler; `NAME_on_error` is its own option.
        :param applied: the tiers.
        :param known_images: the images.
        :param recorder: where decisions are kept.
        """
        self.name = name
        self._applied = applied
        self._images = known_images
        self._recorder = recorder
        self._options = cfg.CONF[conf.GROUP]
        self._memory: _Memory | None = None

    def applied(self, context: cinder_context.RequestContext,
                ) -> applied_tiers.AppliedState:
        """The applied tiers, as they are remembered.

        :param context: of the request that needs them.
        :raises Exception: whatever Cinder's database layer raises.
        """
        return self._applied.get(
            context, ttl_s=self._options.applied_cache_seconds)

    def place(self, wish: Wish) -> Placement:
        """Where the volume of a wish goes. Never raises an Exception.

        :param wish: the request.
        """
        started = time.monotonic()
        error = None
        try:
            placed = self._decide(wish)
        except Exception as caught:  # noqa: BLE001 - see the module
            error = caught
            placed = self._on_error(wish, error)
        try:
            self._keep(wish, placed, error, time.monotonic() - started)
        except Exception:
            LOG.exception('The record of a decision could not be kept '
                          '(request %s).', wish.context.request_id)
        return placed

    def wait(self, timeout_s: float) -> bool:
        """Wait until all decisions so far are in the log.

        :param timeout_s: seconds to wait at most.
        :returns: whether they are.
        """
        return self._recorder.wait(timeout_s)

    def _decide(self, wish: Wish) -> Placement:
        if wish.fixed_by or (wish.named_type
                             and not wish.named_type.follows_image):
            return Placement(decision=placement.decide(
                tiers=(), request=wish.request()))
        state = self.applied(wish.context)
        facts = None
        named = wish.named_type
        if state.tiers:
            if wish.image_ref:
                facts = self._images.remembered(
                    wish.image_ref, wish.context.project_id
                ) or self._images.read(
                    wish.context, wish.image_ref, self._limits()).facts
            if named is None and not wish.moves:
                named = state.named_type(
                    decision.TypeSource.IMAGE,
                    facts and facts.volume_type,
                    wish.context) or state.default_of(wish.context)
        # A tier may be gone, or closed to the project, since it was read.
        for _ in range(3):
            placed = self._placed(state, wish, named, facts)
            if self._is_usable(placed.tier_type, wish):
                return placed
            state = self._applied.read_anew(wish.context, state)
        raise TierChanged

    def _on_error(self, wish: Wish, error: Exception) -> Placement:
        """The operator's choice; Cinder's own placement if that fails too."""
        chosen = chosen_on_error(self.name, error)
        request = wish.request()
        try:
            state = self.applied(wish.context)
            if wish.named_type is None and not wish.moves:
                # What the image names is not known; this is the next word.
                request = wish.request(state.default_of(wish.context))
            placed = self._placement(placement.decide_on_error(
                on_error=chosen, tiers=state.tiers, request=request), state)
            if self._is_usable(placed.tier_type, wish):
                return placed
        except Exception as second:  # noqa: BLE001 - see the module
            error.add_note(f'{type(second).__name__} on the way to the '
                           'fall-back tier')
        return Placement(decision=placement.decide_on_error(
            on_error=chosen, tiers=(), request=request))

    def _placed(self, state: applied_tiers.AppliedState, wish: Wish,
                named: decision.NamedType | None,
                facts: glance.ImageFacts | None) -> Placement:
        """What is decided of a wish, from memory for one that is the same."""
        # Facts by identity, which costs nothing: who reads an image anew
        # makes new ones. To be kept alive, they are remembered, too.
        key = (id(facts), wish.project, wish.context.is_admin, wish.moves,
               named)
        memory = self._memory
        if (memory is None or memory.state is not state
                or len(memory.placements) >= _MOST_PLACEMENTS):
            memory = self._memory = _Memory(
                state=state, policy=conf.policy_of(self._options))
        known = memory.placements.get(key)
        if known is None:
            known = memory.placements[key] = (facts, self._placement(
                placement.decide(tiers=state.tiers,
                                 request=wish.request(named, facts),
                                 policy=memory.policy),
                state, facts))
        return known[1]

    @staticmethod
    def _placement(decided: decision.PlacementDecision,
                   state: applied_tiers.AppliedState,
                   facts: glance.ImageFacts | None = None) -> Placement:
        return Placement(
            decision=decided, image_id=facts and facts.image_id,
            tier_type=decided.tier and state.types[decided.tier.name])

    def _is_usable(self, tier_type: applied_tiers.TierType | None,
                   wish: Wish) -> bool:
        """Whether Cinder gives the tier's type to this very request.

        Asked by id and in the tenant's own context: by name, Cinder returns
        private types that the project may not use (29.0.0). A public type at
        the scheduler door is used for its extra specs only.
        """
        if tier_type is None or (tier_type.is_public
                                 and self.name != 'api'):
            return True
        try:
            volume_types.get_volume_type(wish.context, tier_type.type_id)
        except exception.VolumeTypeNotFound:
            return False
        return True

    def _limits(self) -> images.Limits:
        options = self._options
        return images.Limits(
            timeout_s=options.glance_timeout,
            max_calls=options.glance_max_calls,
            failures=options.glance_failures,
            retry_s=options.glance_retry_seconds,
            image_ttl_s=options.image_cache_seconds,
            stale_s=options.image_stale_seconds)

    def _keep(self, wish: Wish, placed: Placement, error: Exception | None,
              seconds: float) -> None:
        # The text of another error than of Glance may hold anything.
        is_expected = isinstance(error, glance.ImageUnreadable)
        text = error and '; '.join((
            str(error) if is_expected else type(error).__name__,
            *getattr(error, '__notes__', ())))
        self._recorder.keep(
            record.Record(
                door=self.name, context=wish.context,
                decision=placed.decision, project=wish.project,
                volume_id=wish.volume_id, image_id=placed.image_id,
                volume_type_id=(placed.tier_type
                                and placed.tier_type.type_id),
                error=text, seconds=seconds),
            notify=self._options.notify, bug=None if is_expected else error)


def chosen_on_error(name: str, error: Exception) -> decision.OnError:
    """What the operator chose for a door.

    :param name: api or scheduler.
    :param error: what is to be resolved; it gets a note when the choice
        cannot be read.
    """
    options = cfg.CONF[conf.GROUP]
    try:
        return decision.OnError(options[f'{name}_on_error']
                                or options.on_error)
    # oslo.config tells of a wrong word in a file only here.
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
        door = _doors.setdefault(name, Door(
            name, applied=applied_tiers.AppliedTiers(),
            known_images=images.Images(
                size=cfg.CONF[conf.GROUP].image_cache_size),
            recorder=record.Recorder()))
    return door


def forget() -> None:
    """Let the doors of this process forget all that they remember."""
    _doors.clear()


# Locks and threads do not outlive a fork.
os.register_at_fork(after_in_child=forget)
