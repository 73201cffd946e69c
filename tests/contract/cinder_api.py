# SPDX-License-Identifier: Apache-2.0

"""A real Cinder API for tests, in a process of its own.

With it come a real scheduler, and stand-ins for Keystone and Glance.
"""

import json
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
        self._errors = pathlib.Path(self._folder.name) / 'stderr'
        with self._errors.open('wb') as stream:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    str(
                        pathlib.Path(__file__).with_name('serve_cinder_api.py')
                    ),
                    self._folder.name,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env={**os.environ, 'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1'},
            )
        port = self._read_line()
        self.url = f'http://127.0.0.1:{port}'
        self.endpoint = f'{self.url}/v3/{PROJECT}'
        self.token = f'admin:{PROJECT}'

    @property
    def shell_arguments(self):
        """Arguments of `openstack` that reach it."""
        return [
            '--os-auth-type',
            'admin_token',
            '--os-token',
            self.token,
            '--os-endpoint',
            self.endpoint,
        ]

    def arguments_of(self, role, project=PROJECT):
        """Arguments of `openstack` for a user who logs in with Keystone.

        :param role: admin; member; or seer, a member who sees extra specs.
        :param project: id of the project.
        """
        return [
            '--os-auth-type',
            'v3password',
            '--os-auth-url',
            f'{self.url}/identity/v3',
            '--os-username',
            role,
            '--os-user-domain-id',
            'default',
            '--os-password',
            'any',
            '--os-project-id',
            project,
            '--os-region-name',
            'one',
        ]

    def add_image(
        self,
        *tags,
        owner=PROJECT,
        visibility='private',
        name='image',
        **properties,
    ):
        """Adds an image to the stand-in for Glance; returns its id."""
        return self._order(
            'image',
            tags=tags,
            owner=owner,
            name=name,
            visibility=visibility,
            **properties,
        )

    def add_project(self, ident, name):
        """Adds a project to the stand-in for Keystone; returns its id."""
        return self._order('project', ident=ident, name=name)

    def set_default_type(self, project, type_id):
        """Sets the default volume type of a project; None unsets it."""
        self._order('default_type', project=project, type_id=type_id)

    def add_backend(self, name, **capabilities):
        """Adds a backend that is up, and has 40 of 100 GiB free.

        :returns: its host@backend#pool.
        """
        return self._order('backend', name=name, **capabilities)

    def add_volume(self, *, host, project_id=PROJECT, **fields):
        """Adds a volume of 1 GiB that exists nowhere but in the database.

        :param fields: of cinder.objects.Volume; `image_id` is what Cinder
            stores with a volume of an image.
        :returns: its id.
        """
        return self._order(
            'volume', host=host, project_id=project_id, **fields
        )

    def delete_volume(self, ident):
        """Deletes a volume from the database."""
        self._order('no_volume', ident=ident)

    def _order(self, what, **arguments):
        self._process.stdin.write(
            json.dumps({what: arguments}).encode() + b'\n'
        )
        self._process.stdin.flush()
        return json.loads(self._read_line())

    def _read_line(self):
        line = self._process.stdout.readline().decode().strip()
        if not line:
            self._process.wait()
            said = self._errors.read_text('utf-8', 'replace')[-2000:]
            self._folder.cleanup()
            raise RuntimeError(f'cinder-api does not run: {said}')
        return line

    def stop(self):
        """Ends the process and removes its files."""
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:  # on a busy machine
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()
