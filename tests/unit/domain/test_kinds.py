# SPDX-License-Identifier: Apache-2.0

"""The tables of kinds hold the same kinds, and what they name exists."""

from unittest import mock

import testtools

from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import registry as execute_registry


class KindsTestCase(testtools.TestCase):
    def test_each_kind_has_a_row_in_the_public_order(self):
        self.assertEqual(
            list(actions.Kind), [one.kind for one in registry.RESOURCES]
        )

    def test_each_kind_has_an_executor(self):
        executors = execute_registry.executors(
            connection=mock.Mock(), clusters={}
        )
        self.assertEqual(list(registry.BY_KIND), list(executors))
