# SPDX-License-Identifier: Apache-2.0

"""Storage of result files, and the facts known on Rally's host.

Adapter: ``figures.result`` makes the content of the file.
"""

from collections.abc import Iterable
import datetime
import importlib.metadata
import os
import pathlib
import tempfile

from cinder_tiers.domain import errors
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from rally_scenarios.plugins import servers

DEFAULT_FOLDER = '~/.rally/cinder-tiers'
_NO_CEPH = "the task names no cluster in its argument 'ceph'"
_NO_ADMIN = 'the environment of Rally has no administrator'
_NOT_ASKED = {
    'ceph': _NO_CEPH,
    'cache_mode': 'it is an option of the compute host; what it makes guests'
    ' believe is write_cache',
    'clone_or_flat': _NO_CEPH,
    'ceph_options': _NO_CEPH,
    'qos': _NO_ADMIN,
    'cinder': _NO_ADMIN,
    'nova': _NO_ADMIN,
    'compute': _NO_ADMIN,
}


def _version(distribution: str) -> run_result.Fact:
    try:
        return run_result.Fact(value=importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return run_result.Fact(
            value=None, reason=f'{distribution} is not installed as a package'
        )


def environment() -> dict[str, run_result.Fact]:
    """Return the facts that are known without asking guests or services."""
    return {
        **{
            name: run_result.Fact(value=None, reason=reason)
            for name, reason in _NOT_ASKED.items()
        },
        'cinder_tiers': _version('cinder-tiers'),
        'rally': _version('rally'),
        'rally_openstack': _version('rally-openstack'),
    }


def volume_types_fact(names: Iterable[str | None]) -> run_result.Fact:
    """Return the types of a tier's volumes; several hint at a problem.

    :param names: type of each volume; None if Cinder names none
    """
    found = sorted({name or 'none' for name in names})
    if found == ['none']:
        return run_result.Fact(
            value=None, reason='Cinder reported no volume type of the volumes'
        )
    return run_result.Fact(value=', '.join(found))


def now() -> str:
    """The time of Rally's host, ISO 8601, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')


def prepare(folder: str) -> pathlib.Path:
    """Make sure of the folder before a run of hours, not after it.

    :param folder: ``~`` is the home of who runs Rally
    :raises servers.FleetError: no file can be written there
    """
    path = pathlib.Path(os.path.expanduser(folder))
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise servers.FleetError(
            f'result_folder {folder!r}: cannot write there: {error}; name '
            'a folder that the user who runs Rally can write to'
        ) from error


def read(path: str) -> run_result.RunResult:
    """Read a result that a task names.

    :param path: path on the host of Rally; ``~`` is the home of the user of
        Rally
    :raises ValueError: the file cannot be read, or is not a result
    """
    try:
        return run_result.read(
            read_bounded.read_whole(
                os.path.expanduser(path),
                max_mib=run_result.MOST_MIB,
            )
        )
    except OSError as error:
        raise ValueError(f'cannot read it: {error}') from error


def write(folder: pathlib.Path, result: run_result.RunResult) -> pathlib.Path:
    """Write one file atomically.

    :param folder: folder from ``prepare``
    :returns: path of the file; its name has time and nonce of the run
    :raises servers.FleetError: the file cannot be written
    """
    stamp = result.ended_at[:19].replace(':', '').replace('-', '')
    path = folder / f'{stamp}-{result.run}.json'
    try:
        write_atomic.write(
            str(path),
            run_result.write(result),
            replace=True,
            mode=0o644,
            is_exact=True,
            follows=False,
        )
    except errors.TiersError as error:
        raise servers.FleetError(f'Result not kept: {error}') from error
    return path
