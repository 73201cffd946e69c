# SPDX-License-Identifier: Apache-2.0

"""Whoever has the capabilities that are printed can do what is to be done.

What is sent is taken from the sources, and from executors that send it.
"""

import ast
import dataclasses
import itertools
import pathlib

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import ceph_access
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage
from cinder_tiers.execute import registry
from tests.unit.domain import catalogs as given
from tests.unit.domain import mon_caps
from tests.unit.observe import test_reads_only

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / 'cinder_tiers'
#: Where commands of pools are chosen.
CHOSEN = PACKAGE / 'domain' / 'resources' / 'pool_options.py'
#: The CRUSH map, which apply reads to change it; `allow r` covers that.
READ_TO_WRITE = 'osd getcrushmap'
#: Of a repair that flattens images. No user that is printed may give tasks to
#: the manager: who may, may have images removed.
TASKS = {'rbd task add flatten', 'rbd task list'}
MAP = (
    PACKAGE.parent / 'tests/unit/execute/data/crush-map-16.2.15.bin'
).read_bytes()
READS = {one.prefix: one for one in ceph_access.READS}
WRITES = {one.prefix: one for one in ceph_access.WRITES}


def sent(paths):
    """The commands of Ceph that source files name."""
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr
                in ('_ask', 'ask_manager', 'command', 'tell')
                and len(node.args) > (node.func.attr == 'tell')
            ):
                continue
            prefix = node.args[node.func.attr == 'tell']
            found |= {
                one.value
                for one in (prefix, *getattr(prefix, '__dict__', {}).values())
                if isinstance(getattr(one, 'value', None), str)
            }
    return found


class Recorder:
    """A session with a cluster that does what it is told, and keeps it."""

    cluster = catalogs.Cluster(name='ceph')

    def __init__(self):
        self.sent = []
        self.pools = set()

    def command(self, prefix, **arguments):
        """Keep a command that writes; of what is listed there is nothing."""
        if prefix in READS:
            return []
        self.sent.append(
            (
                prefix,
                {name: str(value) for name, value in arguments.items()},
            )
        )
        return None

    def crush_map(self):
        """Of a cluster with the classes hdd and ssd."""
        return MAP, 1

    def set_crush_map(self, data, *, prior_version):
        """Keep the command."""
        self.command('osd setcrushmap', prior_version=prior_version)

    def set_rbd_option(self, pool, option, value):
        """Keep the pool that is written to."""
        self.pools.add(pool)


class NoConnection:
    """Stands where a cloud would be; no action of these tests reaches it."""

    block_storage = None


def applied(catalog, actual):
    """What apply sends of a plan: the recorder of it."""
    recorder = Recorder()
    executors = registry.executors(
        connection=NoConnection(),
        clusters={'ceph': recorder},
        read_usage=lambda session: usage.Unknown(reason='not asked'),
    )
    for action in plan.make(catalog=catalog, actual=actual).actions:
        if action.key.cluster:
            executors[action.key.kind].write(
                action.after, key=action.key, current=action.before
            )
    return recorder


HYBRID = given.rbd(
    pool='tier-hybrid', device_class='hdd', primary_device_class='ssd'
)


def everything():
    """A catalog that has all that apply can send anything for."""
    (database, general, *others) = given.tiers_of_all_kinds()
    options = {'osd_max_scrubs': 2}
    database = dataclasses.replace(
        database,
        rbd=dataclasses.replace(
            database.rbd,
            osd_options=options,
            options={'compression_mode': 'force', 'quota_max_bytes': 10**12},
            rbd_options={'rbd_cache': True},
        ),
    )
    general = dataclasses.replace(
        general,
        rbd=dataclasses.replace(
            general.rbd, cache=given.cache('tier-general-cache')
        ),
    )
    return given.of(
        database,
        general,
        *others,
        given.tier('hybrid', rbd=HYBRID),
        images_pool='images',
        cinder_user='volumes',
        host_osd_options={'a': options},
    )


def nothing():
    """A cloud in which none of it is there."""
    schema = ceph_state.OptionSchema(
        name='osd_max_scrubs', kind='uint', default='1'
    )

    def unset(name):
        return ceph_state.OsdOptions(name=name, values={schema.name: '1'})

    osds = tuple(
        dataclasses.replace(osd, primary_affinity=1.0) for osd in given.osds()
    )
    return given.nothing(
        ceph=given.empty_cluster(
            osds=osds,
            pools={'images': IMAGES},
            has_cache_tiering=True,
            option_schemas={schema.name: schema},
            class_options={'ssd': unset('ssd')},
            host_options={'a': unset('a')},
        ),
        projects={'alpha': 'a' * 32, 'b' * 32: 'b' * 32},
    )


IMAGES = ceph_state.Pool(
    name='images',
    kind='replicated',
    size=3,
    min_size=2,
    pg_num=8,
    pg_autoscale_mode='on',
    crush_rule='replicated_rule',
)


@ddt.ddt
class CephAccessTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.catalog = everything()
        self.cluster = self.catalog.clusters['ceph']

    def test_the_tables_are_what_the_sources_send(self):
        self.assertEqual(READS.keys(), sent(test_reads_only.sources()))
        writing = [
            path
            for folder in ('clients', 'execute', 'loop')
            for path in sorted((PACKAGE / folder).rglob('*.py'))
        ]
        chosen = {
            node.value
            for node in ast.walk(ast.parse(CHOSEN.read_text('utf-8')))
            if isinstance(node, ast.Constant) and str(node.value) in WRITES
        }
        self.assertEqual(
            WRITES.keys() | {one.prefix for one in ceph_access.FAULT_WRITES},
            (sent(writing) | chosen) - READS.keys() - {READ_TO_WRITE} - TASKS,
        )

    @ddt.data(
        *itertools.product(
            (ceph_access.reader, ceph_access.writer), ceph_access.FAULT_WRITES
        )
    )
    @ddt.unpack
    def test_no_user_that_is_printed_may_make_faults(self, make, command):
        caps = make(self.catalog, self.cluster).caps
        self.assertEqual('allow r', caps['mgr'])
        self.assertFalse(
            mon_caps.allows(
                caps['mon'],
                command.prefix,
                command.permission,
                {'ids': '1', 'flags': 'noup', 'who': 'osd.1'},
            )
        )

    def test_no_command_of_the_reader_writes(self):
        self.assertEqual(
            [],
            [one.prefix for one in ceph_access.READS if 'w' in one.permission],
        )

    @ddt.data(ceph_access.reader, ceph_access.writer)
    def test_all_that_is_read_is_covered(self, make):
        caps = make(self.catalog, self.cluster).caps
        arguments = {'auth get': {'entity': 'client.volumes'}}
        for command in ceph_access.READS:
            if not command.is_optional:
                self.assertTrue(
                    mon_caps.allows(
                        caps['mon'],
                        command.prefix,
                        command.permission,
                        arguments.get(command.prefix, {}),
                    ),
                    command,
                )
        # The manager answers some of them.
        self.assertEqual('allow r', caps['mgr'])

    def test_all_that_apply_sends_is_covered(self):
        did = applied(self.catalog, nothing())
        # And it sends each of them, but for one that needs a user, and those
        # that take away, of caches and after sweeps.
        self.assertEqual(
            WRITES.keys()
            - {
                'auth caps',
                'config rm',
                'osd tier remove',
                'osd tier remove-overlay',
            },
            {prefix for prefix, _ in did.sent},
        )
        caps = ceph_access.writer(self.catalog, self.cluster).caps
        for prefix, arguments in (
            *did.sent,
            *(
                ('config rm', arguments)
                for prefix, arguments in did.sent
                if prefix == 'config set'
            ),
        ):
            self.assertTrue(
                mon_caps.allows(
                    caps['mon'], prefix, WRITES[prefix].permission, arguments
                ),
                (prefix, arguments),
            )
        self.assertEqual('allow *', caps['osd'])

    @ddt.data(
        {'protection': catalogs.ErasureCoded(k=2, m=1)},
        {'primary_affinity': 0.5},
        {'primary_device_class': 'ssd', 'device_class': 'hdd'},
        {
            'device_class': None,
            'protection': catalogs.Replicated(
                size=4,
                replicas_per_failure_domain=2,
                sub_failure_domain='osd',
            ),
        },
        {'cache': given.cache()},
        {'cache': given.cache(rbd=dataclasses.replace(HYBRID, pool='cache'))},
        {
            'cache': given.cache(
                rbd=given.rbd(pool='cache', primary_affinity=0.5)
            )
        },
        {
            'cache': given.cache(
                rbd=given.rbd(pool='cache', osd_options={'osd_max_scrubs': 2})
            )
        },
        {'osd_options': {'osd_max_scrubs': 2}},
        {'options': {'quota_max_bytes': 10**12, 'noscrub': True}},
        {'rbd_options': {'rbd_cache': True}},
    )
    def test_what_one_key_needs_is_covered(self, changes):
        catalog = given.of(given.tier(rbd=given.rbd(**changes)))
        caps = ceph_access.writer(catalog, catalog.clusters['ceph']).caps
        for prefix, arguments in applied(catalog, nothing()).sent:
            self.assertTrue(
                mon_caps.allows(
                    caps['mon'], prefix, WRITES[prefix].permission, arguments
                ),
                (prefix, arguments),
            )

    def test_the_rbd_options_that_apply_sets_are_covered(self):
        catalog = given.of(*given.tiers_of_all_kinds())
        did = applied(catalog, nothing())
        self.assertNotEqual(set(), did.pools)
        caps = ceph_access.writer(catalog, catalog.clusters['ceph']).caps
        for pool in {
            *did.pools,
            *(
                pool
                for tier in catalog.tiers_of('ceph')
                for pool in tier.rbd.pools
            ),
        }:
            self.assertIn(
                f'allow rwx pool={pool} object_prefix rbd_info', caps['osd']
            )

    @ddt.data(
        *((one.prefix, one.permission, {}) for one in ceph_access.WRITES),
        ('auth get', 'rx', {'entity': 'client.admin'}),
        ('osd pool delete', 'rw', {}),
    )
    @ddt.unpack
    def test_who_reads_may_not(self, prefix, permission, arguments):
        caps = ceph_access.reader(self.catalog, self.cluster).caps
        self.assertFalse(
            mon_caps.allows(caps['mon'], prefix, permission, arguments)
        )

    @ddt.data(
        ('osd pool delete', 'rw', {}),
        ('osd pool rename', 'rw', {}),
        ('osd tier remove', 'rw', {}),
        ('osd tier remove-overlay', 'rw', {}),
        ('auth rm', 'rwx', {'entity': 'client.volumes'}),
        ('auth caps', 'rwx', {'entity': 'client.tiers-writer'}),
        ('auth get-or-create', 'rwx', {'entity': 'client.new'}),
        ('config set', 'rw', {'who': 'mon', 'name': 'mon_allow_pool_delete'}),
        ('config set', 'rw', {'who': 'global', 'name': 'a'}),
        ('config set', 'rw', {'who': 'osd', 'name': 'a'}),
    )
    @ddt.unpack
    def test_who_applies_may_not(self, prefix, permission, arguments):
        caps = ceph_access.writer(self.catalog, self.cluster).caps
        self.assertFalse(
            mon_caps.allows(caps['mon'], prefix, permission, arguments)
        )

    def test_what_a_catalog_does_not_ask_for_is_not_granted(self):
        catalog = given.of(given.tier())
        caps = ceph_access.writer(catalog, catalog.clusters['ceph']).caps
        for name in ('config set', 'osd tier', 'primary-affinity'):
            self.assertNotIn(name, caps['mon'])

    def test_nothing_is_allowed_as_a_whole(self):
        for catalog, make in (
            (self.catalog, ceph_access.reader),
            (given.of(given.tier()), ceph_access.writer),
        ):
            caps = make(catalog, catalog.clusters['ceph']).caps
            self.assertNotIn('*', ' '.join(caps.values()))

    def test_a_cache_answers_for_the_pool_behind_it(self):
        caps = ceph_access.reader(self.catalog, self.cluster).caps
        self.assertIn(
            'pool=tier-general-cache object_prefix rbd_info', caps['osd']
        )
        # The headers of images are in front of no cache.
        self.assertNotIn('tier-archive-cache', caps['osd'])

    def test_a_name_that_needs_quotes_has_them(self):
        catalog = given.of(given.tier(rbd=given.rbd(pool='a b,c')))
        caps = ceph_access.reader(catalog, catalog.clusters['ceph']).caps
        self.assertIn('pool="a b,c" object_prefix', caps['osd'])

    def test_the_user_of_the_file_is_the_one_that_is_made(self):
        for user, name in (('admin', 'tiers-reader'), ('me', 'me')):
            catalog = given.of(given.tier(), user=user)
            self.assertEqual(
                f'client.{name}',
                ceph_access.reader(catalog, catalog.clusters['ceph']).name,
            )
