# SPDX-License-Identifier: Apache-2.0

"""Who reaches the backends of tiers, by which volume type."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given

US = frozenset({'us'})
POOLS = tuple(
    backends.Backend(
        name=f'node@{name}#{name}', capabilities={'volume_backend_name': name}
    )
    for name in ('ssd', 'hdd', 'vip', 'tape')
)


@ddt.ddt
class AuditReachTestCase(testtools.TestCase):
    def findings(self, backends=POOLS, projects=None, **specs):
        """{aspect: finding} of a type `other` beside three tiers."""
        tiers = [
            given.other_tier(name, backend_name=backend, priority=number)
            for number, (name, backend) in enumerate(
                (('one', 'ssd'), ('two', 'hdd'), ('vip', 'vip'))
            )
        ]
        tiers[0] = dataclasses.replace(tiers[0], fallback=True)
        tiers[2] = dataclasses.replace(tiers[2], access=('us',))
        catalog = given.of(*tiers)
        types = {
            one.name: volume_type_kind.volume_type_of(
                one, projects=US if one.access else frozenset()
            )
            for one in tiers
        }
        types['other'] = cinder_state.VolumeType(
            name='other',
            is_public=projects is None,
            projects=projects or frozenset(),
            extra_specs={
                key.replace('__', ':'): value for key, value in specs.items()
            },
        )
        cinder = cinder_state.CinderState(
            volume_types=types,
            qos_specs={
                'limits': cinder_state.QosSpec(
                    name='limits',
                    consumer='front-end',
                    specs={'total_iops_sec': '500'},
                    volume_types=frozenset({'one'}),
                )
            },
            quotas={'two': cinder_state.TypeQuota(name='two', volumes=5)},
        )
        return {
            one.aspect: one
            for one in audit.audit(
                catalog=catalog,
                observed=audit.Observed(
                    cinder=cinder,
                    projects={'us': US},
                    ceph={},
                    backends=backends,
                ),
            )
            if one.object_name == 'volume type other'
        }

    @ddt.data(POOLS, None, audit.Unread(reason='closed'))
    def test_a_public_type_is_one_warning_for_all_tiers(self, known):
        (found,) = self.findings(known).values()
        self.assertEqual(
            (audit.State.WARNING, 'other volume types', None),
            (found.state, found.aspect, found.tier),
        )
        self.assertEqual(
            {
                'tier one': 'without QoS (total_iops_sec=500)',
                'tier two': 'without quota',
            },
            found.current,
        )
        self.assertIn('backends of tiers one, two and', found.reason)
        self.assertIn('--is-public False', found.remedy)

    @ddt.data(
        {'volume_backend_name': 'tape'},
        {'projects': frozenset({'them'}), 'volume_backend_name': 'ssd'},
        {'tiers__follow_image': '<is> True'},
        {'Volume_Backend_Name': 'ssd'},
    )
    def test_none_of_a_type_that_leads_elsewhere(self, parts):
        self.assertNotIn('other volume types', self.findings(**parts))

    @ddt.data(
        (None, 'all projects'),
        (frozenset({'us', 'them'}), 'projects them, us'),
    )
    @ddt.unpack
    def test_who_reaches_a_private_pool(self, projects, who):
        found = self.findings(
            projects=projects, volume_backend_name='<or> vip <or> tape'
        )['reach']
        self.assertEqual(audit.State.WARNING, found.state)
        self.assertEqual({'backend node@vip#vip': who}, found.current)
        self.assertEqual(
            {'backend node@vip#vip': 'projects us (tier vip)'}, found.expected
        )

    def test_not_those_who_may_use_the_tier(self):
        self.assertEqual(
            {}, self.findings(projects=US, volume_backend_name='vip')
        )

    @ddt.data({}, {'multiattach': '<is> True'}, {'pool_name': '<in> v'})
    def test_a_tier_that_names_no_backend(self, specs):
        found = self.findings(tiers__name='other', **specs)
        self.assertEqual(audit.State.NON_COMPLIANT, found['tier'].state)
        self.assertIn(
            "it is left out of the tiers: volume type 'other' of tier 'other' "
            'names no backend',
            found['tier'].reason,
        )
        self.assertNotIn('reach', found)
