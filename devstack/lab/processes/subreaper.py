# SPDX-License-Identifier: Apache-2.0
"""Becomes the parent of orphans, then the program that is named.

``python subreaper.py PROGRAM [ARGUMENT]...``: what the program's children
leave behind becomes its own child (prctl(2), PR_SET_CHILD_SUBREAPER), and not
that of process 1, which may take seconds to notice that a guest has ended;
libvirt would wait as long for each.
"""

import ctypes
import os
import sys

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def main() -> None:
    """Replace this process by the program.

    :raises OSError: the kernel refuses, or there is no such program.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'PR_SET_CHILD_SUBREAPER')
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606


if __name__ == '__main__':
    main()
