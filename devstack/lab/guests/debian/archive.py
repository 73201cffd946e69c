# SPDX-License-Identifier: Apache-2.0

"""What the Debian guest is made of, and where that comes from.

Asks the apt of the host, whatever the format of its sources: the guest gets
the Debian of the machine. Nothing is changed.
"""

import re

from lab.guests import build_folder
from lab.host import commands

#: What a guest needs; all else is there because one of these depends on it.
PACKAGES = (
    'apt',
    'cloud-init',
    'dbus',
    'e2fsprogs',
    'fio',
    'initramfs-tools',
    'kmod',
    'linux-image-cloud-amd64',
    'systemd-sysv',
    'udev',
)
_TARGETS = '$(ORIGIN)\t$(REPO_URI)\t$(RELEASE)\t$(CODENAME)\t$(COMPONENT)'


def find_sources() -> tuple[str, list[str]]:
    """Find the archives of Debian that the host uses.

    :returns: the name of the release, such as ``bookworm``, and lines like
        those of sources.list(5).
    :raises GuestImageError: apt has no list of Debian's.
    :raises lab.host.commands.CommandFailed: apt-get failed.
    """
    return parse_index_targets(
        commands.query(
            'apt-get',
            'indextargets',
            '--format',
            _TARGETS,
            'Created-By: Packages',
        )
    )


def parse_index_targets(targets: str) -> tuple[str, list[str]]:
    """Read the answer of ``apt-get indextargets``; see :func:`find_sources`.

    :param targets: origin, URI, release, code name and component in each
        line, with tabs between them.
    :raises GuestImageError: none of them is Debian's main archive.
    """
    lines = []
    names = []
    for line in targets.splitlines():
        origin, uri, release, name, component = line.split('\t')
        if origin == 'Debian' and component == 'main':
            lines.append(f'deb {uri} {release} {component}')
            # bookworm, but not bookworm-updates or bookworm-security
            if release == name and '-' not in name:
                names.append(name)
    if not names:
        raise build_folder.GuestImageError(
            f"apt's lists have no main archive of Debian's among these, "
            f'expected one; run apt-get update:\n{targets}'
        )
    return names[0], list(dict.fromkeys(lines))


def find_packages() -> dict[str, str]:
    """Find all packages that the guest will have.

    :returns: {package: version}
    :raises lab.host.commands.CommandFailed: apt does not know a package; run
        apt-get update.
    """
    return parse_simulated_install(
        commands.query(
            'apt-get',
            '--simulate',
            '-o',
            'Dir::State::status=/dev/null',
            '--no-install-recommends',
            'install',
            '?essential',
            *PACKAGES,
        )
    )


def parse_simulated_install(simulation: str) -> dict[str, str]:
    """Read what ``apt-get --simulate install`` would install.

    :returns: {package: version}
    """
    # "Inst fio (3.33-3 Debian:12.15/oldstable [amd64])"
    return dict(re.findall(r'(?m)^Inst (\S+) \((\S+) ', simulation))
