# SPDX-License-Identifier: Apache-2.0
"""What the attempts of a tenant need, and what is left of it: nothing.

A private tier on the emptiest pool, a tier with a limit, an availability zone
that no tier serves, cinder-backup, and a Glance that can fail for the doors.
"""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

import yaml

from tests.functional import bypasses
from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import glance_proxy
from tests.functional import lab

TIERS = {
    bypasses.PRIVATE: {
        'tags': [bypasses.PRIVATE],
        'priority': 96,
        'access': ['other'],
        'qos': {'front_end': {'total_iops_sec': 900}},
        'rbd': {
            'cluster': 'ceph',
            'pool': bypasses.PRIVATE,
            'device_class': 'hdd',
            'failure_domain': 'host',
            'pg_num': 8,
            'replicated': {'size': 1, 'single_copy': True},
        },
    },
    bypasses.LIMITED: {
        'tags': [bypasses.LIMITED],
        'priority': 95,
        'backend': 'tier-database',
        'qos': {'front_end': {'total_iops_sec': 500}},
    },
}
_GROUP_TYPE = 'functional-bypass'
_CINDER_USER = 'client.cinder'
_GONE_SECONDS = 60.0
_CONF = """
[{far}]
volume_driver = cinder.volume.drivers.rbd.RBDDriver
volume_backend_name = {far}
backend_availability_zone = {zone}
rbd_pool = tier-general
rbd_ceph_conf = {root}/ceph/ceph.conf
rbd_user = cinder

[DEFAULT]
enabled_backends = {backends}
backup_driver = cinder.backup.drivers.posix.PosixBackupDriver
backup_posix_path = {backups}
backup_file_size = 33554432
backup_compression_algorithm = none
"""
_CONF_OF_ALL = """
[DEFAULT]
glance_api_servers = {glance}

[cinder_tiers]
# What happens when Glance is late is another test's subject.
glance_timeout = 60
"""


class World:
    """Tiers, backends and services beside those of the lab.

    :param stack: what is left when it ends.
    :param has_more: whether a backend in another zone and a service for
        backups are there, too.
    """

    def __init__(self, stack: contextlib.ExitStack, *, has_more: bool):
        self.cloud = faults_cloud.Cloud()
        self.environment = self.cloud.environment
        self._stack = stack
        self.proxy = stack.enter_context(
            glance_proxy.GlanceProxy(self.cloud.glance_url)
        )
        self.folder = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory())
        )
        stack.enter_context(self.cloud.no_limit())
        self._make_tiers()
        self._has_more = has_more
        for backend in (
            f'tier-{bypasses.PRIVATE}',
            *([bypasses.FAR] if has_more else ()),
        ):
            stack.callback(
                self._forget, 'cinder-volume', f'cinder-tiers-lab@{backend}'
            )
        stack.enter_context(self.cloud.as_it_was())
        self.cloud.configure_cinder(self._settings())
        if has_more:
            self._start_backup()
        self.tenant = bypasses.Tenant(self.environment)
        self.other = bypasses.Tenant(self.environment, lab.OTHER)
        self.admin = bypasses.Tenant(self.environment, lab.ADMIN)
        self._make_unbound_type()
        self.types = {
            one['name']: one['id']
            for one in self.admin.ask(
                'GET', f'/{self.admin.project}/types?is_public=None'
            ).json()['volume_types']
        }
        self.group_type = self._make_group_type()

    def _make_tiers(self):
        content = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['tiers'].update(TIERS)
        self.catalog = self.folder / 'tiers.yaml'
        self.catalog.write_text(yaml.safe_dump(content, sort_keys=False))
        caps = json.loads(
            self.cloud.run('ceph', 'auth', 'get', _CINDER_USER, '-f', 'json')
        )[0]['caps']
        self._stack.callback(
            self.cloud.run,
            'ceph',
            'auth',
            'caps',
            _CINDER_USER,
            *(text for pair in caps.items() for text in pair),
        )
        self._stack.callback(self._remove_tiers)
        self.cloud.run(
            'openstack', 'tier', 'apply', '--catalog', str(self.catalog)
        )

    def _remove_tiers(self):
        storage = self.cloud.admin.block_storage
        for one in list(storage.types(is_public='None')):
            if one.name in TIERS:
                storage.delete_type(one)
        for one in list(storage.qos_specs()):
            if one.name.removeprefix('tier-') in TIERS:
                storage.delete_qos_spec(one)
        pool = bypasses.PRIVATE
        self.cloud.run(
            'ceph',
            'osd',
            'pool',
            'delete',
            pool,
            pool,
            '--yes-i-really-really-mean-it',
        )
        for rule in self.cloud.run(
            'ceph', 'osd', 'crush', 'rule', 'ls'
        ).split():
            if pool in rule:
                self.cloud.run('ceph', 'osd', 'crush', 'rule', 'rm', rule)

    def _settings(self) -> str:
        sections = self.cloud.run(
            'openstack',
            'tier',
            'backend-config',
            '--catalog',
            str(self.catalog),
        )
        sections += _CONF_OF_ALL.format(glance=self.proxy.url)
        if not self._has_more:
            return sections
        backends = next(
            line.partition(' = ')[2]
            for line in sections.splitlines()
            if line.startswith('enabled_backends')
        )
        backups = self.folder / 'backups'
        backups.mkdir()
        return sections + _CONF.format(
            far=bypasses.FAR,
            zone=bypasses.FAR_ZONE,
            root=self.cloud.root,
            backends=f'{backends},{bypasses.FAR}',
            backups=backups,
        )

    def _start_backup(self):
        """Run cinder-backup, which the lab does not have."""
        root = self.cloud.root
        log = self._stack.enter_context(
            (self.folder / 'cinder-backup.log').open('wb')
        )
        self._stack.callback(self._forget, 'cinder-backup', 'cinder-tiers-lab')
        # os-brick looks for the keyring in /etc/ceph and nowhere else
        process = subprocess.Popen(
            (
                'unshare',
                '--mount',
                '--propagation',
                'private',
                '/bin/sh',
                '-c',
                'mount --bind "$0" /etc/ceph && exec "$@"',
                str(root / 'ceph'),
                str(root / 'venv/bin/cinder-backup'),
                '--config-file',
                str(root / 'etc/cinder.conf'),
                '--config-file',
                str(root / 'etc/cinder-backends.conf'),
                '--config-dir',
                str(root / 'etc/cinder.d'),
            ),
            stdout=log,
            stderr=log,
            env={
                **self.environment,
                'CEPH_CONF': str(root / 'ceph/ceph.conf'),
            },
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)

    def _forget(self, binary: str, host: str):
        """Remove what Cinder remembers of a service that is gone."""
        root = self.cloud.root
        self.cloud.run(
            str(root / 'venv/bin/cinder-manage'),
            '--config-file',
            str(root / 'etc/cinder.conf'),
            'service',
            'remove',
            binary,
            host,
        )

    def _make_unbound_type(self):
        path = f'/{self.admin.project}/types'
        made = self.admin.ask(
            'POST',
            path,
            body={
                'volume_type': {
                    'name': bypasses.UNBOUND,
                    'extra_specs': {'multiattach': '<is> True'},
                }
            },
        )
        made.raise_for_status()
        self._stack.callback(
            self.admin.ask,
            'DELETE',
            f'{path}/{made.json()["volume_type"]["id"]}',
        )

    def _make_group_type(self) -> str:
        path = f'/{self.admin.project}/group_types'
        made = self.admin.ask(
            'POST',
            path,
            body={'group_type': {'name': _GROUP_TYPE, 'is_public': True}},
        )
        made.raise_for_status()
        ident = made.json()['group_type']['id']
        self._stack.callback(self.admin.ask, 'DELETE', f'{path}/{ident}')
        self._stack.callback(self.remove_resources)
        return ident

    @contextlib.contextmanager
    def no_fallback(self):
        """Have no tier that serves what asks for none."""
        path = (
            f'/{self.admin.project}/types/{self.types["general"]}/extra_specs'
        )
        self.admin.ask('DELETE', f'{path}/tiers:fallback').raise_for_status()
        try:
            lab.wait_until_tiers_are_known()
            yield
        finally:
            # Cinder would not change it while the type has a volume
            self.admin.ask(
                'POST',
                path,
                body={'extra_specs': {'tiers:fallback': '<is> True'}},
            ).raise_for_status()
            lab.wait_until_tiers_are_known()

    @contextlib.contextmanager
    def glance_failing(self):
        """Have Glance fail, for the doors alone."""
        self.proxy.inject(503, faults_injected.DOORS_AGENT)
        try:
            yield
        finally:
            self.proxy.heal()

    def errors_logged(self, since: dict[str, int]) -> list[str]:
        """What the doors' services have logged as errors since a time.

        :param since: what `log_sizes` of the cloud answered then.
        """
        found = []
        for path, size in since.items():
            with open(path, 'rb') as stream:
                stream.seek(size)
                found += [
                    line
                    for line in stream.read()
                    .decode(errors='replace')
                    .splitlines()
                    if ' ERROR ' in line
                ]
        return found

    @staticmethod
    def wait_while(ask):
        """Wait until the answer is false, or for a while."""
        deadline = time.monotonic() + _GONE_SECONDS
        while ask() and time.monotonic() < deadline:
            time.sleep(0.5)

    def remove_resources(self):
        """Delete all that the tenant has made."""
        project = self.tenant.project
        for kind in ('backups', 'snapshots'):
            for one in self._list(kind):
                self.tenant.ask('DELETE', f'/{project}/{kind}/{one["id"]}')
        self._wait_until_gone('backups', 'snapshots')
        for group in self._list('groups'):
            self.admin.ask(
                'POST',
                f'/{self.admin.project}/groups/{group["id"]}/action',
                body={'delete': {'delete-volumes': True}},
            )
        self._wait_until_gone('groups')
        self.remove_volumes()
        for owner in (self.tenant, self.other):
            for image in owner.images:
                self._remove_image(owner, image)

    def _remove_image(self, owner: bypasses.Tenant, image: str):
        """Delete an image; Ceph may know of its clones for a moment more."""
        self.wait_while(
            lambda: (
                owner.ask(
                    'DELETE', f'/images/{image}', service='image'
                ).status_code
                not in (204, 404)
            )
        )

    def remove_volumes(self):
        """Delete the volumes that the tenant has made; wait for their end."""
        for prefix in ('functional-bypass', 'restore_backup_'):
            self.cloud.delete(prefix)
        lab.remove_what_cinder_left(self.environment)

    def _list(self, kind: str) -> list[dict]:
        return self.tenant.ask('GET', f'/{self.tenant.project}/{kind}').json()[
            kind
        ]

    def _wait_until_gone(self, *kinds: str):
        self.wait_while(lambda: any(map(self._list, kinds)))
