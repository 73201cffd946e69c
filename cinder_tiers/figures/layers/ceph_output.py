# SPDX-License-Identifier: Apache-2.0

"""Output of Ceph's own benchmarks and commands, checked strictly.

JSON of ``rados bench``, ``ceph tell osd.N bench`` and of commands that
describe a pool.  Seen with Ceph 16.2; figures that contradict each other are
refused.

``rados bench`` reports no percentiles, and has no ramp.  But it reports how
many operations were finished after each second, so that operations before the
end of a ramp are excluded here.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any

from cinder_tiers.domain import record
from cinder_tiers.figures.layers import model

# Blocks from here on are "large" to OSD bench (OSD.cc, "bench").
OSD_BENCH_LARGE_BYTES = 1024**2
# With osd_bench_small_size_max_iops and osd_bench_duration by default, it
# refuses more.
_SMALL_WRITES = 3000
# Twice what a hard disk does: the first hundred or so end in the journal.
_SMALL_WRITES_PER_SECOND = 300
_LARGE_TOTAL_BYTES = 32 * 1024**2
_ERASURE_CODED = 3
_NO_OSD = 2**31 - 1  # CRUSH_ITEM_NONE


class AnswerError(ValueError):
    """An answer that must not be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Rate that one benchmark reached."""

    #: that were counted
    operations: int
    #: in which they were finished
    seconds: float
    #: of each
    block_bytes: int
    #: operations, with those that were not counted
    in_all: int
    #: whether what came before the end of the ramp is left out
    has_ramp: bool = False

    def __post_init__(self) -> None:
        """Check that there is a rate.

        :raises AnswerError: nothing was done, or in no time
        """
        if not (self.operations > 0 and self.seconds > 0):
            raise AnswerError(
                f'{self.operations} operations in'
                f' {self.seconds:g} s, expected at least one'
            )

    @property
    def iops(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds

    @property
    def bw_bytes(self) -> float:
        """Bytes per second."""
        return self.iops * self.block_bytes


def _document(text: bytes, what: str) -> Any:
    try:
        # rados bench writes words for people before its JSON.
        start = min(
            (at for at in (text.find(b'{'), text.find(b'[')) if at >= 0),
            default=0,
        )
        return record.parsed(text[start:].decode())
    except ValueError as error:
        raise AnswerError(
            f'{what}: found {text[-60:]!r}, expected JSON: {error}'
        ) from error


def _field(mapping: object, key: str, kind: type, what: str) -> Any:
    """A value, checked; kind float takes all finite numbers of at least 0.

    Some of Ceph's commands write numbers as text.
    """
    if not isinstance(mapping, Mapping) or key not in mapping:
        raise AnswerError(
            f'{what}: found no {key!r}, expected {kind.__name__}'
        )
    value = mapping[key]
    if (
        kind is float
        and isinstance(value, int | float | str)
        and (not isinstance(value, bool))
    ):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and number >= 0:
            return number
    elif isinstance(value, kind) and not isinstance(value, bool):
        return value
    raise AnswerError(
        f'{what}: found {key!r} {str(value)[:40]!r}, expected {kind.__name__}'
    )


def rados_bench(text: bytes, *, ramp_seconds: int) -> Rate:
    """Parse the output of ``rados bench --format json``.

    :param text: complete output
    :param ramp_seconds: operations finished before are not counted, unless the
        run was over earlier
    :raises AnswerError: the output is not usable
    """
    what = 'rados bench'
    found = _document(text, what)
    kind = next(
        (
            kind
            for kind in ('writes', 'reads')
            if f'total_{kind}_made' in found
        ),
        'writes',
    )
    made = int(_field(found, f'total_{kind}_made', float, what))
    seconds = _field(found, 'total_time_run', float, what)
    size = int(_field(found, f'{kind[:-1]}_size', float, what))
    bandwidth = _field(found, 'bandwidth', float, what)
    # It divides by 2^20, and rounds to 10^-6.
    if seconds and not math.isclose(
        bandwidth, made * size / seconds / 1024**2, rel_tol=0.01, abs_tol=0.001
    ):
        raise AnswerError(
            f'{what}: a bandwidth of {bandwidth} MiB/s, but {made} operations'
            f' of {size} bytes in {seconds} s'
        )
    before = 0
    for each in _field(found, 'datas', list, what):
        if _field(each, 'sec', float, what) == ramp_seconds:
            before = int(_field(each, 'finished', float, what))
    has_ramp = seconds >= ramp_seconds + 1 and before < made
    return Rate(
        operations=made - before if has_ramp else made,
        in_all=made,
        seconds=seconds - ramp_seconds if has_ramp else seconds,
        block_bytes=size,
        has_ramp=has_ramp,
    )


def osd_bench_total_bytes(block_bytes: int, seconds: int) -> int:
    """Choose the bytes that an OSD bench writes, so that the OSD accepts it.

    :param block_bytes: size of each write
    :param seconds: desired minimum duration on a hard disk
    :returns: bytes, a multiple of the block size
    """
    if block_bytes < OSD_BENCH_LARGE_BYTES:
        return block_bytes * min(
            _SMALL_WRITES, _SMALL_WRITES_PER_SECOND * seconds
        )
    return block_bytes * max(1, _LARGE_TOTAL_BYTES // block_bytes)


def osd_bench(text: bytes) -> Rate:
    """Parse the answer of ``ceph tell osd.N bench``.

    :param text: answer in JSON
    :raises AnswerError: the answer is not usable
    """
    what = 'OSD bench'
    found = _document(text, what)
    size = int(_field(found, 'blocksize', float, what))
    written = int(_field(found, 'bytes_written', float, what))
    seconds = _field(found, 'elapsed_sec', float, what)
    if not size or written % size:
        raise AnswerError(
            f'{what}: {written} bytes in blocks of {size},'
            f' expected whole blocks'
        )
    return Rate(
        operations=written // size,
        seconds=seconds,
        block_bytes=size,
        in_all=written // size,
    )


def one_after_another(rates: Sequence[Rate]) -> Rate:
    """Add up benchmarks of the same kind that followed each other.

    :param rates: at least one
    """
    return Rate(
        operations=sum(rate.operations for rate in rates),
        seconds=sum(rate.seconds for rate in rates),
        block_bytes=rates[0].block_bytes,
        in_all=sum(rate.in_all for rate in rates),
    )


def _of_name(pools: bytes, name: str) -> Mapping:
    what = 'ceph osd pool ls detail'
    found = _document(pools, what)
    if not isinstance(found, list):
        raise AnswerError(
            f'{what}: found {str(found)[:40]!r}, expected a list'
        )
    names = [_field(each, 'pool_name', str, what) for each in found]
    if name not in names:
        raise AnswerError(
            f'pool {name!r} is not there; expected one of'
            f" {', '.join(sorted(names))}; correct the argument 'pool'"
        )
    return found[names.index(name)]


def erasure_code_profile(pools: bytes, name: str) -> str | None:
    """The name of a pool's profile; None if it is replicated.

    :param pools: answer to ``ceph osd pool ls detail``
    :raises AnswerError: there is no such pool, or the answer is wrong
    """
    found = _of_name(pools, name)
    if _field(found, 'type', int, f'pool {name!r}') != _ERASURE_CODED:
        return None
    return _field(found, 'erasure_code_profile', str, f'pool {name!r}')


def pool(
    name: str,
    *,
    pools: bytes,
    tree: bytes,
    groups: bytes,
    profile: bytes | None,
) -> model.TierPool:
    """Describe what a pool consists of.

    :param pools: answer to ``ceph osd pool ls detail``
    :param tree: answer to ``ceph osd tree``
    :param groups: answer to ``ceph pg ls-by-pool NAME``
    :param profile: answer to ``ceph osd erasure-code-profile get`` for an
        erasure coded pool; else None
    :raises AnswerError: an answer is wrong, or the pool is not healthy
    """
    what = f'placement groups of pool {name!r}'
    listed = _field(_document(groups, what), 'pg_stats', list, what)
    size = _field(_of_name(pools, name), 'size', int, f'pool {name!r}')
    # For a place without an OSD it has a number that no OSD has.
    on = [
        {
            number
            for number in _field(each, 'acting', list, what)
            if type(number) is int and 0 <= number < _NO_OSD
        }
        for each in listed
    ]
    short = sum(len(osds) != size for osds in on)
    if short or not on:
        raise AnswerError(
            f'{what}: {short} of {len(on)} are not on {size} OSDs: measure'
            f' when Ceph is healthy'
        )
    acting = set().union(*on)
    nodes = _field(
        _document(tree, 'ceph osd tree'), 'nodes', list, 'ceph osd tree'
    )
    classes = {
        each['id']: each.get('device_class', 'none')
        for each in nodes
        if isinstance(each, Mapping) and each.get('id') in acting
    }
    chunks = profile and _field(
        _document(profile, 'erasure code profile'),
        'k',
        float,
        'erasure code profile',
    )
    return model.TierPool(
        name=name,
        osds=tuple(sorted(acting)),
        size=size,
        data_chunks=int(chunks) if chunks else None,
        device_classes=tuple(
            sorted({classes.get(number, 'none') for number in acting})
        ),
    )
