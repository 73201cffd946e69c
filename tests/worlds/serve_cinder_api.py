# SPDX-License-Identifier: Apache-2.0

"""Serves Cinder's real API on sqlite, on a free port.

`load` makes the application, for all that are forked from its process. `main`
is run in a process of its own: it sends the port once it answers, and runs
until the pipe is closed. Each message of the pipe is an order, what and its
arguments, which it answers: `backend` adds a capability report of a backend to
a real scheduler, `volume_service` starts a real cinder-volume, `volume` and
`snapshot`, as `group`, add one to the database,
`changed_volume` changes one, `no_volume` deletes one, `default_type` sets the
default volume type of a project, `fold` lets the database compare names as
MariaDB does, `dead_scheduler` adds a scheduler that is down, `keep` copies the
database, `return_to` puts a copy back, `image` and `project` add what the
stand-ins for Glance and Keystone know, at /image and /identity;
`forbid_namespaces` changes the policy of the former.

A token is `role:project`: it stands for a user with that role there. A seer is
a member to whom a lenient policy shows extra specs, and a keeper an
administrator to whom a strict one shows no encryption of volume types.
"""

import contextlib
import datetime
import functools
import inspect
import io
import json
import os
import pathlib
import socketserver
import sqlite3
import sys
import threading
import time
import types
import uuid
import wsgiref.simple_server
import wsgiref.util

import sqlalchemy

from tests.worlds import cinder_api
from tests.worlds import folded_names
from tests.worlds import keystone_and_glance

CONF = """[DEFAULT]
state_path = {folder}
auth_strategy = keystone
transport_url = fake://
api_paste_config = {loaded}/api-paste.ini
log_file = {folder}/log
service_down_time = 86400
scheduler_driver_init_wait_time = 1
# Without a backend no scheduler runs, and none can answer.
rpc_response_timeout = 3
[database]
connection = sqlite:///{folder}/db
# No test survives the machine.
sqlite_synchronous = false
[oslo_policy]
policy_file = {loaded}/policy.yaml
[oslo_concurrency]
lock_path = {folder}
[coordination]
backend_url = file://{folder}
"""
POLICY = """
volume_extension:types_extra_specs:read_sensitive: role:admin or role:seer
volume_extension:volume_type_encryption:get: role:admin and not role:keeper
"""
#: As Keystone's bootstrap makes them imply each other.
IMPLIED_ROLES = {
    'admin': 'admin,member,reader',
    'member': 'member,reader',
    'seer': 'seer,member,reader',
    'keeper': 'keeper,admin,member,reader',
}
AUTH_TOKEN = 'keystonemiddleware.auth_token:filter_factory'


class QuietHandler(wsgiref.simple_server.WSGIRequestHandler):
    """Does not print each request."""

    def log_message(self, *arguments):
        """Drops the line."""


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """Has a thread for each connection.

    A client that is stopped before it sends its request, or within it, keeps
    no other one waiting.
    """

    daemon_threads = True
    request_queue_size = 128


def one_at_a_time(application):
    """Serves whole requests only, each after the other.

    Of two writers at once, sqlite refuses one.
    """
    turn = threading.Lock()

    def serve(environ, start_response):
        length = int(environ.get('CONTENT_LENGTH') or 0)
        environ['wsgi.input'] = io.BytesIO(environ['wsgi.input'].read(length))
        with turn:
            return application(environ, start_response)

    return serve


def token_factory(global_conf, **local_conf):
    """A paste filter in place of the one that asks Keystone for the user."""

    def filtered(application):
        def authenticate(environ, start_response):
            role, _, project = environ.get('HTTP_X_AUTH_TOKEN', '').partition(
                ':'
            )
            environ |= {
                'HTTP_X_USER_ID': role,
                'HTTP_X_PROJECT_ID': project,
                'HTTP_X_ROLES': IMPLIED_ROLES.get(role, role),
            }
            return application(environ, start_response)

        return authenticate

    return filtered


class Orders:
    """What is done besides serving the API."""

    def __init__(self, folder, keystone, glance):
        from cinder import context

        self._folder = folder
        self._keystone = keystone
        self._glance = glance
        self._admin = context.get_admin_context()
        self._scheduler = None

    def backend(self, *, name, **capabilities):
        """Adds a backend that is up; returns its host@backend#pool."""
        from cinder import objects
        from cinder import service

        if self._scheduler is None:
            self._scheduler = service.Service.create(
                host='scheduler',
                binary='cinder-scheduler',
                topic='cinder-scheduler',
                manager='cinder.scheduler.manager.SchedulerManager',
            )
            self._scheduler.start()
        host = f'node@{name}'
        objects.Service(
            context=self._admin,
            host=host,
            topic='cinder-volume',
            binary='cinder-volume',
            availability_zone='nova',
            report_count=1,
            disabled=False,
        ).create()
        self._scheduler.manager.update_service_capabilities(
            self._admin,
            service_name='volume',
            host=host,
            capabilities={
                'volume_backend_name': name,
                'pool_name': name,
                'total_capacity_gb': 100,
                'free_capacity_gb': 40,
                'reserved_percentage': 0,
                **capabilities,
            },
            timestamp=datetime.datetime.now(datetime.UTC).strftime(
                '%Y-%m-%dT%H:%M:%S.%f'
            ),
        )
        return f'{host}#{name}'

    def volume_service(self, *, name, driver, **options):
        """Starts a cinder-volume with a driver and its options."""
        from cinder import objects
        from cinder.objects import base
        from cinder import service
        from cinder.volume import configuration
        from cinder.volume import driver as volume_driver
        from cinder.volume import manager
        from oslo_config import cfg
        from oslo_utils import importutils

        # It starts beside none of an unknown release, as `backend` adds them.
        for one in objects.ServiceList.get_all(
            self._admin, {'binary': 'cinder-volume'}
        ):
            one.object_current_version = base.OBJ_VERSIONS.get_current()
            one.rpc_current_version = manager.VolumeManager.RPC_API_VERSION
            one.save()
        configuration.Configuration(
            [
                *volume_driver.volume_opts,
                *importutils.import_class(driver).get_driver_options(),
            ],
            config_group=name,
        )
        for option, value in options.items():
            cfg.CONF.set_override(option, value, group=name)
        made = service.Service.create(
            host=f'node@{name}',
            binary='cinder-volume',
            topic='cinder-volume',
            manager='cinder.volume.manager.VolumeManager',
            service_name=name,
            volume_driver=driver,
        )
        made.start()
        # Its own timer is green, and this thread waits for orders.
        if moves := getattr(made.manager.driver, '_moves', None):
            threading.Thread(
                target=self._go_on, args=(moves,), daemon=True
            ).start()

    def _go_on(self, moves):
        while True:
            moves.go_on()
            time.sleep(1)

    def volume(self, *, image_id=None, servers=(), **fields):
        """Adds a volume of 1 GiB to the database; returns its id."""
        from cinder.db import api as db_api
        from cinder import objects

        volume = objects.Volume(
            context=self._admin,
            **{
                'size': 1,
                'status': 'available',
                'user_id': 'user',
                'availability_zone': 'nova',
                **fields,
            },
        )
        volume.create()
        if image_id:
            db_api.volume_glance_metadata_create(
                self._admin, volume.id, 'image_id', image_id
            )
        for server in servers:
            objects.VolumeAttachment(
                context=self._admin,
                volume_id=volume.id,
                attach_status='attached',
                instance_uuid=server,
            ).create()
        return volume.id

    def group(self, **fields):
        """Adds a generic group to the database; returns its id."""
        from cinder import objects

        made = objects.Group(
            context=self._admin,
            name='group',
            status='available',
            user_id='user',
            group_type_id=str(uuid.uuid4()),
            **fields,
        )
        made.create()
        return made.id

    def attachment(self, *, connection_info=None, **fields):
        """Adds an attachment to the database, as cinder-volume does."""
        from cinder import objects

        made = objects.VolumeAttachment(
            context=self._admin, **{'attach_status': 'attached', **fields}
        )
        made.create()
        if connection_info is not None:
            made.connection_info = connection_info
            made.save()
        return made.id

    def snapshot(self, **fields):
        """Adds a snapshot to the database; returns its id."""
        from cinder import objects

        snapshot = objects.Snapshot(
            context=self._admin,
            **{'status': 'available', 'user_id': 'user', **fields},
        )
        snapshot.create()
        return snapshot.id

    def changed_volume(self, *, ident, **fields):
        """Changes a volume in the database, as cinder-volume does."""
        from cinder.db import api as db_api

        db_api.volume_update(self._admin, ident, fields)

    def no_volume(self, *, ident):
        """Deletes a volume from the database."""
        from cinder.db import api as db_api

        db_api.volume_destroy(self._admin, ident)

    def default_type(self, *, project, type_id):
        """Sets the default volume type of a project; None unsets it."""
        from cinder.db import api as db_api

        if type_id is None:
            db_api.project_default_volume_type_unset(self._admin, project)
        else:
            db_api.project_default_volume_type_set(
                self._admin, type_id, project
            )

    def dead_scheduler(self, *, host):
        """Adds a scheduler that did not report for long."""
        from cinder.db import api as db_api
        from cinder import objects
        from cinder.objects import base
        from cinder.scheduler import rpcapi

        service = objects.Service(
            context=self._admin,
            host=host,
            topic='cinder-scheduler',
            binary='cinder-scheduler',
            object_current_version=base.OBJ_VERSIONS.get_current(),
            rpc_current_version=rpcapi.SchedulerAPI.RPC_API_VERSION,
        )
        service.create()
        db_api.service_update(
            self._admin,
            service.id,
            {'updated_at': datetime.datetime(2026, 1, 2, 3, 4, 5)},
        )

    def fold(self):
        """Lets the database compare keys and names as MariaDB does."""
        from cinder.db import api as db_api

        folded_names.fold(db_api.get_engine())

    def keep(self, *, name):
        """Copies the database."""
        self._copy('db', name)

    def return_to(self, *, name):
        """Puts a copy of the database back."""
        self._copy(name, 'db')

    def _copy(self, source, target):
        with (
            contextlib.closing(sqlite3.connect(self._folder / source)) as one,
            contextlib.closing(sqlite3.connect(self._folder / target)) as two,
        ):
            two.execute('pragma synchronous = off')
            one.backup(two)

    def image(self, **image):
        """Adds an image; returns its id."""
        ident = str(uuid.uuid4())
        self._glance.images[ident] = {'id': ident, 'status': 'active', **image}
        return ident

    def forbid_namespaces(self, *, are_forbidden):
        """Lets Glance's policy keep metadata definitions from all."""
        self._glance.namespaces.are_forbidden = are_forbidden

    def asked(self):
        """Paths that were asked of Keystone and Glance; forgets them."""
        found = [*self._keystone.asked, *self._glance.asked]
        self._keystone.asked.clear()
        self._glance.asked.clear()
        return found

    def project(self, *, ident, name):
        """Adds a project; returns its id."""
        self._keystone.projects[ident] = name
        return ident


def write_configuration(folder, loaded):
    """Cinder's configuration in a folder; returns its path.

    :param loaded: the folder that `load` got.
    """
    conf = folder / 'cinder.conf'
    conf.write_text(CONF.format(folder=folder, loaded=loaded), 'utf-8')
    return conf


def load(folder):
    """Loads Cinder's application, and has it answer some requests.

    Both take some seconds, and are alike for all that a process forks: they
    have another configuration and another database, in which nothing differs
    but where they are.

    :param folder: stays for as long as the application is used.
    :returns: Cinder's database before any other request, an sqlite file.
    """
    paste = pathlib.Path(sys.prefix) / 'etc' / 'cinder' / 'api-paste.ini'
    text = paste.read_text('utf-8')
    if AUTH_TOKEN not in text:
        raise ValueError(f'{paste} has no {AUTH_TOKEN}')
    (folder / 'api-paste.ini').write_text(
        text.replace(AUTH_TOKEN, f'{__name__}:token_factory'), 'utf-8'
    )
    (folder / 'policy.yaml').write_text(POLICY, 'utf-8')
    conf = write_configuration(folder, folder)
    # Cinder reads it when its application is imported.
    sys.argv = ['cinder-api', '--config-file', str(conf)]
    from cinder.common import config
    from cinder import coordination
    from cinder.db import migration
    from cinder import policy
    from oslo_middleware import base
    from oslo_policy import _checks

    from cinder_tiers.doors.volume_types import volume_type_rows

    config.CONF(sys.argv[1:], project='cinder')
    migration.db_sync()
    database = (folder / 'db').read_bytes()
    from cinder.wsgi import api  # looks into the database when imported

    _ask_all(api.application)
    # With each of its checks, fifty for a list of types, oslo.policy would
    # look whether a file of rules has changed. None does.
    policy._ENFORCER.use_conf = False
    # Nor does a check change its arguments, which both would look up of each
    # check and each answer: a seventh of the time of a request.
    signature = functools.lru_cache(maxsize=4096)(inspect.getfullargspec)
    _checks.inspect = types.SimpleNamespace(getfullargspec=signature)
    base.getfullargspec = signature
    # No connection and no thread that beats is shared with what is forked.
    engine = volume_type_rows.db_api.get_engine()
    engine.dispose()
    _keep_connections(engine)
    coordination.COORDINATOR.stop()
    return database


def _ask_all(application):
    """Send the most frequent requests, with a database of its own.

    What Cinder and SQLAlchemy work out of each request for the first time is
    then there for all.

    :raises RuntimeError: something is refused.
    """

    def ask(method, path, body=None, query=''):
        content = b'' if body is None else json.dumps(body).encode()
        environ = {
            'HTTP_X_AUTH_TOKEN': f'admin:{cinder_api.PROJECT}',
            'HTTP_OPENSTACK_API_VERSION': 'volume 3.62',
            'REQUEST_METHOD': method,
            'SCRIPT_NAME': '',
            'PATH_INFO': f'/v3/{cinder_api.PROJECT}/{path}',
            'QUERY_STRING': query,
            'CONTENT_TYPE': 'application/json',
            'CONTENT_LENGTH': str(len(content)),
            'wsgi.input': io.BytesIO(content),
        }
        wsgiref.util.setup_testing_defaults(environ)
        answers = []
        text = b''.join(
            application(environ, lambda *answer: answers.append(answer))
        )
        if not answers[0][0].startswith('2'):
            raise RuntimeError(
                f'cinder-api: {method} {path}: {answers[0][0]}, expected a '
                f'status of 200 to 299: {text}'
            )
        return json.loads(text) if text else None

    one = ask(
        'POST',
        'types',
        {
            'volume_type': {
                'name': 'one',
                'os-volume-type-access:is_public': False,
                'extra_specs': {'volume_backend_name': 'one'},
            }
        },
    )['volume_type']['id']
    ask('GET', 'types', query='is_public=None')
    ask('GET', f'types/{one}')
    ask('POST', f'types/{one}/extra_specs', {'extra_specs': {'one': '1'}})
    ask('PUT', f'types/{one}', {'volume_type': {'description': 'one'}})
    ask(
        'POST',
        f'types/{one}/action',
        {'addProjectAccess': {'project': cinder_api.PROJECT}},
    )
    ask('GET', f'types/{one}/os-volume-type-access')
    ask('GET', f'types/{one}/encryption')
    limits = ask(
        'POST', 'qos-specs', {'qos_specs': {'name': 'one', 'consumer': 'both'}}
    )['qos_specs']['id']
    ask('GET', f'qos-specs/{limits}/associate', query=f'vol_type_id={one}')
    ask('GET', 'qos-specs')
    ask('GET', f'qos-specs/{limits}/associations')
    ask('GET', 'os-quota-class-sets/default')
    ask('GET', 'default-types')
    ask('GET', 'volumes/detail', query='all_tenants=1')


def _keep_connections(engine):
    """Has an engine of oslo.db keep its connections, as with a server.

    With sqlite it makes one for each transaction, and each reads the whole
    schema.
    """
    engine.pool = sqlalchemy.pool.QueuePool(
        engine.pool._creator,
        pool_size=0,
        dialect=engine.dialect,
        _dispatch=engine.pool.dispatch,
    )

    @sqlalchemy.event.listens_for(engine, 'checkin')
    def given_back(connection, record):
        # oslo.db's mark of a transaction, which has ended, however it did.
        record.info.pop('in_transaction', None)


def _configure(folder, loaded):
    """Has what `load` loaded use another database and another folder."""
    from cinder.common import config
    from cinder import coordination
    from oslo_log import log

    from cinder_tiers.doors.volume_types import volume_type_rows

    conf = write_configuration(folder, loaded)
    config.CONF(['--config-file', str(conf)], project='cinder')
    log.setup(config.CONF, 'cinder')

    # The engine that was loaded goes on, with the statements that it has
    # compiled.
    @sqlalchemy.event.listens_for(
        volume_type_rows.db_api.get_engine(), 'do_connect'
    )
    def connect(dialect, record, arguments, options):
        arguments[0] = str(folder / 'db')

    coordination.COORDINATOR.start()


def _let_cinder_ask(keystone):
    """Lets Cinder ask for a project without a request of its own.

    This process serves one request at a time.
    """
    from cinder.api import api_utils
    from keystoneauth1 import exceptions

    def get_project(context, project_id):
        if project_id not in keystone.projects:
            raise exceptions.http.NotFound
        return api_utils.GenericProjectInfo(
            project_id, 'v3.0', name=keystone.projects[project_id]
        )

    api_utils.get_project = get_project


def main(*, folder, orders, errors):
    """Writes the configuration, makes the database and serves.

    :param orders: a connection of multiprocessing.
    :param errors: the file that gets standard error.
    """
    with errors.open('wb') as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    from cinder.wsgi import api

    from tests.worlds import imported_cinder

    (folder / 'db').write_bytes(imported_cinder.DATABASE)
    _configure(folder, imported_cinder.FOLDER)
    keystone, glance = (
        keystone_and_glance.Keystone(),
        keystone_and_glance.Glance(),
    )
    applications = {'identity': keystone, 'image': glance}

    @one_at_a_time
    def serve(environ, start_response):
        application = api.application
        top = environ['PATH_INFO'].split('/')[1]
        if top in applications:
            application = applications[top]
            wsgiref.util.shift_path_info(environ)
        return application(environ, start_response)

    _let_cinder_ask(keystone)
    server = wsgiref.simple_server.make_server(
        '127.0.0.1',
        0,
        serve,
        server_class=Server,
        handler_class=QuietHandler,
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    orders.send(server.server_port)
    handler = Orders(folder, keystone, glance)
    while True:
        try:
            what, arguments = orders.recv()
        except EOFError:
            break
        orders.send(getattr(handler, what)(**arguments))
