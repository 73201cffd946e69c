# SPDX-License-Identifier: Apache-2.0

"""A Ceph cluster in memory, as far as faults ask and change it.

Answers have the keys that Ceph 18 has. Like Ceph, it lets an OSD that is down
come up when nothing keeps it down, and it takes some looks at `status` until
it is healthy again.
"""

import errno
import types

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs

FSID = '8c5d6bb0-9d6c-4f0e-8f43-2f6a3a9f6f1e'
WRITES = frozenset(
    (
        'osd down',
        'osd in',
        'osd out',
        'osd pool deep-scrub',
        'osd set-group',
        'osd unset-group',
    )
)
GIB_KB = 2**20


class Killed(BaseException):
    """Stands for SIGKILL: nothing that catches errors stops it."""


class Cluster:
    """A session with it.

    :param hosts: of each OSD, by its id.
    :param left: writes that are let through; None: all. The next one is done
        and its process ends.
    """

    def __init__(self, hosts='abcd', *, size=3, min_size=2, left=None):
        self.cluster = catalogs.Cluster(name='ceph')
        self.hosts = hosts
        self.osds = {
            osd_id: types.SimpleNamespace(
                up=True, weight=1.0, flags=set(), used_gib=10, total_gib=100
            )
            for osd_id in range(len(hosts))
        }
        self.pools = [
            {
                'pool': 1,
                'pool_name': 'tier-a',
                'type': 1,
                'size': size,
                'min_size': min_size,
                'crush_rule': 0,
                'erasure_code_profile': '',
                'flags_names': 'hashpspool',
            }
        ]
        self.flags = 'sortbitwise,recovery_deletes'
        self.upmaps = []
        self.checks = set()
        self.scrubs = 0
        #: Looks at `status` that are not healthy after an OSD is back.
        self.recovery_looks = 2
        self.recovering = 0
        self.left = left
        self.written = []
        #: Prefixes of commands that do not answer.
        self.silent = set()
        self.is_broken = False
        self.refuses_to_stop = False

    @property
    def state(self):
        """All that faults change."""
        return {
            osd_id: (osd.up, osd.weight, frozenset(osd.flags))
            for osd_id, osd in self.osds.items()
        }

    def command(self, prefix, **arguments):
        """Run a command of a monitor."""
        if prefix in self.silent:
            raise ceph_session.errors.Unreachable(
                f'Ceph cluster did not answer "{prefix}"'
            )
        method = getattr(
            self, '_' + prefix.replace(' ', '_').replace('-', '_')
        )
        answer = method(**arguments)
        if prefix in WRITES:
            self.written.append((prefix, arguments))
            if self.left is not None and len(self.written) > self.left:
                raise Killed(prefix)
        return answer

    # What changes it.

    def _osd_out(self, ids):
        for one in ids:
            self.osds[int(one)].weight = 0.0

    def _osd_in(self, ids):
        for one in ids:
            self.osds[int(one)].weight = 1.0
        self.recovering = self.recovery_looks

    def _osd_down(self, ids):
        for one in ids:
            osd = self.osds[int(one)]
            osd.up = 'noup' not in osd.flags

    def _osd_set_group(self, flags, who):
        for one in who:
            self.osds[int(one.removeprefix('osd.'))].flags |= set(
                flags.split(',')
            )

    def _osd_unset_group(self, flags, who):
        for one in who:
            osd = self.osds[int(one.removeprefix('osd.'))]
            osd.flags -= set(flags.split(','))
            osd.up = not self.is_broken
        self.recovering = self.recovery_looks

    def _osd_pool_deep_scrub(self, who):
        assert who == ['tier-a']
        self.scrubs += 1

    # What only reads.

    def _status(self):
        checks = set(self.checks)
        for osd in self.osds.values():
            if not osd.up:
                checks.add('OSD_DOWN')
            if osd.flags:
                checks.add('OSD_FLAGS')
        states = [{'state_name': 'active+clean', 'count': 7}]
        if any(osd.weight == 0 for osd in self.osds.values()) or (
            self.recovering
        ):
            states.append({'state_name': 'active+remapped', 'count': 1})
            self.recovering = max(0, self.recovering - 1)
        else:
            states.append(
                {'state_name': 'active+clean+scrubbing+deep', 'count': 1}
            )
        return {
            'health': {
                'status': 'HEALTH_WARN' if checks else 'HEALTH_OK',
                'checks': {name: {} for name in checks},
            },
            'pgmap': {'pgs_by_state': states},
        }

    def _osd_dump(self):
        return {
            'fsid': FSID,
            'flags': self.flags,
            'nearfull_ratio': 0.85,
            'backfillfull_ratio': 0.9,
            'full_ratio': 0.95,
            'pools': self.pools,
            'pg_upmap': [],
            'pg_upmap_items': self.upmaps,
            'osds': [
                {
                    'osd': osd_id,
                    'up': int(osd.up),
                    'in': int(osd.weight > 0),
                    'weight': osd.weight,
                    'state': ['exists', *sorted(osd.flags)],
                }
                for osd_id, osd in self.osds.items()
            ],
        }

    def _osd_tree(self):
        hosts = sorted(set(self.hosts))
        return {
            'nodes': [
                {
                    'id': -1,
                    'name': 'default',
                    'type': 'root',
                    'children': [-2 - n for n in range(len(hosts))],
                },
                *(
                    {
                        'id': -2 - number,
                        'name': host,
                        'type': 'host',
                        'children': [
                            osd_id
                            for osd_id, its in enumerate(self.hosts)
                            if its == host
                        ],
                    }
                    for number, host in enumerate(hosts)
                ),
                *(
                    {
                        'id': osd_id,
                        'name': f'osd.{osd_id}',
                        'type': 'osd',
                        'device_class': 'hdd',
                        'primary_affinity': 1.0,
                        'crush_weight': 1.0,
                        'exists': 1,
                        'status': 'up',
                        'reweight': 1,
                    }
                    for osd_id in self.osds
                ),
            ],
            'stray': [],
        }

    def _osd_crush_rule_dump(self):
        return [
            {
                'rule_id': 0,
                'rule_name': 'tier-a',
                'type': 1,
                'steps': [
                    {'op': 'take', 'item_name': 'default~hdd'},
                    {'op': 'chooseleaf_firstn', 'num': 0, 'type': 'host'},
                    {'op': 'emit'},
                ],
            }
        ]

    def _osd_df(self):
        return {
            'nodes': [
                {
                    'id': osd_id,
                    'type': 'osd',
                    'kb': osd.total_gib * GIB_KB,
                    'kb_used': osd.used_gib * GIB_KB,
                }
                for osd_id, osd in self.osds.items()
            ],
            'stray': [],
        }

    def _df(self, detail):
        return {
            'pools': [
                {
                    'name': one['pool_name'],
                    'stats': {
                        'stored': 0,
                        'objects': 0,
                        'bytes_used': 0,
                        'max_avail': 0,
                    },
                }
                for one in self.pools
            ]
        }

    def _groups(self):
        return {
            'pg_ready': True,
            'pg_stats': [
                {
                    'pgid': f'1.{number}',
                    'up': list(self.osds)[:3],
                    'acting': [*list(self.osds)[:2], 2147483647],
                    'last_deep_scrub_stamp': f'2026-11-24 {self.scrubs}',
                }
                for number in range(8)
            ],
        }

    def _pg_ls_by_pool(self, poolstr):
        assert poolstr == 'tier-a'
        return self._groups()

    def _pg_ls_by_osd(self, osd):
        assert isinstance(osd, int)
        return self._groups()

    def _osd_ok_to_stop(self, ids):
        assert all(isinstance(one, str) for one in ids)
        if self.refuses_to_stop:
            raise ceph_session.CephRefused(
                '8 PGs are already too degraded', errno=errno.EBUSY
            )
        return {'ok_to_stop': True, 'osds': [int(one) for one in ids]}

    def _osd_erasure_code_profile_get(self, name):
        return {'k': '2', 'm': '1', 'plugin': 'isa'}
