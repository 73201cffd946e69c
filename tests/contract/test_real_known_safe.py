# SPDX-License-Identifier: Apache-2.0

"""Values that are known to be safe, held against a real Ceph cluster."""

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.resources import safety
from tests.contract import commands
from tests.contract import real_ceph

TIER = """
    MARK-quiet:
      fallback: true
      rbd:
        cluster: ceph
        pool: MARK-quiet
        device_class: hdd
        failure_domain: osd
        pg_num: 8
        replicated: {size: 3}
    """
FREE = {
    'osd_options': '{osd_op_complaint_time: 29}',
    'pool_options': '{compression_mode: aggressive, csum_type: xxhash64}',
    'rbd_options': '{rbd_qos_iops_limit: 500, rbd_cache: true}',
}
#: Nothing that other tests of the cluster would notice.
ASKING = {
    'osd_options': '{osd_op_complaint_time: 86400}',
    'pool_options': '{csum_type: none, noscrub: true, nodeep-scrub: true, '
    'quota_max_bytes: 12000000}',
    'rbd_options': '{rbd_qos_iops_limit: 1, '
    'rbd_cache_writethrough_until_flush: false, '
    'rbd_blocklist_on_break_lock: false}',
}
MASK = 'osd/class:hdd'


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KnownSafeTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
            )
        )

    def test_defaults_are_safe_and_bounds_are_within_those_of_ceph(self):
        names = set(self.session.command('config ls'))
        for known, least in ((known_safe.OSD, 100), (known_safe.RBD, 30)):
            there = names & known.keys()
            # Before 17, shares of mClock are no parts of a whole.
            if self.session.command('mon dump')['min_mon_release'] < 17:
                there = {
                    name
                    for name in there
                    if not name.startswith(mclock.SHARES)
                }
            self.assertGreater(len(there), least)
            for name in sorted(there):
                said = self.session.command('config help', key=name)
                default = said.get('daemon_default')
                if default in ('', None):
                    default = said['default']
                if isinstance(default, bool):
                    default = str(default).lower()
                self.assertIsNone(
                    safety.objection(known, name, str(default)), name
                )
                safe = known[name]
                for end, is_within in (
                    (said['min'], lambda end, safe=safe: safe.least >= end),
                    (said['max'], lambda end, safe=safe: safe.most <= end),
                ):
                    if end not in ('', None) and safe.least is not None:
                        self.assertTrue(is_within(float(end)), (name, end))


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class AskedForTestCase(commands.CommandsCase):
    def remove(self):
        for name in ('osd_op_complaint_time', 'osd_max_object_size'):
            self.session.command('config rm', who=MASK, name=name)
        super().remove()

    def declare_options(self, options):
        self.declare(
            TIER.rstrip()
            + ''.join(
                f'\n        {key}: {value}' for key, value in options.items()
            )
            + '\n'
        )

    def unsafe(self):
        """What an audit warns of, {option: value}."""
        return {
            name.split()[0]: value
            for row in self.tier('audit')
            if row['Aspect'] == practice.OPTIONS
            for name, value in row['Current'].items()
        }

    def test_what_is_in_range_is_free(self):
        self.declare_options(FREE)
        self.tier('apply', '--yes')
        self.assertEqual([], self.tier('plan'))
        self.assertEqual({}, self.unsafe())

    def test_what_is_beyond_is_asked_for_once_and_warned_of(self):
        self.declare_options({})
        self.tier('apply', '--yes')
        self.declare_options(ASKING)
        pool, osds = f'pool {self.mark}-quiet (ceph)', 'osd options hdd (ceph)'
        refused = self.run_tier('apply', '--yes')
        self.assertEqual(5, refused.status)
        for name in ('osd_op_complaint_time', 'csum_type', 'rbd_qos_iops'):
            self.assertIn(name, refused.stdout + refused.stderr)
        self.tier('apply', '--yes', '--allow', osds, '--allow', pool)
        self.assertEqual([], self.tier('plan'))
        self.assertEqual(
            {
                'osd_op_complaint_time': '86400.000000',
                'csum_type': 'none',
                'noscrub': 'true',
                'nodeep-scrub': 'true',
                'quota_max_bytes': '12000000',
                'rbd_qos_iops_limit': '1',
                'rbd_cache_writethrough_until_flush': 'false',
                'rbd_blocklist_on_break_lock': 'false',
            },
            self.unsafe(),
        )

    def test_what_nobody_declared_is_warned_of(self):
        self.declare_options({})
        self.tier('apply', '--yes')
        self.session.command(
            'config set', who=MASK, name='osd_max_object_size', value='1'
        )
        self.session.command(
            'osd pool set', pool=f'{self.mark}-quiet', var='noscrub', val='1'
        )
        self.assertEqual(
            {'osd_max_object_size': '1', 'noscrub': 'true'}, self.unsafe()
        )
