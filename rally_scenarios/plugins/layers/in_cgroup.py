# SPDX-License-Identifier: Apache-2.0

"""Joins a cgroup, then becomes another program, without a shell between.

Run by its path, as a program of its own: what comes after it, and all that
this starts, is held by the limits of the cgroup from its first I/O on.

    python3 in_cgroup.py FOLDER PROGRAM [ARGUMENT ...]
"""

import os
import pathlib
import sys


def main(arguments: list[str]) -> None:
    """Join the cgroup and become the program.

    :param arguments: folder of the cgroup, program and its arguments
    :raises OSError: no such cgroup, or no such program
    """
    folder, *program = arguments
    # In any version of cgroups, a process moves by its number's being written.
    pathlib.Path(folder, 'cgroup.procs').write_text(f'{os.getpid()}\n')
    os.execvp(program[0], program)  # noqa: S606


if __name__ == '__main__':
    main(sys.argv[1:])
