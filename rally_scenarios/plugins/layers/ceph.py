# SPDX-License-Identifier: Apache-2.0

"""Commands of Ceph, on the host of Rally: asks, makes, and removes.

All that is made has one name with the nonce of the run in it, and is noted in
a file before it is made: if a run is killed, the next one finds that file and
removes what it names.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from dataclasses import dataclass
import fcntl
import os
import pathlib

from oslo_log import log as logging

from cinder_tiers.domain import record
from cinder_tiers.figures.layers import ceph_output
from cinder_tiers.figures.layers import host_file
from cinder_tiers.figures.layers import model
from rally_scenarios.plugins.layers import process

LOG = logging.getLogger(__name__)

PREFIX = 'cinder-tiers-layers-'
_NOTE = 'layers-unfinished-'
_ASK_SECONDS = 60
# A minute of small writes on flash is a million objects.
_REMOVE_SECONDS = 3600
# obj_bencher.cc: how names of objects of rados bench begin.
_BENCH_OBJECTS = 'benchmark_data'


def _identity(ceph: host_file.Ceph) -> tuple[str, ...]:
    return ('--conf', ceph.conf, '--name', f'client.{ceph.user}')


def ceph_argv(ceph: host_file.Ceph, *words: str) -> list[str]:
    """A command of ``ceph`` that answers with JSON."""
    return ['ceph', *_identity(ceph), '--format', 'json', *words]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Place of the objects and images that a run creates."""

    #: how to reach Ceph
    ceph: host_file.Ceph
    #: name of the pool that is measured
    pool: str
    #: of an RBD image, and of a namespace for objects, both of this run alone
    name: str
    #: where the image's header is, if the pool is erasure coded; else the same
    #: pool
    image_pool: str

    def __post_init__(self) -> None:
        """See to it that what is removed can only be ours.

        :raises ValueError: the name is not that of a run
        """
        if not self.name.startswith(PREFIX):
            raise ValueError(f'name {self.name!r}: expected {PREFIX}...')

    def rados(self, *words: str) -> list[str]:
        """A command of ``rados`` in the namespace of the run."""
        return [
            'rados',
            *_identity(self.ceph),
            '--pool',
            self.pool,
            '--namespace',
            self.name,
            *words,
        ]

    def rbd(self, *words: str) -> list[str]:
        """A command of ``rbd``."""
        return ['rbd', *_identity(self.ceph), *words]

    @property
    def image(self) -> str:
        """The image, with its pool."""
        return f'{self.image_pool}/{self.name}'


def _asked(ceph: host_file.Ceph, *words: str) -> bytes:
    return process.run(ceph_argv(ceph, *words), timeout_seconds=_ASK_SECONDS)


def find_pool(ceph: host_file.Ceph, name: str) -> model.TierPool:
    """Describe what a pool consists of.

    :raises process.LayerError: the pool does not exist, or Ceph does not
        describe it
    """
    try:
        pools = _asked(ceph, 'osd', 'pool', 'ls', 'detail')
        profile = ceph_output.erasure_code_profile(pools, name)
        return ceph_output.pool(
            name,
            pools=pools,
            tree=_asked(ceph, 'osd', 'tree'),
            groups=_asked(ceph, 'pg', 'ls-by-pool', name),
            profile=profile
            and _asked(ceph, 'osd', 'erasure-code-profile', 'get', profile),
        )
    except ceph_output.AnswerError as error:
        raise process.LayerError(str(error)) from error


def make_image(place: Place, size_mib: int) -> None:
    """Make an image without a cache on the side of librbd.

    :param size_mib: its size
    :raises process.LayerError: it cannot be made
    """
    data = (
        [] if place.pool == place.image_pool else ['--data-pool', place.pool]
    )
    for words in (
        [
            'create',
            place.image,
            '--size',
            f'{size_mib}M',
            '--image-feature',
            'layering',
            *data,
        ],
        # What is measured lies below; guests have a cache mode of theirs.
        ['config', 'image', 'set', place.image, 'rbd_cache', 'false'],
    ):
        process.run(place.rbd(*words), timeout_seconds=_ASK_SECONDS)


def remove_objects(place: Place, run_names: Sequence[str]) -> None:
    """Remove the objects of finished runs of ``rados bench``.

    :param run_names: names that the runs were given
    :raises process.LayerError: the objects cannot be removed
    """
    for name in run_names:
        process.run(
            place.rados('cleanup', '--run-name', name),
            timeout_seconds=_REMOVE_SECONDS,
        )


def _remove_image(place: Place) -> None:
    images = (
        process.run(
            place.rbd('ls', place.image_pool), timeout_seconds=_ASK_SECONDS
        )
        .decode()
        .split('\n')
    )
    if place.name in images:
        process.run(
            place.rbd('rm', '--no-progress', place.image),
            timeout_seconds=_REMOVE_SECONDS,
        )


def remove_all(place: Place) -> None:
    """Remove whatever a run has made, finished or not.

    Nothing but what is in its namespace, and its image, is touched.  Ceph
    looks through the whole pool for it, which may take long.

    :raises process.LayerError: it cannot be removed
    """
    _remove_image(place)
    listed = place.rados('ls')
    left = process.run(listed, timeout_seconds=_REMOVE_SECONDS)
    if left.strip():
        process.run(
            place.rados('cleanup', '--prefix', _BENCH_OBJECTS),
            timeout_seconds=_REMOVE_SECONDS,
        )
        # Notes of rados bench on its runs.
        left = process.run(listed, timeout_seconds=_REMOVE_SECONDS)
        notes = left.decode().split()
        if notes:
            process.run(
                place.rados('rm', *notes), timeout_seconds=_REMOVE_SECONDS
            )


def remove_unfinished(folder: pathlib.Path) -> None:
    """Remove the remains of killed runs.

    Those that still run, in other processes of this host, are left alone.

    :param folder: folder with the notes of runs
    :raises process.LayerError: a note cannot be understood, or its objects
        cannot be removed; names the note
    """
    for file in sorted(folder.glob(f'{_NOTE}*.json')):
        with file.open() as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if not file.read_text():
                file.unlink()  # killed before it could make anything
                continue
            try:
                place = record.loads(Place, file.read_bytes())
            except record.RecordError as error:
                raise process.LayerError(
                    f'{file}: cannot be understood: {error}; expected a note'
                    f' of an unfinished run. Look for images and namespaces'
                    f' {PREFIX}* in the pools, and remove the file'
                ) from error
            LOG.warning(
                'A run was interrupted: removing image %s and objects in'
                ' namespace %s of pool %s',
                place.image,
                place.name,
                place.pool,
            )
            try:
                remove_all(place)
            except process.LayerError as error:
                raise process.LayerError(
                    f'{file}: what this unfinished run has left cannot be'
                    f' removed: {error}'
                ) from error
            file.unlink()


@contextlib.contextmanager
def noted(place: Place, folder: pathlib.Path) -> Iterator[set[str]]:
    """Note what will be created, and remove it in the end.

    Yields a set for names of runs of ``rados bench`` whose objects exist: the
    pool is searched for them only if some are left in the set.

    :param folder: folder of the note
    :raises process.LayerError: not all can be removed; the note stays, for the
        next run
    """
    file = folder / f'{_NOTE}{place.name.removeprefix(PREFIX)}.json'
    with file.open('x') as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        opened.write(record.dumps(place))
        opened.flush()
        os.fsync(opened.fileno())
        unremoved: set[str] = set()
        try:
            yield unremoved
        finally:
            (remove_all if unremoved else _remove_image)(place)
            file.unlink()
