# SPDX-License-Identifier: Apache-2.0

"""The record of a decision: a line in the log and a notification.

The payload is described in doc/source/admin/placement.rst; a change of it
changes `VERSION`. It holds no text of an image and no secret. Must not know
how a decision came about.
"""

import collections.abc
import dataclasses
import itertools
import json

from cinder import context as cinder_context
from cinder import rpc
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.threads import in_background

LOG = logging.getLogger(__name__)

EVENT_TYPE = 'tiers.decision'
#: The first number changes when a reader must change.
VERSION = '3.0'
#: Notifications that wait at most; more are dropped.
QUEUE_SIZE = 1000

#: By these rules there was nothing to decide: no record.
_NOT_OURS = frozenset(
    {decision.Rule.FIXED, decision.Rule.EXPLICIT_TYPE, decision.Rule.NO_TIERS}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecisionRecord:
    """A decision, and what it was about."""

    door: str
    context: cinder_context.RequestContext
    decision: decision.PlacementDecision
    #: Project id of the volume.
    project: str
    #: None at the API door, where the volume has no id yet.
    volume_id: str | None
    #: As Glance reported it; None without an image or without an answer.
    image_id: str | None
    #: The volume type of the tier.
    volume_type_id: str | None
    #: Class or kind of the error that left the tier undetermined.
    error: str | None
    #: Seconds that the door took.
    seconds: float
    #: Name of the class of the error.
    error_kind: str | None = None
    #: Whether the client caused the error, as by an unknown image: nothing
    #: that an operator could mend.
    is_clients_doing: bool = False
    #: Age in seconds of the image data of the decision; None when that is not
    #: older than it may be.
    image_age_s: float | None = None
    #: Availability zone that the request names: hostile text.
    zone: str | None = None

    @property
    def payload(self) -> dict[str, object]:
        """Return the record as JSON values, for log and notification."""
        decided = self.decision
        return {
            'version': VERSION,
            'door': self.door,
            'verdict': decided.verdict.value,
            'tier': decided.tier and decided.tier.name,
            'overflow': decided.overflow and decided.overflow.name,
            'volume_type_id': self.volume_type_id,
            'request_id': self.context.request_id,
            'project_id': self.project,
            'user_id': self.context.user_id,
            'volume_id': self.volume_id,
            'image_id': self.image_id,
            'image_age_seconds': (
                None
                if self.image_age_s is None
                else round(self.image_age_s, 3)
            ),
            'zone': self._known_zone,
            'reasons': [
                {'rule': reason.rule.name.lower(), **reason.values}
                for reason in decided.reasons
            ],
            'error': self.error,
            'client_error': self.is_clients_doing,
            'seconds': round(self.seconds, 6),
        }

    @property
    def is_worth_keeping(self) -> bool:
        """Return whether there was something to decide."""
        reasons = self.decision.reasons
        return not (
            self.decision.verdict is decision.RequestVerdict.NOT_OURS
            and len(reasons) == 1
            and reasons[0].rule in _NOT_OURS
        )

    @property
    def is_error(self) -> bool:
        """Return whether the record is a matter for the operator."""
        return not self.is_clients_doing and (
            self.error is not None
            or self.decision.because_of(decision.Rule.ERROR)
        )

    @property
    def _known_zone(self) -> str | None:
        """The zone in the words of the tier, so never as a tenant wrote it."""
        tier = self.decision.tier
        zones = (
            frozenset()
            if tier is None
            else (
                (tier.type_zones or frozenset())
                | (tier.backend_zones or frozenset())
            )
        )
        return self.zone if self.zone in zones else None


class Recorder:
    """Writes records; never keeps a request waiting, never fails it.

    A line costs as much as the whole decision, so it is written by a thread
    of its own, some milliseconds later; one of an error at once, unless the
    client caused it, who could cause many. Another
    thread sends the notifications, since a message bus that is down would
    hold up all that comes after (oslo.messaging tries for ever).
    """

    def __init__(self, queue_size: int = QUEUE_SIZE) -> None:
        """No thread is started before the first record.

        :param queue_size: lines and notifications that wait at most. A
            request whose line finds no room writes it itself.
        """
        self._writer = in_background.InBackground(
            'cinder-tiers-log', self._write_and_send, queue_size=queue_size
        )
        self._sender = in_background.InBackground(
            'cinder-tiers-notifier', _send, queue_size=queue_size
        )
        self._drops = itertools.count(1)

    def keep(
        self,
        record: DecisionRecord,
        *,
        notify: bool,
        bug: Exception | None = None,
    ) -> None:
        """Log a record, and queue its notification.

        :param notify: whether to send a notification as well.
        :param bug: an error whose traceback is worth logging.
        """
        if not record.is_worth_keeping:
            return
        if record.is_error or not self._writer.leave((record, notify)):
            self._write_and_send((record, notify), bug)

    def call_later(
        self,
        call: collections.abc.Callable[[], float | None],
        after_s: float,
    ) -> None:
        """Have a function called by the thread that writes the lines.

        Parameters and errors as of `InBackground.call_later`.
        """
        self._writer.call_later(call, after_s)

    def wait(self, timeout_s: float) -> bool:
        """Wait until all lines so far are written; not for notifications.

        :param timeout_s: seconds to wait at most.
        :returns: whether they are.
        """
        return self._writer.wait(timeout_s)

    def _write_and_send(
        self, kept: tuple[DecisionRecord, bool], bug: Exception | None = None
    ) -> None:
        record, notify = kept
        context = record.context
        # A context of its own: the request's holds the token of the user.
        plain = cinder_context.RequestContext(
            user_id=context.user_id,
            project_id=context.project_id,
            request_id=context.request_id,
            is_admin=False,
            overwrite=False,
        )
        payload = record.payload
        LOG.log(
            logging.ERROR if record.is_error else logging.INFO,
            '%s %s',
            EVENT_TYPE,
            json.dumps(payload),
            exc_info=bug,
            context=plain,
        )
        if (
            notify
            and rpc.initialized()
            and rpc.utils.notifications_enabled(cfg.CONF)
            and not self._sender.leave((plain, payload))
        ):
            dropped = next(self._drops)
            if dropped & (dropped - 1) == 0:
                LOG.warning(
                    (
                        'The message bus does not keep up: %d notifications '
                        '%s have been dropped so far.'
                    ),
                    dropped,
                    EVENT_TYPE,
                )


def _send(
    notification: tuple[cinder_context.RequestContext, dict[str, object]],
) -> None:
    context, payload = notification
    rpc.get_notifier(publisher_id=f'cinder-tiers.{cfg.CONF.host}').info(
        context, EVENT_TYPE, payload
    )
