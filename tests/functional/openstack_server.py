# SPDX-License-Identifier: Apache-2.0

"""Forks a process for each `openstack` command, with all of it imported.

    PYTHON openstack_server.py SOCKET

A start of the program spends 2 s of processor time on imports, ten times what
most commands take themselves. Run this with the Python of the program. For
each command a client connects to the socket, sends a line of JSON {"argv":
words, "environment": {}, "folder": path, "ignored": numbers of signals} with
three file descriptors, and gets a line with the id of the process, and one
with its exit status, below 0 for a signal. The server ends with its standard
input.
"""

import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import warnings

#: Groups of entry points in which a command looks for what it loads.
GROUPS = ('openstack.', 'keystoneauth1.', 'cliff.')
#: Of the example of cliff, and of Ceph, which not all commands use.
ABSENT = ('cliffdemo', 'rados', 'rbd')
MODULES = (
    'openstackclient.common.clientmanager',
    'openstack.connection',
    'cinderclient.v3.client',
    'tooz.coordination',
    'rados',
    'rbd',
)
#: What ends a command, unless who starts it ignores them: a shell does so with
#: the first for what it starts in the background, nohup with the last.
ENDS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


def import_all():
    """Import what commands need, so that none has to.

    :raises ImportError: no command could run either
    """
    importlib.import_module('openstackclient.shell')
    names = {
        entry_point.module
        for group in importlib.metadata.entry_points().groups
        if group.startswith(GROUPS)
        for entry_point in importlib.metadata.entry_points(group=group)
    }
    # Its entry points import a command when it is used.
    commands = importlib.import_module('cinder_tiers.cli')
    names |= {
        one.name
        for one in pkgutil.iter_modules(commands.__path__, 'cinder_tiers.cli.')
    }
    with warnings.catch_warnings():
        # A command shows none of those of other packages.
        warnings.simplefilter('ignore')
        for name in [*MODULES, *sorted(names)]:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                # A command passes over plug-ins of what is not installed.
                if error.name not in ABSENT:
                    raise
    gc.freeze()


def run_command(request, streams):
    """Become the command, and never return.

    :param streams: three file descriptors
    """
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # Their encoding, and whether they are a terminal, are found at the start.
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, buffering, closefd=False, errors=errors)
        for number, mode, buffering, errors in (
            (0, 'r', -1, 'strict'),
            (1, 'w', -1, 'strict'),
            # By line, whatever it is.
            (2, 'w', 1, 'backslashreplace'),
        )
    )
    os.environ.clear()
    os.environ.update(request['environment'])
    os.chdir(request['folder'])
    sys.argv = request['argv']
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, ends in ENDS.items():
        is_ignored = number in request['ignored']
        signal.signal(number, signal.SIG_IGN if is_ignored else ends)
    from openstackclient import shell

    sys.exit(shell.main())


def serve_one(connection):
    """Run the command of a client, and tell it how that ended."""
    line, streams, _flags, _address = socket.recv_fds(connection, 2**16, 3)
    while not line.endswith(b'\n'):
        line += connection.recv(2**16)
    request = json.loads(line)
    process = os.fork()
    if process == 0:
        connection.close()
        run_command(request, streams)
    for descriptor in streams:
        os.close(descriptor)
    connection.sendall(b'%d\n' % process)
    _process, status = os.waitpid(process, 0)
    with contextlib.suppress(BrokenPipeError):
        # Who has killed it no longer waits.
        connection.sendall(b'%d\n' % os.waitstatus_to_exitcode(status))


def main(path):
    # As the program is called; what is imported looks at it.
    sys.argv = ['openstack']
    import_all()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    print('ready', flush=True)
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    # Who has ended is not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready = {key.fileobj for key, _events in selector.select()}
        if sys.stdin in ready:
            return
        connection, _address = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            selector.close()
            serve_one(connection)
            os._exit(0)
        connection.close()


if __name__ == '__main__':
    main(sys.argv[1])
