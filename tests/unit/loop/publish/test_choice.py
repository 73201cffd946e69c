# SPDX-License-Identifier: Apache-2.0

"""What results say of Ceph and of time that is not so any more."""

import dataclasses
import datetime

import testtools

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.publish import changes as since
from cinder_tiers.loop.publish import choice
from tests.unit.domain import catalogs as given
from tests.unit.figures import results

NOW = datetime.datetime(2026, 11, 23, tzinfo=datetime.UTC)
READING = ceph_result.CephReading(
    release=('20.2.1 tentacle (mon, osd)',),
    health='HEALTH_OK',
    checks={},
    osds_down=(),
    osds_out=(),
    osd_boots={'0': 5, '1': 5},
    pg_states={'active+clean': 32},
    client_options={},
    pools={},
)
POOL = ceph_result.CephPool(
    kind='replicated',
    size=3,
    min_size=2,
    pg_num=32,
    crush_rule='r',
    device_class='ssd',
    compression='mode unset, algorithm unset',
    rbd_options={},
    osds=2,
    osd_options={},
)
RUN = dataclasses.replace(
    results.run({'database': {'x': [results.slot([1])]}}),
    ceph=ceph_result.CephWatch(before=READING, after=READING, unread=()),
)


def state(*osds, release=20):
    found = given.empty_cluster()
    return dataclasses.replace(
        found,
        crush_rules={
            'r': ceph_state.CrushRule(
                name='r',
                kind='replicated',
                root='default',
                device_class='ssd',
                failure_domain='host',
            )
        },
        pools={
            'tier-database': ceph_state.Pool(
                name='tier-database',
                kind='replicated',
                size=3,
                min_size=2,
                pg_num=32,
                pg_autoscale_mode='off',
                crush_rule='r',
            )
        },
        osds=tuple(
            ceph_state.Osd(
                osd_id=osd,
                device_class='ssd',
                location={'root': 'default', 'host': 'a'},
            )
            for osd in osds
        ),
        release=release,
    )


class ChoiceTestCase(testtools.TestCase):
    def found(self, state, run=RUN):
        tier = given.tier('database')
        return [
            one.found for one in choice.objections({'f': run}, tier, state)
        ]

    def test_the_same_cluster(self):
        self.assertEqual([], self.found(state(0, 1)))
        self.assertEqual([], self.found(state(0)))
        self.assertEqual([], self.found(None))
        self.assertEqual(
            [], self.found(state(7), dataclasses.replace(RUN, ceph=None))
        )

    def test_another_release_and_new_osds(self):
        self.assertEqual(
            [
                'measured on Ceph 20',
                'measured before these OSDs of the tier were there: osd.7',
            ],
            self.found(state(0, 7, release=21)),
        )

    def test_a_pool_that_changed(self):
        for changed, found in (
            ({}, []),
            ({'pg_num': 64}, []),
            ({'size': 2}, ['pool tier-database: size was 2 and is 3']),
            (
                {
                    'compression': 'mode force, algorithm lz4',
                    'rbd_options': {'rbd_qos_iops_limit': '5'},
                },
                [
                    'pool tier-database: compression was mode force, '
                    'algorithm lz4 and is mode unset, algorithm unset; pool '
                    'tier-database: option rbd_qos_iops_limit was 5 and is '
                    'none'
                ],
            ),
        ):
            pool = dataclasses.replace(POOL, **changed)
            reading = dataclasses.replace(
                READING, pools={'tier-database': pool}
            )
            run = dataclasses.replace(
                RUN,
                ceph=ceph_result.CephWatch(
                    before=reading, after=reading, unread=()
                ),
            )
            self.assertEqual(
                [
                    'what serves the tier changed since it was measured: '
                    + one
                    for one in found
                ],
                self.found(state(0, 1), run),
            )

    def test_an_encryption_that_changed(self):
        tier = dataclasses.replace(
            given.tier('database'),
            encryption=catalogs.Encryption(provider='luks', key_size_bits=256),
        )
        measured = run_result.TypeAsMeasured(
            extra_specs={}, qos_consumer=None, qos_specs={}, encryption={}
        )
        now = cinder_state.CinderState(
            volume_types={
                tier.type_name: cinder_state.VolumeType(
                    name=tier.type_name,
                    extra_specs={'tiers:name': 'database'},
                )
            },
            encryptions={
                tier.type_name: cinder_state.TypeEncryption(
                    name=tier.type_name,
                    provider='luks',
                    cipher=None,
                    key_size_bits=256,
                    control_location='front-end',
                )
            },
        )
        self.assertEqual(
            [
                'encryption control_location was none and is front-end',
                'encryption key_size was none and is 256',
                'encryption provider was none and is luks',
            ],
            list(since.of_type(measured, tier, now)),
        )
        same = dataclasses.replace(
            measured,
            encryption={
                'provider': 'luks',
                'key_size': '256',
                'control_location': 'front-end',
            },
        )
        self.assertEqual([], list(since.of_type(same, tier, now)))

    def test_another_cluster_says_nothing(self):
        for pool, problems in (('tier-general', 0), ('tier-database', 2)):
            reading = dataclasses.replace(READING, pools={pool: POOL})
            run = dataclasses.replace(
                RUN,
                ceph=ceph_result.CephWatch(
                    before=reading, after=reading, unread=()
                ),
            )
            self.assertEqual(
                problems, len(self.found(state(0, 7, release=21), run))
            )

    def test_volumes_in_another_pool(self):
        image = ceph_result.CephImage(
            pool='other',
            data_pool=None,
            parent=None,
            objects=1,
            own_objects=1,
            object_bytes=1,
        )
        guest = dataclasses.replace(
            results.guest('g', 'database'), image=image
        )
        error = self.assertRaises(
            choice.errors.ProblemsFound,
            choice.choose,
            {'f': dataclasses.replace(RUN, guests=(guest,))},
            given.of(given.tier('database')),
            now=NOW,
        )
        self.assertIn('volumes in pool other', str(error))

    def test_repeats_that_have_nothing_in_common(self):
        (tier,) = RUN.tiers
        slots = (results.slot([1e-300]), results.slot([1e18]))
        pattern = dataclasses.replace(
            tier.patterns[0],
            slots=tuple(
                dataclasses.replace(
                    one,
                    steadiness=dataclasses.replace(
                        one.steadiness, steady=True, reason=''
                    ),
                )
                for one in slots
            ),
        )
        tier = dataclasses.replace(
            tier,
            patterns=(pattern,),
            backends=run_result.Fact(value='node@one#one'),
            volume_types=run_result.Fact(value='database'),
        )
        run = dataclasses.replace(RUN, tiers=(tier,), ceph=None, doubts=())
        (chosen,) = choice.choose(
            {'f': run}, given.of(given.tier('database')), now=NOW
        )
        self.assertEqual((), chosen.figures)
        self.assertIn('the interval has no end', '; '.join(chosen.remarks))

    def test_time(self):
        chosen = choice.Chosen(
            tier='database',
            ended_at='2026-11-22T08:00Z',
            figures=(),
            remarks=(),
        )

        def found(card, *changes):
            return len(list(choice.out_of_date(chosen, card, changes)))

        def measured(time):
            return cards.Card(
                measured=cards.Measured(
                    ended_at=time,
                    ceph_release=None,
                    fingerprint='a1b2c3',
                    figures=(
                        cards.Figure(
                            pattern='x',
                            quantity='iops',
                            mean=1,
                            low=1,
                            high=1,
                            runs=2,
                        ),
                    ),
                )
            )

        earlier, same, later = (
            f'2026-11-22T0{hour}:00Z' for hour in (7, 8, 9)
        )
        for card, changes, problems in (
            (cards.Card(), (), 0),
            (measured(earlier), (), 0),
            (measured(same), (), 0),
            (measured(later), (), 1),
            (measured(earlier), ('QoS changed',), 0),
            (measured(same), ('QoS changed',), 1),
            (cards.Card(not_measured_since=earlier), (), 0),
            (cards.Card(not_measured_since=same), (), 1),
        ):
            self.assertEqual(problems, found(card, *changes), card)
