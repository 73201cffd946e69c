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


@ddt.ddt
class NamesBackendTestCase(testtools.TestCase):
    """What an extra spec names, by Cinder's own matching."""

    @ddt.data(
        {'volume_backend_name': 'ssd'},
        {'volume_backend_name': '<or> ssd <or> hdd'},
        {'capabilities:volume_backend_name': 's== ssd'},
        {'pool_name': 'ssd', 'multiattach': '<is> True'},
    )
    def test_a_name(self, specs):
        self.assertTrue(backends.names_backend(specs))
        self.assertTrue(backends.selects_backends(specs))

    @ddt.data(
        {'vendor_name': 'x'},
        {'capabilities:disk:type': 'ssd'},
        {'ssd': '<is> True', 'volume_backend_name': '<in> s'},
    )
    def test_a_value_is_no_name(self, specs):
        self.assertFalse(backends.names_backend(specs))
        self.assertTrue(backends.selects_backends(specs))

    @ddt.data(
        {},
        {'tiers:name': 'ssd', 'tiers:volume_backend_name': 'ssd'},
        {'volume_backend_name': ''},
        {'volume_backend_name': ' '},
        {'volume_backend_name': None},
        {'volume_backend_name': '<or>'},
        {'volume_backend_name': '<in> ssd'},
        {'volume_backend_name': 's!= hdd'},
        {'volume_backend_name': '!= 1'},
        {'volume_backend_name': 's>= a'},
        {'volume_backend_name': 's=='},
        {'pool_name': '<is> False'},
        {'Volume_Backend_Name': 'ssd'},
        {'volume_backend': 'ssd'},
        {'volume_backend_names': 'ssd'},
        {'capability:volume_backend_name': 'ssd'},
        {'hp3par:pool_name': 'ssd'},
        {'multiattach': '<is> True'},
        {'thin_provisioning_support': 'True'},
        {'free_capacity_gb': '>= 1'},
        {'RESKEY:availability_zones': 'nova'},
    )
    def test_neither(self, specs):
        self.assertFalse(backends.names_backend(specs))
        self.assertFalse(backends.selects_backends(specs))
