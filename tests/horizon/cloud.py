# SPDX-License-Identifier: Apache-2.0

"""A cloud as Horizon and the panels see it, over HTTP.

Answers what Keystone, Cinder and Glance answer to one project; what a test
changes is in attributes.
"""

import urllib.parse

from benchmarks import served_cloud

PROJECT = 'beef0000000040008000000000000000'
OTHER = 'dead0000000040008000000000000000'
NAMESPACE = '/v2/metadefs/namespaces/CinderTiers::StorageTiers'


def ident(number):
    return f'c0ffee00-0000-4000-8000-{number:012x}'


def volume_type(number, name, description, **extra):
    """A volume type, as members see it unless there are extra specs."""
    return {
        'id': ident(number),
        'name': name,
        'description': description,
        'is_public': True,
        **extra,
    }


class Cloud:
    """What there is, and what was asked."""

    project = PROJECT

    def __init__(self, *, roles=('member', 'reader')):
        self.url = ''
        self.roles = [*roles]
        self.calls = []
        self.types = []
        self.images = {}
        self.quota = {}
        #: Tags of the namespace in Glance; None: there is none.
        self.namespace = None
        #: {path below the host: status} of answers that are errors.
        self.refused = {}
        #: Another cloud, which answers in the place of this one's services.
        self.other = None

    def add_image(self, number, name, tags, owner=PROJECT):
        self.images[ident(number)] = {
            'id': ident(number),
            'name': name,
            'owner': owner,
            'visibility': 'private',
            'status': 'active',
            'tags': [*tags],
        }
        return ident(number)

    def answer(self, method, path, query, body):
        """A status and a document; None for what is not known."""
        keystone = self._keystone(path)
        if keystone is not None:
            return 200, keystone
        self.calls.append((method, path, query))
        if path in self.refused:
            return self.refused[path], {'forbidden': {'message': 'no'}}
        if self.other is not None:
            return self.other.answer(
                method, path.replace(f'/v3/{PROJECT}', '/v3/p'), query, body
            )
        what = path.removeprefix(f'/v3/{PROJECT}')
        if what == '/types':
            return 200, {
                'volume_types': self.types
                if query.get('is_public') != 'False'
                or 'admin' not in self.roles
                else [one for one in self.types if not one['is_public']]
            }
        if what == f'/os-quota-sets/{PROJECT}':
            return 200, {'quota_set': {'id': PROJECT, **self._quota()}}
        if what == NAMESPACE and self.namespace is not None:
            return 200, self._namespace()
        if what == '/v2/images':
            return 200, {'images': self._page(query)}
        if what.startswith('/v2/images/'):
            return self._image(method, what.rpartition('/')[2], body)
        return None

    def _keystone(self, path):
        if path == '/v3':
            return {
                'version': {
                    'id': 'v3.14',
                    'status': 'stable',
                    'links': [{'rel': 'self', 'href': f'{self.url}/v3'}],
                }
            }
        if path == '/v3/users/u/projects':
            return {
                'projects': [
                    {
                        'id': PROJECT,
                        'name': 'p',
                        'enabled': True,
                        'domain_id': 'default',
                    }
                ],
                'links': {},
            }
        return None

    def _quota(self):
        names = ['', *(f'_{one["name"]}' for one in self.types)]
        return {
            f'{what}{name}': self.quota.get(
                f'{what}{name}', {'in_use': 0, 'reserved': 0, 'limit': -1}
            )
            for name in names
            for what in ('volumes', 'gigabytes', 'snapshots')
        }

    def _namespace(self):
        return {
            'namespace': 'CinderTiers::StorageTiers',
            'description': 'Written by "openstack tier apply".',
            'visibility': 'public',
            'tags': [{'name': tag} for tag in self.namespace],
        }

    def _page(self, query):
        if query.get('os_hidden') == 'True':
            return []
        limit = int(query['limit'])
        return [
            one
            for one in self.images.values()
            if one['owner'] == query['owner']
        ][:limit]

    def _image(self, method, image_id, body):
        image = self.images.get(urllib.parse.unquote(image_id))
        if image is None:
            return 404, {}
        if method == 'PATCH':
            for change in body:
                assert (change['op'], change['path']) == ('replace', '/tags')
                image['tags'] = change['value']
        return 200, image


def serve(test, **arguments):
    """Serves a cloud until a test ends."""
    cloud = Cloud(**arguments)
    server = served_cloud.serve(cloud)
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return cloud
