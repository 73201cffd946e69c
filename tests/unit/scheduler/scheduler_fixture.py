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

"""A real cinder-scheduler in this process, and a stand-in for Glance.

The scheduler's manager, FilterScheduler, HostManager, filters, database
layer and Glance client are Cinder's own, found through the real entry points
and configured by its options. Not real: the database is sqlite, messages go
to oslo.messaging's fake driver, backends are capability reports, and Glance
is an HTTP server that knows one URL.
"""

import contextlib
import datetime
import http.client
import json
import pathlib
import socket
import threading
import uuid

from cinder import context
from cinder import objects
from cinder import rpc
from cinder.volume import volume_types
import fixtures
from oslo_config import cfg
from oslo_config import fixture as config_fixture
import sqlalchemy

# Cinder's modules need all objects to be known before they are imported, as
# cinder.cmd.scheduler does it.
objects.register_all()

from cinder.common import config  # noqa: E402,F401 - registers options
from cinder.db import api as db_api  # noqa: E402
from cinder.db import migration  # noqa: E402
from cinder.scheduler import host_manager  # noqa: E402,F401 - the same
from cinder.scheduler import manager  # noqa: E402

PROJECT = uuid.uuid4().hex
OTHER_PROJECT = uuid.uuid4().hex
FILTERS = ['AvailabilityZoneFilter', 'CapacityFilter', 'CapabilitiesFilter',
           'TierFilter']


class GlanceStandIn(fixtures.Fixture):
    """GET /v2/images/ID over HTTP.

    `images` is {id: what is answered}: a dict is an image, an int an HTTP
    status, a str a body as it is, an Event is waited for (Glance hangs).
    `requests` lists (path, token) of each request that came in.
    """

    def _setUp(self):
        self.images = {}
        self.requests = []
        # Not http.server: what it waits with is green once eventlet is
        # imported, whoever imported it first.
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.stop)
        port = self._listener.getsockname()[1]
        self.url = f'http://127.0.0.1:{port}'
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        """Refuse connections from now on."""
        # shutdown() wakes accept(), which close() alone does not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # stopped
            threading.Thread(target=self._serve, args=(connection,),
                             daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile('rb') as request:
            path = request.readline().split()[1].decode()
            headers = http.client.parse_headers(request)
            self.requests.append((path, headers['X-Auth-Token']))
            answer = self.images.get(path.rpartition('/')[2], 404)
            if isinstance(answer, threading.Event):
                answer.wait(60)
                answer = 404
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, str) else json.dumps(answer)
            with contextlib.suppress(ConnectionError):
                connection.sendall(
                    f'HTTP/1.1 {status} any\r\n'
                    'Content-Type: application/json\r\n'
                    'Connection: close\r\n'
                    f'Content-Length: {len(body.encode())}\r\n\r\n'
                    f'{body}'.encode())

    def add_image(self, *tags, owner=PROJECT, visibility='private'):
        """A new image; its id."""
        return self.answer({'id': 'any', 'status': 'active', 'owner': owner,
                            'visibility': visibility, 'tags': list(tags)})

    def answer(self, answer):
        """The id of a new image for which this is answered."""
        image_id = str(uuid.uuid4())
        self.images[image_id] = answer
        return image_id


class Scheduler(fixtures.Fixture):
    """cinder-scheduler with an empty database of its own."""

    def _setUp(self):
        self.glance = self.useFixture(GlanceStandIn())
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = self.useFixture(config_fixture.Config(cfg.CONF))
        # The option does not exist before oslo.messaging is asked for it.
        file = folder / 'cinder.conf'
        file.write_text('[DEFAULT]\ntransport_url = fake:/\n')
        cfg.CONF([], project='cinder', default_config_files=[str(file)],
                 default_config_dirs=[])
        self.conf.config(
            host='scheduler', glance_api_servers=[self.glance.url],
            glance_num_retries=0, scheduler_default_filters=FILTERS,
            state_path=str(folder))
        rpc.init(cfg.CONF)
        self.addCleanup(rpc.cleanup)
        engine = sqlalchemy.create_engine(
            f'sqlite:///{folder}/cinder.sqlite')
        self.addCleanup(engine.dispose)
        migration.db_sync(engine=engine)
        self.addCleanup(db_api.main_context_manager.patch_engine(engine))
        self.admin = context.get_admin_context()
        self.manager = manager.SchedulerManager()

    def add_backend(self, name, **capabilities):
        """A backend that is up and has 100 GiB; its host@backend#pool."""
        host = f'node@{name}'
        objects.Service(context=self.admin, host=host, topic='cinder-volume',
                        binary='cinder-volume', availability_zone='nova',
                        report_count=1, disabled=False).create()
        self.manager.update_service_capabilities(
            self.admin, service_name='volume', host=host, capabilities={
                'volume_backend_name': name, 'pool_name': name,
                'total_capacity_gb': 100, 'free_capacity_gb': 100,
                'reserved_percentage': 0, **capabilities},
            timestamp=datetime.datetime.now(datetime.UTC).strftime(
                '%Y-%m-%dT%H:%M:%S.%f'))
        return f'{host}#{name}'

    def add_type(self, name, projects=None, **extra_specs):
        """A volume type; `tiers_name` is written for `tiers:name`."""
        specs = {key.replace('tiers_', 'tiers:'): value
                 for key, value in extra_specs.items()}
        return volume_types.create(
            self.admin, name, specs, is_public=projects is None,
            projects=projects)['id']

    def user(self, project=PROJECT):
        """Context of a request of a user."""
        return context.RequestContext(
            user_id='user', project_id=project, auth_token='token-of-user',
            roles=['member'], service_catalog=[])

    def create_volume(self, *, volume_type=None, project=PROJECT, **spec):
        """What cinder-api does to create a volume; the volume afterwards.

        :param volume_type: id of its type
        :param spec: further parts of the request spec, such as image_id
        """
        user = self.user(project)
        volume = objects.Volume(
            context=self.admin, size=1, status='creating', user_id='user',
            project_id=project, availability_zone='nova',
            volume_type_id=volume_type)
        volume.create()
        self.manager.create_volume(
            user, volume, snapshot_id=spec.get('snapshot_id'),
            image_id=spec.get('image_id'), filter_properties={},
            request_spec=self.request_spec(volume, **spec))
        return objects.Volume.get_by_id(self.admin, volume.id)

    def request_spec(self, volume, **spec):
        """The request spec of a create, as cinder-api fills it in."""
        volume_type = None
        if volume.volume_type_id:
            volume_type = objects.VolumeType.get_by_name_or_id(
                self.admin, volume.volume_type_id)
        nothing = dict.fromkeys((
            'consistencygroup_id', 'cgsnapshot_id', 'image_id', 'snapshot_id',
            'source_volid', 'group_id', 'backup_id'))
        return objects.RequestSpec(**{
            **nothing, 'volume': volume, 'volume_id': volume.id,
            'volume_type': volume_type,
            'volume_properties': objects.VolumeProperties(
                size=volume.size, project_id=volume.project_id,
                user_id='user', availability_zone='nova',
                volume_type_id=volume.volume_type_id), **spec})
