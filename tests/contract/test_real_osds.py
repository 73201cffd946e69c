# SPDX-License-Identifier: Apache-2.0

"""What OSDs are, read from a real cluster; see `test_real_ceph`."""

import dataclasses
import pathlib
import platform
import subprocess
import time

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import mclock as rules
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import mclock
from cinder_tiers.observe.ceph.osd import osd_metadata
from cinder_tiers.observe.ceph.osd import osd_options
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from tests.contract import real_ceph


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealOsdsTestCase(testtools.TestCase):
    """What OSDs are, held against the kernel of this host and the OSDs."""

    def setUp(self):
        super().setUp()
        self.cluster = catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
        self.session = self.enterContext(ceph_session.session(self.cluster))
        self.facts = osd_metadata.observe(self.session)
        self.here = {
            osd_id: one
            for osd_id, one in self.facts.items()
            if one.is_up and one.host == platform.node()
        }
        if not self.here:
            self.skipTest('no OSD of the cluster runs on this host')

    def test_each_osd_is_known(self):
        osds = observed_osds.read_osds(self.session)
        self.assertEqual({osd.osd_id for osd in osds}, self.facts.keys())
        for osd_id, one in self.facts.items():
            if one.is_up:
                store = self.session.tell(
                    osd_id, 'config get', var='osd_objectstore'
                )
                self.assertEqual({'osd_objectstore': one.object_store}, store)

    def test_disks_are_as_the_kernel_says(self):
        for osd_id, one in self.here.items():
            self.assertNotEqual(frozenset(), one.disks, osd_id)
            for disk in one.disks:
                queue = osd_metadata.SYS_BLOCK / disk / 'queue'
                self.assertEqual(
                    one.rotational,
                    (queue / 'rotational').read_text().strip() == '1',
                )
                self.assertIn(
                    one.schedulers[disk], (queue / 'scheduler').read_text()
                )

    def test_a_database_of_its_own_is_known(self):
        paths = {
            one['id']: pathlib.Path(one['osd_data'])
            for one in self.session.command('osd metadata')
        }
        for osd_id, one in self.here.items():
            self.assertEqual(
                (paths[osd_id] / 'block.db').exists(), 'db' in one.parts
            )

    def test_what_the_osds_are_is_compliant_and_all_else_is_not(self):
        one = next(iter(self.here.values()))
        alike = {
            osd_id: other
            for osd_id, other in self.here.items()
            if (other.object_store, other.rotational)
            == (one.object_store, one.rotational)
        }
        is_met = catalogs.Requirements(
            object_store=one.object_store,
            rotational=one.rotational,
            io_scheduler=tuple(
                sorted(
                    {
                        name
                        for other in alike.values()
                        for name in other.schedulers.values()
                    }
                )
            ),
        )
        self.assertEqual((), osd_requirements.compare(is_met, alike))
        (found,) = osd_requirements.compare(
            dataclasses.replace(is_met, rotational=not one.rotational), alike
        )
        self.assertEqual(
            (osd_requirements.RequirementAnswer.UNMET, {'rotational'}),
            (found.answer, set(found.current)),
        )

    def test_osds_that_are_down_have_what_they_will_use(self):
        device_class, *ids = self.running_class()
        given = {
            'osd_recovery_priority': '6',
            # A word, and one that counts from the start, without masks.
            'osd_mclock_profile': 'high_recovery_ops',
            'osd_op_num_shards': '3',
        }
        names = {'osd_max_scrubs', 'osd_op_queue', *given}
        for name, value in given.items():
            where = {'who': f'osd/class:{device_class}', 'name': name}
            self.session.command('config set', **where, value=value)
            self.addCleanup(self.session.command, 'config rm', **where)

        def seen():
            return osd_options.in_effect(
                self.session,
                'class',
                device_class,
                osd_options.schemas_of(self.session, names),
            )

        def wait_for(status):
            for _ in self.looks():
                tree = self.session.command('osd tree')
                if {
                    node['status']
                    for node in tree['nodes']
                    if str(node['id']) in ids
                } == {status}:
                    return
            self.fail(f'osd {ids} did not become {status}')

        for _ in self.looks():
            running = seen()
            if (
                running.values['osd_recovery_priority'],
                running.values['osd_mclock_profile'],
            ) == ('6', 'high_recovery_ops'):
                break
        # Those that run cannot stay up: they would report in again.
        self.session.command('osd add-noup', ids=ids)
        self.addCleanup(wait_for, 'up')
        self.addCleanup(self.session.command, 'osd rm-noup', ids=ids)
        self.session.command('osd down', ids=ids)
        wait_for('down')
        found = seen()
        self.assertEqual('6', found.values['osd_recovery_priority'])
        self.assertNotEqual('3', found.values['osd_op_num_shards'])
        self.assertEqual(
            (running.values, running.mclock_osds, running.other_queue_osds),
            (found.values, found.mclock_osds, found.other_queue_osds),
        )

    def running_class(self):
        """A device class all of whose OSDs are up, and their ids as texts."""
        classes = {}
        for osd in observed_osds.read_osds(self.session):
            classes.setdefault(osd.device_class, []).append(osd.osd_id)
        for name, ids in classes.items():
            if all(self.facts[osd_id].is_up for osd_id in ids):
                return name, *map(str, ids)
        self.fail(f'no device class has all its OSDs up: {classes}')

    def looks(self):
        for _ in range(60):
            yield
            time.sleep(1)

    def test_how_bluestore_was_made_is_known(self):
        osds = observed_osds.read_osds(self.session)
        facts = osd_metadata.observe(
            self.session, rocksdb_of={osd.device_class for osd in osds}
        )
        for osd_id, one in facts.items():
            if one.is_up and one.object_store == 'bluestore':
                self.assertIn(one.alloc_size_bytes, limits.ALLOC_SIZES)
                self.assertIn(
                    one.rocksdb_compression, limits.ROCKSDB_COMPRESSIONS
                )
                self.assertIsNone(self.facts[osd_id].rocksdb_compression)

    def test_figures_of_mclock_are_those_of_the_osds(self):
        release = self.session.command('mon dump')['min_mon_release']
        found = mclock.observe(
            self.session,
            ceph_state.CephState(
                crush_rules={},
                erasure_code_profiles={},
                pools={},
                users={},
                osds=observed_osds.read_osds(self.session),
                release=release,
            ),
        )
        if release < mclock.FIRST_RELEASE:
            self.assertIsNone(found)
            return
        for osd_id, one in self.facts.items():
            if not one.is_up:
                continue
            self.assertEqual(
                self.told(osd_id, rules.OP_QUEUE) == rules.QUEUE,
                osd_id in found.capacities,
            )
            figure = found.capacities.get(osd_id)
            if figure and figure.iops is not None:
                told = self.told(osd_id, rules.CAPACITIES[figure.medium])
                self.assertEqual(float(told), figure.iops)

    def told(self, osd_id, name):
        """The value of an option that an OSD shows."""
        return self.session.tell(osd_id, 'config get', var=name)[name]

    def test_of_another_host_the_scheduler_is_unknown_with_the_way(self):
        away = osd_metadata.observe(self.session, host='another')
        (found,) = osd_requirements.compare(
            catalogs.Requirements(io_scheduler=('none',)),
            {osd_id: away[osd_id] for osd_id in self.here},
        )
        self.assertIs(osd_requirements.RequirementAnswer.UNKNOWN, found.answer)
        command = found.reason.partition('"')[2].partition('"')[0]
        # As an admin does who pastes it.
        shown = subprocess.run(
            command, shell=True, check=True, capture_output=True, text=True
        ).stdout
        for one in self.here.values():
            for disk in one.disks:
                self.assertIn(f'/{disk}/', shown)
