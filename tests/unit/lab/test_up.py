# SPDX-License-Identifier: Apache-2.0
"""What the stages of the lab wait for."""

import pathlib
import tempfile

import testtools

from lab import layout
from lab import stages
from lab import up


class StagesTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.lab = layout.load_or_create(pathlib.Path(folder.name) / 'lab', {})

    def needs(self, name):
        """Names of all stages that a stage waits for."""
        found = stages.needed_for(up.all_stages(self.lab), name)
        return {stage.name for stage in found} - {name}

    def test_nova_knows_its_host_before_the_guest_image_is_built(self):
        self.assertIn('nova-compute', self.needs('compute-host'))
        self.assertNotIn('guest-image', self.needs('compute-host'))

    def test_the_cloud_is_ready_when_nova_runs_guests_as_it_will(self):
        self.assertEqual(
            set(),
            {'virt-type', 'accelerator', 'guest-image', 'compute-host'}
            - self.needs('cloud'),
        )
