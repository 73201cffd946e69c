# SPDX-License-Identifier: Apache-2.0

"""OSDs that hold nothing, and hosts below several roots, on a real cluster."""

import dataclasses

import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from tests.contract import real_ceph


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class PlacesTestCase(real_ceph.RealCephCase):
    def setUp(self):
        super().setUp()
        self.catalog = dataclasses.replace(
            self.catalog,
            clusters={
                name: dataclasses.replace(one, host_osd_options={})
                for name, one in self.catalog.clusters.items()
            },
            tiers=(self.new_tier('whole', 2, 'osd'),),
        )

    def new_tier(self, name, size, failure_domain, **settings):
        tier = self.tier(
            name, self.device_class, catalogs.Replicated(size=size), **settings
        )
        return dataclasses.replace(
            tier,
            rbd=dataclasses.replace(tier.rbd, failure_domain=failure_domain),
        )

    def add(self, *tiers):
        self.catalog = dataclasses.replace(
            self.catalog, tiers=(*self.catalog.tiers, *tiers)
        )

    def make_plan(self):
        return plans.make(catalog=self.catalog, actual=self.observe())

    def assert_applied(self):
        results = apply.apply(
            plan=self.make_plan(),
            executors=self.executors,
            read=self.read,
            report=lambda result: None,
            settle_s=self.settle_s,
        )
        self.assertEqual([], [one.reason for one in results if one.reason])
        self.assertEqual((), self.make_plan().actions)

    def test_osds_that_hold_nothing_are_no_place_for_a_new_pool(self):
        self.assert_applied()
        empty, out, *_ = self.osd_ids()
        before = next(
            one['crush_weight']
            for one in self.session.command('osd tree')['nodes']
            if one['id'] == empty
        )
        for weight in (before, 0.0):
            self.addCleanup(
                self.session.command,
                'osd crush reweight',
                name=f'osd.{empty}',
                weight=before,
            )
            self.session.command(
                'osd crush reweight', name=f'osd.{empty}', weight=weight
            )
        self.addCleanup(self.session.command, 'osd in', ids=[str(out)])
        self.session.command('osd out', ids=[str(out)])
        # What exists stays as it is.
        self.assertEqual((), self.make_plan().actions)
        self.add(self.new_tier('new', 3, 'host'))
        found = str(self.assertRaises(errors.ProblemsFound, self.make_plan))
        self.assertIn('1 failure domains', found)
        self.assertIn('that can take data', found)
        self.assertIn(f'osd.{empty} has weight 0, osd.{out} is out', found)

    def test_a_host_is_below_each_root_that_it_is_linked_to(self):
        root = f'{self.mark}-root'
        self.session.command('osd crush add-bucket', name=root, type='root')
        # Before that, the pools and rules of the tiers are removed.
        self.addCleanup(self.session.command, 'osd crush rm', name=root)
        for host in sorted(self.osds().hosts):
            self.addCleanup(
                self.session.command,
                'osd crush unlink',
                name=host,
                ancestor=root,
            )
            self.session.command(
                'osd crush link', name=host, args=[f'root={root}']
            )
        self.addCleanup(self.remove)
        self.add(self.new_tier('linked', 2, 'host', crush_root=root))
        self.assert_applied()
        rule = self.read(
            actions.Key(
                kind=actions.Kind.CRUSH_RULE,
                cluster='ceph',
                name=f'{self.mark}-linked',
            )
        )
        self.assertEqual(root, rule.root)
        tier = real_ceph.exported(
            self.session, self.cinder, self.catalog
        ).catalog.tier(f'{self.mark}-linked')
        self.assertEqual(root, tier.rbd.crush_root)
