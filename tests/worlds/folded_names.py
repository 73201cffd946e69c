# SPDX-License-Identifier: Apache-2.0

"""Lets Cinder's database in sqlite compare names as MariaDB does."""

import sqlalchemy

#: {table: its columns that change, as sqlite has them}.
COLUMNS = {
    'volume_types': ('name VARCHAR(255)', 'id VARCHAR(36)'),
    'volume_type_extra_specs': ('"key" VARCHAR(255)',),
    'quality_of_service_specs': ('"key" VARCHAR(255)',),
}


def fold(engine):
    """Without case, and without blanks at the end."""
    with engine.begin() as connection:
        execute = connection.exec_driver_sql
        execute('PRAGMA writable_schema=ON')
        for table, columns in COLUMNS.items():
            text = execute(
                'SELECT sql FROM sqlite_master WHERE name = ?', (table,)
            ).scalar()
            for column in columns:
                if column not in text:
                    raise ValueError(f'{table} has no {column}')
                text = text.replace(column, f'{column} COLLATE folded', 1)
            execute(
                'UPDATE sqlite_master SET sql = ? WHERE name = ?',
                (text, table),
            )
        execute('PRAGMA writable_schema=RESET')
    engine.dispose()

    @sqlalchemy.event.listens_for(engine, 'connect')
    def connected(connection, record):
        connection.create_collation('folded', compare)

    with engine.begin() as connection:
        for table in COLUMNS:
            connection.exec_driver_sql(f'REINDEX {table}')


#: Letters that utf8mb3_general_ci takes for another, and Unicode does not.
OTHERS = str.maketrans('ß\N{LATIN SMALL LETTER DOTLESS I}', 'si')


def compare(one, other):
    """Compare as MariaDB does."""
    one, other = (
        text.rstrip(' ').translate(OTHERS).casefold() for text in (one, other)
    )
    return (one > other) - (one < other)
