# SPDX-License-Identifier: Apache-2.0

"""cinder-api and cinder-scheduler of one cloud, both in this process.

A request to cinder-api ends when all that follows from it is done: messages
are delivered at once, in the thread that sends them. Cinder's own are the
application with its pipeline, the scheduler with its filters, the database
layer, all in the state in which a `World` is. Not real: what is listed in
tests/worlds/cinder_fixture.py, and cinder-volume, which has no data.
"""

import contextlib
import datetime
import json
import logging
import pathlib
import re
import sqlite3
import sys
import threading
import zlib

from cinder.common import constants
from cinder import objects
from cinder import rpc
from cinder.volume import group_types
from cinder.volume import volume_types
import fixtures
from oslo_messaging import transport
import sqlalchemy
import webob

# As in tests/worlds/cinder_fixture.py.
objects.register_all()

from cinder.db import api as db_api  # noqa: E402
from cinder.scheduler import manager  # noqa: E402

from cinder_tiers.doors import door  # noqa: E402
from cinder_tiers.doors.threads import in_background  # noqa: E402
from tests.unit.api import api_fixture  # noqa: E402
from tests.unit.invariants import services  # noqa: E402
from tests.unit.invariants import world as worlds  # noqa: E402
from tests.worlds import cinder_database  # noqa: E402
from tests.worlds import cinder_fixture  # noqa: E402

_COLLATION = 'folded'
_ENCRYPTION = {
    'provider': 'luks',
    'control_location': 'front-end',
    'cipher': 'aes-xts-plain64',
    'key_size': 256,
}


def _fold(one, other):
    one, other = (text.rstrip(' ').casefold() for text in (one, other))
    return (one > other) - (one < other)


def _application(text):
    with fixtures.TempDir() as folder:
        file = pathlib.Path(folder.path, 'api-paste.ini')
        file.write_text(text)
        return api_fixture.deploy.loadapp(
            f'config:{file}', name='osapi_volume'
        )


class Cloud(fixtures.Fixture):
    """One cloud, which becomes that of a world by `become`."""

    def _setUp(self):
        self._failing = 0
        self.useFixture(fixtures.FakeLogger(level=logging.CRITICAL))
        self._cinder = self.useFixture(cinder_fixture.Scheduler())
        self.admin = self._cinder.admin
        self.conf = self._cinder.conf
        self.glance = self.useFixture(services.Glance())
        self.conf.config(
            glance_api_servers=[self.glance.url],
            service_down_time=10**6,
            allow_availability_zone_fallback=False,
        )
        self.conf.config(
            group='key_manager',
            fixed_key='0' * 64,
            backend='cinder.keymgr.conf_key_mgr.ConfKeyManager',
        )
        self._connect()
        self.bus = services.Bus(
            self.conf.conf,
            {
                constants.SCHEDULER_TOPIC: lambda: self.scheduler,
                constants.VOLUME_TOPIC: services.Volumes,
                constants.BACKUP_TOPIC: services.Backups,
            },
        )
        rpc.TRANSPORT = transport.RPCTransport(self.bus)
        self._schedulers = {True: manager.SchedulerManager()}
        self.conf.config(scheduler_default_filters=cinder_fixture.FILTERS[:-1])
        self._schedulers[False] = manager.SchedulerManager()
        self._applications = {
            has_doors: self._load(has_doors) for has_doors in (True, False)
        }
        self._stored = {}

    @staticmethod
    def _load(has_doors):
        text = api_fixture.STOCK.read_text().replace(
            'keystonemiddleware.auth_token:filter_factory',
            'tests.unit.api.api_fixture:believe_headers',
        )
        if has_doors:
            text = (
                re.sub(' apiv3$', ' tiers apiv3', text, flags=re.M)
                + api_fixture.DOOR
            )
        return _application(text)

    def _connect(self):
        self._file = str(self._cinder.engine.url.database)
        self._cinder.engine.dispose()

        @sqlalchemy.event.listens_for(self._cinder.engine, 'connect')
        def connected(connection, record):
            connection.create_collation(_COLLATION, _fold)
            connection.execute('PRAGMA synchronous=OFF')
            connection.execute('PRAGMA journal_mode=MEMORY')

        @sqlalchemy.event.listens_for(
            self._cinder.engine, 'before_cursor_execute'
        )
        def executes(connection, cursor, statement, *others):
            if self._failing and _is_by_a_door(sys._getframe()):
                self._failing -= 1
                raise sqlite3.OperationalError('disk I/O error')

    def become(self, world, has_doors=True):
        """Forget all, and be the cloud of a world.

        :param world: World
        :param has_doors: False for Cinder alone
        """
        self.repair()
        door.forget()
        _end_threads()
        self.bus.failures.clear()
        self.world = world
        self.glance.forget()
        self.scheduler = self._schedulers[has_doors]
        self._application = self._applications[has_doors]
        key = world.stored
        if key not in self._stored:
            self._restore(cinder_database.sqlite_content())
            self._fill(world)
            self._stored[key] = zlib.compress(self._dump(), 1)
        else:
            self._restore(zlib.decompress(self._stored[key]))
        self.conf.config(
            default_volume_type=world.default,
            snapshot_same_host=world.snapshot_same_host,
        )
        self.conf.config(
            group='cinder_tiers',
            on_error=world.on_error,
            on_no_access=world.on_no_access,
            trust_tags_of=world.trust,
            metadata_key=(
                None if world.metadata == 'none' else worlds.METADATA_KEY
            ),
            metadata_with_image=world.metadata == 'all',
            project_type=world.project_type,
            applied_cache_seconds=0,
            glance_timeout=60.0,
            glance_failures=3,
            glance_retry_seconds=10.0,
        )
        for service, names in _served(world).items():
            self._report(service, names)
        self.ids = {
            row['name']: row['id']
            for row in volume_types.get_all_types(self.admin).values()
        }

    def learn_zones(self):
        """Let the doors know the zones, as after their first requests.

        A thread of theirs asks for them, and no request waits for it.
        """
        for name in ('api', 'scheduler'):
            one = door.of_process(name)
            zones = getattr(one, '_zones', None)
            if zones is not None:
                zones.of(one.applied(self.admin), self.admin)
                zones.wait(60)

    def _dump(self):
        with contextlib.closing(sqlite3.connect(self._file)) as connection:
            return connection.serialize()

    def _restore(self, data):
        with (
            contextlib.closing(sqlite3.connect(':memory:')) as source,
            contextlib.closing(sqlite3.connect(self._file)) as target,
        ):
            source.deserialize(data)
            target.execute('PRAGMA synchronous=OFF')
            source.backup(target)

    def _fill(self, world):
        if world.folds_case:
            self._fold_names()
        for name in ('volumes', 'gigabytes'):
            db_api.quota_class_update(self.admin, 'default', name, 1000)
        ids = {}
        for one in world.types():
            ids[one.name] = volume_types.create(
                self.admin,
                one.name,
                one.specs,
                is_public=one.projects is None,
                projects=list(one.projects or ()),
                description=one.description,
            )['id']
            if one.encrypted:
                db_api.volume_type_encryption_create(
                    self.admin, ids[one.name], dict(_ENCRYPTION)
                )
        if world.project_default != 'none':
            for project in (worlds.ENTITLED, worlds.OTHER):
                db_api.project_default_volume_type_set(
                    self.admin, ids[world.project_default], project
                )
        group_types.create(self.admin, 'any', {})
        for service, names in _served(world).items():
            self._add_service(
                constants.VOLUME_TOPIC, service, worlds.BACKENDS[names[0]][1]
            )
        self._add_service(constants.BACKUP_TOPIC, 'node', 'nova')

    def _fold_names(self):
        with self._cinder.engine.begin() as connection:
            execute = connection.exec_driver_sql
            text = execute(
                "SELECT sql FROM sqlite_master WHERE name = 'volume_types'"
            ).scalar()
            for column in ('name VARCHAR(255)', 'id VARCHAR(36)'):
                text = text.replace(
                    column, f'{column} COLLATE {_COLLATION}', 1
                )
            execute('PRAGMA writable_schema=ON')
            execute(
                "UPDATE sqlite_master SET sql = ? WHERE name = 'volume_types'",
                (text,),
            )
            execute('PRAGMA writable_schema=RESET')
        self._cinder.engine.dispose()
        with self._cinder.engine.begin() as connection:
            connection.exec_driver_sql('REINDEX volume_types')

    def _add_service(self, topic, host, zone):
        objects.Service(
            context=self.admin,
            host=host,
            topic=topic,
            binary=topic,
            availability_zone=zone,
            report_count=1,
            disabled=False,
        ).create()

    def _report(self, service, names):
        reports = [_capabilities(name) for name in names]
        self.scheduler.update_service_capabilities(
            self.admin,
            service_name='volume',
            host=service,
            capabilities=(
                {
                    'volume_backend_name': service.partition('@')[2],
                    'pools': [
                        {**one, 'pool_name': one['volume_backend_name']}
                        for one in reports
                    ],
                }
                if self.world.has_pools and 'tiers-' in service
                else reports[0]
            ),
            timestamp=datetime.datetime.now(datetime.UTC).strftime(
                '%Y-%m-%dT%H:%M:%S.%f'
            ),
        )

    def break_down(self, fault):
        """Let something fail for the doors from now on.

        :param fault: none, glance-500, glance-404, glance-hang, tiers-once
            or tiers
        """
        self.glance.fault = {
            'glance-500': 500,
            'glance-404': 404,
            'glance-hang': threading.Event(),
        }.get(fault)
        self._failing = {'tiers-once': 1, 'tiers': sys.maxsize}.get(fault, 0)
        if fault == 'glance-hang':
            self.conf.config(group='cinder_tiers', glance_timeout=0.1)

    def repair(self):
        """Nothing fails any more."""
        if isinstance(self.glance.fault, threading.Event):
            self.glance.fault.set()
        self.glance.fault = None
        self._failing = 0

    def request(self, path, body, *, project, version=None, is_admin=False):
        """One POST; its status and answer.

        :param path: below the project
        :param body: what is sent as JSON
        :param project: id of the project of who asks
        :param version: microversion
        :param is_admin: whether who asks is an administrator
        """
        request = webob.Request.blank(
            f'/v3/{project}/{path}',
            method='POST',
            content_type='application/json',
            body=json.dumps(body).encode(),
        )
        request.headers.update(
            {
                'X-User-Id': 'user',
                'X-Project-Id': project,
                'X-Roles': 'admin,member,reader'
                if is_admin
                else 'member,reader',
                'X-Auth-Token': 'token-of-user',
            }
        )
        if version:
            request.headers['OpenStack-API-Version'] = f'volume {version}'
        answer = request.get_response(self._application)
        document = None
        with contextlib.suppress(ValueError):
            document = json.loads(answer.body)
        return answer.status_int, document

    def context(self, project):
        """Context of a member's request."""
        return self._cinder.user(project)

    def volumes(self):
        """{id: volume} of all volumes there are."""
        return {
            volume.id: volume
            for volume in objects.VolumeList.get_all(self.admin)
        }

    def groups(self):
        """{id: group} of all groups there are."""
        return {
            group.id: group for group in objects.GroupList.get_all(self.admin)
        }


def _served(world):
    """{backend of Cinder: names of what it serves}."""
    found = {}
    for name in world.backends:
        found.setdefault(world.service_of(name), []).append(name)
    return found


def _capabilities(name):
    backend, _zone, free = worlds.BACKENDS[name]
    return {
        'volume_backend_name': backend,
        'pool_name': name,
        'total_capacity_gb': 1000 if free > 60 else 100,
        'free_capacity_gb': free,
        'reserved_percentage': 0,
        'multiattach': True,
    }


class _End(threading.Event):
    """What a thread of a door would set, and ends of."""

    def set(self):
        raise SystemExit


def _end_threads():
    """Let the threads of doors that are forgotten end.

    In a process there are no more than its doors have; here they would be of
    as many doors as there are examples, and read a database that changes.
    """
    for thread in threading.enumerate():
        owner = getattr(getattr(thread, '_target', None), '__self__', None)
        if isinstance(owner, in_background.InBackground):
            owner._queue.put(_End())
            thread.join(60)


def _is_by_a_door(frame):
    """Whether a door is what reads the database."""
    while frame is not None:
        if '/cinder_tiers/doors/' in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
