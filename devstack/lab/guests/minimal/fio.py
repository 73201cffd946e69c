# SPDX-License-Identifier: Apache-2.0

"""fio as one static binary.

Debian's own fio needs 84 MB of libraries (rbd, rados, ...) that a guest does
not need; a static one with the engines for local block devices (libaio,
io_uring, psync, ...) has 2.8 MB and is built in about 15 s on two cores.
"""

import os
import pathlib

from lab.guests import build_folder

# What configure would take from the host if the host happens to have it: the
# guest must be the same wherever it is built.
_WITHOUT = (
    'dfs',
    'gfapi',
    'http',
    'lex',
    'libnfs',
    'libzbc',
    'native',
    'numa',
    'pmem',
    'rados',
    'rbd',
    'rdma',
    'shm',
    'tcmalloc',
    'xnvme',
)


def build(
    source: pathlib.Path,
    *,
    libaio: pathlib.Path,
    folder: build_folder.BuildFolder,
) -> pathlib.Path:
    """Build fio in its source folder.

    :param source: unpacked source.
    :param libaio: folder that holds the files of the package libaio-dev.
    :returns: the stripped static binary.
    :raises lab.host.commands.CommandFailed: configure, make or strip failed.
    """
    environment = {
        'C_INCLUDE_PATH': str(libaio / 'usr/include'),
        'LIBRARY_PATH': str(libaio / 'usr/lib/x86_64-linux-gnu'),
    }
    folder.run(
        './configure',
        '--build-static',
        *(f'--disable-{feature}' for feature in _WITHOUT),
        # Comes after the Makefile's -g.
        '--extra-cflags=-g0',
        within=source,
        environment=environment,
    )
    folder.run(
        'make',
        f'--jobs={len(os.sched_getaffinity(0))}',
        'fio',
        within=source,
        environment=environment,
    )
    folder.run('strip', 'fio', within=source)
    return source / 'fio'
