# SPDX-License-Identifier: Apache-2.0

"""How much is compared to say what was meant; needs no clock."""

import collections.abc
import difflib
import sys
import types


def comparisons(function: collections.abc.Callable, *args: object) -> int:
    """How often a function makes one of difflib be called."""
    found = 0

    def note(frame: types.FrameType, event: str, unused: object) -> None:
        nonlocal found
        if event == 'call' and frame.f_code.co_filename == difflib.__file__:
            found += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return found
