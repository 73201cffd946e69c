# SPDX-License-Identifier: Apache-2.0

"""CRUSH rules of two levels, held against what CRUSH itself maps.

crushtool of Ceph computes mappings without a cluster; where it is installed,
these tests run.
"""

import collections
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import ddt
import testtools

from cinder_tiers.domain.plan import data_movement
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.execute.ceph import crush_map
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import objections
from tests.contract import test_real_crush

GROUPS = 512
#: Of all copies of a pool.
TOLERANCE = 0.06
TIB = 2**40
#: {rule: (failure domain, copies in each, what no two of them share)}, in
#: the order of their ids; the first is there before.
RULES = {
    'by-host': ('host', None, None),
    'by-zone': ('zone', None, None),
    'two-hosts': ('zone', 2, 'host'),
    'two-osds': ('zone', 2, 'osd'),
    'three-hosts': ('zone', 3, 'host'),
}
#: {name: {zone: {host: TiB of each of its OSDs}}}
EVEN = {zone: {f'{zone}{host}': (1, 1) for host in 'abc'} for zone in 'xy'}
CLUSTERS = {
    'two zones': EVEN,
    'three zones': {
        zone: {f'{zone}{host}': (1, 1) for host in 'abc'} for zone in 'xyz'
    },
    'a large zone': {
        'x': {f'x{host}': (1, 1) for host in 'abcdef'},
        'y': EVEN['y'],
    },
    'a large host': {
        'x': {'xa': (4, 4), 'xb': (1, 1)},
        'y': {'ya': (1, 1), 'yb': (1, 1)},
    },
}


def osds_of(cluster):
    """(OSD, TiB) of each."""
    places = [
        (zone, host, size)
        for zone, hosts in cluster.items()
        for host, sizes in hosts.items()
        for size in sizes
    ]
    return [
        (
            ceph_state.Osd(
                osd_id=number,
                device_class='ssd',
                location={
                    'osd': f'osd.{number}',
                    'host': host,
                    'zone': zone,
                    'root': 'default',
                },
            ),
            size,
        )
        for number, (zone, host, size) in enumerate(places)
    ]


def text_of(cluster, rules):
    """The text of a CRUSH map, with the first rules."""
    osds = osds_of(cluster)
    parts = [
        f'tunable {name} {value}'
        for name, value in test_real_crush.TUNABLES.items()
    ]
    parts += [f'device {one.osd_id} osd.{one.osd_id}' for one, _ in osds]
    parts += ['type 0 osd', 'type 1 host', 'type 9 zone', 'type 11 root']
    sizes = {}
    for kind, above in (('host', 'osd'), ('zone', 'host'), ('root', 'zone')):
        names = {}
        for osd, size in osds:
            items = names.setdefault(osd.location[kind], {})
            below = osd.location[above]
            items[below] = items.get(below, 0) + size
        for name, items in names.items():
            sizes[name] = sum(items.values())
            parts.append(
                test_real_crush.bucket(
                    kind,
                    name,
                    -1 if kind == 'root' else -1 - len(sizes) - 1,
                    items,
                )
            )
    for number, name in enumerate(rules):
        parts.append(rule_text(number, name))
    return '\n'.join(parts) + '\n'


def rule_text(number, name):
    domain, each, below = RULES[name]
    chosen = (
        [f'step chooseleaf firstn 0 type {domain}']
        if each is None
        else [
            f'step choose firstn 0 type {domain}',
            f'step choose{"" if below == "osd" else "leaf"} firstn {each} '
            f'type {below}',
        ]
    )
    return '\n'.join(
        [
            f'rule {name} {{',
            f'id {number}',
            'type replicated',
            'min_size 1',
            'max_size 10',
            'step take default',
            *chosen,
            'step emit',
            '}',
        ]
    )


def rule_of(name):
    domain, each, below = RULES[name]
    return ceph_state.CrushRule(
        name=name,
        kind='replicated',
        root='default',
        device_class=None,
        failure_domain=domain,
        replicas_per_failure_domain=each,
        sub_failure_domain=below,
    )


def state_of(cluster, **changes):
    osds = osds_of(cluster)
    return ceph_state.CephState(
        erasure_code_profiles={},
        pools={},
        users={},
        crush_rules={name: rule_of(name) for name in RULES},
        osds=tuple(osd for osd, _ in osds),
        usage=usages.ClusterUsage(
            pools={
                'p': usages.PoolUsage(
                    stored_bytes=TIB,
                    objects=1,
                    max_avail_bytes=0,
                    used_bytes=TIB,
                )
            },
            osds={
                osd.osd_id: usages.OsdUsage(
                    total_bytes=size * TIB, used_bytes=0
                )
                for osd, size in osds
            },
            nearfull_ratio=0.85,
            backfillfull_ratio=0.9,
            full_ratio=0.95,
        ),
    )


@ddt.ddt
@testtools.skipUnless(shutil.which('crushtool'), 'there is no crushtool')
class RealTwoLevelsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def crushtool(self, *arguments):
        return subprocess.run(
            ['crushtool', *arguments],
            check=True,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    def compiled(self, cluster, rules=RULES):
        """The map as Ceph encodes it."""
        text = pathlib.Path(self.folder, 'text')
        text.write_text(text_of(cluster, rules), encoding='ascii')
        self.crushtool('-c', 'text', '-o', 'map')
        return pathlib.Path(self.folder, 'map').read_bytes()

    def text_of(self, compiled):
        """The map as people read it."""
        pathlib.Path(self.folder, 'decompiled').write_bytes(compiled)
        return self.crushtool('-d', 'decompiled')

    def mapped(self, rule, size, *, out=None):
        """The OSDs of each placement group, by the map compiled last."""
        text = self.crushtool(
            *('-i', 'map', '--test', '--rule', str([*RULES].index(rule))),
            *('--num-rep', str(size), '--min-x', '0'),
            *('--max-x', str(GROUPS - 1), '--show-mappings'),
            *(() if out is None else ('--weight', str(out), '0')),
        )
        found = [
            [int(osd) for osd in osds.split(',')]
            for osds in re.findall(r'\[([\d,]+)\]', text)
        ]
        self.assertEqual(GROUPS, len(found))
        return found

    @ddt.data('two-hosts', 'two-osds', 'three-hosts')
    def test_what_apply_adds_is_what_ceph_compiles(self, name):
        names = [*RULES][: [*RULES].index(name)]
        rule = rule_of(name)
        before = self.compiled(EVEN, names)
        wanted = self.compiled(EVEN, [*names, name])
        added = crush_map.with_rule(
            before,
            name,
            [
                crush_map.RulePart(
                    bucket='default',
                    in_each=rule.failure_domain,
                    copies=rule.replicas_per_failure_domain,
                    failure_domain=rule.sub_failure_domain,
                )
            ],
        )
        # As text: Ceph 17 and later write another max_size, and read none.
        self.assertEqual(self.text_of(wanted), self.text_of(added))
        self.assertEqual(len(wanted), len(added))

    @ddt.data(
        ('two zones', 'two-hosts', 4),
        ('two zones', 'three-hosts', 6),
        ('three zones', 'two-hosts', 4),
        ('three zones', 'two-osds', 6),
        ('a large zone', 'two-hosts', 4),
        ('a large host', 'two-osds', 4),
    )
    @ddt.unpack
    def test_copies_are_where_they_should(self, cluster, rule, size):
        cluster = CLUSTERS[cluster]
        self.compiled(cluster)
        wanted = rule_of(rule)
        places = {one.osd_id: one.location for one, _ in osds_of(cluster)}
        each = wanted.replicas_per_failure_domain
        for group in self.mapped(rule, size):
            zones = collections.Counter(places[osd]['zone'] for osd in group)
            self.assertEqual(
                [each] * wanted.failure_domains_for(size), [*zones.values()]
            )
            apart = {places[osd][wanted.sub_failure_domain] for osd in group}
            self.assertEqual(size, len(apart))

    @ddt.data(
        ('two zones', 'two-hosts', 4),
        ('three zones', 'two-hosts', 4),
        ('a large zone', 'two-hosts', 4),
        ('a large zone', 'three-hosts', 6),
        ('a large host', 'two-hosts', 4),
        ('a large zone', 'by-zone', 2),
        ('a large host', 'by-host', 4),
    )
    @ddt.unpack
    def test_each_osd_gets_its_share(self, cluster, rule, size):
        cluster = CLUSTERS[cluster]
        self.compiled(cluster)
        known = state_of(cluster)
        shares = data_movement.shares_of(
            rule_of(rule), osds=known.osds, usage=known.usage, size=size
        )
        self.assertAlmostEqual(1, sum(shares.values()))
        count = collections.Counter(
            osd for group in self.mapped(rule, size) for osd in group
        )
        found = {one: count[one] / GROUPS / size for one in shares}
        for osd, share in shares.items():
            self.assertAlmostEqual(share, found[osd], delta=0.03)

    @ddt.data(
        ('two zones', 'by-host', 'two-hosts', 4, 4),
        ('three zones', 'by-host', 'two-hosts', 4, 4),
        ('three zones', 'by-zone', 'two-hosts', 2, 4),
        ('three zones', 'two-hosts', 'two-osds', 4, 4),
        ('two zones', 'two-hosts', 'by-host', 4, 3),
        ('three zones', 'two-hosts', 'two-hosts', 4, 6),
    )
    @ddt.unpack
    def test_no_more_moves_than_is_said(self, cluster, old, new, size, more):
        cluster = CLUSTERS[cluster]
        self.compiled(cluster)
        moved = [
            len(set(after) - set(before))
            for before, after in zip(
                self.mapped(old, size), self.mapped(new, more), strict=True
            )
        ]
        before = test_real_crush.pool(size, old, GROUPS)
        known = state_of(cluster)
        known.usage.pools['p'] = dataclasses.replace(
            known.usage.pools['p'], used_bytes=size * TIB
        )
        effect, _ = effects.of_pool(
            before,
            dataclasses.replace(before, size=more, crush_rule=new),
            ceph=known,
            earlier={},
        )
        real, said = sum(moved) / GROUPS, effect.bytes_to_move / TIB
        self.assertLessEqual(real, said + TOLERANCE * more)
        if old != new:
            self.assertIn('moves up to', str(effect))

    @ddt.data(
        ('two zones', 'two-hosts', 4),
        ('three zones', 'two-hosts', 4),
        ('a large host', 'two-hosts', 4),
        ('three zones', 'two-osds', 6),
        ('three zones', 'three-hosts', 6),
    )
    @ddt.unpack
    def test_who_gets_the_data_of_an_osd_that_is_out(
        self, cluster, rule, size
    ):
        cluster = CLUSTERS[cluster]
        self.compiled(cluster)
        self.assert_receivers(cluster, rule, size)

    @ddt.data(
        ({'x': 'ab', 'y': 'ab'}, set()),
        ({'x': 'ab', 'y': 'ab', 'z': 'ab'}, set('yz')),
        ({'x': 'abc', 'y': 'ab', 'z': 'ab'}, {'x'}),
    )
    @ddt.unpack
    def test_a_zone_that_has_no_host_left(self, zones, expected):
        cluster = {
            zone: {f'{zone}{host}': (1,) for host in hosts}
            for zone, hosts in zones.items()
        }
        self.compiled(cluster)
        found = self.assert_receivers(cluster, 'two-hosts', 4)
        places = {one.osd_id: one.location for one, _ in osds_of(cluster)}
        self.assertEqual(expected, {places[osd]['zone'] for osd in found})

    def assert_receivers(self, cluster, rule, size):
        """That those are named that get more when OSD 0 is out."""
        places = tuple(one for one, _ in osds_of(cluster))
        facts = cluster_facts.ClusterFacts(
            fsid='f',
            health=cluster_facts.Health(status='HEALTH_OK'),
            flags=frozenset(),
            osds={
                one.osd_id: cluster_facts.OsdStatus(is_up=True, weight=1.0)
                for one in places
            },
            places=places,
            usage=usages.Unknown(reason='not asked'),
            pool_flags={},
            holders=frozenset(),
        )
        named = objections.receivers(
            0,
            cluster_facts.OsdPool(
                name='p', size=size, min_size=2, least=1, rule=rule_of(rule)
            ),
            facts,
        )
        got = {
            osd
            for before, after in zip(
                self.mapped(rule, size),
                self.mapped(rule, size, out=0),
                strict=True,
            )
            for osd in set(after) - set(before)
        }
        self.assertEqual(got, set(named))
        return named
