# SPDX-License-Identifier: Apache-2.0
"""libvirtd: the hypervisor daemon of the lab, and its cephx secrets.

All its files and sockets are below the lab's folder, so that another instance
on the same machine is neither used nor disturbed.
"""

import base64
from collections.abc import Iterator
import contextlib
import pathlib
from typing import Any
import uuid

from lab.host import commands
from lab import layout
from lab.processes import readiness
from lab.processes import supervisord


def start(lab: layout.Layout, supervisor: supervisord.Supervisor) -> None:
    """Run a libvirtd whose files are all below the lab's folder.

    libvirtd has its paths built in; it gets a mount namespace of its own, in
    which those paths are folders of the lab.
    """
    home = lab.root / 'libvirt'
    for name in ('etc/qemu', 'lib', 'run', 'log', 'cache', 'ceph'):
        (home / name).mkdir(parents=True, exist_ok=True)
    lab.libvirt_folder.mkdir(exist_ok=True)
    host_uuid = uuid.uuid5(uuid.NAMESPACE_URL, f'file://{lab.root}')
    (home / 'etc' / 'libvirtd.conf').write_text(
        'auth_unix_rw = "none"\nauth_unix_ro = "none"\n'
        'unix_sock_rw_perms = "0700"\n'
        f'host_uuid = "{host_uuid}"\n'
    )
    (home / 'etc' / 'qemu.conf').write_text(
        'user = "root"\ngroup = "root"\nsecurity_driver = "none"\n'
        'dynamic_ownership = 0\nremember_owner = 0\n'
        'cgroup_controllers = []\nnamespaces = []\n'
        'stdio_handler = "file"\n'
    )
    script = pathlib.Path(__file__).with_name('libvirtd-apart.sh')
    supervisor.ensure(
        [
            supervisord.Program(
                name='libvirtd', argv=('/bin/sh', str(script), str(home))
            )
        ]
    )

    def answers() -> bool:
        try:
            commands.run(
                ['virsh', '-c', lab.libvirt_uri, 'version'],
                timeout_seconds=30,
            )
        except commands.CommandFailed:
            return False
        return True

    readiness.wait_until(
        answers,
        f'libvirtd ({supervisor.log_file("libvirtd")})',
        interval_seconds=0.5,
    )


def define_cephx_secret(
    lab: layout.Layout, key: str, *, client: str, secret_uuid: str
) -> None:
    """Define the secret with the cephx key that guests open volumes with.

    :param client: the cephx user, without ``client.``; unlike those of other
        secrets.
    :param secret_uuid: of the secret that holds the key.
    :raises libvirt.libvirtError: libvirtd refuses.
    """
    with _libvirt(lab) as connection:
        secret = connection.secretDefineXML(
            "<secret ephemeral='no' private='no'>"
            f'<uuid>{secret_uuid}</uuid>'
            f"<usage type='ceph'><name>client.{client}</name></usage>"
            '</secret>'
        )
        # libvirt takes the key as the bytes that its base64 text stands for
        secret.setValue(base64.b64decode(key))


def remove_cephx_secret(lab: layout.Layout, secret_uuid: str) -> None:
    """Remove a secret from libvirt, if it is there.

    :raises libvirt.libvirtError: libvirtd refuses.
    """
    with _libvirt(lab) as connection:
        for secret in connection.listAllSecrets():
            if secret.UUIDString() == secret_uuid:
                secret.undefine()


@contextlib.contextmanager
def _libvirt(lab: layout.Layout) -> Iterator[Any]:
    import libvirt  # Debian's; not there before the packages are

    with contextlib.closing(libvirt.open(lab.libvirt_uri)) as connection:
        yield connection
