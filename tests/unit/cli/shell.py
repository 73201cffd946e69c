# SPDX-License-Identifier: Apache-2.0

"""Runs `openstack` in this process."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import io
import logging
import os
import pathlib
import tempfile
import tomllib

from openstackclient import shell
import oslo_i18n

GROUP = 'openstack.tier.v1'
PROJECT = pathlib.Path(__file__).resolve().parents[3] / 'pyproject.toml'

#: Of the applies of this process only.
LOCKS = tempfile.TemporaryDirectory()


@functools.cache
def entry_points(group):
    """Entry points of this tree, whatever of it is installed."""
    project = tomllib.loads(PROJECT.read_text())['project']
    return [
        importlib.metadata.EntryPoint(name, value, group)
        for name, value in project['entry-points'][group].items()
    ]


#: What follows `openstack tier`.
VERBS = tuple(
    sorted(one.name.removeprefix('tier_') for one in entry_points(GROUP))
)


class Terminal(io.StringIO):
    """A stream that says that a person is at its end."""

    def isatty(self):
        return True


class Encoded(io.TextIOWrapper):
    """A stream as Python makes one of standard output."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding, errors='strict')

    def getvalue(self):
        """What was written; files may be of UTF-8."""
        self.flush()
        return self.buffer.getvalue().decode('utf-8')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str


def openstack(
    *arguments,
    answer=None,
    errors_to_file=False,
    encoding=None,
    **environment,
):
    """Runs the real shell, with the commands of this tree.

    :param arguments: words after `openstack`.
    :param answer: what a person types at a terminal, or that `Terminal`;
        None: there is none.
    :param errors_to_file: whether standard error is not a terminal then.
    :param encoding: of the terminal; None: it takes any text.
    :param environment: variables for the command; what begins with OS_,
        CEPH_ or CINDER_TIERS_, and the width of the terminal in which the
        tests run, is otherwise unset. The lock of apply is in a folder of this
        process unless they say otherwise.
    """
    kept = dict(os.environ)
    # A shell makes the root logger log everything, to a handler of its own.
    # Left there, each would be written to by all tests that follow; and what
    # an import of Cinder has left there would write all of it, a third of the
    # log of a run.
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    out = io.StringIO() if encoding is None else Encoded(encoding)
    err = io.StringIO() if answer is None or errors_to_file else Terminal()
    root.handlers.clear()
    for name in kept:
        if name.startswith(('OS_', 'CEPH_', 'CINDER_TIERS_', 'COLUMNS')):
            del os.environ[name]
    os.environ.update(
        {
            'CINDER_TIERS_COORDINATION_URL': f'file://{LOCKS.name}',
            **environment,
        }
    )
    # Cinder's API, which other tests import into this process, makes messages
    # lazy; some plug-ins of the shell cannot load with such.
    oslo_i18n.enable_lazy(False)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                started = shell.OpenStackShell()
                if answer is not None:
                    started.stdin = (
                        Terminal(answer) if isinstance(answer, str) else answer
                    )
                for one in entry_points(GROUP):
                    started.command_manager.add_command(
                        f'tier {one.name.removeprefix("tier_")}', one.load()
                    )
                status = started.run(list(arguments))
            except SystemExit as stop:
                status = stop.code
    finally:
        os.environ.clear()
        os.environ.update(kept)
        root.handlers[:] = handlers
        root.setLevel(level)
    return Ran(status=status, stdout=out.getvalue(), stderr=err.getvalue())
