# SPDX-License-Identifier: Apache-2.0

"""Where the guest image is made: one folder, one log, one kind of error."""

from collections.abc import Mapping
import dataclasses
import os
import pathlib

from lab.host import commands


class GuestImageError(Exception):
    """The guest image cannot be built; the text says why and what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workshop:
    """A folder to build in, and the log of what was done there.

    :ivar directory: working directory of the commands; holds all that is
        downloaded and made.
    :ivar log: file that gets every command and what it printed.
    """

    directory: pathlib.Path
    log: pathlib.Path

    def run(
        self,
        *argv: str | os.PathLike,
        within: pathlib.Path | None = None,
        environment: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> None:
        """Run one command to its end.

        :param argv: program and arguments; no shell is involved.
        :param within: another working directory.
        :param environment: variables to set besides those of this process.
        :param stdin: text for its standard input; nothing when None.
        :raises lab.host.commands.CommandFailed: it is missing or failed.
        """
        variables = [
            f'{name}={value}' for name, value in (environment or {}).items()
        ]
        commands.run(
            [
                'env',
                f'--chdir={within or self.directory}',
                *variables,
                *argv,
            ],
            log=self.log,
            stdin=stdin,
        )


def answer(*argv: str | os.PathLike) -> str:
    """Ask a command that only reads, and return what it prints.

    :param argv: program and arguments; no shell is involved.
    :raises lab.host.commands.CommandFailed: it is missing or failed.
    """
    # What it prints is read by this program: it must be untranslated.
    return commands.run(argv, environment={**os.environ, 'LC_ALL': 'C'})
