# SPDX-License-Identifier: Apache-2.0
"""The options of fio job files that are taken over, and how they are spelt.

Names, aliases and suffixes: fio 3.33 ``options.c`` and HOWTO "Parameter
types".  This module must not know what comes of the values.
"""

from collections.abc import Callable
import re

from cinder_tiers.domain import spelling
from cinder_tiers.figures.fio import pattern as fio_pattern

ALIASES = {
    'readwrite': 'rw',
    'blocksize': 'bs',
    'blocksize_range': 'bsrange',
    'allrandrepeat': 'randrepeat',
    'start_delay': 'startdelay',
}

# Engines of Linux that read and write the file they are given and do nothing
# else: no network, no library of the user's, no cluster.
ENGINES = (
    'libaio',
    'io_uring',
    'posixaio',
    'sync',
    'psync',
    'vsync',
    'pvsync',
    'pvsync2',
)

#: Options that shape what fio prints, or how it runs its jobs, and not what
#: they read and write: a job file means the same load without them. Of I/O
#: on a region that is filled before, so do the last three.
PASSED_OVER = re.compile(
    r'thread|new_group|unified_rw_reporting|significant_figures|per_job_logs|'
    r'(clat_|lat_|slat_)?percentiles|percentile_list|gtod_reduce|gtod_cpu|'
    r'clocksource|disable_(lat|clat|slat|bw_measurement|bw)|disk_util|'
    r'write_(bw|lat|iops|hist)_log|log_\w+|(bw|iops)avgtime|stats|'
    r'invalidate|fallocate|overwrite'
)

_RUNS = ('exec_prerun', 'exec_postrun', 'profile', 'flow')
_NAMES_FILES = re.compile(
    r'filename.*|directory|opendir|file_service_type|nrfiles|openfiles|'
    r'write_.*|read_iolog|merge_blktrace_.*|replay_.*|.*_file|'
    r'unlink.*|create_.*|pre_read|buffer_pattern|'
    r'verify.*|allow_mounted_write|mem|iomem|hugepage-size|cgroup.*|'
    r'ioscheduler|aux-path|output.*|hostname|port|clientname|pool|rbdname|'
    r'offset.*'
)


class Unreadable(ValueError):
    """A value that is not taken over; the message says what is expected."""


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not re.fullmatch('[0-9]{1,9}', value) or not (
            least <= int(value) <= most
        ):
            raise Unreadable(
                f'a number from {least} to {most}, the same for'
                f' reads and writes'
            )
        return int(value)

    return read


def _one_of(*words: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in words:
            raise Unreadable(f'one of {", ".join(words)}')
        return value

    return read


def _always(wanted: str, why: str) -> Callable[[str], None]:
    """An option that is set anyhow: it may be there, but not say else."""

    def read(value: str) -> None:
        if (value or '1') != wanted:
            raise Unreadable(f'{wanted}: {why}')

    return read


def _flag(value: str) -> bool:
    if value not in ('', '0', '1'):
        raise Unreadable('0 or 1')
    return value != '0'


def _bytes(value: str) -> int:
    # With its default kb_base, fio takes Ki for 1000 and k for 1024.
    match = re.fullmatch('([0-9]{1,12})([kmgt]?)b?', value.lower())
    if not match:
        raise Unreadable(
            'one size such as 512, 4k or 10g, the same for'
            ' reads and writes, without i: fio reads 64MiB as'
            ' 64,000,000 bytes and 64m as 67,108,864'
        )
    return int(match[1]) * 1024 ** ' kmgt'.index(match[2] or ' ')


def _whole(unit_bytes: int, unit: str) -> Callable[[str], int]:
    def read(value: str) -> int:
        found = _bytes(value)
        if not found or found % unit_bytes:
            raise Unreadable(f'whole {unit}, at least one, such as 10g')
        return found // unit_bytes

    return read


def _block(value: str) -> str:
    """Return a block size as Pattern spells it."""
    found = _bytes(value)
    for factor, suffix in ((1024**2, 'm'), (1024, 'k')):
        if found and found % factor == 0:
            return f'{found // factor}{suffix}'
    return str(found)


def _block_range(value: str) -> str:
    ends = value.split('-')
    if len(ends) != 2:
        raise Unreadable(
            'two block sizes such as 4k-64k, the same for reads and writes'
        )
    return '-'.join(_block(end) for end in ends)


def _block_split(value: str) -> str:
    parts = [part.split('/') for part in value.split(':')]
    if any(len(part) != 2 for part in parts):
        raise Unreadable(
            'block sizes with their shares such as 4k/60:64k/40,'
            ' the same for reads and writes'
        )
    return ':'.join(f'{_block(size)}/{share}' for size, share in parts)


def _seconds(value: str) -> int:
    match = re.fullmatch('([0-9]{1,7})([smhd]?)', value.lower())
    if not match:
        raise Unreadable('one time in whole seconds such as 300, 300s or 5m')
    return (
        int(match[1])
        * {'': 1, 's': 1, 'm': 60, 'h': 3600, 'd': 86400}[match[2]]
    )


def _sync(value: str) -> str | None:
    """Return the word that Pattern has for a value; fio takes numbers, too."""
    found = {'': 'sync', '1': 'sync', '0': None, 'none': None}.get(
        value, value
    )
    if found not in (None, *fio_pattern.SYNCS):
        raise Unreadable(
            f'0, 1, none or one of {", ".join(fio_pattern.SYNCS)}'
        )
    return found


def _microseconds(value: str) -> int:
    match = re.fullmatch('([0-9]{1,8})(us|ms|s)?', value.lower())
    if not match:
        raise Unreadable('one time such as 500, 500us, 10ms or 1s')
    return (
        int(match[1]) * {None: 1, 'us': 1, 'ms': 10**3, 's': 10**6}[match[2]]
    )


def _distribution(value: str) -> str | None:
    return None if value == 'random' else value


_READERS = {
    'rw': _one_of(*fio_pattern.WORKLOADS),
    'bs': _block,
    'bsrange': _block_range,
    'bssplit': _block_split,
    'rwmixread': _number(0, 100),
    'rwmixwrite': _number(0, 100),
    'iodepth': _number(1, 1024),
    'ioengine': _one_of(*ENGINES),
    'numjobs': _number(1, 256),
    'rate_iops': _number(1, 10**8),
    'rate': _whole(1024, 'KiB'),
    'rate_process': _one_of(*fio_pattern.RATE_PROCESSES),
    'size': _whole(1024**2, 'MiB'),
    'startdelay': _seconds,
    # A job has one file and opens it once, so both say the same.
    'end_fsync': _flag,
    'fsync_on_close': _flag,
    'fdatasync': _number(0, 10**6),
    'fsync': _number(0, 10**6),
    'sync': _sync,
    'random_distribution': _distribution,
    'thinktime': _microseconds,
    'ramp_time': _seconds,
    'runtime': _seconds,
    'time_based': _always('1', 'a pattern runs for its time'),
    # Without it, a pattern says what else is needed.
    'direct': _flag,
    'group_reporting': _always('1', 'a guest has one result'),
    'randrepeat': _always('0', 'guests must not write the same blocks'),
    'norandommap': _always('1', 'a block may be visited again'),
    'stonewall': _always('1', 'patterns take turns'),
    'wait_for_previous': _always('1', 'patterns take turns'),
    'description': lambda _value: None,
}


def refusal(option: str) -> str:
    """Explain why an option is refused; empty if it is used or passed over.

    :param option: its name, after ALIASES
    """
    if option in _READERS or PASSED_OVER.fullmatch(option):
        return ''
    if option in _RUNS:
        return 'would run something else than the job, in the guest as root'
    if _NAMES_FILES.fullmatch(option):
        return (
            'names, makes or places files or devices: the guest alone'
            ' knows its disk'
        )
    near = spelling.did_you_mean(option, _READERS)
    return (
        f'is not supported; {near}supported options: {", ".join(_READERS)}; '
        'without it the load would be different'
    )


def read(option: str, value: str) -> object:
    """Return the value of an option.

    :param option: one of the supported options
    :returns: MiB for size, KiB per second for rate, seconds for times; what
        Pattern expects for the others; None for those that change nothing
    :raises Unreadable: this module cannot read the value, although fio might
    """
    return _READERS[option](value)
