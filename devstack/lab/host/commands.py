# SPDX-License-Identifier: Apache-2.0
"""Runs other programs for the lab and reports what went wrong with them."""

from collections.abc import Container, Mapping, Sequence
import os
import pathlib
import subprocess


class CommandFailed(Exception):
    """A program ended with an error; the message holds its last lines."""


def run(
    argv: Sequence[str | os.PathLike],
    *,
    log: pathlib.Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout_seconds: float = 3600,
    statuses: Container[int] = (0,),
) -> str:
    """Run a program to its end and return its standard output.

    :param log: file to which output and errors are appended, too.
    :param environment: the whole environment; that of this process when None.
    :param stdin: text for its standard input; nothing when None.
    :param timeout_seconds: until it is taken for one that hangs; a busy
        machine takes a quarter of an hour for what takes a minute alone.
    :param statuses: exit statuses that are no error.
    :raises CommandFailed: it is missing, late, or ended with an error.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            input=stdin or '',
            text=True,
            capture_output=True,
            env=environment,
            timeout=timeout_seconds,
            errors='replace',
        )
    except FileNotFoundError:
        raise CommandFailed(f'{words[0]}: no such program') from None
    except subprocess.TimeoutExpired:
        raise CommandFailed(
            f'{" ".join(words[:3])} ...: did not finish within '
            f'{timeout_seconds:.0f} s'
        ) from None
    if log:
        with log.open('a') as stream:
            stream.write(f'$ {" ".join(words)}\n{done.stdout}{done.stderr}')
    if done.returncode not in statuses:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        where = f' (all of it: {log})' if log else ''
        raise CommandFailed(
            f'{" ".join(words[:4])} ended with {done.returncode}{where}:\n'
            + '\n'.join(lines[-8:])
        )
    return done.stdout


def query(*argv: str | os.PathLike) -> str:
    """Return what a command that changes nothing prints, untranslated.

    :param argv: program and arguments; no shell is involved.
    :raises CommandFailed: it is missing, late, or ended with an error.
    """
    return run(argv, environment={**os.environ, 'LC_ALL': 'C'})
