# SPDX-License-Identifier: Apache-2.0

"""A cloud of any size, generated as it is asked for, for benchmarks.

    python -m benchmarks.generated_cloud VOLUMES TIERS IMAGES

prints the port once it answers, and runs until its standard input ends. It
answers what an administrator's audit of volumes asks of Keystone, Cinder and
Glance, by pages as these do, and all else with 404. Every tenth volume has a
type that follows the image; one of these in ten, and one of the others in 90,
lies on a backend where it should not.
"""

import sys
import urllib.parse

from benchmarks import served_cloud

#: Entries of a page at most, as Cinder and Glance have it by default.
PAGE = 1000
PROJECTS = 50
FOLLOWING = 'image-tier'


def ident(kind, number):
    """An id as a service would make one."""
    return f'{kind:08x}-0000-4000-8000-{number:012x}'


class Cloud:
    """What the services answer.

    :param volumes: how many volumes there are.
    :param tiers: how many tiers, each a volume type with a pool.
    :param images: how many images, each tagged for a tier.
    """

    def __init__(self, *, volumes, tiers, images):
        self.volumes, self.tiers, self.images = volumes, tiers, images
        self.url = ''

    def answer(self, method, path, query, body):
        """A status and a document; None for what is not known."""
        what = path.removeprefix('/v3/p')
        if what.endswith('/os-volume-type-access'):
            return 200, {
                'volume_type_access': [
                    {
                        'volume_type_id': what.split('/')[2],
                        'project_id': ident(9, 1),
                    }
                ]
            }
        known = {
            '/types': self._types,
            '/volumes/detail': self._volumes,
            '/scheduler-stats/get_pools': self._pools,
            '/v2/images': self._images,
        }
        return (200, known[what](query)) if what in known else None

    def _types(self, query):
        types = [
            {
                'id': ident(1, number),
                'name': f'tier-{number}',
                'is_public': number > 0,
                'extra_specs': {
                    'tiers:name': f'tier-{number}',
                    'tiers:tags': f'tag-{number}',
                    'tiers:priority': str(number),
                    'volume_backend_name': f'backend-{number}',
                    **({'tiers:fallback': '<is> True'} if number == 1 else {}),
                },
            }
            for number in range(self.tiers)
        ]
        types.append(
            {
                'id': ident(1, self.tiers),
                'name': FOLLOWING,
                'is_public': True,
                'extra_specs': {'tiers:follow_image': '<is> True'},
            }
        )
        if query.get('is_public') == 'False':
            types = [one for one in types if not one['is_public']]
        return {'volume_types': types}

    def _pools(self, query):
        return {
            'pools': [
                {
                    'name': self._host(number),
                    'capabilities': {
                        'volume_backend_name': f'backend-{number}',
                        'free_capacity_gb': 1000,
                        'total_capacity_gb': 2000,
                    },
                }
                for number in range(self.tiers)
            ]
        }

    def _host(self, number):
        return f'node@backend-{number}#pool'

    def _volumes(self, query):
        start, stop = self._page(query, self.volumes)
        page = {
            'volumes': [self._volume(number) for number in range(start, stop)]
        }
        if stop < self.volumes:
            page['volumes_links'] = [
                {
                    'rel': 'next',
                    'href': (
                        f'{self.url}/v3/p/volumes/detail?all_tenants=True'
                        f'&limit={stop - start}&marker={ident(2, stop - 1)}'
                    ),
                }
            ]
        return page

    def _volume(self, number):
        follows = number % 10 == 0
        image = number // 10 % self.images
        # Tier 0 is private: who may not use it gets the fall-back, tier 1.
        tier = image % self.tiers or 1 if follows else number % self.tiers
        on = (tier + 1) % self.tiers if number % 100 in (0, 1) else tier
        return {
            'id': ident(2, number),
            'name': f'volume-{number}',
            'size': 10,
            'status': 'in-use',
            'bootable': 'true',
            'encrypted': False,
            'volume_type': FOLLOWING if follows else f'tier-{tier}',
            'os-vol-host-attr:host': self._host(on),
            'os-vol-tenant-attr:tenant_id': ident(9, number // 7 % PROJECTS),
            'os-vol-mig-status-attr:name_id': None,
            'metadata': {},
            'availability_zone': 'nova',
            'source_volid': None,
            'snapshot_id': None,
            'description': None,
            'attachments': [],
            'created_at': '2026-01-01T00:00:00.000000',
            'volume_image_metadata': {'image_id': ident(3, image)}
            if follows
            else {},
        }

    def _images(self, query):
        if query.get('os_hidden') == 'True':
            return {'images': []}
        start, stop = self._page(query, self.images)
        page = {
            'images': [
                {
                    'id': ident(3, number),
                    'name': f'image-{number}',
                    'tags': [f'tag-{number % self.tiers}'],
                    'visibility': 'public',
                    'owner': ident(9, 0),
                    'status': 'active',
                }
                for number in range(start, stop)
            ]
        }
        if stop < self.images:
            page['next'] = '/v2/images?' + urllib.parse.urlencode(
                {**query, 'marker': ident(3, stop - 1)}
            )
        return page

    @staticmethod
    def _page(query, total):
        marker = query.get('marker')
        start = int(marker.rpartition('-')[2], 16) + 1 if marker else 0
        limit = min(PAGE, int(query.get('limit', PAGE)))
        return start, min(total, start + limit)


def main():
    """Serves until standard input ends."""
    volumes, tiers, images = map(int, sys.argv[1:])
    served_cloud.run(Cloud(volumes=volumes, tiers=tiers, images=images))


if __name__ == '__main__':
    main()
