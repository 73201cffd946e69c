# SPDX-License-Identifier: Apache-2.0

"""A client that writes to an RBD image as fast as it may."""

import contextlib
import re
import subprocess
import time


@contextlib.contextmanager
def writing(image, *options, env=None):
    """`rbd bench`, as a process whose lines are read by `rate`.

    :param image: POOL/NAME.
    :param options: of `rbd`, such as that of its user.
    """
    with subprocess.Popen(
        (
            *('rbd', *options, 'bench', '--io-type', 'write'),
            *('--io-size', '4096', '--io-threads', '8', '--io-total', '1G'),
            image,
        ),
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    ) as bench:
        try:
            yield bench
        finally:
            bench.kill()


def rate(bench, seconds):
    """Operations in a second, of the last ones that bench prints."""
    counts = []
    deadline = time.monotonic() + seconds
    for line in bench.stdout:
        found = re.match(r'\s*(\d+)\s+(\d+)', line)
        if found:
            counts.append(tuple(map(int, found.groups())))
        if time.monotonic() > deadline:
            break
    (begin, first), (end, last) = counts[-5], counts[-1]
    return (last - first) / (end - begin)
