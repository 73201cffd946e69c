# SPDX-License-Identifier: Apache-2.0
"""Sends commands to a monitor through librados, without the ceph program.

The binding comes from Debian's python3-rados. It is imported when it is first
needed, because the lab installs that package itself.
"""

import contextlib
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

_Arguments = Mapping[str, object]


class MonitorError(Exception):
    """The monitor cannot be reached, or refuses a command.

    :param code: positive errno; 0 when there was no answer at all.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Monitor:
    """An open connection; made by :func:`connect`."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def command(self, arguments: _Arguments, data: str = '') -> str:
        """Run a command and return its output as text.

        :param arguments: ``prefix`` and what ``ceph --verbose`` shows of a
            command's arguments.
        :param data: what the ``ceph`` command would read with ``-i``.
        :raises MonitorError: it was refused or not answered in time.
        """
        code, output, status = self._cluster.mon_command(
            json.dumps(dict(arguments)), data.encode(), timeout=60
        )
        if code:
            raise MonitorError(
                f'ceph {arguments["prefix"]}: {status or "no reason given"} '
                f'(error {abs(code)})',
                abs(code),
            )
        return output.decode()

    def query(self, arguments: _Arguments) -> Any:
        """Run a command and return its output, parsed from JSON.

        :raises MonitorError: it was refused or not answered in time.
        """
        return json.loads(self.command({**arguments, 'format': 'json'}))

    def initialise_rbd_pool(self, pool: str) -> None:
        """Mark a pool as RBD's and write RBD's own objects into it.

        :raises MonitorError: Ceph refuses.
        """
        import rados
        import rbd

        try:
            with contextlib.closing(self._cluster.open_ioctx(pool)) as ioctx:
                rbd.RBD().pool_init(ioctx, True)
        except (rados.Error, rbd.Error) as problem:
            raise MonitorError(
                f'pool {pool}: not made ready for RBD: {problem}'
            ) from None


@contextlib.contextmanager
def connect(
    conf: pathlib.Path, timeout_seconds: int = 30
) -> Iterator[Monitor]:
    """Connect as client.admin.

    :param conf: ceph.conf of the cluster.
    :raises MonitorError: no monitor answers in time.
    """
    import rados

    cluster = rados.Rados(
        conffile=str(conf),
        rados_id='admin',
        conf={'client_mount_timeout': str(timeout_seconds)},
    )
    try:
        try:
            cluster.connect()
        except rados.Error as problem:
            raise MonitorError(
                f'no monitor of {conf} answers within {timeout_seconds} s: '
                f'{problem}'
            ) from None
        yield Monitor(cluster)
    finally:
        cluster.shutdown()
