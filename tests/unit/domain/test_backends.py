# SPDX-License-Identifier: Apache-2.0

"""Which backends serve a volume type."""

import ddt
import testtools

from cinder_tiers.domain.placement import backends


def backend(**capabilities):
    return backends.Backend(name='node@a#a', capabilities=capabilities)


@ddt.ddt
class FindMismatchTestCase(testtools.TestCase):
    @ddt.data(
        ({}, {}),
        ({'volume_backend_name': 'a'}, {'volume_backend_name': 'a'}),
        (
            {'volume_backend_name': '<or> b <or> a'},
            {'volume_backend_name': 'a'},
        ),
        ({'multiattach': '<is> True'}, {'multiattach': True}),
        ({'capabilities:disk:rpm': '>= 7200'}, {'disk': {'rpm': 15000}}),
        ({'protocol': 'iscsi'}, {'protocol': ['ceph', 'iscsi']}),
        ({'tiers:name': 'x', 'RESKEY:availability_zones': 'y'}, {}),
    )
    @ddt.unpack
    def test_what_is_met(self, specs, capabilities):
        self.assertIsNone(
            backends.find_mismatch(backend(**capabilities), specs)
        )

    @ddt.data(
        (
            {'volume_backend_name': 'b'},
            {'volume_backend_name': 'a'},
            'volume_backend_name is a, expected b',
        ),
        (
            {'volume_backend_name': '<or> b <or> c'},
            {'volume_backend_name': 'a'},
            'volume_backend_name is a, expected <or> b <or> c',
        ),
        (
            {'multiattach': '<is> True'},
            {},
            'multiattach is not reported, expected <is> True',
        ),
        (
            {'capabilities:disk:rpm': '>= 7200'},
            {'disk': 'none'},
            'capabilities:disk:rpm is not reported, expected >= 7200',
        ),
        ({'a': '1', 'b': '2'}, {}, 'a is not reported, expected 1'),
    )
    @ddt.unpack
    def test_what_is_not_met_is_named(self, specs, capabilities, text):
        self.assertEqual(
            text, str(backends.find_mismatch(backend(**capabilities), specs))
        )
