# SPDX-License-Identifier: Apache-2.0
"""Installs what the lab needs: Debian packages, and one Python environment.

Packages install and start nothing: while apt runs, policy-rc.d forbids their
scripts so, and an administrator's own policy-rc.d is left alone.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
from collections.abc import Iterable, Iterator

from lab.host import commands
from lab import layout

#: Ceph, its bindings, and what disks are made with.
CEPH_PACKAGES = (
    'ceph-common',
    'ceph-mgr',
    'ceph-mon',
    'ceph-osd',
    'fdisk',
    'python3-rados',
    'python3-rbd',
    'util-linux',
)
DEBIAN_PACKAGES = (
    *CEPH_PACKAGES,
    # measures the layers below guests
    'fio',
    # what OpenStack stands on
    'genisoimage',
    'mariadb-client',
    'mariadb-server',
    'rabbitmq-server',
    'uwsgi-core',
    'uwsgi-plugin-python3',
    # hypervisor
    'libvirt-clients',
    'libvirt-daemon',
    'libvirt-daemon-driver-qemu',
    'libvirt-daemon-system',
    'python3-libvirt',
    'qemu-block-extra',
    'qemu-system-x86',
    'qemu-utils',
    # the guest image, and fio's build for it
    'cpio',
    'dpkg-dev',
    'dropbear-bin',
    'e2fsprogs',
    'extlinux',
    'gcc',
    'kmod',
    'libc6-dev',
    'make',
    'syslinux-common',
    'zlib1g-dev',
)
_APT_GET = ('apt-get', '-q', '-y', '-o', 'DPkg::Lock::Timeout=300')
#: Services from PyPI; versions are those of constraints.txt.
PYTHON_PACKAGES = (
    'keystone',
    'glance',
    'cinder',
    'openstack-placement',
    'nova',
    'neutron',
    'python-openstackclient',
    'pymysql',
    'rally',
    'rally-openstack',
)
#: Of this project: commands, scenarios, and the report that the demo writes.
_EXTRAS = 'cli,rally,report'
#: Program -> package; the package is pinned in constraints.txt, too.
TOOLS = {'uv': 'uv', 'supervisord': 'supervisor'}
#: Extension modules that only Debian has, with the pure modules beside them.
SYSTEM_MODULES = (
    'rados.*.so',
    'rbd.*.so',
    'libvirtmod*.so',
    'libvirt.py',
    'libvirt_qemu.py',
    'libvirt_lxc.py',
    'libvirtaio.py',
)
_DIST_PACKAGES = pathlib.Path('/usr/lib/python3/dist-packages')
#: Held while a lab of this machine uses apt; lab.sh has it, too.
_APT_LOCK = pathlib.Path('/run/cinder-tiers-lab-apt.lock')
_POLICY = """#!/bin/sh
# Made by the cinder-tiers lab while apt runs; safe to remove.
exit 101
"""


def install_debian_packages(
    log: pathlib.Path,
    packages: Iterable[str] = DEBIAN_PACKAGES,
) -> str | None:
    """Install those packages that are missing; return a remark.

    :raises lab.host.commands.CommandFailed: apt failed; has its message.
    """
    if set(packages) <= _find_installed():
        return 'all there'
    with _apt_alone():
        missing = sorted(set(packages) - _find_installed())
        if not missing:
            return 'all there'
        _update_package_lists(log)
        with _without_starting_services():
            commands.run(
                [*_APT_GET, '--no-install-recommends', 'install', *missing],
                log=log,
                environment={
                    **os.environ,
                    'DEBIAN_FRONTEND': 'noninteractive',
                },
            )
    return f'{len(missing)} installed'


def update_package_lists(log: pathlib.Path) -> None:
    """Update the lists of apt.

    :raises lab.host.commands.CommandFailed: apt failed; has its message.
    """
    with _apt_alone():
        _update_package_lists(log)


def _update_package_lists(log: pathlib.Path) -> None:
    commands.run([*_APT_GET, 'update'], log=log)


def install_tools(lab: layout.Layout) -> str | None:
    """Install uv and supervisord, in an environment of their own.

    Debian 12's supervisor (4.2.5) comes to poll a closed pipe without end,
    which costs a core; 4.3 does not.

    :raises lab.host.commands.CommandFailed: an install failed.
    """
    if all((lab.tools / 'bin' / name).exists() for name in TOOLS):
        return 'all there'
    log = lab.log / 'tools.log'
    commands.run(['/usr/bin/python3', '-m', 'venv', lab.tools], log=log)
    commands.run(
        [
            lab.tools / 'bin' / 'python',
            '-m',
            'pip',
            'install',
            '-q',
            '-c',
            layout.CONSTRAINTS,
            *TOOLS.values(),
        ],
        log=log,
    )
    return 'installed'


def make_python_environment(lab: layout.Layout) -> str | None:
    """Install all services, clients and this project in one environment.

    :raises lab.host.commands.CommandFailed: an install failed.
    """
    stamp = lab.venv_stamp
    wanted = _environment_digest()
    if stamp.exists() and stamp.read_text() == wanted and lab.python.exists():
        return 'all there'
    log = lab.log / 'venv.log'
    uv = lab.tools / 'bin' / 'uv'
    environment = {
        **os.environ,
        'UV_CACHE_DIR': str(lab.cache / 'uv'),
        # the certificates that the machine's owner trusts
        'UV_SYSTEM_CERTS': '1',
        # a tree without git history has no version of its own
        **_version_fallback(),
    }
    environment.pop('VIRTUAL_ENV', None)
    commands.run(
        [
            uv,
            'venv',
            '--allow-existing',
            '--python',
            '/usr/bin/python3',
            lab.venv,
        ],
        log=log,
        environment=environment,
    )
    commands.run(
        [
            uv,
            'pip',
            'install',
            '--compile-bytecode',
            '--python',
            lab.python,
            '-c',
            layout.CONSTRAINTS,
            *PYTHON_PACKAGES,
            '-e',
            f'{layout.REPOSITORY}[{_EXTRAS}]',
        ],
        log=log,
        environment=environment,
    )
    stamp.write_text(wanted)
    return 'installed'


def _find_installed() -> set[str]:
    text = commands.run(
        ['dpkg-query', '-W', '-f', '${binary:Package} ${db:Status-Status}\n']
    )
    return {
        line.split()[0].partition(':')[0]
        for line in text.splitlines()
        if line.endswith(' installed')
    }


@contextlib.contextmanager
def _apt_alone() -> Iterator[None]:
    """One stage of one lab at a time.

    The first of two that ends would remove the policy of the other, and apt
    waits for no lock of the package lists.
    """
    with _APT_LOCK.open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _without_starting_services(
    policy: pathlib.Path = pathlib.Path('/usr/sbin/policy-rc.d'),
) -> Iterator[None]:
    """Keep package scripts from starting services, as long as it lasts."""
    # The file may be left from a run that was killed.
    if policy.exists() and policy.read_text() != _POLICY:
        yield
        return
    policy.write_text(_POLICY)
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink(missing_ok=True)


def _environment_digest() -> str:
    digest = hashlib.sha256()
    for path in (
        layout.CONSTRAINTS,
        layout.REPOSITORY / 'pyproject.toml',
        layout.REPOSITORY / 'requirements.txt',
    ):
        digest.update(path.read_bytes())
    digest.update(
        ' '.join((str(layout.REPOSITORY), _EXTRAS, *PYTHON_PACKAGES)).encode()
    )
    return digest.hexdigest()


def _version_fallback() -> dict[str, str]:
    done = subprocess.run(
        ['git', '-C', str(layout.REPOSITORY), 'rev-parse', 'HEAD'],
        capture_output=True,
    )
    return {} if done.returncode == 0 else {'PBR_VERSION': '0.0.1'}


def link_system_modules(lab: layout.Layout) -> None:
    """Link modules that only Debian has into the Python environment.

    :raises lab.host.commands.CommandFailed: Debian's packages do not have one.
    """
    site = pathlib.Path(
        commands.run(
            [
                lab.python,
                '-c',
                "import sysconfig; print(sysconfig.get_path('purelib'))",
            ]
        ).strip()
    )
    for pattern in SYSTEM_MODULES:
        modules = list(_DIST_PACKAGES.glob(pattern))
        if not modules:
            raise commands.CommandFailed(
                f'{_DIST_PACKAGES / pattern}: not there, expected it from '
                'python3-rados, python3-rbd and python3-libvirt'
            )
        for module in modules:
            link = site / module.name
            link.unlink(missing_ok=True)
            link.symlink_to(module)
