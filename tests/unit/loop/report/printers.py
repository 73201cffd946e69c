# SPDX-License-Identifier: Apache-2.0

"""Programs that take the place of a Chromium, which these tests lack."""

import pathlib

#: Finds the page and the file to write among its arguments.
_ARGUMENTS = """#!/bin/sh
for word; do
    case $word in
    --print-to-pdf=*) target=${word#*=} ;;
    file://*) source=${word#file://} ;;
    esac
done
"""
#: "Prints" the words that it was given and the page.
WHOLE = """
{ printf '%%PDF-1.4\\n'; printf '%s\\n' "$@"; cat "$source"
  printf '%%%%EOF\\n'; } > "$target"
"""
#: Is ended while it writes, and says why.
HALF = """
printf '%%PDF-1.4\\n' > "$target"
printf 'first\\nNo usable \\033[31msandbox!\\n' >&2
exit 1
"""
#: Ends at once, but not what it started, whose number it leaves.
ENDLESS = """
sleep 600 &
echo $! > "{pid}"
"""


def program(folder, text):
    """The path of a program.

    :param folder: where it is made
    :param text: of it, such as WHOLE
    """
    path = pathlib.Path(folder) / 'chromium'
    path.write_text(_ARGUMENTS + text)
    path.chmod(0o755)
    return str(path)
