# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep in a file, which is whole after each slot.

A file that is read may come from anywhere: it is checked, and what it says of
places of other files is not believed (`result_path`). JSON; keys are described
in doc/source/admin/sweeps.rst.
"""

import collections.abc
import contextlib
import dataclasses
import json
import os

import jsonschema

from cinder_tiers.domain import errors
from cinder_tiers.files import check_json
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import record

VERSION = 1
KIND = 'sweep'
NAME = 'sweep.json'
MAX_SIZE_BYTES = 16 * 2**20

RUNNING, COMPLETE, ENDED_EARLY = 'running', 'complete', 'ended early'

_TEXT = {'type': 'string'}
_COUNT = {'type': 'integer', 'minimum': 1, 'maximum': design.MOST_SLOTS}
_VALUES = {
    'type': 'object',
    'additionalProperties': {'type': ['string', 'number', 'boolean']},
}
_MOMENT = {'type': ['number', 'null'], 'minimum': 0, 'maximum': 10**11}
_FAULTS = {
    'type': 'array',
    'maxItems': faults.MOST_FAULTS,
    'items': {
        'type': 'object',
        'required': [
            *('name', 'kind', 'target', 'began', 'ended', 'healthy'),
            'problem',
        ],
        'properties': {
            'name': _TEXT,
            'kind': {'enum': [one.value for one in faults.Kind]},
            'target': _TEXT,
            'began': _MOMENT,
            'ended': _MOMENT,
            'healthy': _MOMENT,
            'problem': _TEXT,
        },
    },
}
_SCHEMA = {
    'type': 'object',
    'required': [
        *('version', 'kind', 'tier', 'seed', 'blocks', 'started', 'state'),
        *('is_brought_back', 'treatments', 'slots'),
    ],
    'properties': {
        'version': {'const': VERSION},
        'kind': {'const': KIND},
        'tier': _TEXT,
        'seed': {'type': 'integer'},
        'blocks': _COUNT,
        'sweep_file': _TEXT,
        'catalog_file': _TEXT,
        'started': _TEXT,
        'state': {'enum': [RUNNING, COMPLETE, ENDED_EARLY]},
        'is_brought_back': {'type': 'boolean'},
        'treatments': {
            'type': 'object',
            'required': [design.DEFAULT],
            'maxProperties': design.MOST_TREATMENTS + 1,
            'additionalProperties': {
                'type': 'object',
                'required': ['changes', 'guest'],
                'properties': {'changes': _VALUES, 'guest': _VALUES},
            },
        },
        'slots': {
            'type': 'array',
            'maxItems': design.MOST_SLOTS,
            'items': {
                'type': 'object',
                'required': [
                    *('slot', 'block', 'treatment', 'verdict', 'reason'),
                    *('started', 'ended', 'exit_status', 'result'),
                ],
                'properties': {
                    'slot': _COUNT,
                    'block': _COUNT,
                    'treatment': _TEXT,
                    'verdict': {'enum': [one.value for one in record.Verdict]},
                    'reason': _TEXT,
                    'started': _TEXT,
                    'ended': _TEXT,
                    'exit_status': {'type': ['integer', 'null']},
                    'result': {'type': ['string', 'null']},
                    'faults': _FAULTS,
                },
            },
        },
    },
}


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
    """Has the file of a sweep that was killed say how it ended.

    Else it would say for ever that the sweep still runs, or that something is
    not as before. A file that is not there any more, or is of another sweep,
    is left.

    :param path: of the file.
    :param started: when the sweep was.
    :param is_brought_back: whether everything now is.
    """
    with contextlib.suppress(errors.TiersError):
        found = read(path)
        if found.started == started:
            write(path, ended(found, is_brought_back=is_brought_back))


def text_of(results: Results) -> str:
    """The text of the file."""
    sweep = results.sweep
    return (
        json.dumps(
            {
                'version': VERSION,
                'kind': KIND,
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
        'faults': [
            {**vars(each), 'kind': each.kind.value}
            for each in (one.measured.faults if one.measured else ())
        ],
    }


def _refuse_constant(name: str) -> None:
    """NaN and Infinity are no JSON, though Python reads them."""
    raise ValueError(name)


def read(path: str) -> Results:
    """Reads the file.

    :param path: of the file.
    :raises errors.ProblemsFound: it cannot be read, or is not the result of a
        sweep.
    """
    try:
        content = read_bounded.read(path, max_bytes=MAX_SIZE_BYTES)
    except OSError as error:
        raise _problem(path, error.strerror or str(error)) from error
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
        check_json.check(value, _SCHEMA)
    except (ValueError, RecursionError) as error:
        raise _problem(path, 'a file that is not JSON') from error
    except jsonschema.ValidationError as error:
        raise _problem(
            path, f'{error.message[:200]} at {error.json_path}'
        ) from error
    sweep = design.Sweep(
        tier=value['tier'],
        treatments=tuple(
            design.Treatment(
                name=name,
                changes={
                    ('tiers', value['tier'], *place.split('.', 2)): each
                    for place, each in one['changes'].items()
                },
                guest=one['guest'],
            )
            for name, one in value['treatments'].items()
            if name != design.DEFAULT
        ),
        blocks=value['blocks'],
        seed=value['seed'],
    )
    problems = list(_wrong_slots(sweep, value['slots']))
    if problems:
        raise _problem(path, '; '.join(problems[:5]))
    return Results(
        sweep=sweep,
        sweep_file=value.get('sweep_file', ''),
        catalog_file=value.get('catalog_file', ''),
        started=value['started'],
        state=value['state'],
        is_brought_back=value['is_brought_back'],
        records=tuple(map(_record, value['slots'])),
    )


def _wrong_slots(
    sweep: design.Sweep, slots: collections.abc.Iterable[dict]
) -> collections.abc.Iterator[str]:
    """Slots that no such sweep has, or has twice."""
    names = {one.name for one in sweep.all_treatments}
    seen = set()
    for one in slots:
        turn = one['block'], one['treatment']
        if one['treatment'] not in names:
            yield f'slot {one["slot"]} of {one["treatment"][:80]!r}'
        elif one['block'] > sweep.blocks or turn in seen:
            yield f'slot {one["slot"]} with block {one["block"]}'
        seen.add(turn)


def _record(value: dict) -> record.SlotRecord:
    return record.SlotRecord(
        slot=design.Slot(
            number=value['slot'],
            block=value['block'],
            treatment=value['treatment'],
        ),
        verdict=record.Verdict(value['verdict']),
        reason=value['reason'],
        measured=None
        if value['exit_status'] is None
        else record.Measured(
            exit_status=value['exit_status'],
            result_file=value['result'],
            faults=tuple(map(_fault, value.get('faults', ()))),
        ),
        started=value['started'],
        ended=value['ended'],
    )


def _fault(value: dict) -> faults.FaultRecord:
    return faults.FaultRecord(
        **{
            one.name: value[one.name]
            for one in dataclasses.fields(faults.FaultRecord)
            if one.name != 'kind'
        },
        kind=faults.Kind(value['kind']),
    )


def result_path(path: str, result_file: str) -> str:
    """Where the result of a slot is.

    The folder may have been moved since, and the file may come from anywhere:
    of a name, only its last part counts, in the folder of the file.

    >>> result_path('out/sweep.json', '/home/a/out/slot-0001.json')
    'out/slot-0001.json'

    :param path: of the file with the results of the sweep.
    :param result_file: as it says.
    """
    return os.path.join(os.path.dirname(path), os.path.basename(result_file))


def _problem(path: str, found: str) -> errors.ProblemsFound:
    return errors.ProblemsFound(
        [
            errors.Problem(
                where=path,
                found=found,
                expected=f'the results of a sweep, version {VERSION}',
                remedy=f'name {NAME} in the folder that --out of '
                '"openstack tier sweep" or "openstack tier fault" '
                'named',
            )
        ]
    )
