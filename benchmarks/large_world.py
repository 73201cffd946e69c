# SPDX-License-Identifier: Apache-2.0

"""A cloud with many OSDs, tiers, volume types and volumes, that changes.

Keystone, Cinder and Glance are served by pages, as these do; Ceph answers in
the process that asks. The tiers of `generated_tiers` exist in it, and types of
others. What an apply writes is there afterwards.

    python -m benchmarks.large_world TIERS TYPES VOLUMES

prints the port of the services, and runs until its standard input ends.
"""

import collections
import copy
import errno
import json
import sys
import threading
import urllib.parse

from benchmarks import generated_cloud
from benchmarks import generated_tiers
from benchmarks import served_cloud
from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import reader

#: What Cinder gives at most for one request (osapi_max_limit).
MOST = 1000
IMAGES = 500
FSID = '01234567-89ab-cdef-0123-456789abcdef'


class Ceph(generated_tiers.Ceph):
    """A session with a large cluster, which takes what an apply writes.

    :param catalog: the tiers that exist.
    :param osds: how many OSDs.
    """

    def __init__(self, catalog, *, osds):
        super().__init__(catalog, applied=True, osds=osds)
        #: {kind of command: how often}
        self.counted = collections.Counter()
        self._lock = threading.Lock()
        self._answers['mon dump'] = json.dumps(
            {**json.loads(self._answers['mon dump']), 'fsid': FSID}
        )
        self._answers['osd df'] = json.dumps(
            {
                'nodes': [
                    {
                        'id': osd,
                        'name': f'osd.{osd}',
                        'type': 'osd',
                        'kb': 4 * 2**30,
                        'kb_used': 2**30,
                    }
                    for osd in range(osds)
                ],
                'stray': [],
            }
        )
        self._answers['osd dump'] = json.dumps(
            {
                'nearfull_ratio': 0.85,
                'backfillfull_ratio': 0.9,
                'full_ratio': 0.95,
            }
        )

    def command(self, prefix, **arguments):
        """Answers a monitor command, or does it."""
        with self._lock:
            self.counted[prefix] += 1
            writes = _WRITES.get(prefix)
            if writes:
                self.calls += 1
                writes(self, **arguments)
                return None
            if prefix == 'df':
                return self._df()
            if prefix == 'osd metadata' and arguments:
                return {'ceph_version_short': '16.2.15'}
            return super().command(prefix, **arguments)

    def tell(self, osd_id, prefix, **arguments):
        """Answers a command to an OSD, the same for each.

        :raises ceph_session.CephRefused: it is none of these.
        """
        with self._lock:
            self.counted[f'tell {prefix}'] += 1
            self.calls += 1
        if prefix == 'config diff':
            return json.loads(self._diff)
        if prefix in _TOLD:
            return _TOLD[prefix]
        raise ceph_session.CephRefused(prefix, errno=errno.EINVAL)

    def rbd_options(self, pool):
        """The RBD options of a pool."""
        self.counted['rbd options'] += 1
        return super().rbd_options(pool)

    def set_rbd_option(self, pool, option, value):
        """Sets an RBD option of a pool."""
        self.calls += 1
        self._rbd_options.setdefault(pool, {})[option] = value

    def _df(self):
        self.calls += 1
        return {
            'pools': [
                {
                    'name': pool['pool_name'],
                    'stats': {
                        'stored': 0,
                        'objects': 0,
                        'bytes_used': 0,
                        'max_avail': 10**15,
                    },
                }
                for pool in json.loads(self._answers['osd pool ls detail'])
            ]
        }

    def _change(self, prefix, change):
        found = json.loads(self._answers[prefix])
        change(found)
        self._answers[prefix] = json.dumps(found)

    def _create_rule(self, *, name, root, type, class_=None):  # noqa: A002
        def change(rules):
            rule = copy.deepcopy(
                next(
                    one
                    for one in rules
                    if one['type'] == 1
                    and '~' in one['steps'][0].get('item_name', '')
                )
            )
            rule['rule_name'] = name
            rule['rule_id'] = 1 + max(one['rule_id'] for one in rules)
            rule['steps'][0]['item_name'] = (
                f'{root}~{class_}' if class_ else root
            )
            rule['steps'][1]['type'] = type
            rules.append(rule)

        self._change('osd crush rule dump', change)

    def _create_pool(self, *, pool, rule, size, pg_num, **others):
        rules = {
            one['rule_name']: one['rule_id']
            for one in json.loads(self._answers['osd crush rule dump'])
        }

        def change(pools):
            pools.append(
                {
                    **pools[0],
                    'pool_name': pool,
                    'pool_id': 1 + max(one['pool_id'] for one in pools),
                    'type': 1,
                    'size': size,
                    'min_size': size - size // 2,
                    'pg_num': pg_num,
                    'pg_num_target': pg_num,
                    'pg_autoscale_mode': others['autoscale_mode'],
                    'crush_rule': rules[rule],
                    'application_metadata': {},
                    'options': {},
                    'quota_max_objects': 0,
                }
            )

        self._change('osd pool ls detail', change)

    def _rename_pool(self, *, srcpool, destpool):
        self._set_in_pool(
            srcpool, lambda pool: pool.update(pool_name=destpool)
        )

    def _set_in_pool(self, name, change):
        self._change(
            'osd pool ls detail',
            lambda pools: change(
                next(one for one in pools if one['pool_name'] == name)
            ),
        )

    def _set_pool(self, *, pool, var, val):
        def change(one):
            if var in one:
                one[var] = int(val) if isinstance(one[var], int) else val
            else:
                one['options'][var] = val

        self._set_in_pool(pool, change)

    def _set_quota(self, *, pool, field, val):
        self._set_in_pool(
            pool, lambda one: one.update({f'quota_{field}': int(val)})
        )

    def _enable(self, *, pool, app):
        self._set_in_pool(
            pool, lambda one: one['application_metadata'].update({app: {}})
        )

    def _mark(self, *, pool, app, key, value):
        self._set_in_pool(
            pool,
            lambda one: one['application_metadata'][app].update({key: value}),
        )

    def _grant(self, *, entity, caps):
        self._answers[f'auth get {entity}'] = json.dumps(
            [{'caps': dict(zip(caps[::2], caps[1::2], strict=True))}]
        )

    def _set_option(self, *, who, name, value):
        def change(entries):
            for one in entries:
                if (f'{one["section"]}/{one["mask"]}', one['name']) == (
                    who,
                    name,
                ):
                    one['value'] = value

        self._change('config dump', change)
        diff = json.loads(self._diff)
        diff['diff'][name].update(mon=json.loads(value))
        diff['diff'][name].update(final=json.loads(value))
        self._diff = json.dumps(diff)


_TOLD = {
    'config get': {'osd_op_queue': 'wpq'},
    'version': {'version': '16.2.15'},
}
_WRITES = {
    'osd crush rule create-replicated': Ceph._create_rule,
    'osd pool create': Ceph._create_pool,
    'osd pool rename': Ceph._rename_pool,
    'osd pool set': Ceph._set_pool,
    'osd pool set-quota': Ceph._set_quota,
    'osd pool application enable': Ceph._enable,
    'osd pool application set': Ceph._mark,
    'auth caps': Ceph._grant,
    'config set': Ceph._set_option,
}


class Cloud:
    """What Keystone, Cinder and Glance answer.

    :param tiers: that exist.
    :param types: volume types, those of the tiers among them.
    :param volumes: how many.
    :param most: entries of a page of types and QoS specs.
    """

    def __init__(self, *, tiers, types, volumes, most=MOST):
        self._url = ''
        self._most = most
        catalog = reader.read_text(
            generated_tiers.text(tiers), file='tiers.yaml'
        )
        as_applied = generated_tiers.Cloud(catalog, applied=True)
        #: Volumes and images.
        self._content = _Volumes(volumes=volumes, tiers=tiers, images=IMAGES)
        self._types = {
            one['id']: one
            for one in as_applied.answer('GET', '/v3/p/types', {}, None)[1][
                'volume_types'
            ]
        }
        self._quotas = as_applied.answer(
            'GET', '/v3/p/os-quota-class-sets/default', {}, None
        )[1]['quota_class_set']
        self._specs = {
            one['id']: one
            for one in as_applied.answer('GET', '/v3/p/qos-specs', {}, None)[
                1
            ]['qos_specs']
        }
        self._access = {
            generated_tiers.id_of(tier.name): {
                generated_tiers.id_of(project) for project in tier.projects
            }
            for tier in catalog.tiers
        }
        for number in range(types - len(self._types)):
            name = f'other-{number}'
            self._types[generated_tiers.id_of(name)] = {
                'id': generated_tiers.id_of(name),
                'name': name,
                'is_public': True,
                'os-volume-type-access:is_public': True,
                'description': '',
                'extra_specs': {
                    'volume_backend_name': f'tier-tier-{number % tiers}'
                },
                'qos_specs_id': None,
            }
            self._quotas.update(
                {
                    f'{resource}_{name}': number + 1
                    for resource in cinder_state.QUOTA_RESOURCES.values()
                }
            )
        self._backends = [
            {
                'name': f'node@{tier.section}#{tier.backend}',
                'capabilities': {
                    'volume_backend_name': tier.backend,
                    'storage_protocol': 'ceph',
                    'location_info': (
                        f'ceph:/etc/ceph/ceph.conf:{FSID}:cinder:'
                        f'{tier.rbd.pool}'
                    ),
                    'free_capacity_gb': 1000,
                    'total_capacity_gb': 2000,
                },
            }
            for tier in catalog.tiers
        ]
        self._content.hosts = [one['name'] for one in self._backends]

    @property
    def url(self):
        """Where it is served."""
        return self._url

    @url.setter
    def url(self, url):
        self._url = self._content.url = url

    def answer(self, method, path, query, body):
        """A status and a document; None for what is not known."""
        what = path.removeprefix('/v3/').removeprefix('p/')
        if what.startswith(('volumes', '/v2/images')):
            if 'volume_type_id' in query:
                return 200, {'volumes': []}
            return self._content.answer(method, path, query, body)
        found = self._found(method, what, query, body)
        if found is None or isinstance(found, tuple):
            return found
        return 200, found

    def _found(self, method, what, query, body):
        match method, *what.split('/'):
            case 'GET', 'projects':
                name = query.get('name')
                names = (
                    [name]
                    if name
                    else [
                        f'project-{number}'
                        for number in range(generated_tiers.PROJECTS)
                    ]
                )
                return {
                    'projects': [
                        {'id': generated_tiers.id_of(one), 'name': one}
                        for one in names
                    ]
                }
            case 'GET', 'projects', ident:
                name = generated_tiers.name_of(ident)
                if name is not None:
                    return {'project': {'id': ident, 'name': name}}
            case 'GET', 'scheduler-stats', 'get_pools':
                return {'pools': self._backends}
            case 'GET', 'default-types':
                return {'default_types': []}
            case _, 'types', *rest:
                return self._of_types(method, rest, query, body)
            case _, 'qos-specs', *rest:
                return self._of_qos_specs(method, rest, query, body)
            case 'GET', 'os-quota-class-sets', 'default':
                return {'quota_class_set': self._quotas}
            case 'PUT', 'os-quota-class-sets', 'default':
                self._quotas.update(body['quota_class_set'])
                return {'quota_class_set': self._quotas}
        return None

    def _of_types(self, method, rest, query, body):
        match method, *rest:
            case ('GET',):
                rows = list(self._types.values())
                if query.get('is_public') == 'False':
                    rows = [one for one in rows if not one['is_public']]
                # Cinder's own spelling (cinder/api/v3/views/types.py).
                return self._page(
                    'types', 'volume_types', 'volume_type_links', rows, query
                )
            case ('POST',):
                told = body['volume_type']
                ident = generated_tiers.id_of(told['name'])
                is_public = told.pop('os-volume-type-access:is_public', True)
                self._types[ident] = {
                    'id': ident,
                    'is_public': is_public,
                    'os-volume-type-access:is_public': is_public,
                    'qos_specs_id': None,
                    **told,
                }
                return {'volume_type': self._types[ident]}
            case 'GET', ident:
                if ident in self._types:
                    return {'volume_type': self._types[ident]}
            case 'PUT', ident:
                changed = body['volume_type']
                self._types[ident].update(changed)
                if 'is_public' in changed:
                    self._types[ident]['os-volume-type-access:is_public'] = (
                        changed['is_public']
                    )
                return {'volume_type': self._types[ident]}
            case 'GET', ident, 'os-volume-type-access':
                return {
                    'volume_type_access': [
                        {'project_id': project, 'volume_type_id': ident}
                        for project in sorted(self._access.get(ident, ()))
                    ]
                }
            case 'POST', ident, 'action':
                self._access.setdefault(ident, set()).add(
                    body['addProjectAccess']['project']
                )
                return 202, None
            case 'GET', _, 'encryption':
                return {}
        return None

    def _of_qos_specs(self, method, rest, query, body):
        match method, *rest:
            case ('GET',):
                return self._page(
                    'qos-specs',
                    'qos_specs',
                    'qos_specs_links',
                    [
                        one
                        for one in self._specs.values()
                        if query.get('name') in (None, one['name'])
                    ],
                    query,
                )
            case ('POST',):
                told = dict(body['qos_specs'])
                name, consumer = told.pop('name'), told.pop('consumer')
                self._specs[generated_tiers.id_of(name)] = {
                    'id': generated_tiers.id_of(name),
                    'name': name,
                    'consumer': consumer,
                    'specs': told,
                }
                return {'qos_specs': self._specs[generated_tiers.id_of(name)]}
            case 'GET', ident, 'associate':
                self._types[query['vol_type_id']]['qos_specs_id'] = ident
                return 202, None
            case 'GET', ident, 'associations':
                return {
                    'qos_associations': [
                        {
                            'id': one['id'],
                            'name': one['name'],
                            'association_type': 'volume_type',
                        }
                        for one in self._types.values()
                        if one['qos_specs_id'] == ident
                    ]
                }
        return None

    def _page(self, path, key, links, rows, query):
        """A page as Cinder gives it."""
        start = 0
        if 'marker' in query:
            idents = [one['id'] for one in rows]
            start = idents.index(query['marker']) + 1
        limit = min(self._most, int(query.get('limit', self._most)))
        found = rows[start : start + limit]
        page = {key: found}
        if found and len(found) == limit:
            following = {**query, 'marker': found[-1]['id']}
            page[links] = [
                {
                    'rel': 'next',
                    'href': f'{self._url}/v3/p/{path}?'
                    f'{urllib.parse.urlencode(following)}',
                }
            ]
        return page


class _Volumes(generated_cloud.Cloud):
    """The volumes and images, on the backends of the tiers."""

    hosts = ()

    def _host(self, number):
        return self.hosts[number]


def main():
    """Serves until standard input ends."""
    tiers, types, volumes, *most = map(int, sys.argv[1:])
    served_cloud.run(
        Cloud(
            tiers=tiers,
            types=types,
            volumes=volumes,
            **({'most': most[0]} if most else {}),
        )
    )


if __name__ == '__main__':
    main()
