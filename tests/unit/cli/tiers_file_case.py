# SPDX-License-Identifier: Apache-2.0


"""Commands on a tiers file, run by the real shell against a real Cinder API.

Keystone and Glance are stand-ins; the tiers lie on storage that exists.
"""

import os
import tempfile

import testtools

from tests.unit.cli import shell
from tests.worlds import cinder_api

TIERS = """version: 1
follow_image_types: [image-tier]
tiers:
  database:
    tags: [database]
    priority: 20
    backend: ssd
    overflow: general
    access: [alpha]
    qos: {front_end: {total_iops_sec: 500}}
  general:
    fallback: true
    backend: lvm
"""


class TiersFileTestCase(testtools.TestCase):
    """Has a cloud with the project alpha, and a tiers file.

    `text` is what the file says at first.
    """

    text = TIERS
    #: {text: what Cinder knew once that was applied}; of this process.
    _applied = {}

    def setUp(self):
        super().setUp()
        self.api = cinder_api.CinderApi()
        self.addCleanup(self.api.stop)
        self.api.add_project('a' * 32, 'alpha')
        handle, self.path = tempfile.mkstemp(suffix='.yaml')
        os.close(handle)
        self.addCleanup(os.unlink, self.path)
        self.write(self.text)

    def write(self, text):
        with open(self.path, 'w', encoding='utf-8') as stream:
            stream.write(text)

    def begin_applied(self):
        """Has Cinder, which knows nothing yet, know what `text` declares."""
        if self.text in self._applied:
            self.api.begin_with(self._applied[self.text])
            return
        ran = self.run_tier('apply')
        self.assertEqual(0, ran.status, ran.stderr)
        self._applied[self.text] = self.api.content()

    def run_tier(self, command, *arguments, role='admin', encoding=None):
        return shell.openstack(
            *self.api.arguments_of(role),
            'tier',
            command,
            '--catalog',
            self.path,
            *arguments,
            encoding=encoding,
        )
