# SPDX-License-Identifier: Apache-2.0

"""Measures in a process of its own, in which nothing was before."""

import json
import subprocess
import sys


def measure(module, *arguments):
    """What a module that measures once prints as JSON.

    :param module: its name, as `python -m` takes it.
    :param arguments: of its command line.
    """
    return json.loads(
        subprocess.run(
            [sys.executable, '-m', module, *map(str, arguments)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
    )
