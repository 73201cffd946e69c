# SPDX-License-Identifier: Apache-2.0

"""The program `cinder-tiers-status`, also where Cinder is not installed."""


def main() -> int | str:
    """Runs the upgrade checks with the arguments of the process.

    :returns: as `command.main`; where a module that they need is missing, the
        text of an error, with which the process ends with 1.
    """
    try:
        from cinder_tiers.status import command
    except ModuleNotFoundError as error:
        return (
            f'ERROR: the Python module {error.name} was not found, expected '
            'Cinder and what it needs.\nRun cinder-tiers-status on a host of '
            'cinder-api or cinder-scheduler, in the Python environment of '
            "that service: it reads Cinder's configuration and database."
        )
    return command.main()
