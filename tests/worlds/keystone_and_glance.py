# SPDX-License-Identifier: Apache-2.0

"""Stand-ins for Keystone and Glance, as small as `openstack` needs them.

WSGI applications for the process of serve_cinder_api. What they know is
added by the tests. Not real: any password is right, a token is
`role:project` with the name of the user for the role, and an image can be
looked up and nothing else. tests/functional has the real ones.
"""

import json
import re
import urllib.parse


class StandIn:
    """Answers requests with JSON; `answer` does it, (status, body)."""

    def __init__(self):
        #: Paths of all requests, in their order.
        self.asked = []

    def __call__(self, environ, start_response):
        """Serve one request (PEP 3333)."""
        url = f'http://{environ["HTTP_HOST"]}{environ["SCRIPT_NAME"]}'
        self.asked.append(environ['PATH_INFO'])
        body = environ['wsgi.input'].read(
            int(environ.get('CONTENT_LENGTH') or 0)
        )
        query = urllib.parse.parse_qs(environ.get('QUERY_STRING', ''))
        answer = self.answer(
            f'{environ["REQUEST_METHOD"]} {environ["PATH_INFO"].rstrip("/")}',
            url,
            query,
            environ.get('HTTP_X_AUTH_TOKEN'),
            json.loads(body or 'null'),
        )
        status, found, headers = answer or (404, {'error': 'not found'}, [])
        start_response(
            f'{status} any', [('Content-Type', 'application/json'), *headers]
        )
        return [json.dumps(found).encode()]


class Keystone(StandIn):
    """Gives out tokens, and knows projects: {id: name}."""

    def __init__(self):
        super().__init__()
        self.projects = {}

    def answer(self, request, url, query, token, body):
        if request == 'GET /v3':
            return (
                200,
                {
                    'version': {
                        'id': 'v3.14',
                        'status': 'stable',
                        'links': [{'rel': 'self', 'href': f'{url}/v3'}],
                    }
                },
                [],
            )
        if request == 'POST /v3/auth/tokens':
            return self._issue(url, body['auth'])
        if not token.startswith('admin:'):
            return 403, {'error': {'message': 'not for you'}}, []
        if request == 'GET /v3/projects':
            return (
                200,
                {
                    'projects': [
                        {'id': ident, 'name': name}
                        for ident, name in self.projects.items()
                        if [name] == query.get('name', [name])
                    ]
                },
                [],
            )
        ident = request.removeprefix('GET /v3/projects/')
        if ident in self.projects:
            return (
                200,
                {'project': {'id': ident, 'name': self.projects[ident]}},
                [],
            )
        return None

    @staticmethod
    def _issue(url, auth):
        user = auth['identity']['password']['user']['name']
        project = auth['scope']['project']['id']
        top = url.rpartition('/')[0]
        catalog = {
            'identity': f'{top}/identity/v3',
            'image': f'{top}/image',
            'block-storage': f'{top}/v3/{project}',
        }
        return (
            201,
            {
                'token': {
                    'methods': ['password'],
                    'user': {'id': user, 'name': user},
                    'expires_at': '2999-01-01T00:00:00.000000Z',
                    'project': {
                        'id': project,
                        'name': project,
                        'domain': {'id': 'default', 'name': 'Default'},
                    },
                    'roles': [{'id': user, 'name': user}],
                    'catalog': [
                        {
                            'id': f'id-of-{kind}',
                            'type': kind,
                            'name': kind,
                            'endpoints': [
                                {
                                    'interface': 'public',
                                    'region_id': 'one',
                                    'region': 'one',
                                    'url': endpoint,
                                }
                            ],
                        }
                        for kind, endpoint in catalog.items()
                    ],
                }
            },
            [('X-Subject-Token', f'{user}:{project}')],
        )


class Namespaces:
    """The metadata definitions of Glance, as Glance 32 answers of them.

    Only an administrator changes them; others see the public ones.
    """

    def __init__(self):
        #: {name: namespace}
        self.known = {}
        #: Whether the policy keeps them from all.
        self.are_forbidden = False

    def answer(self, method, path, role, body):
        """The answer to a request for something below `namespaces`."""
        if self.are_forbidden or (method != 'GET' and role != 'admin'):
            return 403, {'message': 'You are not authorized'}, []
        name, _, part = path.partition('/')
        if method == 'POST' and not name:
            return self._create(body)
        found = self.known.get(name)
        if found is None or (
            role != 'admin' and found['visibility'] != 'public'
        ):
            return None
        if method == 'GET' and not part:
            return 200, {key: one for key, one in found.items() if one}, []
        if method == 'DELETE' and found['protected']:
            return 403, {'message': f'{name} is protected'}, []
        if method == 'DELETE' and not part:
            del self.known[name]
            return 204, None, []
        if method == 'PUT' and not part:
            # What is left out gets its default.
            found |= {**self._texts(), **body}
            return 200, found, []
        if part == 'resource_types':
            found['resource_type_associations'].append(body)
            return 201, body, []
        if part == 'tags' and method == 'DELETE':
            found['tags'] = []
            return 204, None, []
        if part == 'tags':
            # An empty list changes nothing.
            found['tags'] = body['tags'] or found['tags']
            return 201, body, []
        return None

    @staticmethod
    def _texts():
        return {
            'display_name': None,
            'description': None,
            'visibility': 'private',
            'protected': False,
            'owner': 'of-the-request',
        }

    def _create(self, body):
        name = body['namespace']
        if name in self.known:
            return 409, {'message': f'{name} already exists'}, []
        self.known[name] = {
            **self._texts(),
            'resource_type_associations': [],
            'tags': [],
            **body,
        }
        return 201, self.known[name], []


class Glance(StandIn):
    """Knows images: {id: image}, and shows them to who may see them.

    And namespaces of metadata definitions.
    """

    def __init__(self):
        super().__init__()
        self.images = {}
        self.namespaces = Namespaces()

    def answer(self, request, url, query, token, body):
        if request == 'GET ':
            return (
                300,
                {
                    'versions': [
                        {
                            'id': 'v2.15',
                            'status': 'CURRENT',
                            'links': [{'rel': 'self', 'href': f'{url}/v2/'}],
                        }
                    ]
                },
                [],
            )
        role, _, project = token.partition(':')
        method, _, path = request.partition(' /v2/metadefs/namespaces')
        if path or request.endswith(' /v2/metadefs/namespaces'):
            return self.namespaces.answer(
                method, path.removeprefix('/'), role, body
            )
        visible = {
            ident: image
            for ident, image in self.images.items()
            if role == 'admin'
            or project == image['owner']
            or image['visibility'] != 'private'
        }
        if request == 'GET /v2/images':
            return (
                200,
                self._page(
                    query,
                    [
                        image
                        for image in visible.values()
                        if [image['name']]
                        == query.get('name', [image['name']])
                        and [image['owner']]
                        == query.get('owner', [image['owner']])
                        and query.get('os_hidden', ['False']) == ['False']
                        # Glance 32.0.0, db/sqlalchemy/api.py, image_get_all.
                        and (
                            query.get('visibility') == ['all']
                            or image['visibility'] != 'community'
                            or image['owner'] == project
                        )
                    ],
                ),
                [],
            )
        if request.endswith('/file'):
            return 200, {'id': request, 'visibility': 'public'}, []
        found = re.fullmatch('GET /v2/images/([^/]*)', request)
        image = found and visible.get(found[1])
        return image and (200, image, [])

    @staticmethod
    def _page(query, images):
        found = images
        if 'marker' in query:
            idents = [image['id'] for image in images]
            found = images[idents.index(query['marker'][0]) + 1 :]
        limit = int(query.get('limit', [len(found)])[0])
        page = {'images': found[:limit]}
        if found[limit:]:
            page['next'] = '/v2/images?' + urllib.parse.urlencode(
                {**query, 'marker': page['images'][-1]['id']}, doseq=True
            )
        return page
