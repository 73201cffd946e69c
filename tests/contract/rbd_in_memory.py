# SPDX-License-Identifier: Apache-2.0

"""A Ceph cluster in memory as the bindings of librbd show it.

Keeps the contract of `probe_contract`. What it has not is an AttributeError.
"""

import contextlib
import errno
import json
import threading
import time

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import probe_image

#: What a module of the manager refuses that comes by a monitor.
OF_MANAGER = frozenset({'rbd perf image stats'})
NOT_AUTHORIZED = 'not authorized on pool=, namespace='


class Rbd:
    """Stands for the module rbd; keeps the pools.

    :param latency_s: {direction: of each I/O, in seconds}; read at its begin.
    """

    RBD_FEATURE_LAYERING = 1

    class Error(Exception):
        pass

    class ImageExists(Error):
        pass

    class ImageNotFound(Error):
        pass

    class PermissionError(Error):
        pass

    def __init__(self):
        self.namespaces = {}
        self.images = {}
        self.latency_s = {'write': 0.0, 'read': 0.0}
        #: An I/O is begun and not completed while it is not set.
        self.serves = threading.Event()
        self.serves.set()

    def RBD(self):
        return _Images(self)

    def Image(self, ioctx, name, read_only=False):
        return _Image(self, self.images, ioctx, name)


class Ioctx:
    """Of a pool."""

    def __init__(self, pool):
        self.pool = pool
        self.namespace = ''

    def set_namespace(self, name):
        self.namespace = name


class _Images:
    def __init__(self, rbd):
        self._rbd = rbd

    def create(self, ioctx, name, size, order=None, **options):
        key = ioctx.pool, ioctx.namespace, name
        if key in self._rbd.images:
            raise self._rbd.ImageExists(name)
        self._rbd.images[key] = {
            'size': size,
            'blocks': {},
            'metadata': {},
            'options': options,
        }

    def remove(self, ioctx, name):
        del self._rbd.images[ioctx.pool, ioctx.namespace, name]

    def list(self, ioctx):
        return [
            name
            for pool, namespace, name in self._rbd.images
            if (pool, namespace) == (ioctx.pool, ioctx.namespace)
        ]

    def namespace_exists(self, ioctx, name):
        return name in self._rbd.namespaces.get(ioctx.pool, set())

    def namespace_create(self, ioctx, name):
        self._rbd.namespaces.setdefault(ioctx.pool, set()).add(name)

    def namespace_list(self, ioctx):
        return sorted(self._rbd.namespaces.get(ioctx.pool, set()))

    def namespace_remove(self, ioctx, name):
        self._rbd.namespaces[ioctx.pool].remove(name)


class _Completion:
    def __init__(self, value):
        self._value = value

    def get_return_value(self):
        return self._value


class _Image(contextlib.AbstractContextManager):
    def __init__(self, rbd, images, ioctx, name):
        self._rbd = rbd
        try:
            self._image = images[ioctx.pool, ioctx.namespace, name]
        except KeyError:
            raise rbd.ImageNotFound(name) from None

    def __exit__(self, *_caught):
        pass

    def metadata_set(self, key, value):
        self._image['metadata'][key] = value

    def metadata_remove(self, key):
        del self._image['metadata'][key]

    def metadata_list(self):
        return iter(self._image['metadata'].items())

    def size(self):
        return self._image['size']

    def metadata_get(self, key):
        return self._image['metadata'][key]

    def read(self, offset, length):
        return self._image['blocks'].get(offset, bytes(length))

    def aio_write(self, data, offset, oncomplete):
        self._image['blocks'][offset] = data
        oncomplete(_Completion(0))

    def aio_flush(self, oncomplete):
        self._later('write', lambda: oncomplete(_Completion(0)))

    def aio_read(self, offset, length, oncomplete, flags):
        self._later(
            'read',
            lambda: oncomplete(_Completion(length), self.read(offset, length)),
        )

    def _later(self, direction, end):
        seconds = self._rbd.latency_s[direction]

        def wait():
            time.sleep(seconds)
            self._rbd.serves.wait()
            end()

        threading.Thread(target=wait, daemon=True).start()


class Session:
    """A session with the cluster, by the functions of the real one.

    :param answers: {command: answer}; one that is an error is raised.
    """

    def __init__(self, rbd, answers=None):
        self._rbd = rbd
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
            self._rbd,
            Ioctx(pool),
            data_pool=None if data_pool == pool else data_pool,
        )

    def remove_probe(self, pool):
        return probe_image.remove(self._rbd, Ioctx(pool))


class Rados:
    """Stands for the module rados, beside an `Rbd` for the module rbd."""

    class Error(Exception):
        pass

    class PermissionError(Error):
        pass

    class PermissionDeniedError(Error):
        pass

    def __init__(self, answers):
        self._answers = answers

    def Rados(self, **_options):
        return _Handle(self._answers)


class _Handle:
    def __init__(self, answers):
        self._answers = answers

    def connect(self, timeout):
        pass

    def shutdown(self):
        pass

    def open_ioctx(self, pool):
        return contextlib.nullcontext(Ioctx(pool))

    def mon_command(self, request, data):
        if json.loads(request)['prefix'] in OF_MANAGER:
            return -errno.EACCES, b'', NOT_AUTHORIZED
        return self.mgr_command(request, data)

    def mgr_command(self, request, _data):
        prefix = json.loads(request)['prefix']
        if prefix not in self._answers:
            return -errno.EINVAL, b'', 'unrecognized command'
        return 0, json.dumps(self._answers[prefix]).encode(), ''
