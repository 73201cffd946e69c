# SPDX-License-Identifier: Apache-2.0

"""The file of a tuning as an argument of commands."""

import collections.abc
import os

from osc_lib import exceptions

from cinder_tiers.cli import results
from cinder_tiers.domain import errors
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.files import file_problems
from cinder_tiers.files import read_bounded
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import results_argument
from cinder_tiers.loop.tune import tuning as tunings


def is_tuning(path: str) -> bool:
    """Return whether a file is of a tuning, and not of a run or a sweep."""
    return results.is_of_kind(
        path, tunings.KIND, max_bytes=tunings.MAX_SIZE_BYTES
    )


def read(path: str) -> tunings.Tuning:
    """Reads the file of a tuning.

    :raises errors.ProblemsFound: it cannot be read, or is of something else.
    """
    with file_problems.told(
        path,
        expected=f'the file of a tuning, version {tunings.VERSION}',
        remedy=f'name {tunings.NAME} in the folder of "openstack tier tune '
        '--out"',
    ):
        return tunings.read(
            read_bounded.read(path, max_bytes=tunings.MAX_SIZE_BYTES)
        )


def block_folder(out: str, number: int, again: int = 1) -> str:
    """Return the path of the folder of a block.

    >>> block_folder('out', 7), block_folder('out', 7, again=2)
    ('out/block-0007', 'out/block-0007-2')

    :param out: folder of the tuning.
    :param again: number of the start of the block, from 1.
    """
    return os.path.join(
        out, f'block-{number:04}' + (f'-{again}' if again > 1 else '')
    )


def block_folders(out: str, number: int) -> list[str]:
    """Return the existing folders of a block, one for each start."""
    found: list[str] = []
    while os.path.lexists(
        path := block_folder(out, number, again=len(found) + 1)
    ):
        found.append(path)
    return found


def result_paths(path: str, tuning: tunings.Tuning) -> list[str]:
    """Return the paths of the sweeps of all blocks, and of their results.

    :param path: path of the file of the tuning.
    """
    found = []
    for number in range(1, len(tuning.history.blocks) + 1):
        for folder in block_folders(os.path.dirname(path), number):
            sweep = os.path.join(folder, sweep_files.NAME)
            found.append(sweep)
            try:
                read = sweep_files.read(sweep)
            except errors.ProblemsFound:
                # Its slots are not known, and nothing of them is read.
                continue
            found += results_argument.result_paths(sweep, read)
    return found


def sound_slots(
    path: str, tuning: tunings.Tuning
) -> collections.abc.Iterator[tuple[str, run_result.RunResult]]:
    """Yield (block.slot, result) of the sound slots of all blocks.

    The slot of the default is the first of its block. Unreadable blocks are
    left out.

    :param path: path of the file of the tuning.
    """
    out = os.path.dirname(path)
    for number in range(1, len(tuning.history.blocks) + 1):
        # One that was ended early is followed by another one.
        for folder in block_folders(out, number)[-1:]:
            try:
                _, swept = results_argument.read(
                    os.path.join(folder, sweep_files.NAME)
                )
            except exceptions.CommandError:
                continue
            found = [
                (slot.treatment != swept.default, slot.number, slot.run)
                for slot in swept.slots
                if slot.run is not None
            ]
            for _is_treated, slot_number, run in sorted(
                found, key=lambda each: each[0]
            ):
                yield f'{number}.{slot_number}', run
