# SPDX-License-Identifier: Apache-2.0

"""Outputs of a real fio 3.33 (Debian 12), recorded with json+.

On a file on an SSD, rates limited to keep them small; the two writes with
``--ramp_time=1``; the mix with ``--unified_rw_reporting=both``, so that fio
itself gives the percentiles of reads and writes pooled.  The two of the name
``-fast`` without a limit, ``--iodepth=4 --runtime=2``: they have many bins.

Those of the names ``-100iops`` and ``-50iops`` are of fio's engine nbd on a
server that completes 100 I/Os per second one after another, whatever their
sizes, with ``--ramp_time=4 --runtime=6``; the latter with ``--rate_iops=50``,
which leaves it idle.
"""

import pathlib

_FOLDER = pathlib.Path(__file__).parent / 'data'


def text(name: str) -> bytes:
    """The recording of one fio run.

    :param name: such as ``randwrite-4k``, of a file in ``data``
    """
    return (_FOLDER / f'{name}.json').read_bytes()
