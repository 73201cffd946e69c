# SPDX-License-Identifier: Apache-2.0
"""Finds in the log of a service why it failed."""

import pathlib
import re

#: A line of a log that says why something failed.
_REASON = re.compile(
    r'\b(ERROR|CRITICAL|FATAL|Traceback|error|failed|'
    r'panic|abort|cannot|denied)\b'
)
#: The last line of an oslo.log traceback: level and logger, and no more.
_EMPTY_RECORD = re.compile(r' (ERROR|CRITICAL) [\w.]+(\s+\[[^\]]*\])?\s*$')


def find_reason(log: pathlib.Path) -> str:
    """Return the last line of a log that looks like a reason, or the last."""
    try:
        lines = log.read_text(errors='replace').splitlines()[-400:]
    except FileNotFoundError:
        return ''
    reasons = [
        line
        for line in lines
        if _REASON.search(line) and not _EMPTY_RECORD.search(line)
    ]
    return (reasons or lines or [''])[-1].strip()
