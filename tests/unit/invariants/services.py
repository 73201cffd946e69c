# SPDX-License-Identifier: Apache-2.0

"""What is around cinder-api and cinder-scheduler, without data."""

import contextlib
import types

from cinder.db import api as db_api
from cinder import objects
from cinder import rpc
import oslo_messaging
from oslo_messaging.rpc import dispatcher
from oslo_serialization import jsonutils

from cinder_tiers.doors.images import glance
from tests.unit.scheduler import cloud_fixture
from tests.worlds import cinder_fixture

#: Id of the only key that there is.
KEY = '00000000-0000-0000-0000-000000000000'


class Bus:
    """A driver of oslo.messaging that delivers within the call."""

    def __init__(self, conf, endpoints):
        """Nothing was sent yet.

        :param conf: configuration of the process
        :param endpoints: {topic: function that gives the endpoint}
        """
        self.conf = conf
        self._endpoints = endpoints
        #: What a service did not expect to happen.
        self.failures = []
        self._serializer = rpc.RequestContextSerializer(
            objects.base.CinderObjectSerializer()
        )

    def send(self, target, ctxt, message, wait_for_reply=None, **others):
        topic = target.topic.partition('.')[0]
        ctxt, message = jsonutils.loads(jsonutils.dumps([ctxt, message]))
        deliver = dispatcher.RPCDispatcher(
            [self._endpoints[topic]()],
            self._serializer,
            dispatcher.DefaultRPCAccessPolicy,
        )
        try:
            return deliver.dispatch(
                types.SimpleNamespace(
                    ctxt=ctxt, message=message, client_timeout=None
                )
            )
        # As a server does: who casts hears nothing of it.
        except Exception as error:  # noqa: BLE001
            if wait_for_reply:
                raise
            self.failures.append(f'{message["method"]}: {error!r}')

    def send_notification(self, *args, **others):
        """Nobody listens."""

    def require_features(self, **features):
        """It has all."""

    def cleanup(self):
        """It holds nothing."""


class Volumes(cloud_fixture.VolumeStandIn):
    """cinder-volume, which keeps what it knows of an image."""

    def create_volume(self, context, volume, request_spec=None, **request):
        admin = context.elevated()
        if request_spec['image_id']:
            db_api.volume_glance_metadata_create(
                admin, volume.id, 'image_id', request_spec['image_id']
            )
        elif request_spec['snapshot_id']:
            with contextlib.suppress(Exception):
                db_api.volume_glance_metadata_copy_to_volume(
                    admin, volume.id, request_spec['snapshot_id']
                )
        elif request_spec['source_volid']:
            with contextlib.suppress(Exception):
                db_api.volume_glance_metadata_copy_from_volume_to_volume(
                    admin, request_spec['source_volid'], volume.id
                )
        super().create_volume(context, volume)

    def accept_transfer(self, context, **request):
        """Nothing to do to its data."""

    def create_snapshot(self, context, snapshot):
        with contextlib.suppress(Exception):
            db_api.volume_glance_metadata_copy_to_snapshot(
                context.elevated(), snapshot.id, snapshot.volume_id
            )
        super().create_snapshot(context, snapshot)


class Backups:
    """cinder-backup, as far as a restore goes."""

    target = oslo_messaging.Target(version='2.4')

    def restore_backup(self, context, backup, volume_id, **request):
        db_api.volume_update(
            context.elevated(), volume_id, {'status': 'available'}
        )


class Glance(cinder_fixture.GlanceStandIn):
    """Glance that can fail for the doors alone.

    `fault` is None, an HTTP status, or an Event that is waited for.
    """

    fault = None

    def _answer(self, url):
        if self.fault is not None and (
            glance.USER_AGENT in (self.agents[-1] or '')
        ):
            return self.fault
        return super()._answer(url)
