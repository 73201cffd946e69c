# SPDX-License-Identifier: Apache-2.0

"""dropbear's SSH server as one static binary.

Debian's own needs six libraries of 5 MB that a guest does not need otherwise;
a static one has 1.3 MB, and takes half a minute of CPU time to build. It
accepts keys only, and forwards nothing.
"""

import os
import pathlib

from lab.guests import build_folder

#: Debian's package of the server; its source is what is built.
PACKAGE = 'dropbear-bin'

# Static programs of glibc cannot look up passwords in all the ways that the
# dynamic ones can; and no guest of the lab has a password.
_OPTIONS = """\
#define DROPBEAR_SVR_PASSWORD_AUTH 0
#define DROPBEAR_SVR_AGENTFWD 0
#define DROPBEAR_SVR_LOCALTCPFWD 0
#define DROPBEAR_SVR_REMOTETCPFWD 0
#define DROPBEAR_X11FWD 0
#define DROPBEAR_SFTPSERVER 0
"""
# What configure would take from the host if the host happens to have it, and
# files of logins that the guest does not have.
_WITHOUT = (
    'lastlog',
    'loginfunc',
    'pam',
    'syslog',
    'utmp',
    'utmpx',
    'wtmp',
    'wtmpx',
    'zlib',
)


def build(
    source: pathlib.Path, *, folder: build_folder.BuildFolder
) -> pathlib.Path:
    """Build the server in its source folder.

    :param source: unpacked source.
    :returns: the stripped static binary.
    :raises lab.host.commands.CommandFailed: configure, make or strip failed.
    """
    (source / 'localoptions.h').write_text(_OPTIONS, encoding='utf-8')
    folder.run(
        './configure',
        '--enable-static',
        '--enable-bundled-libtom',
        *(f'--disable-{feature}' for feature in _WITHOUT),
        within=source,
    )
    folder.run(
        'make',
        f'--jobs={len(os.sched_getaffinity(0))}',
        'PROGRAMS=dropbear',
        within=source,
    )
    folder.run('strip', 'dropbear', within=source)
    return source / 'dropbear'
