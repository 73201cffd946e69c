# SPDX-License-Identifier: Apache-2.0
"""Mounts that only one command sees, and that end with it however it ends."""

import os


def command(script: str, *arguments: str | os.PathLike) -> tuple[str, ...]:
    """Return a command that runs a script in a mount namespace of its own.

    :param script: for sh(1) with ``-e``: mounts something, and may become
        another program with ``exec``.
    :param arguments: ``$1`` and those that follow it.
    """
    return (
        'unshare',
        '--mount',
        '--propagation',
        'private',
        '/bin/sh',
        '-ec',
        script,
        'sh',
        *map(str, arguments),
    )
