# SPDX-License-Identifier: Apache-2.0

"""A real Cinder API for tests, in a process of its own.

With it come a real scheduler, and stand-ins for Keystone and Glance.
"""

import multiprocessing
import pathlib
import tempfile

PROJECT = '1' * 32
_CONTEXT = multiprocessing.get_context('forkserver')
_CONTEXT.set_forkserver_preload(['tests.worlds.imported_cinder'])


def _serve(folder, orders, errors):
    """In the process of its own."""
    from tests.worlds import serve_cinder_api

    serve_cinder_api.main(folder=folder, orders=orders, errors=errors)


class CinderApi:
    """Starts the API; `stop` ends it.

    :raises RuntimeError: when it does not start, with the end of its output.
    """

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._copies = 0
        self._errors = pathlib.Path(self._folder.name) / 'stderr'
        self._orders, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_serve,
            kwargs={
                'folder': pathlib.Path(self._folder.name),
                'orders': theirs,
                'errors': self._errors,
            },
            daemon=True,
        )
        self._process.start()
        theirs.close()
        port = self._read_answer()
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

        :param role: admin; member; seer, a member who sees extra specs; or
            keeper, an administrator who sees no encryption of volume types.
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

    def forbid_namespaces(self, are_forbidden=True):
        """Lets the stand-in for Glance refuse metadata definitions."""
        self._order('forbid_namespaces', are_forbidden=are_forbidden)

    def asked(self):
        """Paths that were asked of Keystone and Glance since the last call."""
        return self._order('asked')

    def add_project(self, ident, name):
        """Adds a project to the stand-in for Keystone; returns its id."""
        return self._order('project', ident=ident, name=name)

    def set_default_type(self, project, type_id):
        """Sets the default volume type of a project; None unsets it."""
        self._order('default_type', project=project, type_id=type_id)

    def add_dead_scheduler(self, host):
        """Adds a scheduler that last reported at 2026-01-02 03:04:05."""
        self._order('dead_scheduler', host=host)

    def fold_names(self):
        """Lets the database compare names and keys as MariaDB does."""
        self._order('fold')

    def add_backend(self, name, **capabilities):
        """Adds a backend that is up, and has 40 of 100 GiB free.

        :returns: its host@backend#pool.
        """
        return self._order('backend', name=name, **capabilities)

    def add_volume_service(self, name, driver, **options):
        """Starts a real cinder-volume, whose volumes have host node@name.

        :param driver: the path of its class.
        :param options: of the driver.
        """
        self._order('volume_service', name=name, driver=driver, **options)

    def add_volume(self, *, host, project_id=PROJECT, **fields):
        """Adds a volume of 1 GiB that exists nowhere but in the database.

        :param fields: of cinder.objects.Volume; `image_id` is what Cinder
            stores with a volume of an image, `servers` are ids of those that
            it is attached to.
        :returns: its id.
        """
        return self._order(
            'volume', host=host, project_id=project_id, **fields
        )

    def add_snapshot(self, *, volume_id, project_id=PROJECT, **fields):
        """Adds a snapshot that exists nowhere but in the database.

        :param fields: of cinder.objects.Snapshot, such as `volume_size`.
        :returns: its id.
        """
        return self._order(
            'snapshot', volume_id=volume_id, project_id=project_id, **fields
        )

    def add_group(self, *, host, project_id=PROJECT):
        """Adds a generic group that exists nowhere but in the database.

        :returns: its id.
        """
        return self._order('group', host=host, project_id=project_id)

    def add_attachment(self, *, volume_id, **fields):
        """Adds an attachment of a volume that is there.

        :param fields: of cinder.objects.VolumeAttachment, such as
            `instance_uuid` and `connection_info`.
        :returns: its id.
        """
        return self._order('attachment', volume_id=volume_id, **fields)

    def change_volume(self, ident, **fields):
        """Changes a volume in the database, as cinder-volume does."""
        self._order('changed_volume', ident=ident, **fields)

    def delete_volume(self, ident):
        """Deletes a volume from the database."""
        self._order('no_volume', ident=ident)

    def keep(self):
        """Copies Cinder's database; returns the name of the copy."""
        self._copies += 1
        name = f'kept-{self._copies}'
        self._order('keep', name=name)
        return name

    def return_to(self, kept):
        """Puts back what `keep` copied: all that Cinder knew at that time."""
        self._order('return_to', name=kept)

    def content(self):
        """Returns what Cinder knows, for `begin_with` of another one."""
        return pathlib.Path(self._folder.name, self.keep()).read_bytes()

    def begin_with(self, content):
        """Has Cinder know what another one knew."""
        pathlib.Path(self._folder.name, 'begun').write_bytes(content)
        self.return_to('begun')

    def _order(self, what, **arguments):
        self._orders.send((what, arguments))
        return self._read_answer()

    def _read_answer(self):
        try:
            return self._orders.recv()
        except EOFError:
            self._process.join()
            said = self._errors.read_text('utf-8', 'replace')[-2000:]
            self._folder.cleanup()
            raise RuntimeError(f'cinder-api does not run: {said}') from None

    def stop(self):
        """Ends the process and removes its files."""
        self._orders.close()
        self._process.join(timeout=30)
        if self._process.exitcode is None:  # on a busy machine
            self._process.kill()
            self._process.join()
        self._process.close()
        self._folder.cleanup()
