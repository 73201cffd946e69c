# SPDX-License-Identifier: Apache-2.0

"""Volumes of one backend a tier come under the driver for all tiers, and back.

The steps are those of doc/source/admin/driver.rst. After each one all volumes
are read, new ones are made, and a server that boots from one goes on writing.
"""

from concurrent import futures
import configparser
import hashlib
import json
import subprocess
import time

from testtools import content as details

from tests.functional import lab
from tests.long import guests

HOST = 'cinder-tiers-lab'
BACKEND = 'tiers-ceph'
#: With volumes; the erasure coded tier of the lab has none here.
TIERS = ('database', 'general')
#: Written to each volume, before its snapshot and after it, and to its clone.
DATA = '4m'
#: A retype of a GiB on a busy machine. A copy takes minutes, and Cinder makes
#: none of a volume with snapshots.
MOST_RETYPE_S = 60
#: Of the guest, which is not to be what makes the machine busy.
IOPS = 20
#: Seconds of which a guest tells after each step, and when at the latest.
TOLD, TOLD_WITHIN_S = 3, 60
BOOT_S = 900


class TakeOverDriverTest(guests.GuestsTestCase):
    def setUp(self):
        super().setUp()
        self.file = self.root / 'etc' / 'cinder.d' / 'functional-test.conf'
        self.old = [
            f'{HOST}@{name}'
            for name in _enabled(self.root / 'etc' / 'cinder-backends.conf')
        ]
        self.assertEqual(
            {f'{HOST}@tier-{tier}' for tier in (*TIERS, 'archive')},
            set(self.old),
        )
        self.pools_before = self.in_pools()
        self.took_s = {}
        self.addCleanup(self.put_back)

    def put_back(self):
        """The lab's own backends alone, whatever has failed."""
        for host, status in self.services_of_volumes().items():
            if status == 'disabled':
                self.forget(host)
        if self.file.exists():
            self.configure('')
        else:
            self.lab_sh('restart', 'cinder-volume')
        if f'{HOST}@{BACKEND}' in self.services_of_volumes():
            self.forget(f'{HOST}@{BACKEND}')

    # What an operator does

    def configure(self, text):
        """Give Cinder these settings beside the lab's, and restart.

        :param text: empty for the lab's own.
        """
        if text:
            self.file.write_text(text)
        else:
            self.file.unlink()
        self.lab_sh('restart', 'cinder-volume')

    def manage(self, *words):
        self.run_command(
            f'{self.root}/venv/bin/cinder-manage',
            *('--config-file', f'{self.root}/etc/cinder.conf'),
            *words,
        )

    def forget(self, host):
        self.manage('service', 'remove', 'cinder-volume', host)

    def disable(self, *hosts):
        """Have no new volume go there."""
        for host in hosts:
            self.run_command(
                *('openstack', 'volume', 'service', 'set', '--disable'),
                *('--disable-reason', 'take-over', host, 'cinder-volume'),
            )
            self.assertEqual('disabled', self.services_of_volumes()[host])

    def enable(self, *hosts):
        """Have services anew; the API of Cinder 29.0 enables none."""
        for host in hosts:
            self.forget(host)
        self.lab_sh('restart', 'cinder-volume')
        for host in hosts:
            self.assertEqual('enabled', self.services_of_volumes()[host])

    def rename(self, to_new):
        """Change the host of each volume, and which service it is of."""
        for host in self.old:
            pool = host.partition('@')[2]
            hosts = f'{host}#{pool}', f'{HOST}@{BACKEND}#{pool}'
            current, new = hosts if to_new else hosts[::-1]
            self.manage(
                *('volume', 'update_host'),
                *('--currenthost', current, '--newhost', new),
            )
        self.manage('volume', 'update_service')

    # What is looked at

    def services_of_volumes(self):
        """{host of a service: "enabled" or "disabled"}"""
        return {
            one.host: one.status
            for one in self.cinder.services.list(binary='cinder-volume')
        }

    def in_pools(self):
        """{pool: names of its images, entries of its trash}"""
        return {
            pool: tuple(
                sorted(self.run_command('rbd', *words, pool)[0].split())
                for words in (('ls',), ('trash', 'ls', '--all'))
            )
            for pool in lab.POOLS
        }

    def sum_of_image(self, volume, *snapshot):
        """SHA-256 of a volume, or of its snapshot, where Cinder says it is.

        Read as a client does, with the name and the user that Cinder gives it.
        """
        connector = {'host': HOST, 'ip': '127.0.0.1', 'initiator': 'none'}
        info = self.cinder.volumes.initialize_connection(volume, connector)
        name, user = (info['data'][key] for key in ('name', 'auth_username'))
        self.cinder.volumes.terminate_connection(volume, connector)
        with subprocess.Popen(
            ('rbd', '--id', user, 'export', '--no-progress')
            + ('@'.join((name, *snapshot)), '-'),
            stdout=subprocess.PIPE,
            env=self.environment,
        ) as export:
            found = hashlib.file_digest(export.stdout, 'sha256').hexdigest()
        self.assertEqual(0, export.returncode)
        return found

    def sums(self):
        """[(sum of a volume, of its snapshot, of its clone)]"""
        return self.for_each(self.sums_of, self.families.values())

    def sums_of(self, family):
        volume, snapshot, clone = family
        return (
            self.sum_of_image(volume),
            self.sum_of_image(volume, f'snapshot-{snapshot}'),
            self.sum_of_image(clone),
        )

    def make_family(self, tier):
        """(volume, its snapshot, a clone of that), each of other data."""
        volume = self.make_volume(volume_type=tier).id
        self.write(tier, volume)
        snapshot = self.make_snapshot(volume).id
        clone = self.make_volume(snapshot_id=snapshot).id
        for one in (volume, clone):
            self.write(tier, one)
        return volume, snapshot, clone

    def write(self, tier, volume):
        """Write some more data, which nothing else has."""
        self.run_command(
            *('fio', '--name=data', '--ioengine=rbd', '--clientname=admin'),
            *(f'--pool=tier-{tier}', f'--rbdname=volume-{volume}'),
            *('--rw=randwrite', '--bs=64k', '--size=1g', f'--io_size={DATA}'),
            *('--iodepth=16', '--randrepeat=0', '--refill_buffers'),
        )

    def assert_writes(self, guest):
        """It tells of some seconds from now on, and no I/O has failed."""
        now = time.monotonic()
        self.wait_while(
            lambda: (
                sum(at > now and rate > 0 for at, rate in guest.rates) < TOLD
                and not guest.ended()
            ),
            TOLD_WITHIN_S,
        )
        self.assertEqual('', guest.ended())

    def assert_served(self, step, *backends):
        """All works, and new volumes are of one of these backends.

        :param backends: names of backends; "old": the old one of each tier.
        """
        began = time.monotonic()
        self.assertEqual((step, self.expected), (step, self.sums()))
        self.for_each(self.assert_works, self.families, step, backends)
        for guest in self.guests:
            self.assert_writes(guest)
        self.took_s[step] = round(time.monotonic() - began)

    def assert_works(self, tier, step, backends):
        """Snapshots of its volumes, and a new volume on it, can be made."""
        volume, _, clone = self.families[tier]
        for origin in (volume, clone):
            made = self.make_snapshot(origin)
            self.assertEqual('available', made.status, step)
            self.remove(self.cinder.volume_snapshots, made.id)
        made = self.make_volume(volume_type=tier)
        self.assertEqual(
            ('available', tier, f'tier-{tier}'), self.place_of(made.id)
        )
        self.assertIn(
            getattr(made, 'os-vol-host-attr:host'),
            {
                f'{HOST}@{f"tier-{tier}" if one == "old" else one}#tier-{tier}'
                for one in backends
            },
        )
        self.remove(self.cinder.volumes, made.id)

    def for_each(self, act, tiers, *arguments):
        """Act for some tiers at a time; what is returned, in their order."""
        with futures.ThreadPoolExecutor(len(TIERS)) as threads:
            return list(threads.map(lambda one: act(one, *arguments), tiers))

    # The steps

    def test_to_the_driver_for_all_tiers_and_back(self):
        sections, _ = self.run_command(
            *('openstack', 'tier', 'backend-config', '--driver', 'tiered')
        )
        alone = f'enabled_backends = {BACKEND}\n'
        self.assertIn(alone, sections)
        old_names = ','.join(host.partition('@')[2] for host in self.old)
        beside = sections.replace(
            alone, f'enabled_backends = {old_names},{BACKEND}\n'
        )
        self.families = dict(
            zip(TIERS, self.for_each(self.make_family, TIERS), strict=True)
        )
        self.expected = self.sums()
        self.assertEqual(
            3 * len(TIERS),
            len({one for some in self.expected for one in some}),
        )
        self.start(
            guests=1,
            clients=0,
            volume_type='database',
            pool='tier-database',
            most_iops=IOPS,
        )
        self.assert_served('the old backends', 'old')

        self.configure(beside)
        self.assert_served('the new section is there', 'old', BACKEND)
        self.rename(to_new=True)
        self.assert_hosts(BACKEND)
        self.assert_served('the volumes have new hosts', 'old', BACKEND)
        self.disable(*self.old)
        self.rename(to_new=True)
        self.assert_served('the old services are disabled', BACKEND)

        # The way back, before the last step.
        self.enable(*self.old)
        self.rename(to_new=False)
        self.assert_hosts('old')
        self.disable(f'{HOST}@{BACKEND}')
        self.rename(to_new=False)
        self.assert_served('the volumes have old hosts again', 'old')
        self.enable(f'{HOST}@{BACKEND}')
        self.rename(to_new=True)
        self.disable(*self.old)
        self.rename(to_new=True)

        self.configure(sections)
        for host in self.old:
            self.forget(host)
        self.assertEqual(
            {f'{HOST}@{BACKEND}': 'enabled'}, self.services_of_volumes()
        )
        self.assert_served('the old sections are gone', BACKEND)
        self.reboot()
        self.retype_in_place()
        self.assert_served('a volume has changed its tier', BACKEND)

        self.configure(beside)
        self.wait_while(self.tasks)
        self.flatten_clones_of_moved()
        self.rename(to_new=False)
        self.assert_hosts('old')
        self.assert_served('back: the volumes have old hosts', 'old', BACKEND)
        self.disable(f'{HOST}@{BACKEND}')
        self.rename(to_new=False)
        self.assert_served('back: the new service is disabled', 'old')
        self.configure('')
        self.forget(f'{HOST}@{BACKEND}')
        self.assertEqual(
            dict.fromkeys(self.old, 'enabled'), self.services_of_volumes()
        )
        self.assert_served('back: the old backends', 'old')
        self.reboot()
        self.remove_all()
        text = f'seconds of each look: {self.took_s}'
        print(text)
        self.addDetail('looks', details.text_content(text))

    def assert_hosts(self, backend):
        """All volumes are of a backend, in the pools where they were."""
        for volume in self.cinder.volumes.list(search_opts={'all_tenants': 1}):
            found, _, pool = getattr(
                volume, 'os-vol-host-attr:host'
            ).rpartition('#')
            self.assertEqual(
                f'{HOST}@{pool if backend == "old" else backend}', found
            )

    def reboot(self):
        """The server starts anew with what Nova has stored, and writes."""
        (guest,) = self.guests
        nova = self.member.compute
        nova.reboot_server(guest.server, 'HARD')
        self.wait_while(
            lambda: nova.get_server(guest.server).status != 'ACTIVE', BOOT_S
        )
        now = time.monotonic()
        self.wait_while(
            lambda: (
                not any(at > now and rate > 0 for at, rate in guest.rates)
                and not guest.ended()
            ),
            BOOT_S,
        )
        self.assert_writes(guest)

    def retype_in_place(self):
        """Change the tier of a volume with a snapshot, from which a clone is.

        Cinder would copy none that has snapshots.
        """
        volume, *_ = self.families['database']
        began = time.monotonic()
        self.cinder.volumes.retype(volume, 'general', 'on-demand')
        self.wait_while(
            lambda: self.cinder.volumes.get(volume).status == 'retyping',
            MOST_RETYPE_S,
        )
        self.took_s['retype'] = round(time.monotonic() - began)
        self.wait_while(self.tasks, BOOT_S)
        self.assertEqual(
            ('available', 'general', 'tier-general'), self.place_of(volume)
        )

    def tasks(self):
        """Tasks of Ceph's manager."""
        return json.loads(self.run_command('ceph', 'rbd', 'task', 'list')[0])

    def flatten_clones_of_moved(self):
        """Flatten clones, as the page says, before Cinder's own driver."""
        _, _, clone = self.families['database']
        self.run_command(
            *('rbd', 'flatten', '--no-progress'),
            f'tier-database/volume-{clone}',
        )

    def remove_all(self):
        """Cinder's own driver removes all of it."""
        self.end()
        for volume, snapshot, clone in self.families.values():
            self.remove(self.cinder.volumes, clone)
            self.remove(self.cinder.volume_snapshots, snapshot)
            self.remove(self.cinder.volumes, volume)
        self.wait_while(
            lambda: {
                pool: (found, self.pools_before[pool])
                for pool, found in self.in_pools().items()
                if found != self.pools_before[pool]
            }
        )


def _enabled(conf):
    """Names of the backends of a file like cinder.conf."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(conf.read_text())
    return parser['DEFAULT']['enabled_backends'].split(',')
