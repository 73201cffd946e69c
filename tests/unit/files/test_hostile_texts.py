# SPDX-License-Identifier: Apache-2.0

"""What the author of a tiers file must not get into other people's texts."""

import json

import ddt
import testtools
import yaml

from cinder_tiers.cli.render import ceph_access
from cinder_tiers.cli.render import owner_fragments
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import backend_config
from cinder_tiers.files.tiers import reader

TEXT = """
version: 1
clusters:
  ceph: {{conf: {conf}}}
tiers:
  database:
    tags: [database]
    fallback: true
    rbd: {{cluster: ceph, pool: p, device_class: ssd, replicated: {{size: 3}}}}
follow_image_types: [{type_name}]
"""
#: A terminal takes U+009B for ESC [; YAML ends a line, and a comment, at the
#: next three; the last two change the order of letters.
STEERING = (
    '\x9b2J',
    '\x85x: y',
    '\u2028x: y',
    '\u2029x: y',
    '\u202e',
    '\u2066',
)


def read(*, conf='/etc/ceph/ceph.conf', type_name='image-tier'):
    return reader.read_text(
        TEXT.format(conf=json.dumps(conf), type_name=json.dumps(type_name)),
        file='tiers.yaml',
    )


@ddt.ddt
class HostileTextsTestCase(testtools.TestCase):
    @ddt.data(*STEERING)
    def test_what_steers_is_in_no_name(self, evil):
        for arguments in (
            {'conf': f'/etc/{evil}.conf'},
            {'type_name': f'a{evil}b'},
            {'type_name': f'{evil}b'},
        ):
            error = self.assertRaises(errors.ProblemsFound, read, **arguments)
            self.assertNotIn(evil[0], str(error))

    @ddt.data('a b', 'Größe', '#', '"', "'", '[x]', 'a: b', '%(a)s', '日本')
    def test_other_names_mean_nothing_to_anybody(self, name):
        catalog = read(conf=f'/etc/{name}.conf', type_name=name)
        for target in owner_fragments.TARGETS:
            text = owner_fragments.text(catalog, target)
            documents = [
                part
                for part in text.split('\n\n')
                if '\n[DEFAULT]' not in part
            ]
            for one in documents:
                list(yaml.safe_load_all(one))
        text = backend_config.cinder_conf(
            backend_config.backends(
                catalog, default_conf='/x', secret_uuid=None
            )
        )
        self.assertIn(f'\ndefault_volume_type = {name}\n', text)
        self.assertIn(f'\nrbd_ceph_conf = /etc/{name}.conf\n', text)
        for target in ceph_access.TARGETS:
            for line in ceph_access.commands(catalog, target).splitlines():
                self.assertTrue(line.isprintable(), line)
