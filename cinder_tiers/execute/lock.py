# SPDX-License-Identifier: Apache-2.0

"""Keeps two applies to one cloud from running at once.

Two plans that are made at the same time may each be right and together wrong.
The lock is tooz's, as Cinder's own are (its [coordination] backend_url): what
holds it across hosts, and frees it when its holder dies, is the matter of
tooz's drivers. Must not know what is applied.
"""

import collections.abc
import contextlib
import datetime
import getpass
import hashlib
import os
import socket
import time
import typing
import urllib.parse
import warnings

from cinder_tiers.domain import errors
from cinder_tiers.execute import lock_file

_FILE = 'file'
_LOOK_EVERY_S = 0.5
_Value = typing.TypeVar('_Value')


class _Lock(typing.Protocol):
    """A lock of tooz (tooz.locking.Lock)."""

    def acquire(self, *, blocking: bool) -> bool:
        """Takes it, or says that it is not free."""

    def release(self) -> bool:
        """Gives it back, or says that it was not held any more."""


class _Explained:
    """Calls of tooz that turn errors of its drivers into `TiersError`.

    It imports tooz only when it is used, because that takes a while. tooz
    imports futurist, which imports eventlet if installed, and eventlet then
    warns about itself.

    :param scheme: scheme of the URL; the URL is not shown as it may hold a
        password.
    """

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                from tooz import coordination
        except ImportError as error:
            raise errors.TiersError(
                f'The lock of "tier apply" needs tooz ({error}); install '
                'cinder-tiers[cli]'
            ) from error
        self.coordination = coordination

    def call(
        self,
        function: collections.abc.Callable[..., _Value],
        *arguments: object,
        **named: object,
    ) -> _Value:
        """Call a function of tooz and return its result.

        :raises errors.TiersError: the function failed.
        """
        try:
            return function(*arguments, **named)
        except ValueError:
            # Drivers read the port, and do not expect that it is none.
            raise _no_url() from None
        except (
            self.coordination.ToozError,
            ImportError,
            OSError,
            RuntimeError,
        ) as error:
            raise errors.TiersError(
                'Cannot get the lock of "tier apply" '
                f'from {self._scheme}://...: {error}; --coordination-url '
                'or $CINDER_TIERS_COORDINATION_URL must be the URL of a '
                'tooz driver that responds and whose library is '
                'installed, such as etcd3+http://HOST:2379'
            ) from error


def _no_url() -> errors.TiersError:
    """Return the error of an invalid URL, without showing a password."""
    return errors.TiersError(
        '--coordination-url or $CINDER_TIERS_COORDINATION_URL is not a URL '
        'that its driver understands: it must have a form such as '
        'etcd3+http://HOST:2379, with an IPv6 address in brackets and a '
        'number as the port'
    )


def name_of(cloud: str) -> str:
    """The name of the lock of a cloud.

    :param cloud: identifies it.
    """
    digest = hashlib.sha256(cloud.encode()).hexdigest()
    return f'cinder-tiers-apply-{digest[:16]}'


@contextlib.contextmanager
def held(
    *, url: str | None, cloud: str, wait_s: float = 0.0
) -> collections.abc.Iterator[None]:
    """Hold the lock of a cloud while the context lasts.

    :param url: URL of a tooz driver; None: a file that all users of this host
        share. Several hosts need etcd, MySQL, Redis or another service.
    :param cloud: identity of the cloud; the same text on every host.
    :param wait_s: seconds to wait for another apply; 0 or more.
    :raises errors.TiersError: another apply holds the lock, or the driver
        cannot be used; on exit: the lock was lost meanwhile.
    """
    url = url or f'{_FILE}://{lock_file.shared_folder()}'
    ended: errors.TiersError | None = None
    try:
        with _locked(url, name_of(cloud), wait_s):
            try:
                yield
            except errors.TiersError as error:
                ended = error
                raise
    except errors.TiersError as error:
        if ended is None or error is ended:
            raise
        # That the lock was lost must not hide what ended the work.
        raise errors.with_more(ended, *errors.lines_of(error)) from error


@contextlib.contextmanager
def _locked(
    url: str, name: str, wait_s: float
) -> collections.abc.Iterator[None]:
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        raise _no_url() from None
    with contextlib.ExitStack() as stack:
        file = None
        if parts.scheme == _FILE:
            file = stack.enter_context(
                lock_file.opened(os.path.join(parts.path, name))
            )
        tooz = _Explained(parts.scheme)
        coordinator = tooz.call(
            tooz.coordination.get_coordinator,
            url,
            f'{me()}: {name}'.encode('ascii', 'backslashreplace'),
        )
        tooz.call(coordinator.start, start_heart=True)
        stack.callback(tooz.call, coordinator.stop)
        lock = coordinator.get_lock(name.encode())
        if not _taken(tooz, lock, wait_s):
            raise errors.TiersError(
                _refusal(file.read() if file else None, wait_s)
            )
        stack.callback(_give_back, tooz, lock)
        if file:
            now = datetime.datetime.now(datetime.UTC)
            file.write(f'{me()}, since {now:%Y-%m-%d %H:%M:%S} UTC')
        yield


def _taken(tooz: _Explained, lock: _Lock, wait_s: float) -> bool:
    """Return whether the lock was free, now or within some seconds.

    It asks again and again, since some drivers do not wait for a given time:
    they raise an error of their own then.
    """
    end = time.monotonic() + wait_s
    while not tooz.call(lock.acquire, blocking=False):
        left_s = end - time.monotonic()
        if left_s <= 0:
            return False
        time.sleep(min(_LOOK_EVERY_S, left_s))
    return True


def _give_back(tooz: _Explained, lock: _Lock) -> None:
    """A lease may have ended before its time, when its service was away."""
    if not tooz.call(lock.release):
        raise errors.TiersError(
            'The lock was lost before this command finished, so another '
            '"tier apply", or another command that has this lock, may have '
            'run at the same time; check that "tier plan" is empty'
        )


def _refusal(holder: str | None, wait_s: float) -> str:
    known = f' ({holder})' if holder else ''
    waited = f' after {wait_s:g} s' if wait_s else ''
    return (
        'Nothing was changed because another "tier apply", or a sweep, fault, '
        f'tune or repair --shelve, is running{known}{waited}; try '
        'again when it has finished, or wait for it with --wait SECONDS'
    )


def me() -> str:
    """Name this process: user, host and process id."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        user = f'user {os.geteuid()}'
    return f'{user} on {socket.gethostname()}, process {os.getpid()}'
