# SPDX-License-Identifier: Apache-2.0

"""A Ceph cluster in memory whose objects lie on OSDs.

It takes the commands that `observe` and `execute` send, as a session does, and
answers in Ceph's form. What came of a command is not judged by the command,
but by what became of the objects: where their copies lie, with how many of
them a write is acknowledged, and whether clients are served, now and with one
host less. So it needs no list of what is harmful, and has none of the product.

It stands for Ceph 16.2.15 without caches and without options of OSDs. Objects
are placed as CRUSH does it, in so far as only what a rule, a size or a number
of placement groups changes moves them; the hash is another one.
"""

import dataclasses
import errno
import itertools
import uuid
import zlib

from cinder_tiers.clients import ceph as ceph_session

REPLICATED, ERASURE = 1, 3
GIB = 2**30
#: A quota of that is none.
NO_QUOTA = 0
#: Values that Ceph shows as numbers.
_NUMBERS = {
    'pg_autoscale_bias',
    'pg_num_max',
    'pg_num_min',
    'target_size_bytes',
    'target_size_ratio',
}
#: {what Ceph calls it: attribute of a pool}
_ATTRIBUTES = {
    'crush_rule': 'rule',
    'pg_autoscale_mode': 'autoscale_mode',
}
#: What a pool may have beside its shape.
_FLAGS = {'bulk', 'nopgchange', 'noscrub', 'nosizechange'}


def draw_number(*words):
    """A number that is always the same for the same words."""
    return zlib.crc32('/'.join(map(str, words)).encode())


@dataclasses.dataclass
class Rule:
    """A CRUSH rule."""

    ident: int
    kind: int
    device_class: str | None
    failure_domain: str

    def dumped(self, name):
        """As `osd crush rule dump` has it."""
        of_class = f'~{self.device_class}' if self.device_class else ''
        ways = 'firstn' if self.kind == REPLICATED else 'indep'
        op = 'choose' if self.failure_domain == 'osd' else 'chooseleaf'
        return {
            'rule_id': self.ident,
            'rule_name': name,
            'type': self.kind,
            'steps': [
                {'op': 'take', 'item_name': f'default{of_class}'},
                {
                    'op': f'{op}_{ways}',
                    'num': 0,
                    'type': self.failure_domain,
                },
                {'op': 'emit'},
            ],
        }


@dataclasses.dataclass
class Pool:
    """A pool, and the names of its objects."""

    ident: int
    kind: int
    size: int
    min_size: int
    pg_num: int
    autoscale_mode: str
    rule: str
    profile: str = ''
    stripe_width: int = 0
    applications: dict = dataclasses.field(default_factory=dict)
    flags: set = dataclasses.field(default_factory=set)
    options: dict = dataclasses.field(default_factory=dict)
    quota_max_bytes: int = NO_QUOTA
    quota_max_objects: int = NO_QUOTA
    rbd_options: dict = dataclasses.field(default_factory=dict)
    #: Whether another service has made it, and uses it.
    of_others: bool = False
    objects: set = dataclasses.field(default_factory=set)

    @property
    def stored_bytes(self):
        """A GiB for each object."""
        return len(self.objects) * GIB

    def dumped(self, name, rules):
        """As `osd pool ls detail` has it."""
        return {
            'pool_id': self.ident,
            'pool_name': name,
            'type': self.kind,
            'size': self.size,
            'min_size': self.min_size,
            'pg_num': self.pg_num,
            'pg_autoscale_mode': self.autoscale_mode,
            'crush_rule': rules[self.rule].ident,
            'erasure_code_profile': self.profile,
            'stripe_width': self.stripe_width,
            'application_metadata': self.applications,
            'flags_names': ','.join(sorted({'hashpspool', *self.flags})),
            'fast_read': False,
            'quota_max_bytes': self.quota_max_bytes,
            'quota_max_objects': self.quota_max_objects,
            'options': {
                key: float(value) if key in _NUMBERS else value
                for key, value in self.options.items()
            },
            'tiers': [],
            'tier_of': -1,
            'read_tier': -1,
            'cache_mode': 'none',
        }


@dataclasses.dataclass(frozen=True)
class Sight:
    """What became of the data of a cluster, at one moment.

    Each is {pool: value}, of pools that hold objects.
    """

    #: {object: OSDs with a copy or chunk of it}
    copies: dict
    #: Copies or chunks of a write that are stored when it is acknowledged.
    acknowledged_with: dict
    #: {hosts that are down beside those that are: whether clients are served}
    served: dict
    #: {pool of another service: all that it is}
    of_others: dict
    #: {(user, daemon, grant)}
    grants: frozenset

    def harm_done(self, after):
        """What a later sight shows to have become worse.

        :returns: {(pool or user, what)}.
        """
        found = set()
        for pool, copies in self.copies.items():
            now = after.copies.get(pool, {})
            if any(now.get(one, set()) - old for one, old in copies.items()):
                found.add((pool, 'data moved'))
            if any(
                len(now.get(one, ())) < len(old) for one, old in copies.items()
            ):
                found.add((pool, 'copies lost'))
            if (
                after.acknowledged_with.get(pool, 0)
                < self.acknowledged_with[pool]
            ):
                found.add((pool, 'writes are acknowledged with fewer copies'))
            if any(
                was and not after.served.get(pool, {}).get(down, False)
                for down, was in self.served[pool].items()
            ):
                found.add((pool, 'I/O stopped'))
        for pool, settings in self.of_others.items():
            if after.of_others.get(pool, settings) != settings:
                found.add((pool, 'the pool of others has other settings'))
        for user, daemon, grant in self.grants - after.grants:
            found.add((user, f'lost {daemon} {grant}'))
        return found


class Cluster:
    """The session, and the cluster behind it.

    :param cluster: as the catalog declares it.
    :param hosts: {name: device classes of its OSDs}.
    """

    def __init__(self, cluster, hosts):
        self.cluster = cluster
        self.osds = [
            (number, host, device_class)
            for number, (host, device_class) in enumerate(
                (host, one)
                for host, classes in hosts.items()
                for one in classes
            )
        ]
        self.fsid = str(uuid.uuid5(uuid.NAMESPACE_DNS, cluster.name))
        self.rules = {'replicated_rule': Rule(0, REPLICATED, None, 'host')}
        self.profiles = {}
        self.pools = {}
        self.users = {}
        #: Hosts that are down.
        self.down = set()
        self.affinities = {}
        self._idents = itertools.count(1)

    # What became of the objects.

    def _places(self, pool, group):
        """The OSDs of a placement group, one in each failure domain."""
        rule = self.rules[pool.rule]
        domains = {}
        for number, host, device_class in self.osds:
            if rule.device_class in (None, device_class):
                domain = number if rule.failure_domain == 'osd' else host
                domains.setdefault(domain, []).append(number)
        chosen = sorted(
            domains,
            key=lambda domain: draw_number(pool.ident, group, 'in', domain),
        )[: pool.size]
        return frozenset(
            min(
                domains[domain],
                key=lambda osd: draw_number(pool.ident, group, 'on', osd),
            )
            for domain in chosen
        )

    def _copies(self, pool):
        return {
            one: self._places(pool, draw_number(one) % pool.pg_num)
            for one in pool.objects
        }

    def _is_served(self, pool, down):
        """Whether clients can write to each object, and one more."""
        if (
            0 < pool.quota_max_bytes <= pool.stored_bytes
            or 0 < pool.quota_max_objects <= len(pool.objects)
        ):
            return False
        lost = {number for number, host, _ in self.osds if host in down}
        return all(
            len(self._places(pool, group) - lost) >= pool.min_size
            for group in range(pool.pg_num)
        )

    def look(self):
        """What became of the data."""
        held = {name: one for name, one in self.pools.items() if one.objects}
        hosts = sorted({host for _, host, _ in self.osds})
        return Sight(
            copies={name: self._copies(one) for name, one in held.items()},
            acknowledged_with={
                name: one.min_size for name, one in held.items()
            },
            served={
                name: {
                    more: self._is_served(one, self.down | set(more))
                    for more in ((), *((host,) for host in hosts))
                }
                for name, one in held.items()
            },
            of_others={
                name: str(one) for name, one in held.items() if one.of_others
            },
            grants=frozenset(
                (user, daemon, ' '.join(grant.split()))
                for user, caps in self.users.items()
                for daemon, text in caps.items()
                for grant in text.split(',')
            ),
        )

    # What others do.

    def make_pool(self, name, *, size=3, applications=('rbd',), **fields):
        """A pool that no tiers file made."""
        self.pools[name] = Pool(
            ident=next(self._idents),
            kind=REPLICATED,
            size=size,
            min_size=fields.pop('min_size', size - size // 2),
            pg_num=fields.pop('pg_num', 8),
            autoscale_mode=fields.pop('autoscale_mode', 'off'),
            rule=fields.pop('rule', 'replicated_rule'),
            applications={one: {} for one in applications},
            **fields,
        )
        self.settle()

    def make_rule(self, name, device_class):
        """A rule with a copy on each host."""
        self.rules[name] = Rule(
            next(self._idents), REPLICATED, device_class, 'host'
        )

    def settle(self):
        """What the module pg_autoscaler does, some time later."""
        for pool in self.pools.values():
            if pool.autoscale_mode != 'on' or 'nopgchange' in pool.flags:
                continue
            groups = 32 if 'bulk' in pool.flags else 8
            if 'target_size_ratio' in pool.options:
                groups = 16
            if 'target_size_bytes' in pool.options:
                groups = 16
            groups *= int(float(pool.options.get('pg_autoscale_bias', 1)))
            groups = max(groups, int(float(pool.options.get('pg_num_min', 1))))
            pool.pg_num = groups

    # The session.

    def command(self, prefix, **arguments):
        """Answers a command of the monitors."""
        method = getattr(
            self, '_' + prefix.replace(' ', '_').replace('-', '_')
        )
        answer = method(**arguments)
        self.settle()
        return answer

    def rbd_options(self, pool):
        """`rbd config pool list`."""
        return dict(self.pools[pool].rbd_options)

    def set_rbd_option(self, pool, option, value):
        """`rbd config pool set`."""
        self.pools[pool].rbd_options[option] = value

    @staticmethod
    def _refuse(code, said):
        raise ceph_session.CephRefused(said, errno=code)

    def _config_get(self, who, key):
        return {'mon_max_pg_per_osd': 250}[key]

    def _config_dump(self):
        return []

    def _mon_dump(self):
        return {'fsid': self.fsid, 'min_mon_release': 16}

    def _mon_metadata(self):
        return [{'name': 'a'}]

    def _osd_tree(self):
        hosts = sorted({host for _, host, _ in self.osds})
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
                            osd for osd, where, _ in self.osds if where == host
                        ],
                    }
                    for number, host in enumerate(hosts)
                ),
                *(
                    {
                        'id': osd,
                        'name': f'osd.{osd}',
                        'type': 'osd',
                        'device_class': device_class,
                        'crush_weight': 1.0,
                        'exists': 1,
                        'status': 'up',
                        'reweight': 1,
                        'primary_affinity': self.affinities.get(osd, 1),
                    }
                    for osd, _, device_class in self.osds
                ),
            ],
            'stray': [],
        }

    def _osd_df(self):
        return {
            'nodes': [
                {'id': osd, 'type': 'osd', 'kb': 2**32, 'kb_used': 2**20}
                for osd, _, _ in self.osds
            ],
            'stray': [],
        }

    def _osd_dump(self):
        return {
            'nearfull_ratio': 0.85,
            'backfillfull_ratio': 0.9,
            'full_ratio': 0.95,
            'pools': [{'pool_name': name} for name in self.pools],
        }

    def _df(self, detail=None):
        return {
            'pools': [
                {
                    'name': name,
                    'stats': {
                        'stored': pool.stored_bytes,
                        'objects': len(pool.objects),
                        'bytes_used': pool.stored_bytes * pool.size,
                        'max_avail': 2**50,
                    },
                }
                for name, pool in self.pools.items()
            ]
        }

    def _osd_crush_rule_dump(self, name=None):
        found = [rule.dumped(one) for one, rule in self.rules.items()]
        if name is None:
            return found
        if name not in self.rules:
            self._refuse(errno.ENOENT, f'unknown crush rule {name!r}')
        return self.rules[name].dumped(name)

    def _osd_crush_rule_create_replicated(self, name, root, type, class_=None):
        if not any(class_ in (None, one) for _, _, one in self.osds):
            self._refuse(errno.EINVAL, f'device class {class_} does not exist')
        self.rules.setdefault(
            name, Rule(next(self._idents), REPLICATED, class_, type)
        )

    def _osd_crush_rule_create_erasure(self, name, profile):
        of = self.profiles[profile]
        self.rules.setdefault(
            name,
            Rule(
                next(self._idents),
                ERASURE,
                of.get('crush-device-class'),
                of['crush-failure-domain'],
            ),
        )

    def _osd_erasure_code_profile_get(self, name):
        if name not in self.profiles:
            self._refuse(
                errno.ENOENT, f'unknown erasure code profile {name!r}'
            )
        return dict(self.profiles[name])

    def _osd_erasure_code_profile_set(self, name, profile):
        self.profiles[name] = {
            'plugin': 'jerasure',
            'technique': 'reed_sol_van',
            **dict(one.split('=', 1) for one in profile),
        }

    def _osd_pool_ls(self, detail):
        return [
            one.dumped(name, self.rules) for name, one in self.pools.items()
        ]

    def _osd_pool_create(
        self,
        pool,
        pool_type,
        rule,
        pg_num=None,
        pgp_num=None,
        autoscale_mode='on',
        erasure_code_profile='',
        size=3,
    ):
        if pool in self.pools:
            return
        # Ceph chooses a min_size (OSDMonitor::prepare_pool_size).
        kind, min_size, stripe_width = REPLICATED, size - size // 2, 0
        if pool_type == 'erasure':
            profile = self.profiles[erasure_code_profile]
            chunks, more = int(profile['k']), int(profile['m'])
            kind, size = ERASURE, chunks + more
            min_size = chunks + min(1, more - 1)
            stripe_width = chunks * int(profile.get('stripe_unit', 4096))
        self.pools[pool] = Pool(
            ident=next(self._idents),
            kind=kind,
            size=size,
            min_size=min_size,
            pg_num=pg_num or 8,
            autoscale_mode=autoscale_mode,
            rule=rule,
            profile=erasure_code_profile,
            stripe_width=stripe_width,
        )

    def _osd_pool_rename(self, srcpool, destpool):
        if destpool in self.pools:
            self._refuse(errno.EEXIST, f"pool '{destpool}' already exists")
        self.pools[destpool] = self.pools.pop(srcpool)

    def _osd_pool_set(self, pool, var, val, yes_i_really_mean_it=False):
        one = self.pools[pool]
        if var == 'size':
            if 'nosizechange' in one.flags:
                self._refuse(errno.EPERM, 'pool size change is disabled')
            if one.kind != REPLICATED:
                self._refuse(errno.ENOTSUP, 'can not change the size of it')
            one.size = int(val)
            # Ceph chooses another one with it.
            one.min_size = one.size - one.size // 2
        elif var == 'min_size':
            if not 0 < int(val) <= one.size:
                self._refuse(errno.EINVAL, f'min_size {val} of {one.size}')
            one.min_size = int(val)
        elif var == 'pg_num':
            if 'nopgchange' in one.flags:
                self._refuse(errno.EPERM, 'pool pg_num change is disabled')
            one.pg_num = int(val)
        elif var in _ATTRIBUTES:
            setattr(one, _ATTRIBUTES[var], val)
        elif var == 'allow_ec_overwrites':
            one.flags.add('ec_overwrites')
        elif var in _FLAGS:
            (one.flags.add if val == 'true' else one.flags.discard)(var)
        elif val in ('0', 'unset'):
            one.options.pop(var, None)
        else:
            one.options[var] = val

    def _osd_pool_set_quota(self, pool, field, val):
        setattr(self.pools[pool], f'quota_{field}', int(val))

    def _osd_pool_application_enable(self, pool, app):
        others = self.pools[pool].applications.keys() - {app}
        if others:
            self._refuse(
                errno.EPERM, f'Are you SURE? Pool {pool!r} has {others}'
            )
        self.pools[pool].applications.setdefault(app, {})

    def _osd_pool_application_set(self, pool, app, key, value):
        self.pools[pool].applications[app][key] = value

    def _osd_primary_affinity(self, id, weight):
        self.affinities[id] = weight

    def _auth_get(self, entity):
        if entity not in self.users:
            self._refuse(errno.ENOENT, f'failed to find {entity} in keyring')
        return [{'entity': entity, 'caps': dict(self.users[entity])}]

    def _auth_caps(self, entity, caps):
        self.users[entity] = dict(zip(caps[::2], caps[1::2], strict=True))

    def _auth_get_or_create(self, entity, caps):
        self.users.setdefault(
            entity, dict(zip(caps[::2], caps[1::2], strict=True))
        )
