# SPDX-License-Identifier: Apache-2.0

"""An export and a plan of a real cluster that has what no catalog can say."""

import dataclasses
from unittest import mock

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import pools as export_pools
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute.ceph import crush_map
from cinder_tiers.observe.ceph import cluster
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe import for_export
from tests.contract import real_ceph
from tests.unit.domain import catalogs as given

OPTION = 'osd_recovery_priority'


@testtools.skipUnless(real_ceph.CONF, 'no Ceph cluster is named')
class RealExportTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = catalogs.Cluster(
            name='ceph', conf=real_ceph.CONF, user='admin'
        )
        self.enterContext(mock.patch.object(ceph_session, 'OSD_TIMEOUT_S', 5))
        self.session = self.enterContext(ceph_session.session(self.cluster))
        self.fsid = self.session.command('mon dump')['fsid']
        self.ssd = next(
            one
            for one in observed_osds.read_osds(self.session)
            if one.device_class == 'ssd'
        )

    def make(self, name, rule):
        self.session.command(
            'osd pool create', pool=name, pg_num=1, rule=rule, size=3
        )
        self.addCleanup(real_ceph.delete_pools, self.session, [name])
        self.session.command(
            'osd pool application enable', pool=name, app='rbd'
        )

    def drop_rule(self, name):
        self.addCleanup(self.session.command, 'osd crush rule rm', name=name)

    def known(self, *pools):
        return for_export.read_cluster(
            self.session,
            [
                rbd_location.Location(fsid=self.fsid, pool=name, user='cinder')
                for name in pools
            ],
        )

    def test_a_sick_pool_hides_no_other_pool(self):
        self.session.command(
            'osd crush rule create-replicated',
            name='export-racks',
            root='default',
            type='rack',
        )
        self.drop_rule('export-racks')
        self.session.command(
            'osd crush rule create-replicated',
            name='export-osds',
            root='default',
            type='osd',
        )
        self.drop_rule('export-osds')
        self.make('export-sick', 'export-racks')
        self.make('export-sound', 'export-osds')
        known = self.known('export-sick', 'export-sound')
        self.assertIn(
            'did not complete I/O',
            known.ceph.pools['export-sick'].rbd_options_unread,
        )
        rbd, _ = export_pools.rbd_of(known, 'export-sound')
        self.assertEqual('export-sound', rbd.pool)
        self.assertRaises(
            ValueError, export_pools.rbd_of, known, 'export-sick'
        )

    def test_a_rule_with_a_fixed_number_is_taken_over(self):
        data, version = self.session.crush_map()
        part = crush_map.RulePart(
            bucket='default', copies=3, failure_domain='osd'
        )
        self.session.set_crush_map(
            crush_map.with_rule(data, 'export-fixed', [part]),
            prior_version=version,
        )
        self.drop_rule('export-fixed')
        self.make('export-three', 'export-fixed')
        known = self.known('export-three')
        self.assertEqual(3, known.ceph.crush_rules['export-fixed'].number)
        rbd, _ = export_pools.rbd_of(known, 'export-three')
        self.assertEqual('osd', rbd.failure_domain)
        self.session.command(
            'osd pool set', pool='export-three', var='size', val='2'
        )
        error = self.assertRaises(
            ValueError,
            export_pools.rbd_of,
            self.known('export-three'),
            'export-three',
        )
        self.assertIn('chooses 3 osd whatever the size', str(error))

    def test_a_mask_of_two_parts_is_foreseen_and_wins(self):
        host = self.ssd.location['host']
        mask = f'host:{host}/class:ssd'
        self.set(f'osd/{mask}', '6')
        known = self.known()
        self.assertEqual({OPTION: '6'}, known.configured_elsewhere[mask])
        catalog = given.of(
            given.tier(
                fallback=True,
                rbd=dataclasses.replace(given.rbd(), osd_options={OPTION: 7}),
            )
        )
        plan = plans.make(
            catalog=dataclasses.replace(
                catalog, clusters={'ceph': self.cluster}
            ),
            actual=actual_state.ActualState(
                cinder=cinder_state.CinderState(volume_types={}),
                ceph={'ceph': cluster.observe(self.session, catalog)},
            ),
        )
        (action,) = (
            one
            for one in plan.actions
            if one.key.kind is actions.Kind.OSD_OPTIONS
        )
        self.assertIn(f'{OPTION} stays 6 for osd.', action.why)
        self.assertIn(f'the section {mask} takes precedence', action.why)
        # So it is: the class does not change what the OSD uses.
        self.set('osd/class:ssd', '7')
        self.assertEqual(
            '6',
            str(
                self.session.command(
                    'config get', who=f'osd.{self.ssd.osd_id}', key=OPTION
                )
            ),
        )

    def set(self, who, value):
        self.session.command('config set', who=who, name=OPTION, value=value)
        self.addCleanup(
            self.session.command, 'config rm', who=who, name=OPTION
        )
