# SPDX-License-Identifier: Apache-2.0

"""Fleets that are kept for further runs, as Rally's host remembers them.

A file beside the result files has what a kept fleet is made of.  A task finds
it by the name that it gives to the fleet, and uses it only if it is what the
task would have made.
"""

from collections.abc import Mapping
import dataclasses
import os
import pathlib
import re

from cinder_tiers.domain import record
from cinder_tiers.files import read_bounded
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins import servers

VERSION = 2
MAX_SIZE_BYTES = 64 * 2**20
#: What is behind the prefix of a name: another fleet's may begin alike.
NAME_DIGITS = 12
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9-]{0,39}')


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptFleet:
    """Servers and volumes that wait for another run."""

    #: by which tasks know it
    name: str
    #: how many runs it has done
    runs: int
    #: {what: how it was asked for}, of all that a task must ask for again
    asked: Mapping[str, str]
    #: MiB that each guest has filled; 0 if it must fill again
    filled_mib: int
    #: id of the volume that gives the start
    start_volume: str
    #: ids, of each guest
    servers: tuple[str, ...]
    #: likewise
    boot_volumes: tuple[str, ...]
    #: likewise of what fio works on, where that is not the boot volume
    data_volumes: tuple[tuple[str, ...], ...]
    #: ids of server groups
    groups: tuple[str, ...]
    #: by which its guests know their orders: whoever has it can run commands
    #: in them
    orders_key: str = dataclasses.field(repr=False)


def check(arguments: fleet_arguments.FleetArguments) -> None:
    """Check that a task's fleet can be kept.

    :raises ValueError: it cannot be kept; all reasons
    """
    keep = arguments.keep
    if keep is None:
        return
    wrong = []
    if not _NAME.fullmatch(keep['name']):
        wrong.append(
            f'name {keep["name"]!r}: expected 1 to 40 letters, digits and -'
        )
    if (arguments.start or {'by': 'volume'})['by'] != 'volume':
        wrong.append(
            'a start by clock: guests get further orders on the volume that'
            ' gives the start'
        )
    if not arguments.start_volume_type:
        wrong.append(
            'no start_volume_type: the one that a context makes is deleted'
            ' after the task'
        )
    if arguments.stop_when is not None:
        wrong.append(
            'stop_when: it ends while guests are in the next repeat, and'
            ' cannot call them back'
        )
    if (arguments.transport or {'kind': 'console'})['kind'] != 'console':
        wrong.append('transport: only the console is the same in each run')
    if wrong:
        raise ValueError(f'keep: {"; ".join(wrong)}')


def asked_for(
    arguments: fleet_arguments.FleetArguments,
    *,
    shape: fleet_shape.GuestShape,
    guests_per_tier: int,
    image_ids: Mapping[str, str],
) -> dict[str, str]:
    """Return the properties that tasks must share to use the same fleet.

    :param image_ids: {name: id}
    """
    return {
        'flavor': str(arguments.flavor),
        'guests per tier': str(guests_per_tier),
        'start volume type': str(arguments.start_volume_type),
        'spread': str(shape.spread),
        'zones': f'{shape.compute_zone}, {shape.volume_zone}',
        'boot volumes': f'{shape.boot_gib} GiB',
        'data volumes': f'{shape.measured_per_guest} of {shape.data_gib} GiB'
        if shape.has_data
        else 'none',
        'tiers': '; '.join(
            f'{tier}: boots from {image_ids[each.boot_image]}, made from'
            f' {each.blank_type or image_ids[each.image]}'
            for tier, each in shape.tiers.items()
        ),
    }


def path_of(folder: pathlib.Path, name: str) -> pathlib.Path:
    """The file that remembers a fleet."""
    # Not .json: the folder's files of that name are results.
    return folder / f'{name}.kept-fleet'


def find(
    folder: pathlib.Path, name: str, asked: Mapping[str, str]
) -> KeptFleet | None:
    """The fleet of a name; None: it is to be made.

    :raises servers.FleetError: its file cannot be read, or it is not what the
        task asks for
    """
    path = path_of(folder, name)
    try:
        text = read_bounded.read(str(path), max_bytes=MAX_SIZE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise servers.FleetError(f'cannot read {path}: {error}') from error
    try:
        found = record.loads(KeptFleet, text, version=VERSION)
    except ValueError as error:
        raise servers.FleetError(
            f'{path} is not the file of a kept fleet, version {VERSION}:'
            f' {error}; {how_to_delete(name)}'
        ) from error
    differences = [
        f'{what}: it has {found.asked.get(what)}, the task asks for {wanted}'
        for what, wanted in asked.items()
        if found.asked.get(what) != wanted
    ]
    if differences:
        raise servers.FleetError(
            f'the kept fleet {name!r} ({path}) is not what the task asks for:'
            f' {"; ".join(differences)}; use another name, or delete it:'
            f' {how_to_delete(name)}'
        )
    return found


def how_to_delete(name: str) -> str:
    """Explain how to delete a fleet that no task uses any more."""
    return (
        f'delete the servers, the volumes and the server groups whose names'
        f' are {name_prefix(name)} and {NAME_DIGITS} hexadecimal digits, then'
        f' the file {name}.kept-fleet, if there is one, in the result_folder'
    )


def name_prefix(name: str) -> str:
    """Return the prefix of names of a kept fleet's servers and volumes.

    Rally's cleanup does not recognize them as its own.
    """
    return f'cinder-tiers-kept-{name}-'


def write(folder: pathlib.Path, fleet: KeptFleet) -> None:
    """Remember a fleet, for the owner of the file only.

    :raises OSError: the file cannot be written
    """
    path = path_of(folder, fleet.name)
    partial = path.with_suffix('.partial')
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, 'w', encoding='utf-8') as file:
        file.write(record.dumps(fleet, indent=2, version=VERSION))
    partial.replace(path)


def forget(folder: pathlib.Path, name: str) -> None:
    """Remove the record of a fleet that was deleted."""
    path_of(folder, name).unlink(missing_ok=True)
