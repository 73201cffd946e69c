# SPDX-License-Identifier: Apache-2.0

"""Why an export leaves something out, and which type a pool goes to."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain.export import test_catalog


def exported(*types, rule=None, **changes):
    known = test_catalog.cloud(*types, **changes)
    (one,) = known.clusters
    if rule is not None:
        one = dataclasses.replace(
            one,
            ceph=dataclasses.replace(
                one.ceph,
                crush_rules={**one.ceph.crush_rules, rule.name: rule},
            ),
        )
    return export.export(dataclasses.replace(known, clusters=(one,)))


def said(result):
    return '\n'.join(one.text for one in result.remarks)


@ddt.ddt
class SharedPoolTestCase(testtools.TestCase):
    @ddt.data(
        {
            'encryptions': [
                cinder_state.TypeEncryption(
                    name='enc',
                    provider='luks',
                    cipher='aes-xts-plain64',
                    key_size_bits=256,
                    control_location='front-end',
                )
            ]
        },
        {},
    )
    def test_a_pool_goes_to_the_plainest_of_its_types(self, changes):
        result = exported(
            test_catalog.volume_type('gold'),
            test_catalog.volume_type(
                'enc',
                specs={} if changes else {'multiattach': '<is> True'},
            ),
            test_catalog.volume_type(
                'repl', specs={'replication_enabled': '<is> True'}
            ),
            **changes,
        )
        self.assertEqual(
            ['gold'],
            [one.name for one in result.catalog.tiers if one.rbd],
        )
        self.assertIn(
            'belongs to tier gold; to give it to tier enc instead, move the '
            'key rbd of gold to it',
            said(result),
        )


class SickPoolTestCase(testtools.TestCase):
    def test_a_pool_without_io_is_exported_without_its_rbd_options(self):
        sick = test_catalog.pool(rbd_options_unread='no I/O')
        result = exported(test_catalog.volume_type(), pools=(sick,))
        self.assertIsNotNone(result.catalog.tiers[0].rbd, said(result))
        self.assertIn(
            'the RBD options of pool volumes are not known, and stay as they '
            'are: no I/O',
            said(result),
        )

    def test_its_data_may_be_in_an_erasure_coded_pool(self):
        sick = test_catalog.pool(rbd_options_unread='no I/O')
        coded = test_catalog.pool(name='coded', kind='erasure')
        result = exported(test_catalog.volume_type(), pools=(sick, coded))
        self.assertIsNone(result.catalog.tiers[0].rbd)
        self.assertIn('in one of coded could not be read', said(result))
        self.assertIn('gold', result.undetermined)
