# SPDX-License-Identifier: Apache-2.0


"""Plans of QoS specs, from plain values."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from tests.unit.domain import catalogs as given

LIMITED = given.tier(qos=catalogs.Qos(front_end={'total_iops_sec': '500'}))
SPEC = qos_spec_kind.qos_spec_of(LIMITED)
TYPE = volume_type_kind.volume_type_of(LIMITED)


def plan(*specs, tier=LIMITED, volume_type=TYPE):
    return tuple(
        qos_spec_kind.plan(
            catalog=given.of(tier),
            actual=actual_state.ActualState(
                cinder=cinder_state.CinderState(
                    volume_types={volume_type.name: volume_type},
                    qos_specs={spec.name: spec for spec in specs},
                ),
                ceph={},
            ),
        )
    )


def spec(**changes):
    return dataclasses.replace(SPEC, **changes)


@ddt.ddt
class QosSpecsTestCase(testtools.TestCase):
    def test_it_has_the_name_and_the_type_of_the_tier(self):
        self.assertEqual(
            cinder_state.QosSpec(
                name='tier-database',
                consumer='front-end',
                specs={'total_iops_sec': '500'},
                volume_types=frozenset({'database'}),
            ),
            SPEC,
        )

    @ddt.data(
        ({'x': '1'}, None, 'front-end'),
        (None, {'x': '1'}, 'back-end'),
        ({'x': '1'}, {'x': '1'}, 'both'),
    )
    @ddt.unpack
    def test_the_consumer_follows_from_the_sides(self, front, back, consumer):
        qos = catalogs.Qos(front_end=front, back_end=back)
        self.assertEqual((consumer, {'x': '1'}), (qos.consumer, qos.specs))

    @ddt.data(
        ({'specs': {'total_iops_sec': '9'}}, 'specs.total_iops_sec'),
        ({'specs': {**SPEC.specs, 'x': '1'}}, 'specs.x'),
        ({'consumer': 'both'}, 'consumer'),
    )
    @ddt.unpack
    def test_a_change_says_what_it_does_not_reach(self, changes, field):
        (action,) = plan(spec(**changes))
        self.assertIsNone(action.refusal)
        self.assertEqual(
            [field],
            [
                one.field
                for one in difference.differences(action.before, action.after)
            ],
        )
        self.assertIn(
            'keep their limits until they are attached again',
            action.explanation,
        )

    def test_one_that_a_killed_apply_left_is_associated(self):
        (action,) = plan(spec(volume_types=frozenset()))
        self.assertIsNone(action.refusal)
        self.assertEqual(SPEC, action.after)

    def test_one_of_our_name_and_other_values_may_be_somebody_s(self):
        (action,) = plan(spec(volume_types=frozenset(), specs={'x': '1'}))
        self.assertIn('it may belong to someone else', action.refusal.reason)

    def test_one_that_other_types_have_is_not_changed(self):
        shared = spec(volume_types=frozenset({'database', 'theirs'}))
        self.assertEqual((), plan(shared))
        (action,) = plan(dataclasses.replace(shared, consumer='both'))
        self.assertIn('also have the QoS spec: theirs', action.refusal.reason)
        self.assertEqual(shared.volume_types, action.after.volume_types)

    def test_one_of_a_type_without_our_mark_is_not_ours(self):
        foreign = cinder_state.VolumeType(name='database', extra_specs={})
        for tier, verb in ((given.tier(), 'delete'), (LIMITED, 'update')):
            (action,) = plan(
                spec(consumer='both'), tier=tier, volume_type=foreign
            )
            self.assertEqual(
                (verb, True), (action.verb, action.refusal.yields_to_consent)
            )

    def test_one_without_qos_in_the_catalog_and_without_our_type_is_not_ours(
        self,
    ):
        foreign = cinder_state.VolumeType(name='database', extra_specs={})
        self.assertEqual(
            (), plan(SPEC, tier=given.tier('other'), volume_type=foreign)
        )
        self.assertEqual(
            (), plan(spec(volume_types=frozenset({'x'})), tier=given.tier())
        )
