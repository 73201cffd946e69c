# SPDX-License-Identifier: Apache-2.0

"""The series of watched tiers, a file for each in the folder of a user."""

import collections.abc
import contextlib
import fcntl
import os
import urllib.parse

from cinder_tiers.domain import errors
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.watch import series

#: Of a series as it is written, with room to spare.
_MOST_BYTES = 64 * 2**20


class SeriesFiles:
    """The files of one folder.

    :param folder: its path; it is made when there is none.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def held(self) -> collections.abc.Iterator[None]:
        """Keeps another watch out of the folder.

        :raises errors.TiersError: there is one, or the folder cannot be
            written.
        """
        path = os.path.join(self._folder, 'watch.lock')
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            handle = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise errors.TiersError(
                f'{path} cannot be opened: {error.strerror}; name another '
                'folder with --state'
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise errors.TiersError(
                f'{path} is locked: another "tier watch" runs with this '
                'folder; end it, or name another folder with --state'
            ) from error
        try:
            yield
        finally:
            os.close(handle)

    def path(self, tier: str) -> str:
        """Return the path of a tier's file, for any name."""
        name = urllib.parse.quote(tier, safe='')
        return os.path.join(self._folder, f'watch-{name}.json')

    def read(self, tier: str, pools: tuple[str, ...]) -> series.Series:
        """Read the series of a tier; an empty one if there is none.

        :param pools: pools of the tier; a series of other pools is of another
            storage and is ignored.
        :raises errors.TiersError: the file cannot be read, or is not a series.
        """
        path = self.path(tier)
        empty = series.Series(tier=tier, pools=pools)
        try:
            content = read_bounded.read(path, max_bytes=_MOST_BYTES)
        except FileNotFoundError:
            return empty
        except OSError as error:
            raise errors.TiersError(
                f'{path} cannot be read: {error.strerror}'
            ) from error
        try:
            found = series.read(content)
        except ValueError as error:
            raise errors.TiersError(
                f'{path} is not a series of "tier watch": '
                f'{"; ".join(errors.lines_of(error))}; remove it'
            ) from error
        if (found.tier, found.pools) != (tier, pools):
            return empty
        return found

    def write(self, kept: series.Series) -> None:
        """Replaces the file of a tier.

        :raises errors.TiersError: it cannot be written.
        """
        write_atomic.write(
            self.path(kept.tier), series.write(kept), replace=True
        )

    def remove(self, tier: str) -> None:
        """Removes the file of a tier, if there is one.

        :raises errors.TiersError: it cannot be removed.
        """
        path = self.path(tier)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise errors.TiersError(
                f'{path} cannot be removed: {error.strerror}'
            ) from error
