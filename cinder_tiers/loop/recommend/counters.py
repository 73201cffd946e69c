# SPDX-License-Identifier: Apache-2.0

"""Loads of running volumes, from output of Ceph or Nova, checked strictly.

``rbd perf image iostat --format json``: rates of the last interval, and the
mean latency in ns (Ceph, ``src/tools/rbd/action/Perf.cc``).  By Little's law,
I/Os per second times latency in seconds is the number in flight.  Ceph prints
one interval and ends, so that a file may have several such outputs, one after
another.

Server diagnostics of Nova, API version 2.48 and later: counters of each disk
and an uptime in seconds.  They contain neither the volume of a disk nor a
latency.  Counters are of QEMU's process and begin anew when the server is
stopped and started, rebooted hard or migrated; Nova's uptime goes on, as it
counts from the launch of the server (nova/virt/libvirt/driver.py,
get_instance_diagnostics).

Pure.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import json
import math

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import record
from cinder_tiers.loop.recommend import load as loads

MAX_BYTES = 64 * 2**20
#: With fewer I/Os per second, a volume is idle: what it does says nothing.
LEAST_IOPS = 1.0
_MOST_DISKS = 10_000
# Each may be empty.
_MOST_LOOKS = 10_000
_MOST_CHARS = 60
_SINCE_LAUNCH = (
    'less than one I/O per second since its server was launched; its counters'
    ' may have begun later, when it was started or migrated: name its'
    ' diagnostics twice, some minutes apart'
)
# Of all numbers here; 10^15 bytes per second is no volume's.
_MOST = 1e15


@dataclass(frozen=True, kw_only=True)
class Volume:
    """Load of one volume."""

    #: RBD image with its pool, or the disk of a server
    name: str
    #: Ceph pool; None: not told
    pool: str | None
    #: I/Os per second
    iops: float
    #: None: it is idle, or not known to be busy
    load: loads.Load | None
    #: why it need not be idle although it has no load; else empty
    doubt: str = ''


def _document(text: bytes, what: str) -> object:
    try:
        return record.parsed(text)
    except ValueError as error:
        raise record.RecordError(
            f'found no JSON ({error}): expected the output of {what}'
        ) from error


class _Fields:
    """Values of a document, checked; all that is wrong is kept."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def number(self, mapping: Mapping, key: str, where: str) -> float:
        value = mapping.get(key)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 <= value <= _MOST
        ):
            return float(value)
        self.wrong.append(
            f'{where}: {key} {str(value)[:_MOST_CHARS]!r}: expected a number'
            f' from 0'
        )
        return 0.0

    def text(self, mapping: Mapping, key: str, where: str) -> str:
        value = mapping.get(key)
        if isinstance(value, str):
            return value
        self.wrong.append(
            f'{where}: {key} {str(value)[:_MOST_CHARS]!r}: expected text'
        )
        return ''

    def check(self) -> None:
        if self.wrong:
            rest = len(self.wrong) - 10
            raise record.RecordError(
                *self.wrong[:10], *([f'and {rest} more'] * (rest > 0))
            )


def _mappings(found: object, what: str) -> Iterator[tuple[int, Mapping]]:
    if not isinstance(found, list) or len(found) > _MOST_DISKS:
        raise record.RecordError(
            f'{what}: found {type(found).__name__}'
            f'{f" of {len(found)}" if isinstance(found, list) else ""}:'
            f' expected a list of at most {_MOST_DISKS}'
        )
    for place, each in enumerate(found, 1):
        if not isinstance(each, Mapping):
            raise record.RecordError(
                f'{what}, entry {place}: found {type(each).__name__}:'
                f' expected an object'
            )
        yield place, each


def _volume(
    name: str,
    pool: str | None,
    per_second: Mapping[str, tuple[float, float]],
    in_flight: float | None,
    *,
    doubt: str = '',
) -> Volume:
    """A volume.

    :param per_second: {read or write: (I/Os, bytes)}
    :param doubt: why it need not be idle if it does little
    """
    iops = math.fsum(ios for ios, _ in per_second.values())
    load = None
    if iops >= LEAST_IOPS:
        load = loads.Load(
            name=name,
            read_percent=100 * per_second['read'][0] / iops,
            # Zero bytes are a flush or a discard that was counted.
            block_bytes={
                direction: amount / ios
                for direction, (ios, amount) in per_second.items()
                if ios > 0 and amount > 0
            },
            # While it pauses, it has less than one on average.
            in_flight=None if in_flight is None else max(1.0, in_flight),
            iops=iops,
        )
    return Volume(
        name=name,
        pool=pool,
        iops=iops,
        load=load,
        doubt=doubt if load is None else '',
    )


def of_iostat(text: bytes) -> tuple[tuple[Volume, ...], ...]:
    """Parse the volumes of ``rbd perf image iostat --format json``.

    :param text: complete outputs, one after another
    :returns: volumes of each output; those that did nothing may be missing
    :raises record.RecordError: the text is something else; names all problems
    """
    what = 'rbd perf image iostat --format json'
    found = _documents(text, what)
    return tuple(
        _look(each, what, f'output {place}, ' if len(found) > 1 else '')
        for place, each in enumerate(found, 1)
    )


def _documents(text: bytes, what: str) -> list[object]:
    """Values of a text that has one JSON document or more."""
    found: list[object] = []
    decoder = json.JSONDecoder()
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        # No JSON has this character, so the output is named that has the byte.
        decoded = text[: error.start].decode() + '\0'
    end = 0
    while True:
        while decoded[end : end + 1].isspace():
            end += 1
        if found and end == len(decoded):
            return found
        if len(found) == _MOST_LOOKS:
            raise record.RecordError(
                f'found more than {_MOST_LOOKS} outputs of {what}: remove the '
                'oldest ones'
            )
        try:
            value, end = decoder.raw_decode(decoded, end)
        except (ValueError, RecursionError) as error:
            line = decoded.count('\n', 0, end) + 1
            raise record.RecordError(
                f'output {len(found) + 1}, which begins in line {line}: found '
                f'no JSON ({error}): expected the complete output of {what}; '
                'if the command was interrupted, remove what it wrote'
            ) from error
        found.append(value)


def _look(found: object, what: str, output: str) -> tuple[Volume, ...]:
    fields = _Fields()
    volumes = []
    names: set[str] = set()
    for place, each in _mappings(found, f'{output}{what}'):
        where = f'{output}image {place}'
        image = fields.text(each, 'image', where)
        pool = fields.text(each, 'pool', where)
        namespace = fields.text(each, 'pool_namespace', where)
        spec = '/'.join(filter(None, (pool, namespace, image)))
        if spec in names:
            fields.wrong.append(f'{where}: {spec[:_MOST_CHARS]!r} comes twice')
        names.add(spec)
        if (image, namespace) == (catalogs.WATCH_IMAGE, catalogs.WATCH_IMAGE):
            # The image of "tier watch" is not a volume.
            continue
        values = {
            f'{direction}_{name}': fields.number(
                each, f'{direction}_{name}', where
            )
            for direction in ('read', 'write')
            for name in ('ops', 'bytes', 'latency')
        }
        volumes.append(
            _volume(
                spec,
                pool,
                {
                    direction: (
                        values[f'{direction}_ops'],
                        values[f'{direction}_bytes'],
                    )
                    for direction in ('read', 'write')
                },
                math.fsum(
                    values[f'{direction}_ops']
                    * values[f'{direction}_latency']
                    / 1e9
                    for direction in ('read', 'write')
                ),
            )
        )
    fields.check()
    return tuple(volumes)


@dataclass(frozen=True, kw_only=True)
class _Disk:
    """Counters of a disk."""

    read_requests: float
    read_bytes: float
    write_requests: float
    write_bytes: float


def _diagnostics(text: bytes) -> tuple[float, tuple[_Disk, ...]]:
    """(uptime in s, disks in their order)."""
    what = 'server diagnostics of Nova, API version 2.48 or later'
    found = _document(text, what)
    if not isinstance(found, Mapping) or 'disk_details' not in found:
        raise record.RecordError(
            f'found no disk_details: expected {what}, as JSON'
        )
    fields = _Fields()
    uptime = fields.number(found, 'uptime', 'server')
    disks = tuple(
        _Disk(
            **{
                name: fields.number(each, name, f'disk {place}')
                for name in _Disk.__dataclass_fields__
            }
        )
        for place, each in _mappings(found['disk_details'], 'disk_details')
    )
    fields.check()
    return uptime, disks


def of_diagnostics(texts: Sequence[bytes]) -> tuple[Volume, ...]:
    """Disks of a server, as ``disk 1`` and so on.

    :param texts: diagnostics; of two of the same server, what was done
        between them counts, in either order; of one, since it was launched,
        or less than was done, see above
    :raises record.RecordError: it is something else; all that is wrong
    """
    if not 1 <= len(texts) <= 2:
        raise record.RecordError(
            f'{len(texts)} diagnostics: expected one, or two of one server'
        )
    *before, (uptime, disks) = sorted(
        map(_diagnostics, texts), key=lambda each: each[0]
    )
    zero = _Disk(
        read_requests=0, read_bytes=0, write_requests=0, write_bytes=0
    )
    began, first = before[0] if before else (0.0, (zero,) * len(disks))
    if len(first) != len(disks) or any(
        getattr(one, name) > getattr(other, name)
        for one, other in zip(first, disks, strict=True)
        for name in _Disk.__dataclass_fields__
    ):
        raise record.RecordError(
            'the diagnostics are not of the same server without a restart'
            ' between: a counter is smaller in the later one, or the disks'
            ' are not as many'
        )
    seconds = uptime - began
    if seconds <= 0:
        raise record.RecordError(
            f'{seconds:g} s: expected an uptime of more than 0, and two'
            f' diagnostics to be some seconds apart'
        )
    return tuple(
        _volume(
            f'disk {place}',
            None,
            {
                direction: tuple(
                    (getattr(disk, name) - getattr(one, name)) / seconds
                    for name in (f'{direction}_requests', f'{direction}_bytes')
                )
                for direction in ('read', 'write')
            },
            None,
            doubt='' if before else _SINCE_LAUNCH,
        )
        for place, (one, disk) in enumerate(zip(first, disks, strict=True), 1)
    )
