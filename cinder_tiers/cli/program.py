# SPDX-License-Identifier: Apache-2.0

"""The program `cinder-tiers`, also where its commands are not installed.

The base install, for hosts of Cinder, has the program and not what the
commands import. Nothing of that may be imported here.
"""

import sys

#: Of exit_status, which a base install can import as well.
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import plugin

#: What the extras bring along; any other missing module is a defect.
_OF_EXTRAS = frozenset(
    {'cliff', 'jsonschema', 'openstack', 'osc_lib', 'tooz', 'yaml'}
)


def main() -> int:
    """Runs `cinder-tiers` with the arguments of the process.

    :returns: the exit status.
    """
    try:
        from cinder_tiers.cli import shell
    except ModuleNotFoundError as error:
        if (error.name or '').partition('.')[0] not in _OF_EXTRAS:
            raise
        print(
            f'{plugin.PROGRAM}: the Python module {error.name} is missing: '
            'this is the base install, for cinder-api and cinder-scheduler. '
            "Install the commands with: pip install 'cinder-tiers[standalone]'"
            " or, beside OpenStackClient: pip install 'cinder-tiers[cli]'",
            file=sys.stderr,
        )
        return exit_status.ERROR
    return shell.main()
