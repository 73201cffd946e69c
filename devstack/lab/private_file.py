# SPDX-License-Identifier: Apache-2.0
"""Writes files that only root may read."""

import os
import pathlib


def write(path: pathlib.Path, text: str) -> bool:
    """Write a file that only root may read; return whether it changed.

    The file is replaced in one step, so a reader never sees half of it.
    """
    try:
        if path.read_text() == text:
            return False
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f'.{path.name}.{os.getpid()}')
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
    )
    with os.fdopen(descriptor, 'w') as stream:
        stream.write(text)
    temporary.replace(path)
    return True
