# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep in a file, which is whole after each slot.

A file that is read may come from anywhere: it is checked, and what it says of
places of other files is not believed (`result_path`). JSON; keys are described
in doc/source/admin/sweeps.rst.
"""

import collections.abc
import contextlib
import dataclasses
import os

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.files import file_problems
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.fault import fault as fault_values
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import record as slot_records

VERSION = 1
KIND = 'sweep'
NAME = 'sweep.json'
MAX_SIZE_BYTES = 16 * 2**20

RUNNING, COMPLETE, ENDED_EARLY = 'running', 'complete', 'ended early'

_STATES = (RUNNING, COMPLETE, ENDED_EARLY)
_EXPECTED = f'the results of a sweep, version {VERSION}'
_REMEDY = (
    f'name {NAME} in the folder that --out of "openstack tier sweep" or '
    '"openstack tier fault" named'
)
_Values = collections.abc.Mapping[str, catalogs.Value]
#: In seconds since the epoch; of a moment.
_LATEST = 10**11


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Treatment:
    """A treatment in the file."""

    #: {place below the tier, joined by dots: value}
    changes: _Values
    guest: _Values


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Slot:
    """A slot in the file."""

    slot: int
    block: int
    treatment: str
    verdict: slot_records.TreatmentVerdict
    reason: str
    started: str
    ended: str
    exit_status: int | None
    result: str | None
    is_sound: bool
    faults: tuple[fault_values.FaultRecord, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Document:
    """The file."""

    tier: str
    seed: int
    blocks: int
    sweep_file: str
    catalog_file: str
    started: str
    state: str
    is_brought_back: bool
    number_of_slots: int
    treatments: collections.abc.Mapping[str, _Treatment]
    slots: tuple[_Slot, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """State and records of a sweep, during it and afterwards."""

    sweep: design.Sweep
    sweep_file: str
    catalog_file: str
    #: UTC, as 2026-11-23T20:00:00Z.
    started: str
    #: `RUNNING`, `COMPLETE` or `ENDED_EARLY`.
    state: str
    #: Whether everything was read back to be as before.
    is_brought_back: bool
    records: tuple[slot_records.SlotRecord, ...] = ()


def make_folder(folder: str) -> str:
    """Makes the folder of results.

    :returns: path of the file in it.
    :raises errors.TiersError: it cannot be made, or holds results.
    """
    path = os.path.join(folder, NAME)
    try:
        os.makedirs(folder, exist_ok=True)
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise errors.TiersError(
            f'{folder} cannot be made or read: {error.strerror}; name another '
            'folder with --out'
        ) from error
    # A result of before would count as that of a command that writes none,
    # and a moment that was announced before would begin faults at once.
    for name in names:
        if name == NAME or name.startswith(design.SLOT_STEM):
            raise errors.TiersError(
                f'Nothing was changed because {os.path.join(folder, name)} '
                'exists; name another folder with --out'
            )
    return path


def write(path: str, results: Results) -> None:
    """Writes the file; it is whole or as it was.

    :raises errors.TiersError: it cannot be written.
    """
    write_atomic.write(path, text_of(results), replace=True, follows=False)


def ended(results: Results, *, is_brought_back: bool) -> Results:
    """Results of a sweep that does not go on."""
    return dataclasses.replace(
        results,
        is_brought_back=is_brought_back,
        state=COMPLETE
        if len(results.records) == len(results.sweep.slots)
        else ENDED_EARLY,
    )


def note_restored(path: str, *, started: str, is_brought_back: bool) -> None:
    """Record in the file of a sweep that was killed how it ended.

    Otherwise the file would always show that the sweep still runs, or that
    something is not restored. A file that is gone, or belongs to another
    sweep, is left unchanged.

    :param started: start of the sweep.
    :param is_brought_back: whether everything is restored now.
    """
    with contextlib.suppress(errors.TiersError):
        found = read(path)
        if found.started == started:
            write(path, ended(found, is_brought_back=is_brought_back))


def text_of(results: Results) -> str:
    """The text of the file."""
    sweep = results.sweep
    return record.dumps(
        _Document(
            tier=sweep.tier,
            seed=sweep.seed,
            blocks=sweep.blocks,
            sweep_file=results.sweep_file,
            catalog_file=results.catalog_file,
            started=results.started,
            state=results.state,
            is_brought_back=results.is_brought_back,
            number_of_slots=len(sweep.slots),
            treatments={
                one.name: _Treatment(
                    changes={
                        '.'.join(map(str, place[2:])): value
                        for place, value in one.changes.items()
                    },
                    guest=one.guest,
                )
                for one in sweep.all_treatments
            },
            slots=tuple(map(_slot, results.records)),
        ),
        indent=2,
        version=VERSION,
        kind=KIND,
    )


def _slot(one: slot_records.SlotRecord) -> _Slot:
    measured = one.measured
    return _Slot(
        slot=one.slot.number,
        block=one.slot.block,
        treatment=one.slot.treatment,
        verdict=one.verdict,
        reason=one.reason,
        started=one.started,
        ended=one.ended,
        exit_status=measured.exit_status if measured else None,
        result=measured.result_file if measured else None,
        is_sound=one.is_sound,
        faults=measured.faults if measured else (),
    )


def read(path: str) -> Results:
    """Reads the file.

    :raises errors.ProblemsFound: it cannot be read, or is not the result of a
        sweep.
    """
    with file_problems.told(path, expected=_EXPECTED, remedy=_REMEDY):
        found = record.loads(
            _Document,
            read_bounded.read(path, max_bytes=MAX_SIZE_BYTES),
            version=VERSION,
            kind=KIND,
        )
        problems = tuple(_wrong(found))
        if problems:
            raise record.RecordError(*problems)
    return Results(
        sweep=design.Sweep(
            tier=found.tier,
            treatments=tuple(
                design.Treatment(
                    name=name,
                    changes={
                        ('tiers', found.tier, *place.split('.', 2)): value
                        for place, value in one.changes.items()
                    },
                    guest=one.guest,
                )
                for name, one in found.treatments.items()
                if name != design.DEFAULT
            ),
            blocks=found.blocks,
            seed=found.seed,
        ),
        sweep_file=found.sweep_file,
        catalog_file=found.catalog_file,
        started=found.started,
        state=found.state,
        is_brought_back=found.is_brought_back,
        records=tuple(map(_record, found.slots)),
    )


def _wrong(found: _Document) -> collections.abc.Iterator[str]:
    """Yields each value that a sweep cannot have written, as a clause."""
    if found.state not in _STATES:
        yield f'state: found {found.state[:80]!r}, expected one of {_STATES}'
    if not 1 <= found.blocks <= design.MOST_SLOTS:
        yield f'{found.blocks} blocks, expected 1 to {design.MOST_SLOTS}'
    if (
        design.DEFAULT not in found.treatments
        or len(found.treatments) > design.MOST_TREATMENTS + 1
    ):
        yield (
            f'treatments: expected {design.DEFAULT} and at most '
            f'{design.MOST_TREATMENTS} others'
        )
    seen = set()
    for one in found.slots:
        turn = one.block, one.treatment
        if one.treatment not in found.treatments:
            yield f'slot {one.slot} of {one.treatment[:80]!r}'
        elif not 1 <= one.block <= found.blocks or turn in seen:
            yield f'slot {one.slot} with block {one.block}'
        elif not 1 <= one.slot <= design.MOST_SLOTS:
            yield f'slot {one.slot}, expected 1 to {design.MOST_SLOTS}'
        elif len(one.faults) > fault_values.MOST_FAULTS:
            yield f'slot {one.slot} with {len(one.faults)} faults'
        elif not all(
            0 <= moment <= _LATEST
            for each in one.faults
            for moment in (each.began, each.ended, each.healthy)
            if moment is not None
        ):
            yield f'slot {one.slot} with a fault at an impossible moment'
        seen.add(turn)


def _record(one: _Slot) -> slot_records.SlotRecord:
    return slot_records.SlotRecord(
        slot=design.TreatmentSlot(
            number=one.slot, block=one.block, treatment=one.treatment
        ),
        verdict=one.verdict,
        reason=one.reason,
        measured=None
        if one.exit_status is None
        else slot_records.MeasuredSlot(
            exit_status=one.exit_status,
            result_file=one.result,
            faults=one.faults,
        ),
        started=one.started,
        ended=one.ended,
    )


def result_path(path: str, result_file: str) -> str:
    """Return the path of the result of a slot.

    The folder may have been moved since, and the file may come from anywhere:
    only the last part of the name counts, in the folder of the file.

    :param path: path of the file with the results of the sweep.
    :param result_file: path that this file contains.
    """
    return os.path.join(os.path.dirname(path), os.path.basename(result_file))
