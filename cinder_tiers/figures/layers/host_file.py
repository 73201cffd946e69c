# SPDX-License-Identifier: Apache-2.0

"""File with the host that measures the layers below guests.

A small YAML file that an admin writes: where Ceph is, the user, and the disks
that may be measured raw.  A disk that is written to loses its content, so each
such disk must be listed in this file; none is ever chosen automatically.

This module defines the format; plugins read the file and check the disks.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
import re

from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling

VERSION = 1
_CEPH_KEYS = ('conf', 'user')
_RAW_KEYS = ('device_class', 'device', 'may_be_overwritten', 'cgroup')
_KEYS = ('version', 'ceph', 'raw')
# Of a cephx user, without "client."
_USER = re.compile(r'[A-Za-z0-9_.-]{1,64}')


@dataclass(frozen=True, kw_only=True)
class Ceph:
    """Access to Ceph from this host."""

    #: absolute path of ceph.conf
    conf: str = '/etc/ceph/ceph.conf'
    #: cephx user, without ``client.``
    user: str = 'admin'


@dataclass(frozen=True, kw_only=True)
class RawDisk:
    """A disk that may be measured without anything above it."""

    #: Ceph's class of the disks that it stands for
    device_class: str
    #: absolute path of a block device
    device: str
    #: whether its content may be lost; else it is only read
    may_be_overwritten: bool = False
    #: folder of a cgroup to measure in, where limits hold for the device; None
    #: for none
    cgroup: str | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """The host that measures."""

    #: how to reach Ceph
    ceph: Ceph = Ceph()
    #: disks, at most one of each class
    raw: tuple[RawDisk, ...] = ()

    def raw_disk(self, device_classes: tuple[str, ...]) -> RawDisk | None:
        """Return the disk that represents OSDs of one class; None without one.

        :param device_classes: device classes of a pool's OSDs; several have no
            such disk
        """
        return next(
            (
                disk
                for disk in self.raw
                if device_classes == (disk.device_class,)
            ),
            None,
        )


class _HostFileReader:
    """Reader that reports problems by file and key."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[errors.Problem] = []

    def problem(
        self,
        key: str,
        found: object,
        expected: str,
        remedy: str = 'fix it',
    ) -> None:
        self.problems.append(
            errors.Problem(
                where=f'{self._file}: {key}',
                found=f'found {str(found)[:80]!r}',
                expected=expected,
                remedy=remedy,
            )
        )

    def mapping(
        self, value: object, keys: tuple[str, ...], place: str
    ) -> Mapping:
        """The value; an empty one if it is not a mapping of these keys."""
        if not isinstance(value, Mapping):
            self.problem(place, value, 'a mapping')
            return {}
        for key in value:
            if key not in keys:
                self.problem(
                    f'{place}.{key}',
                    'an unknown key',
                    f'one of {", ".join(keys)}',
                    f'{spelling.did_you_mean(str(key), keys)}correct or'
                    f' remove it',
                )
        return value

    def path(self, value: object, key: str) -> None:
        if not (
            isinstance(value, str)
            and value.startswith('/')
            and '\0' not in value
        ):
            self.problem(key, value, 'an absolute path')


def _raw(reader: _HostFileReader, value: object) -> Iterator[RawDisk]:
    if not isinstance(value, list):
        reader.problem('raw', value, 'a list of disks')
        return
    for number, each in enumerate(value):
        place = f'raw[{number}]'
        entry = reader.mapping(each, _RAW_KEYS, place)
        for key in ('device_class', 'device'):
            if entry and key not in entry:
                reader.problem(f'{place}.{key}', 'nothing', 'text', 'add it')
        if 'device' in entry:
            reader.path(entry['device'], f'{place}.device')
        if entry.get('cgroup') is not None:
            reader.path(entry['cgroup'], f'{place}.cgroup')
        if not isinstance(entry.get('device_class', ''), str):
            reader.problem(
                f'{place}.device_class',
                entry['device_class'],
                'a device class of Ceph, such as hdd',
            )
        if not isinstance(entry.get('may_be_overwritten', False), bool):
            reader.problem(
                f'{place}.may_be_overwritten',
                entry['may_be_overwritten'],
                'true or false',
            )
        if not reader.problems and entry:
            yield RawDisk(**entry)


def host(document: object, file: str) -> Host:
    """Parse the host file.

    :param document: content of the file as YAML parses it
    :param file: name of the file, for messages
    :raises cinder_tiers.domain.errors.ProblemsFound: all problems of the file
    """
    reader = _HostFileReader(file)
    top = reader.mapping(document, _KEYS, 'the file')
    if top and top.get('version') != VERSION:
        reader.problem(
            'version',
            top.get('version'),
            str(VERSION),
            f'write version: {VERSION}, and keys of that version',
        )
    ceph = reader.mapping(top.get('ceph', {}), _CEPH_KEYS, 'ceph')
    reader.path(ceph.get('conf', Ceph.conf), 'ceph.conf')
    user = ceph.get('user', Ceph.user)
    if not (isinstance(user, str) and _USER.fullmatch(user)) or (
        user.startswith('client.')
    ):
        reader.problem(
            'ceph.user', user, "a cephx user, without 'client.', such as admin"
        )
    disks = tuple(_raw(reader, top.get('raw', [])))
    classes = [disk.device_class for disk in disks]
    for name in dict.fromkeys(classes):
        if classes.count(name) > 1:
            reader.problem(
                'raw',
                f'{classes.count(name)} disks of {name}',
                'one of each device class',
                'leave one of them',
            )
    if reader.problems:
        raise errors.ProblemsFound(reader.problems)
    return Host(ceph=Ceph(**ceph), raw=disks)
