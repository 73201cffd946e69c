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

"""The record of a decision: a line in the log and a notification.

The payload is described in doc/source/admin/decisions.rst; a change of it
changes `VERSION`. It holds no text of an image and no secret. Must not know
how a decision came about.
"""

import dataclasses
import json
import queue
import threading

from cinder import context as cinder_context
from cinder import rpc
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers.domain import decision

LOG = logging.getLogger(__name__)

EVENT_TYPE = 'tiers.decision'
#: The first number changes when a reader must change.
VERSION = '1.0'
#: Notifications that wait at most; more are dropped.
QUEUE_SIZE = 1000

#: By these rules there was nothing to decide: no record.
_NOT_OURS = frozenset({decision.Rule.FIXED, decision.Rule.EXPLICIT_TYPE,
                       decision.Rule.NO_TIERS})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """A decision, and what it was about."""

    door: str
    context: cinder_context.RequestContext
    decision: decision.PlacementDecision
    #: Project id of the volume.
    project: str
    #: None at the API door, where the volume has no id yet.
    volume_id: str | None
    #: As Glance told it; None without an image, or when it was not told.
    image_id: str | None
    #: The volume type of the tier.
    volume_type_id: str | None
    #: Class or kind of the error by which the tier could not be told.
    error: str | None
    #: Seconds that the door took.
    seconds: float

    @property
    def payload(self) -> dict[str, object]:
        """What is logged and sent: values that JSON has."""
        decided = self.decision
        return {
            'version': VERSION,
            'text': str(decided),
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
            'reasons': [{'rule': reason.rule.name.lower(), **reason.values}
                        for reason in decided.reasons],
            'error': self.error,
            'seconds': round(self.seconds, 6),
        }

    @property
    def is_worth_keeping(self) -> bool:
        """Whether there was something to decide."""
        reasons = self.decision.reasons
        return not (self.decision.verdict is decision.Verdict.UNTOUCHED
                    and len(reasons) == 1 and reasons[0].rule in _NOT_OURS)


class Recorder:
    """Writes records; never keeps a request waiting, never fails it.

    Notifications are sent by a thread of their own, since a message bus that
    is down would hold up each create (oslo.messaging tries for ever).
    """

    def __init__(self, queue_size: int = QUEUE_SIZE) -> None:
        """No thread is started before the first notification.

        :param queue_size: notifications that wait at most.
        """
        self._queue: queue.Queue[
            tuple[cinder_context.RequestContext, dict]] = queue.Queue(
                queue_size)
        self._lock = threading.Lock()
        self._sender: threading.Thread | None = None
        self._dropped = 0

    def keep(self, record: Record, *, notify: bool,
             bug: Exception | None = None) -> None:
        """Log a record, and queue its notification.

        :param record: what to keep.
        :param notify: whether to send it, too.
        :param bug: an error whose way is worth logging.
        """
        if not record.is_worth_keeping:
            return
        payload = record.payload
        LOG.log(logging.ERROR if record.error else logging.INFO, '%s %s',
                EVENT_TYPE, json.dumps(payload), exc_info=bug)
        if notify and rpc.initialized() and rpc.utils.notifications_enabled(
                cfg.CONF):
            self._send_later(record.context, payload)

    def _send_later(self, context: cinder_context.RequestContext,
                    payload: dict[str, object]) -> None:
        # A context of its own: the request's holds the token of the user.
        plain = cinder_context.RequestContext(
            user_id=context.user_id, project_id=context.project_id,
            request_id=context.request_id, is_admin=False, overwrite=False)
        self._start_sender()
        try:
            self._queue.put_nowait((plain, payload))
        except queue.Full:
            self._dropped += 1
            if self._dropped & (self._dropped - 1) == 0:
                LOG.warning('The message bus does not keep up: %d '
                            'notifications %s were dropped so far.',
                            self._dropped, EVENT_TYPE)

    def _start_sender(self) -> None:
        if self._sender is None:
            with self._lock:
                if self._sender is None:
                    sender = threading.Thread(
                        target=self._send, name='cinder-tiers-notifier',
                        daemon=True)
                    sender.start()
                    self._sender = sender

    def _send(self) -> None:
        while True:
            context, payload = self._queue.get()
            try:
                rpc.get_notifier(
                    publisher_id=f'cinder-tiers.{cfg.CONF.host}').info(
                        context, EVENT_TYPE, payload)
            except Exception:
                # One that cannot be sent must not end those that follow.
                LOG.exception('A notification %s could not be sent.',
                              EVENT_TYPE)
