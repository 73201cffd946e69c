# SPDX-License-Identifier: Apache-2.0

"""One example on its way, and what was there before it.

Must not know which steps there are.
"""

import contextlib
import uuid

from cinder.db import api as db_api
from cinder import exception
from cinder import objects

from tests.unit.invariants import services


class Play:
    """Who asks, from which image, and what there is by now."""

    def __init__(self, cloud, project, image):
        """Nothing was done yet.

        :param cloud: Cloud
        :param project: id of the project that asks
        :param image: Image from which volumes are made, or None
        """
        self.cloud = cloud
        self.project = project
        self.image = image
        #: Id of the volume with which the next step deals.
        self.current = None
        #: Id of the image, once it is in Glance.
        self.image_id = None
        self._ref = None

    def image_ref(self):
        """The text that names the image."""
        if self._ref is None:
            self._ref = (
                self.image.add(self)
                if self.image is not None
                else str(uuid.UUID(int=5))
            )
        return self._ref

    def type_text(self, text):
        """What a step names a volume type by."""
        ids = self.cloud.ids
        if text.startswith('@@'):
            return ids.get(text[2:], 'missing').upper()
        return ids.get(text[1:], 'missing') if text[0] == '@' else text

    def post(self, path, body, *, answers='volume', **request):
        """A request of the project; its status and answer.

        :param answers: key of the answer that holds the new volume
        """
        status, answer = self.cloud.request(
            path, body, project=self.project, **request
        )
        if status < 300 and answers in ('volume', 'restore'):
            found = answer[answers]
            self.current = found.get('volume_id') or found['id']
        return status, answer

    def act(self, body, **request):
        """An action on the current volume."""
        return self.post(
            f'volumes/{self.current}/action', body, answers=None, **request
        )

    def given_volume(self, volume_type='database', has_image=False):
        """Id of a volume that was there before, on a backend of its type."""
        cloud = self.cloud
        backend = {
            'plain': 'plain',
            'image-tier': 'plain',
            'luks': 'general',
        }.get(volume_type, volume_type)
        if backend not in cloud.world.backends or (
            volume_type not in cloud.ids
        ):
            volume_type = backend = 'database'
        volume = objects.Volume(
            context=cloud.admin,
            size=1,
            status='available',
            user_id='user',
            project_id=self.project,
            availability_zone='nova',
            volume_type_id=cloud.ids[volume_type],
            host=cloud.world.host_of(backend),
            encryption_key_id=services.KEY
            if volume_type in ('luks', 'vault')
            else None,
        )
        volume.create()
        if has_image and self.image is not None:
            db_api.volume_glance_metadata_create(
                cloud.admin, volume.id, 'image_id', self.image_id
            )
        return volume.id

    def _source(self):
        if self.current:
            source = objects.Volume.get_by_id(self.cloud.admin, self.current)
            if source.project_id == self.project:
                return source
        return objects.Volume.get_by_id(self.cloud.admin, self.given_volume())

    def given_snapshot(self):
        """Id of a snapshot of the current volume, or of such a one."""
        source = self._source()
        snapshot = objects.Snapshot(
            context=self.cloud.admin,
            volume_id=source.id,
            volume_size=1,
            status='available',
            user_id='user',
            project_id=self.project,
            volume_type_id=source.volume_type_id,
            encryption_key_id=source.encryption_key_id,
        )
        snapshot.create()
        with contextlib.suppress(exception.GlanceMetadataNotFound):
            db_api.volume_glance_metadata_copy_to_snapshot(
                self.cloud.admin, snapshot.id, source.id
            )
        return snapshot.id

    def given_backup(self):
        """Id of a backup of the current volume, or of such a one."""
        backup = objects.Backup(
            context=self.cloud.admin,
            volume_id=self._source().id,
            size=1,
            status='available',
            user_id='user',
            project_id=self.project,
            host='node',
            availability_zone='nova',
            service='any',
        )
        backup.create()
        return backup.id
