# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A real Cinder API for tests, in a process of its own."""

import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = '1' * 32


class CinderApi:
    """Starts the API; `stop` ends it.

    :raises RuntimeError: when it does not start, with the end of its output.
    """

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        errors = pathlib.Path(self._folder.name) / 'stderr'
        with errors.open('wb') as stream:
            self._process = subprocess.Popen(
                [sys.executable,
                 str(pathlib.Path(__file__).with_name(
                     'serve_cinder_api.py')), self._folder.name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream,
                env={**os.environ, 'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1'})
        port = self._process.stdout.readline().decode().strip()
        if not port:
            self._process.wait()
            said = errors.read_text('utf-8', 'replace')[-2000:]
            self._folder.cleanup()
            raise RuntimeError(f'cinder-api did not start: {said}')
        self.endpoint = f'http://127.0.0.1:{port}/v3/{PROJECT}'
        self.token = f'admin:{PROJECT}'

    @property
    def shell_arguments(self):
        """Arguments of `openstack` that reach it."""
        return ['--os-auth-type', 'admin_token', '--os-token', self.token,
                '--os-endpoint', self.endpoint]

    def stop(self):
        """Ends the process and removes its files."""
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
        self._folder.cleanup()
