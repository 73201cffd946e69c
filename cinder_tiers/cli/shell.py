# SPDX-License-Identifier: Apache-2.0

"""`cinder-tiers`: the tier commands without python-openstackclient.

The same command classes, found through the same entry points, in the shell
that osc-lib offers: options, environment and clouds.yaml are those of
`openstack`. Must not import openstackclient.
"""

import argparse
import collections.abc
import importlib.metadata
import sys

from cliff import help as helps
from osc_lib.api import auth
from osc_lib.command import commandmanager
from osc_lib import shell

from cinder_tiers.cli import plugin

_NOUN = 'tier '
_USAGE = f'{plugin.PROGRAM} [<option>]... <command> [<argument>]...'
#: What follows the commands in the help.
_OPTIONS = f"""
Options before the command:
  --os-cloud <name>  cloud of clouds.yaml (default: $OS_CLOUD; without a
                     cloud, the other OS_ variables, as those of an openrc)
  -v, --verbose      say more; may be repeated
  -q, --quiet        say warnings and errors only
  --debug            show tracebacks of errors
  --version          show the version and exit
  -h, --help         show this help message and exit

"{plugin.PROGRAM} help <command>" shows the arguments of a command, with
examples, and "{plugin.PROGRAM} help" all options before the command: those of
each way to log in, too.
"""


class Verbs(commandmanager.CommandManager):
    """The commands of `openstack tier`, without the noun."""

    #: {verb: what loads its command}
    commands: dict[str, object]

    def load_commands(self, namespace: str) -> None:
        """Finds the commands of a group of entry points."""
        super().load_commands(namespace)
        self.commands = {
            name.removeprefix(_NOUN): found
            for name, found in self.commands.items()
        }


class TiersShell(shell.OpenStackShell):
    """The shell of `cinder-tiers`."""

    #: As cliff shows it in the usage, however it was started.
    NAME = plugin.PROGRAM

    def __init__(self) -> None:
        super().__init__(
            description='Storage tiers of Cinder, chosen by image tag',
            version=importlib.metadata.version('cinder-tiers'),
            command_manager=Verbs(
                f'openstack.{plugin.API_NAME}.v{plugin.DEFAULT_API_VERSION}'
            ),
            deferred_help=True,
        )

    def build_option_parser(
        self,
        description: str | None,
        version: str | None,
        argparse_kwargs: dict[str, object] | None = None,
    ) -> argparse.ArgumentParser:
        """The parser of the options before the verb."""
        return auth.build_auth_plugins_option_parser(
            super().build_option_parser(
                description,
                version,
                # All of them are several hundred lines.
                {**(argparse_kwargs or {}), 'usage': _USAGE},
            )
        )

    def print_help_if_requested(self) -> None:
        """Shows the verbs, and what a person needs before them.

        :raises helps.HelpExit: help was asked for, and is shown.
        """
        if not self.options.deferred_help:
            return
        verbs = [
            (name, found.load()(self, None).get_description())
            for name, found in sorted(self.command_manager)
        ]
        width = max(len(name) for name, _ in verbs)
        lines = [
            f'  {name:<{width}}  {text.splitlines()[0].rstrip(".")}'
            for name, text in verbs
        ]
        self.stdout.write(
            f'usage: {_USAGE}\n\n{self.parser.description}\n\nCommands:\n'
            + '\n'.join(lines)
            + f'\n{_OPTIONS}'
        )
        raise helps.HelpExit()

    def run(self, argv: collections.abc.Sequence[str]) -> int:
        """Runs one command; without a verb, shows the help.

        :returns: the exit status.
        """
        return super().run(list(argv) or ['--help'])

    def _final_defaults(self) -> None:
        # osc-lib leaves the kind of login to each shell; as `openstack`.
        super()._final_defaults()
        self._auth_type = (
            'admin_token'
            if self.options.endpoint and self.options.token
            else 'password'
        )


def main() -> int:
    """Runs `cinder-tiers` with the arguments of the process.

    :returns: the exit status.
    """
    return TiersShell().run(sys.argv[1:])
