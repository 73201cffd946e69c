# SPDX-License-Identifier: Apache-2.0

"""An empty database of Cinder: an sqlite file, or one of a real server.

CINDER_TIERS_TEST_DATABASE is the URL of the server, of a user who may create
databases and switch foreign keys off. Each process of a test run makes one
there, and empties it before each test.
"""

import contextlib
import functools
import os
import pathlib
import sqlite3
import tempfile
import unittest

from cinder import objects
import fixtures
import sqlalchemy

from tests.worlds import folded_names

# As in cinder_fixture.py.
objects.register_all()

from cinder.db import migration  # noqa: E402

VARIABLE = 'CINDER_TIERS_TEST_DATABASE'
#: Above what any test waits for.
LOCK_SECONDS = 60
#: Rows are put back in any order.
FOREIGN_KEYS_OFF = {
    'mysql': 'SET foreign_key_checks = 0',
    'postgresql': 'SET session_replication_role = replica',
}


@functools.cache
def sqlite_content() -> bytes:
    """A database as `cinder-manage db sync` leaves it: an sqlite file."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'cinder.sqlite')
        engine = sqlalchemy.create_engine(f'sqlite:///{file}')
        migration.db_sync(engine=engine)
        engine.dispose()
        return file.read_bytes()


def no_sync(connection, _record):
    """Let commits not wait for the disk: no test survives the machine."""
    connection.execute('PRAGMA synchronous = OFF')


class ServerDatabase:
    """The database of this process on a server."""

    def __init__(self, server: sqlalchemy.URL):
        """Make it, as `cinder-manage db sync` does.

        :param server: names a database only if its kind needs one to connect.
        """
        name = f'cinder_{os.getpid()}'
        engine = sqlalchemy.create_engine(server, isolation_level='AUTOCOMMIT')
        # As DevStack and the lab make it; PostgreSQL's default is the same.
        charset = ' CHARACTER SET utf8' if engine.name == 'mysql' else ''
        with engine.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE {name}{charset}')
        engine.dispose()
        self.url = server.set(database=name)
        engine = sqlalchemy.create_engine(self.url)
        migration.db_sync(engine=engine)
        self._tables = sqlalchemy.MetaData()
        self._tables.reflect(engine)
        engine.dispose()
        self._rows = self.rows()

    def rows(self) -> dict[sqlalchemy.Table, list[dict]]:
        """What is in each table."""
        engine = sqlalchemy.create_engine(self.url)
        with engine.connect() as connection:
            found = {
                table: [
                    dict(row)
                    for row in connection.execute(table.select()).mappings()
                ]
                for table in self._tables.tables.values()
            }
        engine.dispose()
        return found

    def fill(self, rows: dict[sqlalchemy.Table, list[dict]] | None) -> None:
        """Have nothing but these, or what it had at first."""
        engine = sqlalchemy.create_engine(self.url)
        with engine.begin() as connection:
            connection.exec_driver_sql(FOREIGN_KEYS_OFF[engine.name])
            self._restore_tables(connection)
            for table, values in (rows or self._rows).items():
                connection.execute(table.delete())
                if values:
                    connection.execute(table.insert(), values)
        engine.dispose()

    def _restore_tables(self, connection) -> None:
        """Have the tables that it had at first: tests drop or rename some."""
        quote = connection.dialect.identifier_preparer.quote
        names = set(sqlalchemy.inspect(connection).get_table_names())
        for name in names - self._tables.tables.keys():
            connection.exec_driver_sql(f'DROP TABLE {quote(name)} CASCADE')
        missing = self._tables.tables.keys() - names
        self._tables.create_all(
            connection,
            [self._tables.tables[name] for name in missing],
            checkfirst=False,
        )


@functools.cache
def server_database() -> ServerDatabase:
    """The one of this process."""
    return ServerDatabase(sqlalchemy.make_url(os.environ[VARIABLE]))


#: {name of a dialect: it, and the statements that were compiled for it}.
_COMPILED = {}


def create_engine(url, **options) -> sqlalchemy.Engine:
    """An engine that shares compiled statements with others of this process.

    SQLAlchemy has them by engine and dialect, and each test has an engine of
    its own: nearly half the time of the tests of the API went into compiling
    again what the test before had compiled.

    :param url: of a database; all of one dialect are of one server.
    :param options: of SQLAlchemy's function of this name.
    """
    made = sqlalchemy.create_engine(url, **options)
    if made.dialect.name not in _COMPILED:
        # The first connection tells it the version of the server.
        made.connect().close()
        made.dispose()
        _COMPILED[made.dialect.name] = made.dialect, {}
    made.dialect, compiled = _COMPILED[made.dialect.name]
    made.update_execution_options(compiled_cache=compiled)
    return made


class Database(fixtures.Fixture):
    """Cinder's: its `url`, and an `engine` of SQLAlchemy."""

    def __init__(self, content=None):
        """Not there yet.

        :param content: what another one had, as of `content`; None: it is
            empty
        """
        super().__init__()
        self._content = content

    def content(self):
        """What is in it now, for another one of this process."""
        if VARIABLE in os.environ:
            return server_database().rows()
        path = self.engine.url.database
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return connection.serialize()

    def _setUp(self):
        if VARIABLE in os.environ:
            made = server_database()
            made.fill(self._content)
            self.url = made.url.render_as_string(hide_password=False)
            self.engine = create_engine(self.url, pool_size=0)
        else:
            file = pathlib.Path(
                self.useFixture(fixtures.TempDir()).path, 'cinder.sqlite'
            )
            file.write_bytes(self._content or sqlite_content())
            self.url = f'sqlite:///{file}'
            # As many threads as a test has may write at one time, on a
            # machine that is as slow as it is: the defaults give up after 5 s
            # without the lock of the file, and after 30 s without one of 15
            # connections.
            self.engine = create_engine(
                self.url,
                connect_args={'timeout': LOCK_SECONDS},
                pool_size=0,
            )
            sqlalchemy.event.listen(self.engine, 'connect', no_sync)
        self.addCleanup(self.engine.dispose)


def fold_names(engine):
    """Have the database compare what names types as MariaDB does.

    Without case, and without blanks at the end: names and ids of types, and
    keys of their extra specs and of QoS specs.

    :raises unittest.SkipTest: it is PostgreSQL, which does not.
    """
    if engine.name == 'mysql':
        return
    if engine.name == 'postgresql':
        raise unittest.SkipTest('PostgreSQL compares them exactly.')
    folded_names.fold(engine)
