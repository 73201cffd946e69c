# SPDX-License-Identifier: Apache-2.0

"""All that tiers are made of in the lab, and objects of others beside it.

Read raw, past our own code: what a test holds against it must not be what it
tests.
"""

import pathlib

import fixtures
from openstack import exceptions

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.files.tiers import reader
from tests.functional import lab

#: The monitors note here when any pool got another RBD option.
_CLOCK = 'rbd_config_pool_override_update_timestamp'
#: What Ceph changes by itself in a pool of which it trims snapshots; the tests
#: make no snapshot of a pool.
_OF_SNAPSHOTS = ('last_change', 'removed_snaps', 'snap_epoch', 'snap_seq')
#: The first of Cinder that has defaults of projects.
DEFAULTS_MICROVERSION = '3.62'
#: {flag: bit} that Ceph changes by itself in a pool (osd/osd_types.h): one is
#: set by the first image, and the other goes seconds after the pool is made.
_FLAGS_OF_CEPH = {'selfmanaged_snaps': 1 << 13, 'creating': 1 << 15}


class TierObjectsTestCase(lab.LabTestCase):
    """Puts a pool, a volume type and a QoS spec of others into the lab.

    A test names what it makes `self.mark`-...; all of that is removed.
    """

    def setUp(self):
        super().setUp()
        self.connection = lab.connect(self.environment, lab.ADMIN)
        self.addCleanup(self.connection.close)
        # Of a catalog whose cluster names no conf.
        self.useFixture(
            fixtures.EnvironmentVariable(
                'CEPH_CONF', self.environment['CEPH_CONF']
            )
        )
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(
                    name='ceph', conf=self.environment['CEPH_CONF']
                )
            )
        )
        self.lab_catalog = reader.read_file(
            self.environment['CINDER_TIERS_CATALOG']
        )
        user = self.lab_catalog.clusters['ceph'].cinder_user
        self.cinder_user = f'client.{user}'
        self.mark = self.unique_name('tiers')
        self.foreign = f'{self.mark}-theirs'
        self.untouched = self.world()
        self.addCleanup(
            lambda: self.assertEqual({}, changes(self.untouched, self.world()))
        )
        self.addCleanup(self.remove)
        self.make_foreign()
        self.before = self.world()

    def make_foreign(self):
        """Make what no tier may touch; its pool holds an object."""
        self.session.command(
            'osd pool create', pool=self.foreign, pg_num=8, pgp_num=8
        )
        self.session.command(
            'osd pool application enable', pool=self.foreign, app='cephfs'
        )
        self.run_command(
            'rados',
            '--pool',
            self.foreign,
            'put',
            'object',
            self.environment['CINDER_TIERS_CATALOG'],
        )
        kind = self.call(
            'post',
            '/types',
            json={
                'volume_type': {
                    'name': self.foreign,
                    'extra_specs': {'volume_backend_name': self.foreign},
                }
            },
        )['volume_type']
        spec = self.call(
            'post',
            '/qos-specs',
            json={
                'qos_specs': {
                    'name': self.foreign,
                    'consumer': 'both',
                    'x': '1',
                }
            },
        )['qos_specs']
        self.call(
            'get',
            f'/qos-specs/{spec["id"]}/associate',
            params={'vol_type_id': kind['id']},
        )

    def assert_nothing_of_others_was_touched(self, made=()):
        """What was there is as it was.

        :param made: keys of a world that the tiers may have changed or made.
        """
        self.assertEqual(
            {},
            {
                key: change
                for key, change in changes(self.before, self.world()).items()
                if key not in made
            },
        )
        text, _ = self.run_command(
            'rados', '--pool', self.foreign, 'get', 'object', '-'
        )
        self.assertEqual(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text(),
            text,
        )

    def remove(self, keep=None):
        """Remove all that has our mark, and what tiers changed beside it.

        :param keep: name of what stays.
        """

        def is_ours(name):
            return name != keep and self.mark in name

        for one in self.qos_specs():
            if is_ours(one['name']):
                self.call(
                    'delete', f'/qos-specs/{one["id"]}', params={'force': True}
                )
        defaults = self.call(
            'get', '/default-types', microversion=DEFAULTS_MICROVERSION
        )['default_types']
        for one in self.types():
            if is_ours(one['name']):
                for default in defaults:
                    # Else Cinder does not delete it.
                    if default['volume_type_id'] == one['id']:
                        self.call(
                            'delete',
                            f'/default-types/{default["project_id"]}',
                            microversion=DEFAULTS_MICROVERSION,
                        )
                # Cinder keeps them for the next type of the name
                self.call(
                    'put',
                    '/os-quota-class-sets/default',
                    json={
                        'quota_class_set': {
                            f'{what}_{one["name"]}': -1
                            for what in ('volumes', 'gigabytes', 'snapshots')
                        }
                    },
                )
                self.call('delete', f'/types/{one["id"]}')
        self.remove_from_ceph(is_ours)

    def remove_from_ceph(self, is_ours):
        command = self.session.command
        for name in filter(is_ours, command('osd pool ls')):
            command(
                'osd pool delete',
                pool=name,
                pool2=name,
                yes_i_really_really_mean_it=True,
            )
        for name in filter(is_ours, command('osd crush rule ls')):
            command('osd crush rule rm', name=name)
        for name in filter(is_ours, command('osd erasure-code-profile ls')):
            command('osd erasure-code-profile rm', name=name)
        for one in command('config dump'):
            if (
                one['mask'].startswith('class:')
                and ('option', _option(one)) not in self.untouched
            ):
                command(
                    'config rm',
                    name=one['name'],
                    who=f'{one["section"]}/{one["mask"]}',
                )
        command(
            'auth caps',
            entity=self.cinder_user,
            caps=[
                text
                for pair in self.untouched[
                    'cephx user', self.cinder_user
                ].items()
                for text in pair
            ],
        )

    def call(self, method, path, **arguments):
        """Call Cinder; return the document of the answer."""
        answer = self.connection.block_storage.request(
            path, method.upper(), **arguments
        )
        exceptions.raise_from_response(answer)
        return answer.json() if answer.content else None

    def world(self):
        """{(kind, name): what there is}."""
        return {**self.ceph_world(), **self.cinder_world()}

    def ceph_world(self):
        command = self.session.command
        found = {}
        for pool in command('osd pool ls', detail='detail'):
            for name in _OF_SNAPSHOTS:
                pool.pop(name, None)
            pool['flags'] &= ~sum(_FLAGS_OF_CEPH.values())
            pool['flags_names'] = [
                name
                for name in pool['flags_names'].split(',')
                if name not in _FLAGS_OF_CEPH
            ]
            name = pool['pool_name']
            found['pool', name] = pool
            found['placement', name] = [
                command('pg map', pgid=f'{pool["pool_id"]}.{number:x}')['up']
                for number in range(pool['pg_num'])
            ]
            found['rbd options', name] = self.session.rbd_options(name)
        for rule in command('osd crush rule dump'):
            found['crush rule', rule['rule_name']] = rule
        for name in command('osd erasure-code-profile ls'):
            found['erasure code profile', name] = command(
                'osd erasure-code-profile get', name=name
            )
        for one in command('config dump'):
            if one['name'] != _CLOCK:
                found['option', _option(one)] = one['value']
        for one in command('auth ls')['auth_dump']:
            found['cephx user', one['entity']] = one['caps']
        return found

    def cinder_world(self):
        found = {}
        for one in self.types():
            access = (
                None
                if one['is_public']
                else sorted(
                    row['project_id']
                    for row in self.call(
                        'get', f'/types/{one["id"]}/os-volume-type-access'
                    )['volume_type_access']
                )
            )
            found['volume type', one['name']] = (one, access)
        for one in self.qos_specs():
            found['qos spec', one['name']] = (
                one,
                sorted(
                    row['name']
                    for row in self.call(
                        'get', f'/qos-specs/{one["id"]}/associations'
                    )['qos_associations']
                ),
            )
        quotas = self.call('get', '/os-quota-class-sets/default')
        for name, value in quotas['quota_class_set'].items():
            found['quota', name] = value
        return found

    def types(self):
        return self.call('get', '/types?is_public=None')['volume_types']

    def qos_specs(self):
        return self.call('get', '/qos-specs')['qos_specs']


def _option(dumped):
    return f'{dumped["section"]}/{dumped["mask"]} {dumped["name"]}'


def changes(before, after):
    """{key: (value before, value after)} of what differs; None is absent."""
    return {
        key: (before.get(key), after.get(key))
        for key in before.keys() | after.keys()
        if before.get(key) != after.get(key)
    }
