# SPDX-License-Identifier: Apache-2.0

"""Image files of guests, and the stamps that say what they were made from.

An image is built anew when anything that decides its contents has changed,
and only then. Does not know what an image consists of.
"""

from collections.abc import Callable, Iterable
import dataclasses
import hashlib
import json
import pathlib
import shutil
from typing import Any

from lab.guests import build_folder
from lab.host import commands
from lab.host import packages

# What a package or the knowledge of one cannot change without.
PACKAGE_STATE = (
    pathlib.Path('/var/lib/apt/lists'),
    pathlib.Path('/var/lib/dpkg/status'),
)


def build(
    make: Callable[[build_folder.BuildFolder], pathlib.Path],
    inputs: Any,
    *,
    work_directory: pathlib.Path,
    output: pathlib.Path,
    log: pathlib.Path,
) -> None:
    """Build an image and publish it; see :func:`publish`.

    :param make: builds the image in a folder and returns its path.
    :param inputs: what the image is made from, a data class.
    :param work_directory: for this program alone; its folder ``build`` is
        emptied first, and removed at the end.
    :param output: the raw disk image; beside it ``<output>.stamp`` says what
        it was made from. Replaced when all is done, never half written.
    :param log: file that gets what the tools print; begun anew.
    :raises lab.guests.build_folder.GuestImageError: what Debian has does not
        fit.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    path = work_directory / 'build'
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    log.unlink(missing_ok=True)
    publish(make(build_folder.BuildFolder(path=path, log=log)), output, inputs)
    shutil.rmtree(path)


def build_with_current_lists(
    build_image: Callable[[], str], apt_log: pathlib.Path
) -> str:
    """Build an image; if that fails, update apt's lists and try once more.

    What apt knows may be missing, or older than what the archive has.

    :param build_image: returns a remark: what was done.
    :param apt_log: file that gets what apt-get prints.
    :returns: the remark.
    :raises lab.guests.build_folder.GuestImageError: what Debian has does not
        fit.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    try:
        return build_image()
    except (build_folder.GuestImageError, commands.CommandFailed):
        packages.update_package_lists(apt_log)
        return build_image()


def is_current(output: pathlib.Path, inputs: Any) -> bool:
    """Whether the output is an intact image made from these inputs.

    :param output: the raw disk image, with its stamp beside it.
    :param inputs: what it should have been made from, a data class.
    """
    try:
        stamp = _stamp_file(output).read_text(encoding='utf-8')
        return stamp == _stamp(output, inputs)
    except FileNotFoundError:
        return False


def is_untouched(
    output: pathlib.Path,
    recipe: str,
    package_state: Iterable[pathlib.Path] = PACKAGE_STATE,
) -> bool:
    """Whether nothing can have changed since the output was last judged.

    Quick: asking apt for all inputs takes seconds of a small machine.

    :param output: the raw disk image, with its stamp beside it.
    :param recipe: digest of how it is built now; see :func:`recipe_sha256`.
    :param package_state: paths that are newer when packages have changed.
    """
    stamp = _stamp_file(output)
    try:
        judged = stamp.stat().st_mtime
        known = json.loads(stamp.read_text(encoding='utf-8'))
        return (
            known['image_sha256'] == _image_sha256(output)
            and known['inputs']['recipe_sha256'] == recipe
            and all(path.stat().st_mtime < judged for path in package_state)
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False  # no stamp, or half of one


def mark_as_judged(output: pathlib.Path) -> None:
    """Record that the image was found current, for :func:`is_untouched`."""
    _stamp_file(output).touch()


def publish(image: pathlib.Path, output: pathlib.Path, inputs: Any) -> None:
    """Copy the image to the output and write its stamp.

    An interruption leaves an output that :func:`is_current` refuses.

    :param image: the image that was built.
    :param output: where users look for it.
    :param inputs: what the image was made from, a data class.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    stamp = _stamp_file(output)
    stamp.unlink(missing_ok=True)
    # The output may lie on another file system than the work directory.
    partial = output.with_name(f'{output.name}.partial')
    shutil.copyfile(image, partial)
    partial.rename(output)
    stamp.write_text(_stamp(output, inputs), encoding='utf-8')


def recipe_sha256(folder: pathlib.Path, *others: pathlib.Path) -> str:
    """Digest of the files that say how an image is built.

    Their names and contents count, and not where the folder is.

    :param folder: all files in and below it count.
    :param others: further files.
    """
    digest = hashlib.sha256()
    files = [
        file
        for file in folder.glob('**/*')
        if file.is_file() and file.suffix != '.pyc'
    ]
    for file in (*sorted(files), *others):
        digest.update(f'{file.name}\0{file.stat().st_size}\0'.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def host_versions(names: Iterable[str]) -> dict[str, str]:
    """Return {package of the host: its version}.

    :raises lab.host.commands.CommandFailed: dpkg does not know a package.
    """
    return {
        name: commands.query('dpkg-query', '-f', '${Version}', '-W', name)
        for name in names
    }


def _stamp(output: pathlib.Path, inputs: Any) -> str:
    stamp = {
        'image_sha256': _image_sha256(output),
        'inputs': dataclasses.asdict(inputs),
    }
    return json.dumps(stamp, indent=2, sort_keys=True) + '\n'


def _image_sha256(output: pathlib.Path) -> str:
    with output.open('rb') as image:
        return hashlib.file_digest(image, 'sha256').hexdigest()


def _stamp_file(output: pathlib.Path) -> pathlib.Path:
    return output.with_name(f'{output.name}.stamp')
