# SPDX-License-Identifier: Apache-2.0

"""The program `cinder-tiers`, also where its commands are not installed.

The base install, for hosts of Cinder, has the program and not what the
commands import. Nothing of that may be imported here.
"""

import sys

from cinder_tiers.cli import deferred
from cinder_tiers.cli import exit_status


def main() -> int:
    """Runs `cinder-tiers` with the arguments of the process.

    :returns: the exit status.
    """
    try:
        from cinder_tiers.cli import shell
    except ModuleNotFoundError as error:
        said = deferred.missing(error)
        if said is None:
            raise
        print(said, file=sys.stderr)
        return exit_status.ERROR
    return shell.main()
