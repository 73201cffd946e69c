# SPDX-License-Identifier: Apache-2.0

"""The estimate of what moves, held against what CRUSH itself maps.

crushtool of Ceph computes mappings without a cluster; where it is installed,
these tests run.
"""

import dataclasses
import re
import shutil
import subprocess
import tempfile

import ddt
import testtools

from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import ceph as state
from cinder_tiers.domain.state import usage

#: Of all copies of a pool.
TOLERANCE = 0.06
#: Bytes of one copy.
COPY_BYTES = 10**12
#: {rule: (device class, failure domain)}, in the order of their ids.
RULES = {
    'all': (None, 'host'),
    'hdd': ('hdd', 'host'),
    'ssd': ('ssd', 'host'),
    'hdd-by-osd': ('hdd', 'osd'),
}
# The tunables of a new cluster.
TUNABLES = {
    'choose_local_tries': 0,
    'choose_local_fallback_tries': 0,
    'choose_total_tries': 50,
    'chooseleaf_descend_once': 1,
    'chooseleaf_vary_r': 1,
    'chooseleaf_stable': 1,
    'straw_calc_version': 1,
    'allowed_bucket_algs': 54,
}


def bucket(kind, name, ident, items):
    """A bucket as crushtool reads it; items are {name: weight}."""
    return '\n'.join(
        [
            f'{kind} {name} {{',
            f'id {ident}',
            'alg straw2',
            'hash 0',
            *(
                f'item {item} weight {weight:.3f}'
                for item, weight in items.items()
            ),
            '}',
        ]
    )


def crush_map(osds):
    """The text of a CRUSH map."""
    hosts = {}
    for osd in osds:
        hosts.setdefault(osd.location['host'], {})[f'osd.{osd.osd_id}'] = 1
    parts = [f'tunable {name} {value}' for name, value in TUNABLES.items()]
    parts += [
        f'device {osd.osd_id} osd.{osd.osd_id} class {osd.device_class}'
        for osd in osds
    ]
    parts += ['type 0 osd', 'type 1 host', 'type 11 root']
    parts += [
        bucket('host', name, -2 - number, items)
        for number, (name, items) in enumerate(hosts.items())
    ]
    parts.append(
        bucket(
            'root',
            'default',
            -1,
            {name: len(items) for name, items in hosts.items()},
        )
    )
    for ident, (name, (device_class, domain)) in enumerate(RULES.items()):
        of_class = f' class {device_class}' if device_class else ''
        parts.append(
            '\n'.join(
                [
                    f'rule {name} {{',
                    f'id {ident}',
                    'type replicated',
                    'min_size 1',
                    'max_size 10',
                    f'step take default{of_class}',
                    f'step chooseleaf firstn 0 type {domain}',
                    'step emit',
                    '}',
                ]
            )
        )
    return '\n'.join(parts) + '\n'


def cluster(hosts, per_class):
    """A cluster with as many OSDs of each class on each host."""
    places = [
        (f'h{host}', name)
        for host in range(hosts)
        for name in ('hdd', 'ssd')
        for _ in range(per_class)
    ]
    return state.CephState(
        erasure_code_profiles={},
        pools={},
        users={},
        crush_rules={
            name: state.CrushRule(
                name=name,
                kind='replicated',
                root='default',
                device_class=device_class,
                failure_domain=domain,
            )
            for name, (device_class, domain) in RULES.items()
        },
        osds=tuple(
            state.Osd(
                osd_id=number,
                device_class=name,
                location={
                    'osd': f'osd.{number}',
                    'host': host,
                    'root': 'default',
                },
            )
            for number, (host, name) in enumerate(places)
        ),
        usage=usage.ClusterUsage(
            pools={},
            osds={
                number: usage.OsdUsage(
                    total_bytes=100 * COPY_BYTES, used_bytes=0
                )
                for number in range(len(places))
            },
            nearfull_ratio=0.85,
            backfillfull_ratio=0.9,
            full_ratio=0.95,
        ),
    )


def pool(size, rule, pg_num):
    return state.Pool(
        name='p',
        kind='replicated',
        size=size,
        min_size=1,
        pg_num=pg_num,
        pg_autoscale_mode='off',
        crush_rule=rule,
    )


#: (size, rule, pg_num) before and after.
CHANGES = (
    (2, 'all', 512, 2, 'hdd', 512),
    (3, 'hdd', 512, 3, 'all', 512),
    (3, 'hdd', 512, 3, 'ssd', 512),
    (3, 'hdd', 512, 3, 'hdd-by-osd', 512),
    (2, 'hdd-by-osd', 512, 2, 'hdd', 512),
    (3, 'hdd', 256, 3, 'hdd', 1024),
    (2, 'hdd', 1024, 2, 'hdd', 256),
    (2, 'hdd', 512, 3, 'hdd', 512),
    (3, 'hdd', 512, 2, 'hdd', 512),
    (2, 'hdd', 512, 3, 'all', 1024),
    (3, 'hdd-by-osd', 512, 3, 'hdd', 1024),
)


@ddt.ddt
@testtools.skipUnless(shutil.which('crushtool'), 'there is no crushtool')
class RealCrushTestCase(testtools.TestCase):
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

    def mapped(self, size, rule, pg_num):
        """The OSDs of each placement group."""
        text = self.crushtool(
            '-i',
            'map',
            '--test',
            '--rule',
            str([*RULES].index(rule)),
            '--num-rep',
            str(size),
            '--min-x',
            '0',
            '--max-x',
            str(pg_num - 1),
            '--show-mappings',
        )
        found = [
            set(osds.split(',')) for osds in re.findall(r'\[([\d,]+)\]', text)
        ]
        self.assertEqual(pg_num, len(found))
        return found

    @ddt.data((3, 1), (6, 2), (20, 3))
    @ddt.unpack
    def test_the_estimate_is_what_crush_moves(self, hosts, per_class):
        known = cluster(hosts, per_class)
        with open(f'{self.folder}/text', 'w', encoding='ascii') as stream:
            stream.write(crush_map(known.osds))
        self.crushtool('-c', 'text', '-o', 'map')
        for change in CHANGES:
            before, after = change[:3], change[3:]
            real = self.moved(before, after)
            estimate = self.estimate(known, before, after)
            self.assertAlmostEqual(
                real,
                estimate,
                delta=TOLERANCE * max(before[0], after[0]),
                msg=f'{hosts} hosts with {per_class}: {change}',
            )

    def moved(self, before, after):
        """Copies that CRUSH puts where none was, of one of each object.

        A placement group comes from that with its number modulo pg_num.
        """
        old, new = self.mapped(*before), self.mapped(*after)
        groups = max(len(old), len(new))
        return (
            sum(
                len(new[number % len(new)] - old[number % len(old)])
                for number in range(groups)
            )
            / groups
        )

    def estimate(self, known, before, after):
        used = usage.PoolUsage(
            stored_bytes=COPY_BYTES,
            objects=1,
            max_avail_bytes=0,
            used_bytes=before[0] * COPY_BYTES,
        )
        known = dataclasses.replace(
            known, usage=dataclasses.replace(known.usage, pools={'p': used})
        )
        effect, _ = effects.of_pool(
            pool(*before), pool(*after), ceph=known, earlier={}
        )
        return effect.bytes_to_move / COPY_BYTES
