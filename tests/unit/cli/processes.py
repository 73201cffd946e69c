# SPDX-License-Identifier: Apache-2.0

"""Runs `openstack` as a process of its own, for what can end or stop one."""

import os
import pathlib
import sys

from tests.functional import commands


def started(*arguments, **environment):
    """Start a command, of which standard output is thrown away.

    :param arguments: words after `openstack`.
    :param environment: variables of the command, see `run`.
    :returns: a context, of `tests.functional.commands.Started`.
    """
    return commands.started(
        ('openstack', *arguments), environment=_variables(environment)
    )


def run(*arguments, **environment):
    """Run a command, and read what it writes.

    :param arguments: words after `openstack`.
    :param environment: variables of the command; those of this process that
        begin with OS_ are otherwise unset.
    :returns: subprocess.CompletedProcess with text.
    """
    return commands.run(
        ('openstack', *arguments), environment=_variables(environment)
    )


def _variables(more):
    # The program beside the Python of the tests, whatever is on the path.
    here = pathlib.Path(sys.executable).parent
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith('OS_')
        },
        'PATH': f'{here}:{os.environ["PATH"]}',
        **more,
    }
