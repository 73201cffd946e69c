# SPDX-License-Identifier: Apache-2.0

"""The three tables of kinds hold the same kinds, and each kind is observed.

That Cinder's are observed is in
tests/unit/execute/cinder/test_volume_type.py, which has an API to ask.
"""

import dataclasses
import inspect
from unittest import mock

import testtools

from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute import registry as execute_registry
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import registry as observe_registry
from tests.unit.observe.ceph import test_cluster


class KindsTestCase(testtools.TestCase):
    def test_each_kind_has_a_row_in_the_public_order(self):
        self.assertEqual(
            list(actions.Kind), [one.kind for one in registry.RESOURCES]
        )

    def test_each_kind_has_an_executor(self):
        executors = execute_registry.executors(
            connection=mock.Mock(), clusters={}, read_usage=ceph_usage.attempt
        )
        self.assertEqual(registry.BY_KIND.keys(), executors.keys())

    def test_each_executor_of_what_yields_to_consent_is_told_of_it(self):
        executors = execute_registry.executors(
            connection=mock.Mock(), clusters={}, read_usage=ceph_usage.attempt
        )
        # Rules and profiles are never changed.
        self.assertEqual(
            {actions.Kind.ERASURE_CODE_PROFILE, actions.Kind.CRUSH_RULE},
            {
                kind
                for kind, one in executors.items()
                if 'consented' not in inspect.signature(one.write).parameters
            },
        )

    def test_each_kind_has_a_reader_for_where_it_is(self):
        for readers, is_in_ceph in (
            (observe_registry.CEPH, True),
            (observe_registry.CINDER, False),
        ):
            self.assertEqual(
                {
                    one.kind
                    for one in registry.RESOURCES
                    if one.is_in_ceph is is_in_ceph
                },
                set(readers),
            )

    def test_what_is_planned_for_ceph_is_observed(self):
        catalog = reader.read_file(str(test_cluster.SAMPLE))
        found = ceph_state.CephState(
            crush_rules={},
            erasure_code_profiles={},
            pools={},
            users={},
            osds=(),
        )
        for kind, one in observe_registry.CEPH.items():
            fields = one.observe(test_cluster.Recording(), catalog, found)
            self.assertIn(registry.BY_KIND[kind].state_field, fields)
            found = dataclasses.replace(found, **fields)

    def test_the_states_have_the_fields(self):
        for one in registry.RESOURCES:
            state = (
                ceph_state.CephState
                if one.is_in_ceph
                else cinder_state.CinderState
            )
            self.assertIn(
                one.state_field,
                {field.name for field in dataclasses.fields(state)},
            )
