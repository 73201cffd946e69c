# SPDX-License-Identifier: Apache-2.0

"""What a command costs against a cloud that is generated for it.

The cloud runs in another process, so that its own cost does not count. A
process should measure once: the peak of its memory never falls.
"""

import collections
import re
import resource
import subprocess
import sys
import time
import urllib.parse

from keystoneauth1.identity import v3
import keystoneauth1.session
import openstack.connection

_IDENT = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def measure(command, *cloud):
    """Runs a command, in this process.

    :param command: is called with a connection.
    :param cloud: the module that serves the cloud, and its arguments.
    :returns: what the command returned, and {what: number} with `calls` of
        the APIs, and `kinds` of them; `seconds` and `cpu_s`; `peak_mib` of
        resident memory, and `peak_growth_mib`, by how much that grew.
    """
    with subprocess.Popen(
        [sys.executable, '-m', *map(str, cloud)],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as served:
        url = f'http://127.0.0.1:{served.stdout.readline().strip()}'
        session = keystoneauth1.session.Session(
            collect_timing=True,
            auth=v3.Password(
                f'{url}/v3',
                user_id='u',
                password='p',  # noqa: S106
                project_id='p',
            ),
        )
        with openstack.connection.Connection(session=session) as connection:
            before_kib = _peak_kib()
            began_s, started_s = time.monotonic(), time.process_time()
            result = command(connection)
            cpu_s = time.process_time() - started_s
            seconds = time.monotonic() - began_s
        served.stdin.close()
    return result, {
        'calls': len(session.get_timings()),
        'kinds': collections.Counter(map(_kind, session.get_timings())),
        'seconds': seconds,
        'cpu_s': cpu_s,
        'peak_mib': _peak_kib() / 1024,
        'peak_growth_mib': (_peak_kib() - before_kib) / 1024,
    }


def _kind(timing):
    """A call without what it names: `GET /types/ID`."""
    path = urllib.parse.urlsplit(timing.url).path.removeprefix('/v3/')
    path = path.removeprefix('p/')
    return f'{timing.method} {_IDENT.sub("ID", path)}'


def _peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
