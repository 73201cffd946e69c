# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep in a file, which is whole after each slot.

JSON; keys are described in doc/source/admin/sweeps.rst.
"""

import collections.abc
import dataclasses
import json
import os

from cinder_tiers.domain import errors
from cinder_tiers.domain.sweep import design
from cinder_tiers.domain.sweep import record
from cinder_tiers.files import write_atomic

VERSION = 1
NAME = 'sweep.json'

RUNNING, COMPLETE, ENDED_EARLY = 'running', 'complete', 'ended early'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What is known of a sweep while it goes on, and afterwards."""

    sweep: design.Sweep
    sweep_file: str
    catalog_file: str
    #: UTC, as 2026-11-23T20:00:00Z.
    started: str
    #: `RUNNING`, `COMPLETE` or `ENDED_EARLY`.
    state: str
    #: Whether everything was read back to be as before.
    is_brought_back: bool
    records: tuple[record.SlotRecord, ...] = ()


def make_folder(folder: str) -> str:
    """Makes the folder of results.

    :returns: path of the file in it.
    :raises errors.TiersError: it cannot be made, or holds results.
    """
    path = os.path.join(folder, NAME)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise errors.TiersError(
            f'{folder} cannot be made: {error.strerror}; name another folder '
            'with --out'
        ) from error
    if os.path.exists(path):
        raise errors.TiersError(
            f'Nothing was changed because {path} exists; name another folder '
            'with --out'
        )
    return path


def write(path: str, results: Results) -> None:
    """Writes the file; it is whole or as it was.

    :raises errors.TiersError: it cannot be written.
    """
    write_atomic.write(path, text_of(results), replace=True)


def text_of(results: Results) -> str:
    """The text of the file."""
    sweep = results.sweep
    return (
        json.dumps(
            {
                'version': VERSION,
                'kind': 'sweep',
                'tier': sweep.tier,
                'seed': sweep.seed,
                'blocks': sweep.blocks,
                'sweep_file': results.sweep_file,
                'catalog_file': results.catalog_file,
                'started': results.started,
                'state': results.state,
                'is_brought_back': results.is_brought_back,
                'number_of_slots': len(sweep.slots),
                'treatments': {
                    one.name: {
                        'changes': {
                            '.'.join(map(str, place[2:])): value
                            for place, value in one.changes.items()
                        },
                        'guest': dict(one.guest),
                    }
                    for one in sweep.all_treatments
                },
                'slots': list(map(_slot, results.records)),
            },
            indent=2,
        )
        + '\n'
    )


def _slot(one: record.SlotRecord) -> collections.abc.Mapping[str, object]:
    return {
        'slot': one.slot.number,
        'block': one.slot.block,
        'treatment': one.slot.treatment,
        'verdict': one.verdict.value,
        'reason': one.reason,
        'started': one.started,
        'ended': one.ended,
        'exit_status': one.measured and one.measured.exit_status,
        'result': one.measured and one.measured.result_file,
        'is_sound': one.is_sound,
    }
