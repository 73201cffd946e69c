# SPDX-License-Identifier: Apache-2.0

"""What a command costs against a cloud that is generated for it.

The cloud runs in another process, so that its own cost does not count. A
process should measure once: the peak of its memory never falls.
"""

import resource
import subprocess
import sys
import time

from keystoneauth1.identity import v3
import keystoneauth1.session
import openstack.connection


def measure(command, *cloud):
    """Runs a command, in this process.

    :param command: is called with a connection.
    :param cloud: the module that serves the cloud, and its arguments.
    :returns: what the command returned, and {what: number} with `calls` of
        the APIs, `cpu_s`, and `peak_growth_mib`, by how much the peak of
        resident memory grew.
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
            started_s = time.process_time()
            result = command(connection)
            cpu_s = time.process_time() - started_s
        served.stdin.close()
    return result, {
        'calls': len(session.get_timings()),
        'cpu_s': cpu_s,
        'peak_growth_mib': (_peak_kib() - before_kib) / 1024,
    }


def _peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
