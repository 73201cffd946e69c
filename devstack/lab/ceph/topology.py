# SPDX-License-Identifier: Apache-2.0
"""What the lab's Ceph consists of: daemons, hosts, disks, paths and options.

Decides everything and touches nothing. ceph.conf holds only what a daemon
needs before it can ask a monitor. A value there beats ``ceph config set``, so
no option that a tier may tune is allowed in it; those have their first value
in :data:`INITIAL_OPTIONS` and live in the monitors' database.
"""

import dataclasses
import pathlib
import sysconfig
import uuid

from lab.host import throttle

MONITOR = 'mon.a'
MANAGER = 'mgr.x'

#: Where Debian keeps the manager's modules, and those of them that it cannot
#: do without (HEALTH_ERR). It loads all that it finds; the others would double
#: its memory, 310 MB, and the time that it takes to start.
MANAGER_MODULES_SOURCE = pathlib.Path('/usr/share/ceph/mgr')
#: Those of them that only some releases of Ceph have are left out there.
MANAGER_MODULES = (
    'balancer',
    'crash',
    'devicehealth',
    'mgr_module.py',
    'mgr_util.py',
    'object_format.py',
    'orchestrator',
    'pg_autoscaler',
    'progress',
    'rbd_support',
    'status',
    'telemetry',
    'volumes',
)

#: A module that those of Ceph 18 import, and that cannot be imported by more
#: than one of them (PyO3): they get an empty one, and use it for nothing here.
MANAGER_STAND_IN = 'bcrypt.py'

#: The module for RBD tasks, and what ends the manager in it, see
#: doc/source/admin/driver.rst.
RBD_TASKS = 'rbd_support'
RBD_TASK_PROGRESS = 'on_progress=partial(self.progress_callback, task)'

#: Where Debian keeps what OSDs need for RBD.
OBJECT_CLASSES = (
    f'/usr/lib/{sysconfig.get_config_var("MULTIARCH")}/rados-classes'
)

#: It is allocated when the OSD is made; Ceph's own choice is 5 GiB.
FILESTORE_JOURNAL_MIB = 128

#: (section, option) -> value, set once when the cluster is made.
INITIAL_OPTIONS = {
    # Memory: fixed caches. With autotuning the least target is 896 MiB.
    ('osd', 'bluestore_cache_autotune'): 'false',
    ('osd', 'bluestore_cache_size'): str(64 * 2**20),
    # RocksDB's logs, up to 1 GiB of them and four more to use again, do not
    # fit the disks of the database. They then go to the slow disk, whose
    # tier has half its IOPS meanwhile.
    ('osd', 'bluestore_rocksdb_options_annex'): 'max_total_wal_size=268435456',
    # BlueStore gathers 64 deferred writes before it sends them on: 0.4 s of a
    # disk that is held to 160 IOPS, which is idle meanwhile.
    ('osd', 'bluestore_deferred_batch_ops_hdd'): '8',
    # Tools that wait for statistics need not wait for 5 s.
    ('mgr', 'mgr_stats_period'): '1',
    # The queue mClock would measure each disk first, for a minute on those
    # that are held to a speed.
    ('osd', 'osd_mclock_skip_benchmark'): 'true',
    # Pools keep the placement groups that they were given, where they were
    # given them: nothing moves while something is measured.
    ('global', 'osd_pool_default_pg_autoscale_mode'): 'off',
    ('mgr', 'mgr/balancer/active'): 'false',
    # The disks have no SMART data, so no pool to keep it in.
    ('mgr', 'mgr/devicehealth/enable_monitoring'): 'false',
    # A monitor would fork itself for each new pool, to try all CRUSH rules:
    # up to a second on a busy machine.
    ('mon', 'mon_osd_crush_smoke_test'): 'false',
    # Tests delete what they made.
    ('mon', 'mon_allow_pool_delete'): 'true',
    # Every client of the lab is newer than CVE-2021-20288.
    ('mon', 'auth_allow_insecure_global_id_reclaim'): 'false',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Osd:
    """One OSD and the disks under it.

    :param id: number of the OSD.
    :param host: name of the CRUSH host; it need not be a real one.
    :param device_class: ``ssd``, ``hdd`` or a name of one's own.
    :param data_gib: size of the data disk in GiB.
    :param db_gib: size of a second disk, for BlueStore's database and its
        write-ahead log; None keeps both on the data disk.
    :param speed: to which the data disk is held; None for no limit.
    :param object_store: ``bluestore`` or ``filestore``.
    """

    id: int
    host: str
    device_class: str
    data_gib: int
    db_gib: int | None = None
    speed: throttle.DiskSpeed | None = None
    object_store: str = 'bluestore'

    @property
    def name(self) -> str:
        return f'osd.{self.id}'

    @property
    def disk_sizes_gib(self) -> dict[str, int]:
        """{part: size in GiB} of its disks, the data disk first.

        The names are BlueStore's own; FileStore's disk is ``xfs``.
        """
        if self.object_store == 'filestore':
            return {'xfs': self.data_gib}
        if self.db_gib:
            return {'block': self.data_gib, 'block.db': self.db_gib}
        return {'block': self.data_gib}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ports:
    """TCP ports on 127.0.0.1.

    :param monitor_v2: of the monitor, for messenger version 2.
    :param monitor_v1: of the monitor, for version 1.
    :param first: of those that OSDs and manager choose from; each OSD takes
        eight, the manager two.
    :param last: see ``first``; included.
    """

    monitor_v2: int = 3300
    monitor_v1: int = 6789
    first: int = 6800
    last: int = 6999


#: The disks that papers on tiering assume: 7200 rpm SATA.
HDD_SPEED = throttle.DiskSpeed(iops=160, bytes_per_second=60_000_000)


def six_osds(
    hdd_speed: throttle.DiskSpeed = HDD_SPEED,
    data_gib: int = 10,
    db_gib: int = 2,
) -> tuple[Osd, ...]:
    """Return three hosts, each with an ``ssd`` and an ``hdd`` OSD.

    The database of an hdd OSD has a disk without a limit, as journals on
    flash before rotating disks; else writing one small object would cost
    several requests, and the disk would not show its own speed.
    """
    hosts = ('host-a', 'host-b', 'host-c')
    flash = [
        Osd(id=number, host=host, device_class='ssd', data_gib=data_gib)
        for number, host in enumerate(hosts)
    ]
    rotating = [
        Osd(
            id=len(hosts) + number,
            host=host,
            device_class='hdd',
            data_gib=data_gib,
            db_gib=db_gib,
            speed=hdd_speed,
        )
        for number, host in enumerate(hosts)
    ]
    return (*flash, *rotating)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CephLayout:
    """Where a cluster lives, what it is made of and where it listens.

    :param folder: of all its files; absolute.
    :param fsid: identity of the cluster.
    """

    folder: pathlib.Path
    fsid: uuid.UUID
    osds: tuple[Osd, ...]
    ports: Ports

    @property
    def conf(self) -> pathlib.Path:
        return self.folder / 'ceph.conf'

    @property
    def initial_keyring(self) -> pathlib.Path:
        return self.folder / 'first.keyring'

    @property
    def disks(self) -> pathlib.Path:
        return self.folder / 'disks'

    @property
    def manager_modules(self) -> pathlib.Path:
        return self.folder / 'mgr-modules'

    @property
    def manager_modules_copied(self) -> pathlib.Path:
        return self.folder / 'mgr-modules-copied'

    def keyring(self, client: str) -> pathlib.Path:
        """Return where a client's key lies; ``client`` without its type."""
        return self.folder / f'ceph.client.{client}.keyring'

    def data(self, daemon: str) -> pathlib.Path:
        """Return the data folder of a daemon, such as ``osd.0``."""
        return self.folder / daemon

    def log_file(self, daemon: str) -> pathlib.Path:
        return self.folder / 'log' / f'ceph-{daemon}.log'

    def disk(self, osd: Osd, part: str) -> pathlib.Path:
        """Return the file behind a disk.

        :param part: as in :attr:`Osd.disk_sizes_gib`.
        """
        return self.disks / f'{osd.name}.{part}'

    def file_store_disk(self, osd: Osd) -> pathlib.Path:
        """Return the link to the disk of a FileStore OSD."""
        return self.data(osd.name) / 'xfs'

    def file_store(self, osd: Osd) -> pathlib.Path:
        """Return where a FileStore OSD finds its disk mounted."""
        return self.data(osd.name) / 'store'

    def osd_uuid(self, osd: Osd) -> uuid.UUID:
        """Return an OSD's identity; follows from that of the cluster."""
        return uuid.uuid5(self.fsid, osd.name)

    def argv(self, daemon: str) -> tuple[str, ...]:
        """Return the command of a daemon that stays in the foreground."""
        kind, _, number = daemon.partition('.')
        return (
            f'/usr/bin/ceph-{kind}',
            '-f',
            '-i',
            number,
            '-c',
            str(self.conf),
        )


def conf_text(layout: CephLayout) -> str:
    """Return ceph.conf.

    ``[osd.N]`` sections say where an OSD stands, and what one with FileStore
    is made with; everything else is paths, addresses and what a monitor must
    know before it has a database.
    """
    sections = _sections(layout)
    for osd in layout.osds:
        sections[osd.name] = {
            'crush_location': f'root=default host={osd.host}'
        }
        if osd.object_store == 'filestore':
            store = layout.file_store(osd)
            sections[osd.name] |= {
                'osd_objectstore': 'filestore',
                'osd_data': store,
                'osd_journal': f'{store}/journal',
                'osd_journal_size': FILESTORE_JOURNAL_MIB,
            }
    return '\n'.join(
        f'[{name}]\n'
        + ''.join(f'{option} = {value}\n' for option, value in options.items())
        for name, options in sections.items()
    )


def _sections(layout: CephLayout) -> dict[str, dict[str, object]]:
    folder, ports = layout.folder, layout.ports
    daemon = {'log_file': f'{folder}/log/$cluster-$name.log'}
    return {
        'global': {
            'fsid': layout.fsid,
            'mon_host': f'[v2:127.0.0.1:{ports.monitor_v2}/0,'
            f'v1:127.0.0.1:{ports.monitor_v1}/0]',
            'public_addr': '127.0.0.1',
            'cluster_addr': '127.0.0.1',
            'ms_bind_port_min': ports.first,
            'ms_bind_port_max': ports.last,
            'run_dir': f'{folder}/run',
            'crash_dir': f'{folder}/crash',
            'keyring': f'{folder}/$cluster.$name.keyring',
        },
        'mon': {
            **daemon,
            'mon_data': f'{folder}/$name',
            'keyring': f'{folder}/$name/keyring',
            'mon_cluster_log_file': f'{folder}/log/$cluster.log',
            # A lone monitor waits for no other one: a command that changes
            # something takes 0.02 s instead of 1 s.
            'paxos_propose_interval': '0.01',
            'paxos_min_wait': '0.002',
            # The lab's folder shares a disk with much else.
            'mon_data_avail_warn': '5',
            # None but those that cannot be switched off.
            'mgr_initial_modules': '',
        },
        'mgr': {
            **daemon,
            'mgr_data': f'{folder}/$name',
            'mgr_module_path': layout.manager_modules,
            'keyring': f'{folder}/$name/keyring',
        },
        'osd': {
            **daemon,
            'osd_data': f'{folder}/$name',
            # Debian's Ceph 18 looks for it below the working directory.
            'osd_class_dir': OBJECT_CLASSES,
            # Each disk of an OSD takes as much of fs.aio-max-nr, 65536 on a
            # machine as it is: with Ceph's own 1024, three labs are too many.
            'bdev_aio_max_queue_depth': '256',
            'keyring': f'{folder}/$name/keyring',
        },
    }
