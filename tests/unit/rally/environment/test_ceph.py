# SPDX-License-Identifier: Apache-2.0

"""Answers of a real Ceph 16.2.15, recorded, as what is kept of it."""

import copy
import json
import pathlib

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.figures.result import caveats
from rally_scenarios.plugins.environment import ceph as environment_ceph
from rally_scenarios.plugins.environment import probe
from tests.unit.figures.result import test_caveats
from tests.unit.observe.ceph import test_cluster

RECORDED = (
    pathlib.Path(__file__).parents[1] / 'data' / ('readings-16.2.15.json')
)
VOLUME = '2cbd9b8b-f69e-4901-9581-a5bf02ab1a28'
DATABASE = ceph_session.RbdImage(
    parent='images/4fcb@snap',
    data_pool='tier-database',
    objects=256,
    object_bytes=4194304,
    own_objects=9,
)
ARCHIVE = ceph_session.RbdImage(
    parent=None,
    data_pool='tier-archive-data',
    objects=256,
    object_bytes=4194304,
    own_objects=None,
)


class Session(test_cluster.Recording):
    """Recorded answers; what a test is about is changed in them."""

    def __init__(self):
        super().__init__()
        found = json.loads(RECORDED.read_text('utf-8'))
        self.answers.update(
            {
                name: {'code': 0, 'said': '', 'answer': answer}
                for name, answer in found['answers'].items()
            }
        )
        self.diffs = {
            osd: copy.deepcopy(found['config diff']) for osd in range(6)
        }
        self.rbd = {
            'tier-database': {f'volume-{VOLUME}': DATABASE},
            'tier-archive': {'other': ARCHIVE},
        }

    def answer(self, command):
        return self.answers[command]['answer']

    def tell(self, osd_id, prefix):
        if prefix != 'config diff':
            raise KeyError(prefix)
        return {'diff': self.diffs[osd_id]}

    def images(self, pool):
        return list(self.rbd.get(pool, {}))

    def image(self, pool, name):
        return self.rbd[pool][name]


class CephReadingsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.session = Session()

    def reading(self, *pools):
        return environment_ceph.reading(
            self.session, pools or ('tier-database', 'tier-archive-data')
        )

    def test_a_healthy_cluster(self):
        found = self.reading()
        self.assertEqual(
            (
                ('16.2.15 pacific',),
                'HEALTH_OK',
                {},
                (),
                (),
                {'active+clean': 136},
            ),
            (
                found.release,
                found.health,
                found.checks,
                found.osds_down,
                found.osds_out,
                found.pg_states,
            ),
        )
        self.assertEqual(
            {'0', '1', '2', '3', '4', '5'}, found.osd_boots.keys()
        )
        self.assertEqual(
            {'rbd_cache': 'true', 'rbd_cache_policy': 'writearound'},
            found.client_options,
        )

    def test_pools_have_the_options_of_their_osds(self):
        pools = self.reading('tier-database', 'tier-archive').pools
        database = pools['tier-database']
        self.assertEqual(
            ('replicated', 3, 2, 32, 'tier-database', 'ssd', 3),
            (
                database.kind,
                database.size,
                database.min_size,
                database.pg_num,
                database.crush_rule,
                database.device_class,
                database.osds,
            ),
        )
        # Places of things, and what is at its default, are left out.
        self.assertEqual(
            {
                'bluestore_cache_autotune': 'False',
                'bluestore_cache_size': '67108864',
            },
            database.osd_options,
        )
        self.assertEqual(
            {'rbd_cache': 'false'}, pools['tier-archive'].rbd_options
        )

    def test_only_pools_of_the_run_are_looked_at(self):
        self.session.diffs = {
            osd: diff
            for osd, diff in self.session.diffs.items()
            if osd % 2 == 0
        }
        self.assertEqual(
            {'tier-database'}, self.reading('tier-database').pools.keys()
        )

    def test_an_option_that_osds_do_not_share_names_them(self):
        self.session.diffs[2]['osd_max_backfills'] = {
            'default': '1',
            'override': '8',
            'final': '8',
        }
        found = self.reading('tier-database').pools['tier-database']
        self.assertEqual(
            'default (osd.0, osd.4), 8 (osd.2)',
            found.osd_options['osd_max_backfills'],
        )

    def test_an_osd_that_is_down_is_not_asked(self):
        self.session.answer('osd dump')['osds'][0]['up'] = 0
        del self.session.diffs[0]
        found = self.reading('tier-database')
        self.assertEqual((0,), found.osds_down)
        self.assertEqual(3, found.pools['tier-database'].osds)

    def test_daemons_of_two_releases_are_told_by_their_kind(self):
        self.session.answer('versions')['mon'] = {
            'ceph version 17.2.7 (b12291d110049b2f35e32e0de30d70e9a4c060d2)'
            ' quincy (stable)': 1
        }
        self.assertEqual(
            ('16.2.15 pacific (mgr, osd)', '17.2.7 quincy (mon)'),
            self.reading().release,
        )

    def test_what_clients_are_told_beats_the_default(self):
        self.session.answer('config dump').extend(
            [
                {
                    'section': 'client',
                    'mask': '',
                    'name': 'rbd_cache',
                    'value': 'false',
                },
                {
                    'section': 'client.cinder',
                    'mask': '',
                    'name': 'rbd_qos_iops_limit',
                    'value': '300',
                },
            ]
        )
        found = self.reading().client_options
        self.assertEqual(
            ('false', '300'),
            (found['rbd_cache'], found['rbd_qos_iops_limit of client.cinder']),
        )

    def test_volumes_are_found_by_their_id(self):
        self.assertEqual(
            {VOLUME: ('tier-database', f'volume-{VOLUME}')},
            environment_ceph.find_images(self.session, {VOLUME, 'another'}),
        )

    def test_a_clone_and_an_image_with_data_elsewhere(self):
        clone = environment_ceph.image(
            self.session, 'tier-database', f'volume-{VOLUME}'
        )
        flat = environment_ceph.image(self.session, 'tier-archive', 'other')
        self.assertEqual(
            ('images/4fcb@snap', None, 9),
            (clone.parent, clone.data_pool, clone.own_objects),
        )
        self.assertEqual(
            (None, 'tier-archive-data', None),
            (flat.parent, flat.data_pool, flat.own_objects),
        )
        self.assertEqual(
            'differs: clone, flat, and some do not say',
            probe.clone_or_flat([clone, flat, None]).value,
        )

    def test_a_check_that_appears_between_two_readings_is_a_caveat(self):
        before = self.reading()
        self.session.answer('status')['health'] = {
            'status': 'HEALTH_WARN',
            'mutes': [],
            'checks': {
                'OSD_DOWN': {
                    'severity': 'HEALTH_WARN',
                    'muted': False,
                    'summary': {'message': '1 osds down', 'count': 1},
                }
            },
        }
        self.session.answer('osd dump')['osds'][4]['up'] = 0
        found = caveats.find_caveats(
            test_caveats.run(
                ceph=probe.ceph_result.CephWatch(
                    before=before, after=self.reading(), unread=()
                )
            )
        )
        self.assertEqual(
            [
                'during this run: OSD_DOWN appeared: 1 osds down',
                'during this run: osd.4 went down',
                'after the measurement HEALTH_WARN: OSD_DOWN (1 osds down)',
            ],
            [one.text for one in found],
        )

    def test_facts_name_the_release_and_the_options_of_each_pool(self):
        reading = self.reading('tier-database')
        facts = probe.ceph_facts(
            probe.ceph_result.CephWatch(
                before=reading, after=None, unread=('x',)
            )
        )
        self.assertEqual('16.2.15 pacific, HEALTH_OK', facts['ceph'].value)
        self.assertEqual(
            'tier-database: bluestore_cache_autotune False,'
            ' bluestore_cache_size 67108864',
            facts['ceph_options'].value,
        )

    def test_a_cluster_that_never_answered_says_why(self):
        facts = probe.ceph_facts(
            probe.ceph_result.CephWatch(
                before=None, after=None, unread=('no monitor', 'no monitor')
            )
        )
        self.assertEqual('no monitor; no monitor', facts['ceph'].reason)

    def test_a_refused_command_is_an_error_of_ours(self):
        self.session.answers['versions'].update(code=-13, said='no')
        self.assertRaises(errors.TiersError, self.reading)
