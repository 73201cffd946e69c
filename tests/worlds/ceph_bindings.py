# SPDX-License-Identifier: Apache-2.0

"""A Ceph cluster in memory, as the bindings of librados and librbd show it.

`Cluster.rados` and `Cluster.rbd` stand for the two modules. Keeps the
contracts of `driver_contract` and `probe_contract`. What it has not is an
AttributeError. An image has no bytes but those that were written. The manager
does a task when it is next asked for its list, or for another task.
"""

import contextlib
import copy
import errno
import itertools
import json
import re
import struct
import threading
import time
import types

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import probe_image

FSID = '01234567-89ab-cdef-0123-456789abcdef'
USER, TRASH = 0, 2
PREPARED, EXECUTED, ABORTING = 2, 4, 5
MIGRATING = 1 << 10
FEATURES = 61
GIB = 2**30
#: What a module of the manager refuses that comes by a monitor.
OF_MANAGER = frozenset({'rbd perf image stats'})
NOT_AUTHORIZED = 'not authorized on pool=, namespace='


class Error(OSError):
    pass


class ImageNotFound(Error):
    pass


class ImageExists(Error):
    pass


class ImageBusy(Error):
    pass


class ImageHasSnapshots(Error):
    pass


class InvalidArgument(Error):
    pass


class ReadOnlyImage(Error):
    pass


class PermissionError(Error):  # noqa: A001 - its name in both modules
    pass


class PermissionDeniedError(Error):
    pass


class ObjectNotFound(Error):
    pass


class ObjectExists(Error):
    pass


class Image:
    """What is stored of an image; of a snapshot of it, a copy."""

    def __init__(self, ident, pool, name, size, namespace, options):
        self.id = ident
        self.pool = pool
        self.namespace = namespace
        self.name = name
        self.size = size
        #: With which it was created.
        self.options = options
        self.blocks = {}
        self.metadata = {}
        self.snapshots = {}
        #: (image, name of the snapshot) or None.
        self.parent = None
        #: Blocks that a move does not copy.
        self.lost = {}
        self.features = FEATURES
        self.watchers = 0
        self.is_named = True
        self.in_trash = False
        #: Who put it there.
        self.trash_source = 'MIGRATION'
        #: Pool of which its migration header says that it leaves for it.
        self.leaves_for = None
        #: Without, it is an entry of the trash, and nothing else.
        self.has_header = True


def _decoded(data):
    """The strings that Ceph encodes so."""
    found = []
    while data:
        (length,) = struct.unpack_from('<I', data)
        found.append(data[4 : 4 + length].decode())
        data = data[4 + length :]
    return found


class Cluster:
    """The state of a cluster, and its two modules.

    :param pools: names of the RADOS pools.
    :param answers: {command: answer}, of what it cannot say by itself.
    """

    def __init__(self, pools, answers=types.MappingProxyType({})):
        self.pools = {name: {} for name in pools}
        self.answers = answers
        #: {(pool, name of a namespace)}
        self.namespaces = set()
        self.images = {}
        #: {direction: seconds of each asynchronous I/O}; read at its begin.
        self.latency_s = {'write': 0.0, 'read': 0.0}
        #: Such an I/O is begun and not completed while it is not set.
        self.serves = threading.Event()
        self.serves.set()
        #: {image in its new pool: [image in its old pool, state]}
        self.moves = {}
        self.tasks = []
        #: {(pool, name)} of images that were taken back.
        self.aborted = set()
        #: Names of pools that take no writes.
        self.full = set()
        #: {name of a pool: bytes}
        self.quotas = {}
        #: Commands that the manager, which begins anew, does not take yet;
        #: `connect`, with which no client gets in.
        self.refused = set()
        #: Whether a manager is active.
        self.has_manager = True
        #: Clients that were not shut down.
        self.clients = set()
        #: What of a source the manager leaves that ends in a commit: `header`
        #: `snapshot` or `entry`; None if it does not end.
        self.left_by_commit = None
        self._ids = itertools.count(1)
        self.rados = types.SimpleNamespace(
            Error=Error,
            ObjectNotFound=ObjectNotFound,
            ObjectExists=ObjectExists,
            InvalidArgumentError=InvalidArgument,
            PermissionError=PermissionError,
            PermissionDeniedError=PermissionDeniedError,
            Rados=lambda **_options: _Rados(self),
        )
        self.rbd = types.SimpleNamespace(
            Error=Error,
            OSError=Error,
            ImageNotFound=ImageNotFound,
            ImageExists=ImageExists,
            ImageBusy=ImageBusy,
            ImageHasSnapshots=ImageHasSnapshots,
            InvalidArgument=InvalidArgument,
            ReadOnlyImage=ReadOnlyImage,
            PermissionError=PermissionError,
            RBD_FEATURE_LAYERING=1,
            RBD_FEATURE_EXCLUSIVE_LOCK=4,
            RBD_FEATURE_OBJECT_MAP=8,
            RBD_FEATURE_FAST_DIFF=16,
            RBD_FEATURE_JOURNALING=64,
            RBD_FEATURE_MIGRATING=MIGRATING,
            RBD_OPERATION_FEATURE_CLONE_PARENT=1,
            RBD_MIRROR_IMAGE_DISABLED=2,
            RBD_SNAP_NAMESPACE_TYPE_TRASH=TRASH,
            RBD_CONFIG_SOURCE_IMAGE=2,
            RBD_IMAGE_MIGRATION_STATE_PREPARED=PREPARED,
            RBD_IMAGE_MIGRATION_STATE_EXECUTING=3,
            RBD_IMAGE_MIGRATION_STATE_EXECUTED=EXECUTED,
            RBD=lambda: _RBD(self),
            Image=lambda *args, **options: _Open(self, *args, **options),
        )

    def add(self, pool, name, size, namespace='', options=None):
        """A new image.

        :raises ImageExists: the namespace has one of that name.
        """
        if self.find(pool, name, namespace):
            raise ImageExists(errno.EEXIST, name)
        image = Image(
            f'id{next(self._ids)}', pool, name, size, namespace, options or {}
        )
        self.images[image.id] = image
        return image

    def find(self, pool, name, namespace=''):
        """The image that the directory has by that name, if there is one."""
        for image in self.images.values():
            if image.is_named and (pool, namespace, name) == (
                image.pool,
                image.namespace,
                image.name,
            ):
                return image
        return None

    def get(self, pool, name, namespace=''):
        """The image of that name.

        :raises ImageNotFound: there is none.
        """
        found = self.find(pool, name, namespace)
        if found is None:
            raise ImageNotFound(errno.ENOENT, f'{pool}/{name}')
        return found

    def children_of(self, image, snapshot=None):
        """Images whose parent is an image, or a snapshot of it."""
        return [
            one
            for one in self._attached_to(image, snapshot)
            if not one.in_trash
        ]

    def _attached_to(self, image, snapshot):
        """With what a user put into the trash, which bindings do not list."""
        return [
            one
            for one in self.images.values()
            if one.parent
            and one.parent[0] is image
            and snapshot in (None, one.parent[1])
            and not (one.in_trash and one.trash_source == 'MIGRATION')
        ]

    def is_needed(self, image, snapshot):
        """Return whether a snapshot has clones."""
        return bool(self._attached_to(image, snapshot))

    def leave_parent(self, image):
        """With its last clone goes what was kept of a snapshot for it."""
        if image.parent:
            (of, name), image.parent = image.parent, None
            if of.snapshots[name].namespace == TRASH and not self.is_needed(
                of, name
            ):
                del of.snapshots[name]

    def move_of(self, pool, name):
        """(image in the new pool, image in the old one) of a move.

        :raises InvalidArgument: the image does not move.
        """
        for new, (old, _) in self.moves.items():
            if (pool, name) in ((new.pool, new.name), (old.pool, old.name)):
                return new, old
        raise InvalidArgument(errno.EINVAL, f'{pool}/{name}')

    def do_tasks(self):
        """What the manager does between two commands.

        One that began anew finds that the image of a cut off commit does not
        migrate, and takes its task for done.
        """
        while self.tasks:
            task = self.tasks.pop(0)
            pool, name = task['refs']['pool_name'], task['refs']['image_name']
            try:
                new, old = self.move_of(pool, name)
            except InvalidArgument:
                if (pool, name) in self.aborted:
                    continue
                raise
            if task['refs']['action'] == 'migrate execute':
                if old.snapshots.keys() - new.snapshots.keys():
                    # Not an Exception, which the driver could catch.
                    raise SystemExit('ceph-mgr 16.2.15: ceph_assert')
                new.blocks = {
                    offset: content
                    for offset, content in new.blocks.items()
                    if new.lost.get(offset) != content
                }
                self.moves[new][1] = EXECUTED
            else:
                # librbd's order: the manager may end after each.
                new.features &= ~MIGRATING
                del self.moves[new]
                left, self.left_by_commit = self.left_by_commit, None
                if left is None:
                    del self.images[old.id]
                old.has_header = left != 'entry'
                if left == 'snapshot':
                    name = next(iter(old.snapshots))
                    removed = copy.copy(old.snapshots[name])
                    removed.namespace = TRASH
                    old.snapshots[name] = removed


class _Rados:
    def __init__(self, cluster):
        self._cluster = cluster
        self._pools = list(cluster.pools)
        self._options = {}

    def conf_set(self, name, value):
        self._options[name] = value

    def connect(self, timeout=0):
        self._cluster.clients.add(self)
        if 'connect' in self._cluster.refused:
            raise Error(errno.ETIMEDOUT, 'error connecting to the cluster')

    def shutdown(self):
        self._cluster.clients.discard(self)

    def conf_get(self, name):
        return {'rbd_default_features': str(FEATURES)}.get(name, '')

    def get_fsid(self):
        return FSID

    def open_ioctx(self, name):
        if name not in self._cluster.pools:
            raise ObjectNotFound(errno.ENOENT, name)
        return _Ioctx(self, name)

    def _stat(self, pool, oid):
        image = self._cluster.images.get(oid.removeprefix('rbd_header.'))
        if image is None or image.pool != pool or not image.has_header:
            raise ObjectNotFound(errno.ENOENT, oid)
        return image

    def pool_lookup(self, name):
        return list(self._cluster.pools).index(name)

    def _write(self, pool, oid, data):
        """The object that has the ID of the image of a name."""
        image = self._cluster.images[_decoded(data)[-1]]
        if (image.pool, f'rbd_id.{image.name}') != (pool, oid):
            raise AttributeError(oid)

    def _execute(self, pool, oid, library, method, data):
        done = {
            'migration_get': self._migration_get,
            'migration_remove': self._migration_remove,
            'dir_add_image': self._dir_add_image,
            'trash_remove': self._trash_remove,
        }[method](pool, oid, *_decoded(data))
        return 0, done or b''

    def _migration_get(self, pool, oid):
        target = self._stat(pool, oid).leaves_for
        if target is None:
            raise InvalidArgument(errno.EINVAL, oid)
        return struct.pack('<BBIBq', 3, 1, 9, 1, self.pool_lookup(target))

    def _migration_remove(self, pool, oid):
        image = self._stat(pool, oid)
        image.features &= ~MIGRATING
        image.leaves_for = None

    def _dir_add_image(self, _pool, _oid, _name, ident):
        image = self._cluster.images[ident]
        if image.is_named:
            raise ObjectExists(errno.EEXIST, ident)
        image.is_named = True

    def _trash_remove(self, _pool, _oid, ident):
        image = self._cluster.images[ident]
        if not image.in_trash:
            raise ObjectNotFound(errno.ENOENT, ident)
        image.in_trash = False

    def mon_command(self, request, _data):
        prefix = json.loads(request)['prefix']
        if prefix in OF_MANAGER:
            return -errno.EACCES, b'', NOT_AUTHORIZED
        if prefix in self._cluster.refused:
            return -errno.EINVAL, b'', 'not in ready state'
        if prefix in self._cluster.answers:
            return self._answered(prefix)
        answer = {
            'df': self._df,
            'osd pool ls': self._list,
            'status': lambda: {
                'mgrmap': {'available': self._cluster.has_manager}
            },
            'osd pool get-quota': lambda: {'quota_max_bytes': 0},
        }.get(prefix)
        if answer is None:
            return -errno.EINVAL, b'', 'unrecognized command'
        return 0, json.dumps(answer()).encode(), ''

    def _answered(self, prefix):
        return 0, json.dumps(self._cluster.answers[prefix]).encode(), ''

    def _df(self):
        return {
            'stats': {'total_bytes': 100 * GIB},
            'pools': [
                {
                    'name': name,
                    'stats': {
                        'stored': GIB,
                        'bytes_used': 2 * GIB,
                        'max_avail': 40 * GIB,
                        'quota_bytes': self._cluster.quotas.get(name, 0),
                    },
                }
                for name in self._pools
            ],
        }

    def _list(self):
        return [
            {
                'pool_name': name,
                'type': 1,
                'application_metadata': {'rbd': {}},
                'flags_names': 'hashpspool,full' * (name in self._cluster.full)
                or 'hashpspool',
            }
            for name in self._pools
        ]

    def mgr_command(self, request, _data):
        # Neither is an Exception, which the driver could catch.
        if 'rados_mon_op_timeout' in self._options:
            raise SystemExit('librados 16.2.15: double free or corruption')
        if not self._cluster.has_manager:
            raise SystemExit('librados: waits until a manager is active')
        asked = json.loads(request)
        prefix = asked['prefix']
        if prefix in self._cluster.answers:
            return self._answered(prefix)
        if prefix in self._cluster.refused:
            return -errno.EAGAIN, b'', 'rbd_support module is not ready'
        self._cluster.do_tasks()
        if prefix == 'rbd task list':
            return 0, json.dumps(self._cluster.tasks).encode(), ''
        step = prefix.removeprefix('rbd task add migration ')
        if step == prefix:
            return -errno.EINVAL, b'', 'unrecognized command'
        pool, _, name = asked['image_spec'].partition('/')
        try:
            new, _ = self._cluster.move_of(pool, name)
        except InvalidArgument as error:
            return -errno.EINVAL, b'', str(error)
        wanted = {'execute': PREPARED, 'commit': EXECUTED}[step]
        if self._cluster.moves[new][1] != wanted:
            return -errno.EINVAL, b'', 'not in ready state'
        self._cluster.tasks.append(
            {
                'id': str(len(self._cluster.tasks)),
                'refs': {
                    'action': f'migrate {step}',
                    'pool_name': pool,
                    'image_name': name,
                },
            }
        )
        return 0, b'{}', ''


class _Ioctx(contextlib.AbstractContextManager):
    """Of a pool."""

    def __init__(self, rados, name):
        self._rados = rados
        self.name = name
        self.namespace = ''

    def __exit__(self, *_caught):
        self.close()

    def close(self):
        pass

    def set_namespace(self, name):
        self.namespace = name

    def set_osdmap_full_try(self):
        pass

    def stat(self, oid):
        return self._rados._stat(self.name, oid)

    def write_full(self, oid, data):
        self._rados._write(self.name, oid, data)

    def execute(self, *arguments):
        return self._rados._execute(self.name, *arguments)


class _RBD:
    def __init__(self, cluster):
        self._cluster = cluster

    def version(self):
        return 1, 16, 0

    def create(self, ioctx, name, size, order=None, **options):
        self._cluster.add(ioctx.name, name, size, ioctx.namespace, options)

    def namespace_exists(self, ioctx, name):
        return (ioctx.name, name) in self._cluster.namespaces

    def namespace_create(self, ioctx, name):
        self._cluster.namespaces.add((ioctx.name, name))

    def namespace_list(self, ioctx):
        return sorted(
            name
            for pool, name in self._cluster.namespaces
            if pool == ioctx.name
        )

    def namespace_remove(self, ioctx, name):
        self._cluster.namespaces.remove((ioctx.name, name))

    def clone(self, source, parent, snapshot, target, name, **_options):
        of = self._cluster.get(source.name, parent)
        image = self._cluster.add(
            target.name, name, of.snapshots[snapshot].size
        )
        image.parent = of, snapshot
        image.blocks = dict(of.snapshots[snapshot].blocks)

    def list(self, ioctx):
        return [
            image.name
            for image in self._cluster.images.values()
            if image.is_named
            and (image.pool, image.namespace) == (ioctx.name, ioctx.namespace)
        ]

    def rename(self, ioctx, name, new_name):
        image = self._cluster.get(ioctx.name, name)
        if self._cluster.find(ioctx.name, new_name):
            raise ImageExists(errno.EEXIST, new_name)
        image.name = new_name

    def remove(self, ioctx, name):
        image = self._cluster.get(ioctx.name, name, ioctx.namespace)
        if image.features & MIGRATING or image.watchers:
            raise ImageBusy(errno.EBUSY, name)
        if image.snapshots:
            raise ImageHasSnapshots(errno.ENOTEMPTY, name)
        del self._cluster.images[image.id]
        self._cluster.leave_parent(image)

    def trash_list(self, ioctx):
        return [
            {'id': image.id, 'name': image.name, 'source': image.trash_source}
            for image in self._cluster.images.values()
            if image.pool == ioctx.name and image.in_trash
        ]

    def trash_move(self, ioctx, name, _delay_s=0):
        image = self._cluster.get(ioctx.name, name, ioctx.namespace)
        if image.features & MIGRATING or image.watchers:
            raise ImageBusy(errno.EBUSY, name)
        image.is_named, image.in_trash = False, True
        image.trash_source = 'USER'

    def _in_trash(self, ioctx, ident):
        image = self._cluster.images.get(ident)
        if image is None or image.pool != ioctx.name or not image.in_trash:
            raise ImageNotFound(errno.ENOENT, ident)
        return image

    def trash_get(self, ioctx, ident):
        self._in_trash(ioctx, ident)
        # As the bindings of Ceph 16 do, and those of 18 do not.
        raise IndexError('list index out of range')

    def trash_remove(self, ioctx, ident, _force=False):
        image = self._in_trash(ioctx, ident)
        if image.has_header:
            if image.features & MIGRATING:
                raise ReadOnlyImage(errno.EROFS, ident)
            if image.snapshots:
                raise ImageHasSnapshots(errno.ENOTEMPTY, ident)
        del self._cluster.images[ident]

    def pool_stats_get(self, ioctx):
        return {'trash_count': len(self.trash_list(ioctx))}

    def pool_metadata_set(self, ioctx, key, value):
        self._cluster.pools[ioctx.name][key] = value

    def pool_metadata_get(self, ioctx, key):
        return self._cluster.pools[ioctx.name][key]

    def pool_metadata_list(self, ioctx):
        return iter(list(self._cluster.pools[ioctx.name].items()))

    def pool_metadata_remove(self, ioctx, key):
        del self._cluster.pools[ioctx.name][key]

    def migration_prepare(self, source, name, target, new_name):
        old = self._cluster.get(source.name, name)
        if old.watchers or old.features & MIGRATING:
            raise ImageBusy(errno.EBUSY, name)
        if any(one.namespace == TRASH for one in old.snapshots.values()):
            raise ImageBusy(errno.EBUSY, f'{name}: snapshots with clones')
        if (
            old.parent
            and old.parent[0].snapshots[old.parent[1]].namespace == TRASH
        ):
            raise ImageNotFound(errno.ENOENT, f'{name}: parent')
        if any(
            one.features & MIGRATING for one in self._cluster.children_of(old)
        ):
            raise SystemExit('librbd 16.2.15: segmentation fault')
        # The target may have its pool and its name.
        old.is_named = False
        try:
            new = self._cluster.add(target.name, new_name, old.size)
        except Error:
            old.is_named = True
            raise
        ident = new.id
        vars(new).update(
            copy.copy(vars(old)),
            id=ident,
            pool=target.name,
            blocks=dict(old.blocks),
            metadata=dict(old.metadata),
            snapshots=dict(old.snapshots),
            features=old.features | MIGRATING,
            is_named=True,
        )
        for child in self._cluster.children_of(old):
            child.parent = new, child.parent[1]
        old.in_trash = True
        old.leaves_for = target.name
        old.features |= MIGRATING
        self._cluster.moves[new] = [old, PREPARED]

    def migration_status(self, ioctx, name):
        if not self._cluster.find(ioctx.name, name) and any(
            not one.has_header and (one.pool, one.name) == (ioctx.name, name)
            for one in self._cluster.images.values()
        ):
            # Not an Exception, which the driver could catch.
            raise SystemExit('librbd 16.2.15: segmentation fault')
        new, old = self._cluster.move_of(ioctx.name, name)
        if self._cluster.moves[new][1] == ABORTING:
            raise ReadOnlyImage(errno.EROFS, name)
        return {
            'source_image_id': old.id,
            'state': self._cluster.moves[new][1],
        }

    def migration_abort(self, ioctx, name):
        new, old = self._cluster.move_of(ioctx.name, name)
        if new.watchers:
            raise ImageBusy(errno.EBUSY, name)
        for child in self._cluster.children_of(new):
            child.parent = old, child.parent[1]
        old.in_trash, old.is_named = False, True
        old.leaves_for = None
        old.features &= ~MIGRATING
        del self._cluster.moves[new], self._cluster.images[new.id]
        self._cluster.aborted.add((new.pool, new.name))


class _Completion:
    def __init__(self, value):
        self._value = value

    def get_return_value(self):
        return self._value


class _Open(contextlib.AbstractContextManager):
    """An open image, or an open snapshot."""

    def __init__(
        self,
        cluster,
        ioctx,
        name=None,
        snapshot=None,
        read_only=False,
        image_id=None,
    ):
        self._cluster = cluster
        if image_id is None:
            self._image = cluster.get(ioctx.name, name, ioctx.namespace)
            state = cluster.moves.get(self._image, (None, None))[1]
            if state == ABORTING and not read_only:
                raise ReadOnlyImage(errno.EROFS, name)
        else:
            self._image = cluster.images[image_id]
            # Else librbd refuses to write to what is being migrated away.
            if self._image.features & MIGRATING and not read_only:
                raise ReadOnlyImage(errno.EROFS, image_id)
        self._is_watcher = not read_only
        self._image.watchers += self._is_watcher
        self._snapshot = None
        self.set_snap(snapshot)

    def __exit__(self, *_caught):
        self.close()

    def close(self):
        self._image.watchers -= self._is_watcher
        self._is_watcher = False

    def set_snap(self, name):
        if name is not None:
            self._of(name)
        self._snapshot = name

    def _of(self, name):
        found = self._image.snapshots.get(name)
        if found is None or found.namespace == TRASH:
            raise ImageNotFound(errno.ENOENT, name)
        return found

    @property
    def _shown(self):
        return self._of(self._snapshot) if self._snapshot else self._image

    def id(self):
        return self._image.id

    def size(self):
        return self._shown.size

    def features(self):
        return self._image.features

    def op_features(self):
        return 1

    def stripe_unit(self):
        return 2**22

    def resize(self, size):
        self._image.size = size

    def write(self, content, offset):
        self._image.blocks = {**self._image.blocks, offset: content}

    def read(self, offset, length):
        found = bytearray(length)
        for begin, content in self._shown.blocks.items():
            if offset <= begin < offset + length:
                found[begin - offset : begin - offset + len(content)] = content
        return bytes(found)

    def aio_write(self, content, offset, oncomplete):
        self.write(content, offset)
        oncomplete(_Completion(0))

    def aio_flush(self, oncomplete):
        self._later('write', lambda: oncomplete(_Completion(0)))

    def aio_read(self, offset, length, oncomplete, _flags):
        self._later(
            'read',
            lambda: oncomplete(_Completion(length), self.read(offset, length)),
        )

    def _later(self, direction, end):
        seconds = self._cluster.latency_s[direction]

        def wait():
            time.sleep(seconds)
            self._cluster.serves.wait()
            end()

        threading.Thread(target=wait, daemon=True).start()

    def flatten(self):
        _, state = self._cluster.moves.get(self._image, (None, None))
        if state == PREPARED and self._image.parent:
            of, name = self._image.parent
            self._image.lost = of.snapshots[name].blocks
        self._cluster.leave_parent(self._image)

    def copy(self, ioctx, name):
        copied = self._cluster.add(ioctx.name, name, self._shown.size)
        copied.blocks = dict(self._shown.blocks)

    def create_snap(self, name):
        self._image.snapshots[name] = types.SimpleNamespace(
            size=self._image.size,
            blocks=dict(self._image.blocks),
            namespace=USER,
            is_protected=False,
        )

    def remove_snap(self, name):
        snapshot = self._of(name)
        if self._cluster.is_needed(self._image, name):
            snapshot.namespace = TRASH
        else:
            del self._image.snapshots[name]

    def rename_snap(self, name, new_name):
        self._image.snapshots[new_name] = self._of(name)
        del self._image.snapshots[name]

    def remove_snap_by_id(self, ident):
        del self._image.snapshots[ident]

    def protect_snap(self, name):
        self._of(name).is_protected = True

    def unprotect_snap(self, name):
        if not self._of(name).is_protected:
            raise InvalidArgument(errno.EINVAL, name)
        self._of(name).is_protected = False

    def is_protected_snap(self, name):
        return self._of(name).is_protected

    def list_snaps(self):
        return iter(
            [
                {
                    'id': name,
                    'name': name,
                    'size': one.size,
                    'namespace': one.namespace,
                }
                for name, one in self._image.snapshots.items()
            ]
        )

    def rollback_to_snap(self, name):
        snapshot = self._of(name)
        self._image.size = snapshot.size
        self._image.blocks = dict(snapshot.blocks)

    def parent_info(self):
        if self._image.parent is None:
            raise ImageNotFound(errno.ENOENT, self._image.name)
        of, snapshot = self._image.parent
        return of.pool, of.name, snapshot

    def get_parent_image_spec(self):
        pool, name, snapshot = self.parent_info()
        return {
            'pool_name': pool,
            'pool_namespace': '',
            'image_name': name,
            'snap_name': snapshot,
        }

    def parent_id(self):
        self.parent_info()
        return self._image.parent[0].id

    def list_children(self):
        return iter(
            [
                (one.pool, one.name)
                for one in self._cluster.children_of(
                    self._image, self._snapshot
                )
            ]
        )

    def list_descendants(self):
        found = []
        for one in self._cluster.children_of(self._image):
            found.append(one)
            found += self._cluster.children_of(one)
        return iter(
            [
                {'pool': one.pool, 'image': one.name, 'trash': False}
                for one in found
            ]
        )

    def watchers_list(self):
        return iter(
            [{'addr': f'client {n}'} for n in range(self._image.watchers)]
        )

    def group(self):
        return {'pool': -1, 'name': ''}

    def mirror_image_get_info(self):
        return {'state': 2}

    def metadata_list(self):
        return iter(self._image.metadata.items())

    def metadata_get(self, key):
        return self._image.metadata[key]

    def metadata_set(self, key, value):
        self._image.metadata[key] = value

    def metadata_remove(self, key):
        del self._image.metadata[key]

    def config_list(self):
        names = (
            f'rbd_qos_{kind}{unit}_{what}'
            for kind in ('', 'read_', 'write_')
            for unit in ('iops', 'bps')
            for what in ('limit', 'burst')
        )
        set_here = self._image.metadata
        return iter(
            [
                {
                    'name': name,
                    'value': set_here.get(f'conf_{name}', '0'),
                    'source': 2 if f'conf_{name}' in set_here else 0,
                }
                for name in names
            ]
        )

    def config_set(self, name, value):
        # As it is, also if it has a unit.
        if not re.fullmatch('[0-9]+[KMGTPE]?', value):
            raise InvalidArgument(errno.EINVAL, f'{name}: {value}')
        self._image.metadata[f'conf_{name}'] = value

    def config_remove(self, name):
        del self._image.metadata[f'conf_{name}']


class Session:
    """A session of `clients.ceph` with the cluster, by the same functions.

    :param answers: {command: answer}; one that is an error is raised.
    """

    def __init__(self, cluster, answers=None):
        self._cluster = cluster
        self.answers = answers or {}

    def command(self, prefix, **arguments):
        if prefix in OF_MANAGER:
            raise ceph_session.CephRefused(NOT_AUTHORIZED, errno=errno.EACCES)
        return self._answer(prefix)

    def ask_manager(self, prefix, **arguments):
        return self._answer(prefix)

    def _answer(self, prefix):
        answer = self.answers[prefix]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def open_probe(self, pool, *, data_pool):
        return probe_image.opened(
            self._cluster.rbd,
            self._ioctx(pool),
            data_pool=None if data_pool == pool else data_pool,
        )

    def remove_probe(self, pool):
        return probe_image.remove(self._cluster.rbd, self._ioctx(pool))

    def _ioctx(self, pool):
        return self._cluster.rados.Rados().open_ioctx(pool)
