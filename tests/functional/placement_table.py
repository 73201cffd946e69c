# SPDX-License-Identifier: Apache-2.0
"""The table of tests/cases/placement_in_the_lab.yaml, as values.

A run gives its volume types names of its own, so that what an earlier run
could not remove does no harm.
"""

import dataclasses
import pathlib
import uuid

import yaml

import tests

TABLE = (
    pathlib.Path(__file__).resolve().parents[1]
    / 'cases'
    / 'placement_in_the_lab.yaml'
)
CLIENTS = ('cinderclient', 'osc', 'openstacksdk', 'nova')
#: A process or a server for each row, or the request that openstacksdk sends
#: as well: a share is tried, all in tests/long.
#: {client: its first row that is tried}; of nova these are rows of an image,
#: of a type with limits, and of a snapshot.
SHARED_CLIENTS = {'cinderclient': 0, 'osc': 1, 'nova': 2}
CLOUDS = ('admin', 'member', 'other')
_CASE_KEYS = {
    'when',
    'by',
    'image',
    'metadata',
    'type',
    'source',
    'snapshot',
    'then',
}
_MARK = 'functional-'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One request of one client, and where its volume must land.

    :param who: of :data:`CLOUDS`.
    :param client: of :data:`CLIENTS`.
    :param image: name of an image of the table, or of the lab.
    :param metadata: {key: value} of the volume.
    :param volume_type: name of the type that is asked for.
    :param source: name of the source that is cloned.
    :param snapshot: name of the source whose snapshot is used.
    :param then: the whole answer.
    """

    when: str
    who: str
    client: str
    image: str | None
    metadata: dict[str, str]
    volume_type: str | None
    source: str | None
    snapshot: str | None
    then: dict

    @property
    def __name__(self) -> str:
        """For ddt: the end of the test's name."""
        return f'{self.when}_{self.client}_{self.who}'.replace(
            ' ', '_'
        ).replace(',', '')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """All that a run makes, by name, and its rows."""

    types: dict[str, dict]
    images: dict[str, dict]
    sources: dict[str, dict]
    rows: tuple[Row, ...]


def read_table(text: str) -> Table:
    """Read a table.

    :raises ValueError: a case has a key, a client or a project that is none,
        or something is asked for twice.
    """
    content = yaml.safe_load(text)
    rows = []
    for case in content['cases']:
        if case.keys() - _CASE_KEYS or not case.keys() >= {'when', 'then'}:
            raise ValueError(f'{case}: expected the keys {_CASE_KEYS}')
        for who, clients in case['by'].items():
            for client in clients:
                if client not in CLIENTS or who not in CLOUDS:
                    raise ValueError(
                        f'{case["when"]}: found {client} of '
                        f'{who}, expected {CLIENTS} of {CLOUDS}'
                    )
                rows.append(
                    Row(
                        when=case['when'],
                        who=who,
                        client=client,
                        image=case.get('image'),
                        metadata=case.get('metadata', {}),
                        volume_type=case.get('type'),
                        source=case.get('source'),
                        snapshot=case.get('snapshot'),
                        then=case['then'],
                    )
                )
    names = [row.__name__ for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f'twice in the table: {twice}')
    return Table(
        types=content['types'],
        images=content['images'],
        sources=content['sources'],
        rows=tuple(rows),
    )


def tried(table: Table) -> Table:
    """A table with the rows that this run tries."""
    found: list[Row] = []
    by_sdk = {
        (row.when, row.who)
        for row in table.rows
        if row.client == 'openstacksdk'
    }
    for client in CLIENTS:
        rows = [row for row in table.rows if row.client == client]
        if client == 'cinderclient':
            found += [row for row in rows if (row.when, row.who) not in by_sdk]
            rows = [row for row in rows if (row.when, row.who) in by_sdk]
        if client in SHARED_CLIENTS:
            rows = list(tests.share(rows, SHARED_CLIENTS[client]))
        found += rows
    return dataclasses.replace(table, rows=tuple(found))


#: With the names of this run.
TABLE_OF_RUN = tried(
    read_table(
        TABLE.read_text('utf-8').replace(
            _MARK, f'{_MARK}{uuid.uuid4().hex[:8]}-'
        )
    )
)
