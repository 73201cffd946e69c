# SPDX-License-Identifier: Apache-2.0

"""The record of a repair, on a disk that is full."""

import os
import resource

from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import recording
from tests.unit.loop.repair import test_order
from tests.unit.loop.repair import test_repair as cases


class RecordingTestCase(test_order.OrdersCase):
    def setUp(self):
        super().setUp()
        self.said = []
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(self.fill, False)

    def fill(self, is_full):
        """Let files have no bytes, or as many as before."""
        soft, hard = self.before
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (0 if is_full else soft, hard)
        )

    def record(self):
        return recording.recorded(
            self.path,
            cloud='cloud',
            steps=test_order.planned(test_order.listed(cases.FORMER)),
            tell=self.said.append,
        )

    def files(self):
        folder, name = os.path.split(self.path)
        return [one for one in os.listdir(folder) if name in one]

    def test_nothing_is_begun_without_a_record(self):
        self.fill(True)
        error = self.assertRaises(errors.TiersError, self.record().__enter__)
        self.fill(False)
        self.assertIn(f'{self.path} cannot be written', str(error))
        self.assertEqual([], self.files())

    def test_a_record_of_the_begin_stays_if_the_end_cannot_be_written(self):
        with self.record():
            begun = order_file.read(self.path)
            self.fill(True)
        self.fill(False)
        (said,) = self.said
        self.assertIn(f'{self.path} cannot be written: File too large', said)
        self.assertIn('--undo', said)
        self.assertEqual(begun, order_file.read(self.path))
        self.assertEqual([os.path.basename(self.path)], self.files())
