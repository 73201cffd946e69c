# SPDX-License-Identifier: Apache-2.0

"""Names of the fio patterns in the profiles that come with the project.

They are for messages about a tiers file, which may be read on a host without
the profiles. Pure.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling

_NAMES = """
    etcd oltp-8k postgres-wal
    randread-128k randread-1m randread-32m randread-4k randread-4m-qd1
    randrw-16k-r10 randwrite-128k randwrite-1m randwrite-32m randwrite-4k
    randwrite-4m-qd1 read-128k read-16k read-1m read-256k read-32m read-4k
    read-4k-j4 read-4k-qd32 read-4m read-4m-j4 read-4m-qd1 read-4m-qd16
    read-4m-qd2 read-4m-qd32 read-4m-qd4 read-4m-qd64 read-4m-qd8 read-64k
    write-128k write-16k write-1m write-1m-j1 write-1m-j1-f1024m
    write-1m-j1-f16m write-1m-j1-f1m write-1m-j1-f256m write-1m-j1-f4m
    write-1m-j1-f64m write-1m-j10 write-1m-j10-f1024m write-1m-j10-f16m
    write-1m-j10-f1m write-1m-j10-f256m write-1m-j10-f4m write-1m-j10-f64m
    write-1m-j15 write-1m-j20 write-1m-j5 write-256k write-32m write-4k
    write-4k-j4 write-4k-qd32 write-4m write-4m-j4 write-4m-qd1
    write-4m-qd16 write-4m-qd2 write-4m-qd32 write-4m-qd4 write-4m-qd64
    write-4m-qd8 write-64k
    """
#: Pattern of the single I/Os of "tier watch", which fio does not run.
PROBE = 'probe'
#: Patterns of all profiles and task files of `rally_scenarios`.
NAMES = frozenset(_NAMES.split())


def unknown(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield expectations of patterns that no profile of the project has.

    They are not problems of the file: a task or a fio job file may have
    patterns of any name. But a pattern that no task runs is never measured.
    """
    for tier in catalog.tiers:
        for name in tier.expect:
            if name in NAMES or name == PROBE:
                continue
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'expect', name)
                ),
                found=f'the pattern {name!r}, which is in no fio profile of '
                'cinder-tiers',
                expected='a pattern that is measured: '
                + spelling.listed(NAMES),
                remedy=f'{spelling.did_you_mean(name, sorted(NAMES))}fix it, '
                'unless a task or job file of yours runs it',
            )
