# SPDX-License-Identifier: Apache-2.0

"""The folder in which a guest image is built, and the log of its build."""

from collections.abc import Mapping
import dataclasses
import os
import pathlib

from lab.host import commands


class GuestImageError(Exception):
    """The guest image cannot be built; the text says why and what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuildFolder:
    """A folder to build in, and the log of what was done there.

    :param path: working directory of the commands; holds all that is
        downloaded and made.
    :param log: file that gets every command and what it printed.
    """

    path: pathlib.Path
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
                f'--chdir={within or self.path}',
                *variables,
                *argv,
            ],
            log=self.log,
            stdin=stdin,
        )
