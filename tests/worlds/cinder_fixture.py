# SPDX-License-Identifier: Apache-2.0

"""A real cinder-scheduler in this process, and a stand-in for Glance.

The scheduler's manager, FilterScheduler, HostManager, filters, database
layer and Glance client are Cinder's own, found through the real entry points
and configured by its options. The database is sqlite, or the one that
cinder_database is told. Not real: messages go to oslo.messaging's fake driver,
backends are capability reports, and Glance is an HTTP server that knows one
URL.
"""

import contextlib
import datetime
import http.client
import json
import pathlib
import socket
import threading
import urllib.parse
import uuid

from cinder import context
from cinder import objects
from cinder import rpc
from cinder.volume import volume_types
import fixtures
from oslo_config import cfg
from oslo_config import fixture as config_fixture
import oslo_messaging as messaging

# Cinder's modules need all objects to be known before they are imported, as
# cinder.cmd.scheduler does it.
objects.register_all()

from cinder.common import config  # noqa: E402,F401 - registers options
from cinder.db import api as db_api  # noqa: E402
from cinder.scheduler import host_manager  # noqa: E402,F401 - the same
from cinder.scheduler import manager  # noqa: E402

from cinder_tiers.doors import door  # noqa: E402
from cinder_tiers.doors.volume_types import volume_type_rows  # noqa: E402
from tests.worlds import cinder_database  # noqa: E402

PROJECT = uuid.uuid4().hex
OTHER_PROJECT = uuid.uuid4().hex
FILTERS = [
    'AvailabilityZoneFilter',
    'CapacityFilter',
    'CapabilitiesFilter',
    'TierFilter',
]
WEIGHERS = ['CapacityWeigher', 'TierWeigher']


class GlanceStandIn(fixtures.Fixture):
    """GET /v2/images/ID, /v2/images?name=NAME and the schema, over HTTP.

    `images` is {id: what is answered}: a dict is an image, an int an HTTP
    status, a str a body as it is, an Event is waited for (Glance hangs).
    `listing`, unless None, is answered to each query for a name. `requests`
    lists (path, token) of each request that came in, `agents` their
    User-Agent. While `gate` is clear, no request is answered.
    """

    def _setUp(self):
        self.forget()
        self.addCleanup(lambda: self.gate.set())
        # Not http.server: what it waits with is green once eventlet is
        # imported, whoever imported it first.
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.stop)
        port = self._listener.getsockname()[1]
        self.url = f'http://127.0.0.1:{port}'
        threading.Thread(target=self._accept, daemon=True).start()

    def forget(self):
        """Know no image, and nothing of the past."""
        self.images = {}
        self.listing = None
        self.requests = []
        self.agents = []
        self.gate = threading.Event()
        self.gate.set()

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
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True
            ).start()

    def _serve(self, connection):
        with connection, connection.makefile('rb') as request:
            path = request.readline().split()[1].decode()
            headers = http.client.parse_headers(request)
            self.requests.append((path, headers['X-Auth-Token']))
            self.agents.append(headers['User-Agent'])
            self.gate.wait(60)
            answer = self._answer(urllib.parse.urlsplit(path))
            if isinstance(answer, threading.Event):
                answer.wait(60)
                answer = 404
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, str) else json.dumps(answer)
            # Glance's errors are no JSON.
            kind = 'text/html' if answer == status else 'application/json'
            with contextlib.suppress(ConnectionError):
                connection.sendall(
                    f'HTTP/1.1 {status} any\r\n'
                    f'Content-Type: {kind}\r\n'
                    'Connection: close\r\n'
                    f'Content-Length: {len(body.encode())}\r\n\r\n'
                    f'{body}'.encode()
                )

    def _answer(self, url):
        if url.path == '/v2/schemas/image':
            return {
                'name': 'image',
                'properties': dict.fromkeys(
                    (
                        'id',
                        'name',
                        'status',
                        'owner',
                        'visibility',
                        'tags',
                        'size',
                        'min_disk',
                        'min_ram',
                    ),
                    {},
                ),
            }
        if url.path != '/v2/images':
            return self.images.get(url.path.rpartition('/')[2], 404)
        if self.listing is not None:
            return self.listing
        names = urllib.parse.parse_qs(url.query, keep_blank_values=True)[
            'name'
        ]
        return {
            'images': [
                image
                for image in self.images.values()
                if isinstance(image, dict) and image.get('name') in names
            ]
        }

    def add_image(
        self, *tags, owner=PROJECT, visibility='private', **properties
    ):
        """A new image; its id."""
        image_id = str(uuid.uuid4())
        self.images[image_id] = {
            'id': image_id,
            'status': 'active',
            'size': 1024,
            'min_disk': 0,
            'min_ram': 0,
            'owner': owner,
            'visibility': visibility,
            'tags': list(tags),
            **properties,
        }
        return image_id

    def answer(self, answer):
        """The id of a new image for which this is answered."""
        image_id = str(uuid.uuid4())
        self.images[image_id] = answer
        return image_id


def serve_messages(topic, server, *endpoints):
    """Serve messages in a native thread, for as long as it is not stopped.

    Not by Cinder's rpc.get_server: below Cinder 29 that serves in green
    threads whatever else a process has, and they stand still while a test
    waits.

    :returns: the server of oslo.messaging, started
    """
    serving = messaging.get_rpc_server(
        rpc.TRANSPORT,
        messaging.Target(topic=topic, server=server),
        endpoints,
        executor='threading',
        serializer=rpc.RequestContextSerializer(
            objects.base.CinderObjectSerializer()
        ),
    )
    serving.start()
    return serving


def forget_doors():
    """Forget what doors remember, when their threads have logged all of it.

    What they log later would be in the log of the next test.
    """
    for name, made in door._doors.items():
        if not made.wait(60):
            raise RuntimeError(f'the {name} door still writes its records')
    door.forget()


class Cinder(fixtures.Fixture):
    """Cinder in this process, with a database; no service runs yet.

    `database` is the fixture of that; `engine` is SQLAlchemy's, for tests in
    which the database fails; `folder` is its state path.
    """

    def __init__(self, content=None, **notifications):
        """Not configured yet.

        :param content: of the database; None: it is empty
        :param notifications: options of oslo.messaging's notifications, such
            as driver='messagingv2'; without one none is sent
        """
        super().__init__()
        self.database = cinder_database.Database(content)
        self._notifications = notifications

    def _setUp(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.folder = folder
        self.conf = self.useFixture(config_fixture.Config(cfg.CONF))
        # Its options do not exist before oslo.messaging is asked for them.
        file = folder / 'cinder.conf'
        database = self.useFixture(self.database)
        self.engine = database.engine
        file.write_text(
            '\n'.join(
                (
                    '[DEFAULT]',
                    'transport_url = fake:/',
                    # Who serves messages here serves one after another.
                    'executor_thread_pool_size = 1',
                    # The default from Cinder 29 on: before, who may only read
                    # a project may restore its backups.
                    '[oslo_policy]',
                    'enforce_new_defaults = true',
                    '[database]',
                    f'connection = {database.url}',
                    '[oslo_messaging_notifications]',
                    *(
                        f'{key} = {value}'
                        for key, value in self._notifications.items()
                    ),
                )
            )
        )
        cfg.CONF(
            [],
            project='cinder',
            default_config_files=[str(file)],
            default_config_dirs=[],
        )
        self.conf.config(state_path=str(folder))
        rpc.init(cfg.CONF)
        self.addCleanup(rpc.cleanup)
        # The end of a server waits for its idle thread, which otherwise looks
        # once a second whether it is to end.
        self.useFixture(
            fixtures.MonkeyPatch(
                'futurist._thread.ThreadWorker.MAX_IDLE_FOR', 0.02
            )
        )
        # Where it is differs between releases of Cinder.
        self.addCleanup(
            volume_type_rows.db_api.main_context_manager.patch_engine(
                self.engine
            )
        )
        self.admin = context.get_admin_context()


class Scheduler(Cinder):
    """cinder-scheduler, the doors it loads, and a stand-in for Glance."""

    def __init__(self, filters=FILTERS, **others):
        """Not running yet.

        :param filters: names of its filters
        :param others: as in `Cinder`
        """
        super().__init__(**others)
        self._filters = filters

    def _setUp(self):
        self.glance = self.useFixture(GlanceStandIn())
        super()._setUp()
        self.conf.config(
            host='scheduler',
            glance_api_servers=[self.glance.url],
            glance_num_retries=0,
            scheduler_default_filters=self._filters,
            scheduler_default_weighers=WEIGHERS,
        )
        self.conf.config(
            group='cinder_tiers',
            # Tests change types from one request to the next.
            applied_cache_seconds=0,
            # A machine that is busy enough is slower than the default.
            glance_timeout=60.0,
        )
        door.forget()
        self.addCleanup(forget_doors)
        self.manager = manager.SchedulerManager()

    def add_backend(self, name, **capabilities):
        """A backend that is up and has 100 GiB; its host@backend#pool."""
        host = f'node@{name}'
        objects.Service(
            context=self.admin,
            host=host,
            topic='cinder-volume',
            binary='cinder-volume',
            availability_zone='nova',
            report_count=1,
            disabled=False,
        ).create()
        self.manager.update_service_capabilities(
            self.admin,
            service_name='volume',
            host=host,
            capabilities={
                'volume_backend_name': name,
                'pool_name': name,
                'total_capacity_gb': 100,
                'free_capacity_gb': 100,
                'reserved_percentage': 0,
                **capabilities,
            },
            timestamp=datetime.datetime.now(datetime.UTC).strftime(
                '%Y-%m-%dT%H:%M:%S.%f'
            ),
        )
        return f'{host}#{name}'

    def add_type(self, name, projects=None, description=None, **extra_specs):
        """A volume type; `tiers_name` is written for `tiers:name`.

        One with that names a backend, unless `volume_backend_name` is None.
        """
        tier = extra_specs.get('tiers_name')
        backend = {'volume_backend_name': f'tier-{tier}'} if tier else {}
        specs = {
            key.replace('tiers_', 'tiers:'): value
            for key, value in {**backend, **extra_specs}.items()
            if value is not None
        }
        return volume_types.create(
            self.admin,
            name,
            specs,
            is_public=projects is None,
            projects=projects,
            description=description,
        )['id']

    def add_encryption(self, type_id):
        """Volumes of a type are encrypted from now on."""
        db_api.volume_type_encryption_create(
            self.admin,
            type_id,
            {
                'provider': 'luks',
                'control_location': 'front-end',
                'cipher': 'aes-xts-plain64',
                'key_size': 256,
            },
        )

    def delete_type(self, ident):
        """A volume type is no more."""
        volume_types.destroy(self.admin, ident)

    def set_project_default(self, type_id, project=PROJECT):
        """What `cinder default-type-set` does."""
        db_api.project_default_volume_type_set(self.admin, type_id, project)

    def user(self, project=PROJECT, role='member'):
        """Context of a request of a user, such as role admin."""
        return context.RequestContext(
            user_id='user',
            project_id=project,
            auth_token='token-of-user',
            roles=[role],
            service_catalog=[],
        )

    def add_volume(self, *, volume_type=None, project=PROJECT, **values):
        """A volume of 1 GiB that is to be created."""
        volume = objects.Volume(
            context=self.admin,
            size=1,
            status='creating',
            user_id='user',
            project_id=project,
            availability_zone='nova',
            volume_type_id=volume_type,
            **values,
        )
        volume.create()
        return volume

    def create_volume(
        self,
        *,
        volume_type=None,
        project=PROJECT,
        user=None,
        metadata=None,
        **spec,
    ):
        """What cinder-api does to create a volume; the volume afterwards.

        :param volume_type: id of its type
        :param project: id of its project
        :param user: context of the request, of a member unless given
        :param metadata: {key: value} of the volume
        :param spec: further parts of the request spec, such as image_id
        """
        volume = self.add_volume(
            volume_type=volume_type, project=project, metadata=metadata or {}
        )
        self.manager.create_volume(
            user or self.user(project),
            volume,
            snapshot_id=spec.get('snapshot_id'),
            image_id=spec.get('image_id'),
            filter_properties={},
            request_spec=self.request_spec(volume, **spec),
        )
        return objects.Volume.get_by_id(self.admin, volume.id)

    def request_spec(self, volume, **spec):
        """The request spec of a create, as cinder-api fills it in."""
        volume_type = None
        if volume.volume_type_id:
            volume_type = objects.VolumeType.get_by_name_or_id(
                self.admin, volume.volume_type_id
            )
        nothing = dict.fromkeys(
            (
                'consistencygroup_id',
                'cgsnapshot_id',
                'image_id',
                'snapshot_id',
                'source_volid',
                'group_id',
                'backup_id',
            )
        )
        return objects.RequestSpec(
            **{
                **nothing,
                'volume': volume,
                'volume_id': volume.id,
                'volume_type': volume_type,
                'volume_properties': objects.VolumeProperties(
                    size=volume.size,
                    project_id=volume.project_id,
                    user_id='user',
                    availability_zone='nova',
                    volume_type_id=volume.volume_type_id,
                    metadata=dict(volume.metadata),
                ),
                **spec,
            }
        )
