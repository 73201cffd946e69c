# SPDX-License-Identifier: Apache-2.0

"""A session with the monitors of a Ceph cluster.

The only place that knows librados and librbd: commands go in as JSON and come
back as values, and every failure is one clear error after a bounded time. It
only carries; what is read and written is up to `observe` and `execute`.
What these libraries cannot do for Python is in `cache_flush`; single I/Os, of
which the latency is measured, in `probe_image`.
"""

import collections.abc
import contextlib
import dataclasses
import errno
import json
import os
import re
import types
import typing

from cinder_tiers.clients import cache_flush
from cinder_tiers.clients import ceph_bindings
from cinder_tiers.clients import ceph_manager
from cinder_tiers.clients import probe_image
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors

#: A monitor that answers at all does so much sooner.
TIMEOUT_S = 15
#: New placement groups need some seconds before they serve.
OSD_TIMEOUT_S = 60
#: Prefix of RBD client options among the metadata of a pool (librbd,
#: ImageCtx::METADATA_CONF_PREFIX).
_RBD_OPTION = 'conf_'
#: Numbers as Ceph's formatter writes them and JSON has none.
_NOT_FINITE = re.compile(rb'([:\[,]\s*-?)(inf|nan)(?=\s*[,\]}])')
_AS_PYTHON_READS = {b'inf': b'Infinity', b'nan': b'NaN'}
_NAME_A_USER = (
    'name a cephx user with the capabilities for it as user of the cluster '
    'in the tiers file: "openstack tier backend-config --for ceph-reader" '
    'prints how to make one for plan and audit, "--for ceph-writer" one for '
    'apply, "--for ceph-watcher" one for watch, "--for ceph-repairer" one '
    'for repair'
)


class CephRefused(errors.TiersError):
    """Ceph refused a command.

    :param errno: positive, such as `errno.ENOENT`.
    """

    def __init__(self, message: str, *, errno: int) -> None:
        self.errno = errno
        super().__init__(message)


def import_binding(name: str) -> types.ModuleType:
    """Imports rados or rbd, which no package index has.

    :raises errors.Unreachable: when it is not there.
    """
    try:
        return __import__(name)
    except ImportError as error:
        raise errors.NotVisible(
            f'The Python module {name} cannot be imported ({error}); it '
            'is part of Ceph, not of a package index: install '
            f'python3-{name} of the distribution, and in a virtual '
            f'environment link {name}*.so from '
            '/usr/lib/python3/dist-packages into its site-packages'
        ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class RbdImage:
    """Facts on an RBD image from `rbd info` and `rbd du`."""

    #: pool/image@snapshot; None for an image that is not a clone.
    parent: str | None
    #: Pool of its data, which may be that of the image.
    data_pool: str
    #: Of which its size would be made, and bytes of each.
    objects: int
    object_bytes: int
    #: That exist; None where each of them would have to be asked for.
    own_objects: int | None
    #: Whether it has come from another pool, which has some of its data yet.
    is_migrating: bool = False


def parse(output: bytes) -> object:
    """The value of an answer of Ceph.

    A score of a pool may be infinite (read_balance of `osd pool ls detail`,
    since Ceph 18), and Ceph writes that as a bare word.

    >>> parse(b'{"score": inf, "name": ": inf"}')
    {'score': inf, 'name': ': inf'}

    :raises ValueError: it is no JSON.
    """
    try:
        return json.loads(output)
    except ValueError:
        return json.loads(
            _NOT_FINITE.sub(
                lambda found: found[1] + _AS_PYTHON_READS[found[2]], output
            )
        )


class Session:
    """An open session; made by `session()`."""

    def __init__(
        self,
        cluster: catalogs.Cluster,
        handle: ceph_bindings.Handle,
        manager: ceph_manager.Manager,
    ) -> None:
        self.cluster = cluster
        self._handle = handle
        self._manager = manager
        self._rados = import_binding('rados')
        self._rbd = import_binding('rbd')

    def command(self, prefix: str, **arguments: object) -> typing.Any:
        """Run a monitor command (src/mon/MonCommands.h).

        :param arguments: arguments of the command with Ceph's names; `class_`
            stands for `class`.
        :returns: the parsed JSON of the answer; None for an empty one.
        :raises CephRefused: Ceph refused the command.
        :raises errors.Unreachable: no monitor answered in time.
        """
        if 'class_' in arguments:
            arguments['class'] = arguments.pop('class_')
        output, _said = self._ask(prefix, arguments)
        return self._parsed(prefix, output)

    def ask_manager(self, prefix: str, **arguments: object) -> typing.Any:
        """Run a command of a module of the manager, such as rbd_support.

        The monitors pass such a command on as well, but without the caps of
        the user, and modules that check them then refuse it
        (src/pybind/mgr/rbd_support/common.py, authorize_request).

        :param arguments: arguments of the command.
        :returns: the parsed JSON of the answer; None for an empty one.
        :raises CephRefused: the manager refused the command.
        :raises errors.Unreachable: no manager answered in time.
        """
        request = json.dumps({'prefix': prefix, 'format': 'json', **arguments})
        try:
            answer = self._manager.ask(request, timeout_s=TIMEOUT_S)
        except self._rados.Error as error:
            raise errors.Unreachable(
                f'The manager of Ceph cluster {self.cluster.name!r} did not '
                f'answer "{prefix}": {error}'
            ) from error
        if answer is None:
            raise errors.Unreachable(
                f'The manager of Ceph cluster {self.cluster.name!r} did not '
                f'answer "{prefix}" within {TIMEOUT_S} s; is one active?'
            )
        code, output, said = answer
        if code:
            raise self._failure(prefix, -code, said)
        return self._parsed(prefix, output)

    def crush_map(self) -> tuple[bytes, int]:
        """The CRUSH map in Ceph's encoding, and its version.

        :raises CephRefused: when Ceph refused it.
        :raises errors.Unreachable: when no monitor answered in time.
        """
        output, said = self._ask('osd getcrushmap', {})
        return output, int(said)

    def set_crush_map(self, data: bytes, *, prior_version: int) -> None:
        """Set the CRUSH map, unless it has changed meanwhile.

        :param data: the map in Ceph's encoding.
        :param prior_version: version of the map from which it was made.
        :raises CephRefused: Ceph refused it; with EPERM if the map has another
            version.
        :raises errors.Unreachable: no monitor answered in time.
        """
        self._ask('osd setcrushmap', {'prior_version': prior_version}, data)

    def _ask(
        self,
        prefix: str,
        arguments: collections.abc.Mapping[str, object],
        data: bytes = b'',
    ) -> tuple[bytes, str]:
        """The answer of the monitors, and what they say beside it."""
        request = json.dumps({'prefix': prefix, 'format': 'json', **arguments})
        try:
            code, output, said = self._handle.mon_command(request, data)
        except self._rados.Error as error:
            raise errors.Unreachable(
                f'Ceph cluster {self.cluster.name!r} did not answer '
                f'"{prefix}": {error}'
            ) from error
        if code:
            raise self._failure(prefix, -code, said)
        return output, said

    def tell(
        self, osd_id: int, prefix: str, **arguments: object
    ) -> typing.Any:
        """Send a command to a running OSD (`ceph tell osd.N`).

        :param arguments: arguments of the command.
        :returns: the parsed JSON of the answer.
        :raises CephRefused: the OSD refused the command or is down.
        """
        request = json.dumps({'prefix': prefix, 'format': 'json', **arguments})
        try:
            code, output, said = self._handle.osd_command(
                osd_id, request, b'', timeout=TIMEOUT_S
            )
        except self._rados.Error as error:
            raise errors.Unreachable(
                f'osd.{osd_id} of Ceph cluster {self.cluster.name!r} did not '
                f'answer "{prefix}": {error}'
            ) from error
        if -code == errno.ETIMEDOUT:
            # Not the monitors' doing; the others still answer.
            raise CephRefused(
                f'osd.{osd_id} of Ceph cluster {self.cluster.name!r} did not '
                f'answer "{prefix}" within {TIMEOUT_S} s',
                errno=errno.ETIMEDOUT,
            )
        if code:
            raise self._failure(prefix, -code, said)
        return self._parsed(prefix, output)

    def _parsed(self, prefix: str, output: bytes) -> object:
        """The parsed answer; None for an empty one."""
        try:
            return parse(output) if output.strip() else None
        except ValueError as error:
            raise errors.TiersError(
                f'Ceph cluster {self.cluster.name!r} answered "{prefix}" in '
                f'a form that is not known: no JSON: {error}'
            ) from error

    def _failure(self, prefix: str, code: int, said: str) -> errors.TiersError:
        said = said.strip() or os.strerror(code)
        if code == errno.ETIMEDOUT:
            return errors.Unreachable(
                f'Ceph cluster {self.cluster.name!r} did not answer '
                f'"{prefix}" within {TIMEOUT_S} s; are its monitors in '
                f'quorum?'
            )
        message = (
            f'Ceph cluster {self.cluster.name!r} refused "{prefix}" '
            f'to client.{self.cluster.user}: {said}'
        )
        # EPERM with words of its own is about the object, not about the user.
        if code == errno.EACCES or (code, said) == (
            errno.EPERM,
            os.strerror(errno.EPERM),
        ):
            message += f'; {_NAME_A_USER}'
        return CephRefused(message, errno=code)

    def rbd_options(self, pool: str) -> dict[str, str]:
        """The RBD client options that a pool sets (`rbd config pool list`).

        :returns: {option: value}.
        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            return {
                key.removeprefix(_RBD_OPTION): value
                for key, value in self._rbd.RBD().pool_metadata_list(ioctx)
                if key.startswith(_RBD_OPTION)
            }

    def clones(self, pool: str) -> collections.abc.Iterator[tuple[str, str]]:
        """The copy-on-write clones of all images of a pool (`rbd children`).

        :returns: (name of the image, name of a clone in any pool); the calls
            grow with images and their snapshots.
        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            for name in self._rbd.RBD().list(ioctx):
                try:
                    with self._rbd.Image(ioctx, name, read_only=True) as image:
                        for snapshot in list(image.list_snaps()):
                            image.set_snap_by_id(snapshot['id'])
                            for clone in image.list_children2():
                                yield name, clone['image']
                except self._rbd.ImageNotFound:
                    # Deleted since the images were listed.
                    continue

    def images(self, pool: str) -> list[str]:
        """Names of the RBD images of a pool (`rbd ls`).

        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            return self._rbd.RBD().list(ioctx)

    def image(self, pool: str, name: str) -> RbdImage:
        """An RBD image (`rbd info`, `rbd du`).

        :raises errors.Unreachable: when the pool serves no I/O, or the image
            is not there.
        """
        with (
            self._pool(pool) as ioctx,
            self._rbd.Image(ioctx, name, read_only=True) as image,
        ):
            try:
                parent = '{}/{}@{}'.format(*image.parent_info())
            except self._rbd.ImageNotFound:
                parent = None
            found = image.stat()
            return RbdImage(
                parent=parent,
                objects=found['num_objs'],
                object_bytes=found['obj_size'],
                own_objects=self._own_objects(image),
                data_pool=self._handle.pool_reverse_lookup(
                    image.data_pool_id()
                ),
                is_migrating=bool(
                    image.features() & self._rbd.RBD_FEATURE_MIGRATING
                ),
            )

    def image_options(self, pool: str, name: str) -> dict[str, str] | None:
        """The RBD client options that an image sets (`rbd config image list`).

        :returns: {option: value}; None: there is no such image.
        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            try:
                with self._rbd.Image(ioctx, name, read_only=True) as image:
                    return {
                        key.removeprefix(_RBD_OPTION): value
                        for key, value in image.metadata_list()
                        if key.startswith(_RBD_OPTION)
                    }
            except self._rbd.ImageNotFound:
                return None

    def set_image_options(
        self,
        pool: str,
        name: str,
        options: collections.abc.Mapping[str, str | None],
    ) -> None:
        """Sets RBD client options of an image, for its clients at once.

        :param options: {option: value; None: remove it}; as far as the first
            that is refused.
        :raises errors.ActionFailed: there is no such image, or librbd does
            not take a value.
        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            try:
                with self._rbd.Image(ioctx, name) as image:
                    for option, value in options.items():
                        self._set_image_option(image, option, value)
            except self._rbd.ImageNotFound as error:
                raise errors.ActionFailed(
                    f'Pool {pool} of Ceph cluster {self.cluster.name!r} has '
                    f'no image {name}; was the volume deleted or moved?'
                ) from error

    def _set_image_option(
        self, image: ceph_bindings.OpenImage, option: str, value: str | None
    ) -> None:
        try:
            if value is not None:
                image.metadata_set(_RBD_OPTION + option, value)
            else:
                with contextlib.suppress(KeyError):
                    image.metadata_remove(_RBD_OPTION + option)
        except self._rbd.InvalidArgument as error:
            raise errors.ActionFailed(
                f'librbd refused {option} {value!r}: {error}; correct the '
                'QoS spec'
            ) from error

    def _own_objects(self, image: ceph_bindings.OpenImage) -> int | None:
        if (
            not image.features() & self._rbd.RBD_FEATURE_FAST_DIFF
            or image.flags() & self._rbd.RBD_FLAG_FAST_DIFF_INVALID
        ):
            return None
        found: list[bool] = []
        image.diff_iterate(
            0,
            image.size(),
            None,
            lambda offset, length, exists: found.append(exists),
            include_parent=False,
            whole_object=True,
        )
        return sum(found)

    def objects(self, pool: str) -> collections.abc.Iterator[str]:
        """Names of all objects that a pool holds (`rados ls --all`).

        Of a cache, its own objects, not those of the pool behind it.

        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            ioctx.set_namespace(self._rados.LIBRADOS_ALL_NSPACES)
            for one in ioctx.list_objects():
                yield one.key

    def flush_and_evict(
        self, pool: str, progress: collections.abc.Callable[[int], None]
    ) -> tuple[str, ...]:
        """Tries to empty a cache into the pool behind it, once.

        :param progress: is called with the number of objects tried so far.
        :returns: the first messages about objects that stay.
        :raises errors.ActionFailed: as `cache_flush.flush_and_evict`.
        """
        return cache_flush.flush_and_evict(
            conf=conf_of(self.cluster),
            user=self.cluster.user,
            pool=pool,
            progress=progress,
        )

    @contextlib.contextmanager
    def open_probe(
        self, pool: str, *, data_pool: str
    ) -> collections.abc.Iterator[probe_image.ProbeImage]:
        """Open the image for single I/Os, and create it if necessary.

        :param pool: pool of the image.
        :param data_pool: pool of its data; may be the same.
        :raises errors.Unreachable: the pool serves no I/O.
        :raises errors.ActionFailed: see `probe_image.opened`.
        """
        with (
            self._pool(pool) as ioctx,
            probe_image.opened(
                self._rbd,
                ioctx,
                data_pool=None if data_pool == pool else data_pool,
            ) as image,
        ):
            yield image

    def remove_probe(self, pool: str) -> bool:
        """Removes the image for single I/Os.

        :returns: whether there was one.
        :raises errors.Unreachable: when the pool serves no I/O.
        :raises errors.ActionFailed: as `probe_image.remove`.
        """
        with self._pool(pool) as ioctx:
            return probe_image.remove(self._rbd, ioctx)

    def set_rbd_option(
        self, pool: str, option: str, value: str | None
    ) -> None:
        """Sets an RBD client option of a pool; None removes it.

        :raises errors.Unreachable: when the pool serves no I/O.
        """
        with self._pool(pool) as ioctx:
            if value is None:
                self._rbd.RBD().pool_metadata_remove(
                    ioctx, _RBD_OPTION + option
                )
            else:
                self._rbd.RBD().pool_metadata_set(
                    ioctx, _RBD_OPTION + option, value
                )

    @contextlib.contextmanager
    def _pool(
        self, name: str
    ) -> collections.abc.Iterator[ceph_bindings.OpenPool]:
        try:
            with self._handle.open_ioctx(name) as ioctx:
                yield ioctx
        except (self._rados.Error, self._rbd.Error) as error:
            if isinstance(
                error,
                self._rados.PermissionError
                | self._rados.PermissionDeniedError
                | self._rbd.PermissionError,
            ):
                raise errors.NotVisible(
                    f'client.{self.cluster.user} may not read or write '
                    f'pool {name} of Ceph cluster {self.cluster.name!r}: '
                    f'{error}; {_NAME_A_USER}'
                ) from error
            raise errors.Unreachable(
                f'Pool {name} of Ceph cluster {self.cluster.name!r} did '
                f'not complete I/O within {OSD_TIMEOUT_S} s: {error}; see '
                '"ceph health detail"'
            ) from error


#: {name of the cluster in the catalog: session}.
Sessions = collections.abc.Mapping[str, Session]
#: Opens a session with a cluster, for as long as the context lasts.
Open = collections.abc.Callable[
    [catalogs.Cluster], contextlib.AbstractContextManager[Session]
]


def conf_of(cluster: catalogs.Cluster) -> str:
    """Return the path of the configuration file of a cluster.

    :param cluster: the cluster; without `conf`, the path is $CEPH_CONF, or
        /etc/ceph/ceph.conf.
    """
    return cluster.conf or os.environ.get('CEPH_CONF', '/etc/ceph/ceph.conf')


@contextlib.contextmanager
def session(
    cluster: catalogs.Cluster,
) -> collections.abc.Iterator[Session]:
    """Opens a session, and closes it after use.

    :param cluster: reached by `conf_of`.
    :raises errors.Unreachable: when the module, the configuration, the
        keyring or the monitors are missing.
    """
    rados = import_binding('rados')
    import_binding('rbd')  # now, not when half of a plan is applied
    conf = conf_of(cluster)

    def connect(**timeouts: int) -> ceph_bindings.Handle:
        handle = rados.Rados(
            rados_id=cluster.user,
            conffile=conf,
            conf={
                'client_mount_timeout': str(TIMEOUT_S),
                'rados_osd_op_timeout': str(OSD_TIMEOUT_S),
                **{name: str(value_s) for name, value_s in timeouts.items()},
            },
        )
        try:
            handle.connect(timeout=TIMEOUT_S)
        except rados.Error:
            # Else its threads and sockets stay.
            handle.shutdown()
            raise
        return handle

    try:
        handle = connect(rados_mon_op_timeout=TIMEOUT_S)
    except rados.Error as error:
        raise errors.Unreachable(
            f'Ceph cluster {cluster.name!r} cannot be reached as '
            f'client.{cluster.user} with {conf}: {error}; check that the '
            'file exists, that it names a readable keyring of that user, '
            'and that the monitors are running'
        ) from error
    manager = ceph_manager.Manager(connect)
    try:
        yield Session(cluster, handle, manager)
    finally:
        manager.close()
        handle.shutdown()
