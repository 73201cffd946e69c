# SPDX-License-Identifier: Apache-2.0

"""Reads what OSDs are: object store, disks, I/O schedulers. Writes nothing.

OSDs report to the monitors when they start (`osd metadata`, the keys of which
are those of Ceph 16.2 and later); the I/O scheduler is not among them and can
only be seen on the OSD's own host.
"""

import collections.abc
import dataclasses
import errno
import pathlib
import platform
import re

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph.osd import osd_options

SYS_BLOCK = pathlib.Path('/sys/block')

#: The second came with Ceph 16 and is added to the first.
_ROCKSDB_OPTIONS = (
    'bluestore_rocksdb_options',
    'bluestore_rocksdb_options_annex',
)
_COMPRESSION = re.compile(r'(?:^|,)\s*compression\s*=\s*(\w+)')
#: {name in RocksDB: in the catalog}
_COMPRESSIONS = {
    'kLZ4Compression': 'lz4',
    'kNoCompression': 'none',
    'kSnappyCompression': 'snappy',
    'kZlibCompression': 'zlib',
    'kZSTD': 'zstd',
}
_DISK = re.compile(r'[A-Za-z0-9._!-]+')
_IN_USE = re.compile(r'\[([a-z0-9-]+)\]')
#: {type in statfs(2), as FileStore reports it: file system}.
_FILE_SYSTEMS = {
    '0x58465342': 'xfs',
    '0x9123683e': 'btrfs',
    '0xef53': 'ext4',
    '0x2fc12fc1': 'zfs',
}


@answers.in_known_form
def observe(
    session: ceph_session.Session,
    *,
    host: str | None = None,
    sys_block: pathlib.Path = SYS_BLOCK,
    rocksdb_of: collections.abc.Container[str | None] = (),
) -> dict[int, osd_requirements.OsdFacts]:
    """Read the facts of each OSD of a cluster.

    :param host: name of this host; the I/O scheduler is read for its OSDs
        only. None: the name that its kernel reports.
    :param sys_block: folder in which the kernel shows disks.
    :param rocksdb_of: device classes whose OSDs are asked how their database
        compresses.
    :returns: {OSD id: facts}, without OSDs that never reported any.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    here = platform.node() if host is None else host
    tree = session.command('osd tree')
    up = {
        node['id']
        for node in (*tree['nodes'], *tree.get('stray', ()))
        if node.get('status') == 'up'
    }
    compressions = rocksdb_compressions(
        session,
        [
            node['id']
            for node in tree['nodes']
            if node['id'] in up and node.get('device_class') in rocksdb_of
        ],
    )
    found = {}
    for metadata in session.command('osd metadata'):
        facts = dataclasses.replace(
            parse(metadata, is_up=metadata['id'] in up),
            rocksdb_compression=compressions.get(metadata['id']),
        )
        if facts.is_up and facts.host == here:
            facts = dataclasses.replace(
                facts, schedulers=schedulers(facts.disks, sys_block)
            )
        found[metadata['id']] = facts
    return found


def parse(metadata: dict, *, is_up: bool) -> osd_requirements.OsdFacts:
    """Parse an OSD of `osd metadata`.

    :param metadata: the entry; an OSD that never started has only its id.
    :param is_up: whether the OSD runs.
    """
    store = metadata.get('osd_objectstore')
    return osd_requirements.OsdFacts(
        is_up=is_up,
        host=metadata.get('hostname'),
        object_store=store,
        rotational=_flag(
            metadata.get(
                'bluestore_bdev_rotational', metadata.get('rotational')
            )
        ),
        file_system=_file_system(metadata.get('filestore_f_type')),
        disks=_disks_of_data(metadata),
        parts=_parts(metadata),
        alloc_size_bytes=_number(metadata.get('bluestore_min_alloc_size')),
    )


@answers.in_known_form
def rocksdb_compressions(
    session: ceph_session.Session, osd_ids: collections.abc.Iterable[int]
) -> dict[int, str]:
    """Read how the databases of OSDs compress.

    An OSD reads these options when it starts, and shows the values that it
    read.

    :returns: {OSD id: compression with the name of the catalog}, without OSDs
        that do not answer or do not report it.
    :raises errors.TiersError: Ceph refuses.
    """
    found = {}
    for osd_id, options in osd_options.ask_each(
        osd_ids,
        lambda osd_id: ','.join(
            session.tell(osd_id, 'config get', var=name)[name]
            for name in _ROCKSDB_OPTIONS
        ),
        errno.ENOENT,
        errno.EINVAL,
        # Only administrators may read it.
        *osd_options.REFUSED,
    ).items():
        # What is said last counts.
        said = _COMPRESSION.findall(options)
        if said:
            found[osd_id] = _COMPRESSIONS.get(said[-1], said[-1])
    return found


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def schedulers(
    disks: collections.abc.Iterable[str], sys_block: pathlib.Path
) -> dict[str, str]:
    """Return {disk: I/O scheduler in use} for disks that can be read.

    :param disks: kernel names of disks of this host.
    :param sys_block: folder in which the kernel shows disks.
    """
    found = {}
    for disk in sorted(disks):
        try:
            text = (sys_block / disk / 'queue' / 'scheduler').read_text()
        except OSError:
            # Not readable from here, such as in a container: not known.
            continue
        # One word where there is no choice.
        match = _IN_USE.search(text)
        found[disk] = match[1] if match else text.strip()
    return found


def _flag(text: str | None) -> bool | None:
    return {'0': False, '1': True}.get(text or '')


def _file_system(f_type: str | None) -> str | None:
    return None if f_type is None else _FILE_SYSTEMS.get(f_type, f_type)


def _disks(text: str | None) -> frozenset[str]:
    """Kernel names; LVM and partitions were resolved by Ceph."""
    return frozenset(
        name for name in (text or '').split(',') if _DISK.fullmatch(name)
    )


def _disks_of_data(metadata: dict) -> frozenset[str]:
    if 'bluestore_bdev_devices' in metadata:
        return _disks(metadata['bluestore_bdev_devices'])
    # FileStore; `devices` has the disk of the journal, too.
    return _disk_of_node(metadata.get('backend_filestore_dev_node')) or _disks(
        metadata.get('devices')
    )


def _disk_of_node(node: str | None) -> frozenset[str]:
    """Return the disk of a key of FileStore; empty for a device of LVM."""
    name = pathlib.PurePath(node or 'unknown').name
    if name == 'unknown' or name.startswith('dm-'):
        return frozenset()
    return _disks(name)


def _parts(metadata: dict) -> dict[str, osd_requirements.OsdPart] | None:
    if metadata.get('osd_objectstore') == 'filestore':
        return {
            'journal': osd_requirements.OsdPart(
                disks=_disk_of_node(
                    metadata.get('backend_filestore_journal_dev_node')
                ),
                rotational=_flag(metadata.get('journal_rotational')),
            )
        }
    dedicated = {
        name: _flag(metadata.get(f'bluefs_dedicated_{name}'))
        for name in ('db', 'wal')
    }
    if None in dedicated.values():
        return None
    return {
        name: osd_requirements.OsdPart(
            disks=_disks(metadata.get(f'bluefs_{name}_devices')),
            rotational=_flag(metadata.get(f'bluefs_{name}_rotational')),
        )
        for name, is_so in dedicated.items()
        if is_so
    }
