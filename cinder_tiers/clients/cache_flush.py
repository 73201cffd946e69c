# SPDX-License-Identifier: Apache-2.0

"""Empties a cache tier of Ceph with the program `rados`.

The operations that flush and evict an object are in librados for C++ only;
the program of Ceph that has them is in the package ceph-common.
"""

import collections.abc
import contextlib
import os
import selectors
import shutil
import subprocess
import tempfile

from cinder_tiers.domain import errors

#: An object takes milliseconds; then an OSD does not answer.
SILENCE_S = 120
_PROGRAM = 'rados'
_CHUNK_BYTES = 65536
#: Of what it says of objects, more tells nothing new.
_MOST_SAID = 5


def check_program() -> None:
    """Makes sure that `flush_and_evict` can be called.

    :raises errors.ActionFailed: the program is missing.
    """
    if shutil.which(_PROGRAM) is None:
        raise errors.ActionFailed(
            f'the program {_PROGRAM} is not in $PATH, and only it can empty a '
            'cache tier; install ceph-common on this host'
        )


def flush_and_evict(
    *,
    conf: str,
    user: str,
    pool: str,
    progress: collections.abc.Callable[[int], None],
    silence_s: float = SILENCE_S,
) -> tuple[str, ...]:
    """Tries each object of a cache once (`rados cache-flush-evict-all`).

    It can be repeated. What clients use, or write meanwhile, stays.

    :param conf: the configuration file of the cluster.
    :param user: the cephx user, without `client.`.
    :param progress: is called with the number of objects tried so far.
    :param silence_s: seconds after which an object is given up, and all
        after it.
    :returns: the first messages about objects that stay.
    :raises errors.ActionFailed: the program is missing, got stuck, or was
        ended by a signal.
    """
    check_program()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            (
                _PROGRAM,
                f'--conf={conf}',
                f'--id={user}',
                f'--pool={pool}',
                'cache-flush-evict-all',
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
        _ended(process),
    ):
        tried = 0
        for chunk in _output(process, silence_s):
            # A line for each object, before it is flushed.
            tried += chunk.count(b'\n')
            progress(tried)
        code = process.wait()
        said.seek(0)
        lines = said.read(_CHUNK_BYTES).decode(errors='replace').splitlines()
    if code < 0:
        raise errors.ActionFailed(
            f'{_PROGRAM} was ended by signal {-code} while it emptied pool '
            f'{pool}; apply again to go on'
        )
    return tuple(lines[:_MOST_SAID])


@contextlib.contextmanager
def _ended(
    process: subprocess.Popen[bytes],
) -> collections.abc.Iterator[None]:
    """Ends a program with the block, however that ends."""
    try:
        yield
    finally:
        process.kill()


def _output(
    process: subprocess.Popen[bytes], silence_s: float
) -> collections.abc.Iterator[bytes]:
    if process.stdout is None:
        raise ValueError(f'the output of {_PROGRAM} is not captured')
    descriptor = process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(silence_s):
                raise errors.ActionFailed(
                    f'{_PROGRAM} has flushed no object for {silence_s:g} s; '
                    'see "ceph health detail"; apply again to go on'
                )
            chunk = os.read(descriptor, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
