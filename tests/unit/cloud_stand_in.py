# SPDX-License-Identifier: Apache-2.0

"""Serves a cloud in which volumes become available after a while.

    python -m tests.unit.cloud_stand_in

prints the port once it answers, and runs until its standard input ends.
Stands in for Keystone, Glance and Cinder as far as a client that creates
volumes from an image sees them. A volume whose request names no type gets the
type `database`.
"""

import itertools
import time

from benchmarks import served_cloud

IMAGE = {
    'id': 'c0ffee00-0000-4000-8000-000000000000',
    'name': 'tagged',
    'status': 'active',
    'tags': ['database'],
}
CREATING_S = 0.02


class Cloud:
    """What there is."""

    def __init__(self):
        self.url = ''
        self._numbers = itertools.count(1)
        self._volumes = {}

    def answer(self, method, path, query, body):
        """A status and a document; None for what is not known."""
        what, _, ident = path.removeprefix('/v3/p/').lstrip('/').partition('/')
        if what == 'v2':
            return 200, ({'images': [IMAGE]} if ident == 'images' else IMAGE)
        if what == 'volumes' and method == 'POST':
            return 202, {'volume': self._create(body['volume'])}
        if what == 'volumes' and ident == 'detail':
            return 200, {'volumes': [*map(self._see, [*self._volumes])]}
        if what == 'volumes' and ident in self._volumes:
            if method == 'DELETE':
                del self._volumes[ident]
                return 202, None
            return 200, {'volume': self._see(ident)}
        return None

    def _create(self, wanted):
        ident = str(next(self._numbers))
        self._volumes[ident] = {
            'id': ident,
            'name': wanted['name'],
            'size': wanted['size'],
            'volume_type': wanted.get('volume_type') or 'database',
            'created': time.monotonic(),
        }
        return self._see(ident)

    def _see(self, ident):
        volume = dict(self._volumes[ident])
        age_s = time.monotonic() - volume.pop('created')
        return {
            **volume,
            'status': ('available' if age_s > CREATING_S else 'creating'),
        }


if __name__ == '__main__':
    served_cloud.run(Cloud())
