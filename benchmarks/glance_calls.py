# SPDX-License-Identifier: Apache-2.0

"""How often each door asks Glance: cold, warm, and for many creates at once.

Both doors run in their real surroundings: creates go through a real
cinder-scheduler and a real cinder-api, on a database in a file. Glance is a
stand-in over HTTP that takes a given time for each answer, so that creates at
the same time really wait at the same time. Counted are requests with our user
agent: Cinder asks Glance on its own account, too.

The exit status is 1 when a count is not what it should be.
"""

import argparse
from concurrent import futures
import dataclasses
import json
import pathlib
import sys
import threading
import time

# First of all: it tells Cinder to run with native threads.
from tests.unit.api import api_fixture

from cinder.db import api as db_api  # noqa: H306

from cinder_tiers.doors import door
from cinder_tiers.doors.images import glance as door_glance

WARM_CREATES = 20
IMAGE_TAG = 'database'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Count:
    """One row of the table."""

    door: str
    caches: str
    creates: int
    expected_calls: int
    calls: int


class SlowImages(dict):
    """The images of Glance, each found after a while."""

    def __init__(self, latency_s):
        """There are none.

        :param latency_s: seconds for which each look-up takes.
        """
        super().__init__()
        self._latency_s = latency_s

    def get(self, key, default=None):
        time.sleep(self._latency_s)
        return super().get(key, default)


class Doors:
    """Both doors with the tier of one tag, and one image that has it."""

    def __init__(self, api, latency_s):
        """Applies the tiers.

        :param api: an `api_fixture.Api` fixture in use.
        :param latency_s: seconds for which Glance takes for an answer.
        """
        self._api = api
        for resource in ('volumes', 'gigabytes'):
            db_api.quota_create(
                api.cinder.admin, api_fixture.PROJECT, resource, -1
            )
        api.conf.config(
            group='cinder_tiers',
            applied_cache_seconds=3600.0,
            image_cache_seconds=3600.0,
        )
        api.glance.images = SlowImages(latency_s)
        api.add_tiers()
        self._follow = api.cinder.add_type(
            'image-tier', tiers_follow_image='<is> True'
        )
        api.cinder.add_backend('any')
        self._image = api.glance.add_image(IMAGE_TAG)

    def create_at(self, name):
        """A create that passes through one door."""
        if name == 'scheduler':
            self._api.cinder.create_volume(
                volume_type=self._follow, image_id=self._image
            )
        else:
            answer = self._api.create(
                volume_type=self._follow, imageRef=self._image
            )
            if answer.status != 202:
                raise RuntimeError(
                    f'cinder-api answered {answer.status}, '
                    f'expected 202: {answer.body[:200]}'
                )

    def calls_of(self, name, creates):
        """Requests that a door sends to Glance for creates at one time."""

        def is_ours(agent):
            return (agent or '').startswith(door_glance.USER_AGENT)

        before = sum(map(is_ours, self._api.glance.agents))
        barrier = threading.Barrier(creates)

        def create():
            barrier.wait()
            self.create_at(name)

        with futures.ThreadPoolExecutor(creates) as pool:
            for created in [pool.submit(create) for _ in range(creates)]:
                created.result()
        return sum(map(is_ours, self._api.glance.agents)) - before


def count_calls(doors, name, concurrent):
    """The rows of one door.

    :param doors: a `Doors`.
    :param name: scheduler or api.
    :param concurrent: number of creates at the same time.
    """
    door.forget()
    yield Count(
        door=name,
        caches='cold',
        creates=1,
        expected_calls=1,
        calls=doors.calls_of(name, 1),
    )
    yield Count(
        door=name,
        caches='warm',
        creates=WARM_CREATES,
        expected_calls=0,
        calls=sum(doors.calls_of(name, 1) for _ in range(WARM_CREATES)),
    )
    door.forget()
    yield Count(
        door=name,
        caches='cold',
        creates=concurrent,
        expected_calls=1,
        calls=doors.calls_of(name, concurrent),
    )


def main(arguments):
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.glance_calls',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--concurrent',
        type=int,
        default=32,
        metavar='N',
        help='creates at one time; default %(default)s',
    )
    parser.add_argument(
        '--glance-latency',
        type=float,
        default=0.2,
        metavar='SECONDS',
        help='default %(default)s',
    )
    parser.add_argument('--json', metavar='FILE', help='write the counts')
    options = parser.parse_args(arguments)
    with api_fixture.Api() as api:
        doors = Doors(api, options.glance_latency)
        counts = [
            count
            for name in ('scheduler', 'api')
            for count in count_calls(doors, name, options.concurrent)
        ]
    print('door       caches  creates  calls  expected')
    for count in counts:
        print(
            f'{count.door:9}  {count.caches:6}  {count.creates:7}  '
            f'{count.calls:5}  {count.expected_calls:8}'
        )
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps([dataclasses.asdict(count) for count in counts])
        )
    return int(any(count.calls != count.expected_calls for count in counts))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
