# SPDX-License-Identifier: Apache-2.0

"""Throughput of creates in a running lab, with both doors and without them.

Blocks of creates with the doors on and off take turns, in pairs whose order
alternates, so that a drift of the machine meets both. Before each block
cinder-api and cinder-scheduler restart with the configuration of the block.
All volumes are made from one tagged image and get one volume type: with the
doors on the request names no type, with the doors off it names the type that
the doors choose. They are deleted after each block.

Each client creates a volume, waits until it is available, and goes on with
the next one. Measured are the volumes that become available in a second, and
the time that POST takes. The ratio on/off of each pair is one observation;
the interval is Student's t-interval at 95 % of the mean of their logarithms.
"""

import argparse
from concurrent import futures
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

import openstack
from scipy import special

PREFIX = 'create-throughput-'
CONFIDENCE = 0.95
WARM_UP_CREATES = 4
OVERRIDE = 'zz-create-throughput.conf'
#: The configuration of a block; files are relative to the lab's folder.
CONFIGURATION = {
    'on': """[DEFAULT]
scheduler_default_filters = AvailabilityZoneFilter,CapacityFilter,\
CapabilitiesFilter,TierFilter
scheduler_default_weighers = CapacityWeigher,TierWeigher
api_paste_config = {lab}/etc/cinder-api-paste.ini
""",
    'off': """[DEFAULT]
scheduler_default_filters = AvailabilityZoneFilter,CapacityFilter,\
CapabilitiesFilter
scheduler_default_weighers = CapacityWeigher
api_paste_config = {lab}/venv/etc/cinder/api-paste.ini
""",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """What one block of creates gave."""

    doors: str
    creates_per_s: float
    #: Median of the time that POST takes, in seconds.
    post_s: float


class Volumes:
    """The volumes of one run in a cloud."""

    def __init__(self, cloud, *, image, size_gib, poll_s, timeout_s):
        """Looks the image up.

        :param cloud: an openstack.connection.Connection.
        :param image: name or id of the image.
        :param size_gib: of each volume.
        :param poll_s: seconds between two looks at all volumes.
        :param timeout_s: seconds in which a volume must be available, and
            all must be gone.
        :raises openstack.exceptions.NotFoundException: there is no such
            image.
        """
        self._api = cloud.block_storage
        self._image_id = cloud.image.find_image(image, ignore_missing=False).id
        self._size_gib = size_gib
        self._poll_s = poll_s
        self._timeout_s = timeout_s

    def create(self, volume_type):
        """A volume once it is available: (seconds for POST, its type).

        :param volume_type: name of its type; None: the request names none.
        :raises openstack.exceptions.SDKException: Cinder refuses it, it ends
            in error, or it takes too long.
        """
        wanted = {'volume_type': volume_type} if volume_type else {}
        started = time.perf_counter()
        volume = self._api.create_volume(
            name=f'{PREFIX}{time.monotonic_ns()}',
            size=self._size_gib,
            image_id=self._image_id,
            **wanted,
        )
        post_s = time.perf_counter() - started
        available = self._api.wait_for_status(
            volume,
            status='available',
            failures=['error'],
            interval=self._poll_s,
            wait=self._timeout_s,
        )
        return post_s, available.volume_type

    def delete_all(self):
        """Delete what `create` made; return when it is gone."""
        end = time.monotonic() + self._timeout_s
        while True:
            ours = [
                volume
                for volume in self._api.volumes(details=True)
                if volume.name.startswith(PREFIX)
            ]
            if not ours:
                return
            if time.monotonic() > end:
                raise RuntimeError(
                    f'{len(ours)} volumes {PREFIX}* are not gone after '
                    f'{self._timeout_s:g} s: {ours[0].id} is '
                    f'{ours[0].status}'
                )
            for volume in ours:
                if volume.status in ('available', 'error'):
                    self._api.delete_volume(volume)
            time.sleep(self._poll_s)


def run_block(volumes, doors, expected_type, creates, clients):
    """One block.

    :param volumes: a `Volumes`.
    :param doors: on or off.
    :param expected_type: name of the type that every volume must get.
    :param creates: number of creates.
    :param clients: number of creates under way at one time.
    :raises RuntimeError: a volume got another type.
    """
    named = expected_type if doors == 'off' else None
    with futures.ThreadPoolExecutor(clients) as pool:
        list(pool.map(volumes.create, [named] * WARM_UP_CREATES))
        started = time.perf_counter()
        done = list(pool.map(volumes.create, [named] * creates))
        seconds = time.perf_counter() - started
    wrong = {volume_type for _, volume_type in done} - {expected_type}
    if wrong:
        raise RuntimeError(
            f'with the doors {doors}, volumes got the type {wrong}, expected '
            f'{expected_type}: the blocks would not be alike'
        )
    volumes.delete_all()
    return Block(
        doors=doors,
        creates_per_s=creates / seconds,
        post_s=statistics.median(post_s for post_s, _ in done),
    )


def ratio_of(pairs, field):
    """On for 1 of off: (ratio, lower limit, upper limit).

    :param pairs: (block on, block off) of each pair, two pairs at least.
    :param field: name of a field of a block.
    """
    logs = [
        math.log(getattr(on, field) / getattr(off, field)) for on, off in pairs
    ]
    mean = statistics.mean(logs)
    half = (
        statistics.stdev(logs)
        / math.sqrt(len(logs))
        * special.stdtrit(len(logs) - 1, (1 + CONFIDENCE) / 2)
    )
    return tuple(math.exp(value) for value in (mean, mean - half, mean + half))


class Switch:
    """Turns the doors of a lab on and off."""

    def __init__(self, lab, restart):
        """Changes nothing yet.

        :param lab: folder of the lab.
        :param restart: command that restarts both services.
        """
        self._lab = lab
        self._override = lab / 'etc' / 'cinder.d' / OVERRIDE
        self._restart = restart

    def turn(self, doors):
        """Restart both services with the doors on or off."""
        self._override.write_text(CONFIGURATION[doors].format(lab=self._lab))
        subprocess.run(self._restart, check=True)

    def restore(self):
        """Restart both services as they were configured before."""
        self._override.unlink(missing_ok=True)
        subprocess.run(self._restart, check=True)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.create_throughput',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--cloud',
        default='cinder-tiers-lab-member',
        help='of clouds.yaml; default %(default)s',
    )
    parser.add_argument(
        '--image',
        default='cinder-tiers-guest-database',
        help='a tagged one; default %(default)s',
    )
    parser.add_argument(
        '--volume-type',
        default='database',
        help='of the tier that the tag asks for; default %(default)s',
    )
    parser.add_argument(
        '--pairs',
        type=int,
        default=10,
        help='of blocks, 2 or more; default %(default)s',
    )
    parser.add_argument(
        '--creates',
        type=int,
        default=40,
        help='in each block; default %(default)s',
    )
    parser.add_argument(
        '--clients',
        type=int,
        default=4,
        help='creates at one time; default %(default)s',
    )
    parser.add_argument('--size', type=int, default=1, metavar='GiB')
    parser.add_argument(
        '--poll',
        type=float,
        default=0.2,
        metavar='SECONDS',
        help='between two looks; default %(default)s',
    )
    parser.add_argument(
        '--timeout', type=float, default=300.0, metavar='SECONDS'
    )
    parser.add_argument(
        '--restart',
        metavar='COMMAND',
        type=shlex.split,
        default=[
            'devstack/lab.sh',
            'restart',
            'cinder-api',
            'cinder-scheduler',
        ],
    )
    parser.add_argument('--json', metavar='FILE', help='write all values')
    options = parser.parse_args(arguments)
    if options.pairs < 2:
        parser.error(
            f'--pairs {options.pairs}: expected 2 or more, one pair '
            'has no spread'
        )
    return options


def run_pairs(options, switch, volumes):
    """All pairs of blocks, (on, off) each."""
    pairs = []
    for number in range(options.pairs):
        blocks = {}
        for doors in ('on', 'off') if number % 2 else ('off', 'on'):
            switch.turn(doors)
            block = blocks[doors] = run_block(
                volumes,
                doors,
                options.volume_type,
                options.creates,
                options.clients,
            )
            print(
                f'pair {number + 1} {doors:3}: '
                f'{block.creates_per_s:.3f} creates/s, POST '
                f'{block.post_s * 1e3:.1f} ms',
                flush=True,
            )
        pairs.append((blocks['on'], blocks['off']))
    return pairs


def main(arguments):
    options = parse(arguments)
    lab = pathlib.Path(
        os.environ.get('CINDER_TIERS_LAB', '/var/lib/cinder-tiers-lab')
    )
    volumes = Volumes(
        openstack.connect(cloud=options.cloud),
        image=options.image,
        size_gib=options.size,
        poll_s=options.poll,
        timeout_s=options.timeout,
    )
    switch = Switch(lab, options.restart)
    with contextlib.ExitStack() as stack:
        stack.callback(switch.restore)
        stack.callback(volumes.delete_all)
        pairs = run_pairs(options, switch, volumes)
    for field, what in (
        ('creates_per_s', 'creates per second'),
        ('post_s', 'time of POST'),
    ):
        ratio, low, high = ratio_of(pairs, field)
        print(
            f'{what}, on/off: {ratio:.3f} ({CONFIDENCE:.0%} interval '
            f'{low:.3f} to {high:.3f}, {len(pairs)} pairs)'
        )
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps(
                [dataclasses.asdict(block) for pair in pairs for block in pair]
            )
        )


if __name__ == '__main__':
    main(sys.argv[1:])
