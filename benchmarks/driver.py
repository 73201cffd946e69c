# SPDX-License-Identifier: Apache-2.0

"""Cost of TieredRBDDriver in a cinder-volume, beside Cinder's own driver.

`creates` needs a Ceph that CINDER_TIERS_TEST_CEPH_CONF names (devstack/lab.sh
up --ceph-only), and the bindings of librados and librbd. Two cinder-volumes
make volumes in one pool, with Cinder's driver and with ours, in pairs of
blocks whose order alternates, so that a drift of the machine meets both. The
volumes are of a type with a limit, and are deleted after each block.

`stats` and `manageable` take a cluster in memory, which answers at once: they
measure processor time of the drivers, and none of Ceph. So what ours adds is
an upper limit of what it adds to a real one. `--check` fails when `stats`
takes more than 1 s a minute.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import time

# First of all: it tells Cinder to run with native threads.
from tests.contract import driver_case

from cinder import objects  # noqa: H306
from cinder.volume import configuration
from cinder.volume.drivers import rbd as cinder_rbd
from cinder.volume import manager
import fixtures
from oslo_config import cfg
import testtools

from benchmarks import create_throughput
from tests.contract import real_driver
from tests.unit.driver import memory_case

TIERED, CINDER = 'tiered', 'cinder'
DRIVER = 'cinder.volume.drivers.rbd.RBDDriver'
SORT = (['reference'], ['asc'])
#: The most of `stats`, `--check`.
MOST_SECONDS_A_MINUTE = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """Creates with one driver."""

    driver: str
    creates_per_s: float
    #: Of this process, for one create.
    processor_s: float


class Beside:
    """Adds a cinder-volume with Cinder's driver to a test case."""

    def serve_cinder(self, rados_pool):
        configuration.Configuration(cinder_rbd.RBD_OPTS, config_group=CINDER)
        for name, value in {
            **self.options,
            'rbd_pool': rados_pool,
            'rados_connection_retries': 1,
            'rados_connection_interval': 1,
        }.items():
            cfg.CONF.set_override(name, value, group=CINDER)
            self.addCleanup(cfg.CONF.clear_override, name, group=CINDER)
        service = manager.VolumeManager(
            host=f'node@{CINDER}', service_name=CINDER, volume_driver=DRIVER
        )
        service.init_host(service_id=1)
        return service


class Creates(Beside, real_driver.RealDriverCase):
    """`pairs` are made by `measure`."""

    def measure(self):
        objects.Service(
            self.context,
            host=f'node@{CINDER}',
            topic='cinder-volume',
            binary='cinder-volume',
            availability_zone='nova',
        ).create()
        services = {
            TIERED: self.serve(),
            CINDER: self.serve_cinder(self.rados_pools['fast']),
        }
        for driver, service in services.items():
            self.run_block(driver, service, 2)
        self.pairs = []
        for number in range(self.count):
            blocks = {
                driver: self.run_block(driver, services[driver], self.creates)
                for driver in (
                    (TIERED, CINDER) if number % 2 else (CINDER, TIERED)
                )
            }
            print(
                f'pair {number + 1}: '
                + ', '.join(
                    f'{driver} {blocks[driver].creates_per_s:.2f} creates/s '
                    f'{blocks[driver].processor_s * 1e3:.1f} ms'
                    for driver in (TIERED, CINDER)
                ),
                flush=True,
            )
            self.pairs.append((blocks[TIERED], blocks[CINDER]))

    def run_block(self, driver, service, count):
        host = {
            TIERED: self.host_of('fast'),
            CINDER: f'node@{CINDER}#{CINDER}',
        }[driver]
        volumes = []
        for _ in range(count):
            volume = self.add('fast')
            volume.update({'host': host, 'status': 'creating'})
            volume.save()
            volumes.append(volume)
        begun, processor = time.monotonic(), time.process_time()
        for volume in volumes:
            service.create_volume(self.context, volume, allow_reschedule=False)
        block = Block(
            driver=driver,
            creates_per_s=count / (time.monotonic() - begun),
            processor_s=(time.process_time() - processor) / count,
        )
        for volume in volumes:
            self.assertEqual('available', volume.status)
            service.driver.delete_volume(volume)
            volume.destroy()
        return block


class InMemory(Beside, memory_case.MemoryCase):
    """A cluster with more pools and images than a test needs."""

    def add_pools(self, count):
        names = {
            f'more-{number:05}': f'rados-{number:05}'
            for number in range(count - len(self.rados_pools))
        }
        self.cluster.pools.update({name: {} for name in names.values()})
        self.rados_pools.update(names)


class Stats(InMemory):
    """`seconds` of processor time for each report are made by `measure`."""

    def measure(self):
        self.add_pools(self.count)
        service = self.serve()
        self.seconds = []
        for _ in range(self.reports):
            begun = time.process_time()
            service._report_driver_status(self.context)
            service.publish_service_capabilities(self.context)
            self.seconds.append(time.process_time() - begun)
        found = service.driver.get_volume_stats()['pools']
        self.assertEqual(self.count, len(found))


class OpenImage:
    """An image of which only the size is asked.

    The cluster in memory looks through all images to open one.
    """

    def __init__(self, *_names, **_options):
        pass

    def size(self):
        return driver_case.GIB

    def close(self):
        pass


class Manageable(InMemory):
    """`seconds` {driver: processor time of each list}, by `measure`."""

    def measure(self):
        self.add_pools(self.pools)
        service = self.serve()
        known = [
            {'id': f'{number:08x}-0000-4000-8000-000000000000'}
            for number in range(self.images)
        ]
        names = [f'volume-{one["id"]}' for one in known]
        # For Cinder's, all are in one pool.
        other = 'all-in-one'
        self.cluster.pools[other] = {}
        images = {
            other: names,
            **{
                pool: names[number :: self.pools]
                for number, pool in enumerate(self.rados_pools.values())
            },
        }
        self.useFixture(
            fixtures.MonkeyPatch(
                'tests.worlds.ceph_bindings._RBD.list',
                lambda _rbd, ioctx: images.get(ioctx.name, []),
            )
        )
        self.rbd.Image = OpenImage
        drivers = {
            TIERED: service.driver,
            CINDER: self.serve_cinder(other).driver,
        }
        self.seconds = {name: [] for name in drivers}
        for _ in range(self.lists):
            for name, driver in drivers.items():
                begun = time.process_time()
                found = driver.get_manageable_volumes(
                    known, None, 1000, 0, *SORT
                )
                self.seconds[name].append(time.process_time() - begun)
                self.assertEqual(min(1000, self.images), len(found))


def run(case, **sizes):
    """Run a measurement as a test is run.

    :raises SystemExit: it failed.
    """
    measured = case('measure')
    vars(measured).update(sizes)
    result = testtools.TestResult()
    measured.run(result)
    for _, text in (*result.errors, *result.failures):
        sys.exit(text)
    return measured


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('what', nargs='+', choices=sorted(WHAT))
    parser.add_argument(
        '--pairs', type=int, default=20, help='of creates; default %(default)s'
    )
    parser.add_argument(
        '--creates',
        type=int,
        default=20,
        help='in each block; default %(default)s',
    )
    parser.add_argument(
        '--pools',
        type=int,
        default=1000,
        help='that are reported; default %(default)s',
    )
    parser.add_argument(
        '--images',
        type=int,
        default=10_000,
        help='that are listed, in ten pools; default %(default)s',
    )
    parser.add_argument(
        '--repeats',
        type=int,
        default=5,
        help='of stats and manageable; default %(default)s',
    )
    parser.add_argument(
        '--check', action='store_true', help='fail above the limit of stats'
    )
    parser.add_argument('--json', metavar='FILE', help='write all values')
    options = parser.parse_args(arguments)
    if options.check and 'stats' not in options.what:
        parser.error('--check: only stats has a limit')
    return options


def creates(options):
    """Print the ratios of creates, and return all blocks."""
    pairs = run(Creates, count=options.pairs, creates=options.creates).pairs
    for field, what in (
        ('creates_per_s', 'creates per second'),
        ('processor_s', 'processor time of a create'),
    ):
        ratio, low, high = create_throughput.ratio_of(pairs, field)
        print(
            f'{what}, {TIERED}/{CINDER}: {ratio:.3f} ({low:.3f} to '
            f'{high:.3f}, {len(pairs)} pairs)'
        )
    return [dataclasses.asdict(one) for pair in pairs for one in pair]


def stats(options):
    """Print the processor time of a report, and return all of them."""
    found = run(Stats, count=options.pools, reports=options.repeats).seconds
    each_s = cfg.CONF.backend_stats_polling_interval
    print(
        f'processor time of a report of {options.pools} pools: '
        f'{min(found):.3f} to {max(found):.3f} s, each {each_s} s'
    )
    return found


def manageable(options):
    """Print the processor time of lists, and return {driver: all}."""
    found = run(
        Manageable, pools=10, images=options.images, lists=options.repeats
    ).seconds
    for name, seconds in found.items():
        print(
            f'processor time of a list of {options.images} images, {name}: '
            f'{min(seconds):.2f} to {max(seconds):.2f} s'
        )
    return found


WHAT = {'creates': creates, 'stats': stats, 'manageable': manageable}


def main(arguments):
    options = parse(arguments)
    values = {what: WHAT[what](options) for what in options.what}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(values))
    if options.check:
        each_s = cfg.CONF.backend_stats_polling_interval
        found = max(values['stats']) * 60 / each_s
        if found > MOST_SECONDS_A_MINUTE:
            sys.exit(
                f'reports take {found:.2f} s of processor time a minute, '
                f'expected at most {MOST_SECONDS_A_MINUTE}'
            )


if __name__ == '__main__':
    main(sys.argv[1:])
