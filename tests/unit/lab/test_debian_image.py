# SPDX-License-Identifier: Apache-2.0

import pathlib
import tempfile

import testtools

from lab import debian_image
from lab import layout
from lab.processes import supervisord


class DebianImageTest(testtools.TestCase):
    def test_a_lab_that_does_not_run_is_left_as_it_is(self):
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        lab = layout.load_or_create(pathlib.Path(folder.name) / 'lab', {})
        problem = self.assertRaises(
            supervisord.SupervisorError, debian_image.add, lab
        )
        self.assertIn('start it with devstack/lab.sh up', str(problem))
        self.assertEqual([], list(lab.cache.iterdir()))
