# SPDX-License-Identifier: Apache-2.0

"""The tests that meet Cinder, in the environment of one release and Python.

matrix.py runs it there, through tox. Prints how each part of the tests went,
and writes that as JSON; its exit status says whether all of it passed.
"""

import argparse
import collections
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys

import database_servers

TESTS = pathlib.Path(__file__).resolve().parents[1]
#: What meets Cinder's own code. Each of these folders alone is searched for
#: tests: others import what the package does not install beside Cinder.
DOORS = ('unit/api', 'unit/doors', 'unit/scheduler', 'unit/status')
#: What reads and writes Cinder's database, by Cinder's functions and by
#: cinder_tiers.doors.volume_types.volume_type_rows.
QUERIES = (
    r'^tests\.unit\.(doors\.test_(applied_tiers|backend_zones|named_types)'
    r'|api\.test_(bypasses|creates|groups|restores|retypes|sources|transfers)'
    r'|scheduler\.test_(filter|guard|zones)|status\.)'
)
NO_TEST = 'no test ran: see the log'
NATIVE = {'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1'}
#: Each database that is tried.
SERVERS = {
    'MariaDB': database_servers.mariadb,
    'PostgreSQL': database_servers.postgresql,
}
#: What tests/tally.py counts, in its order.
COUNTED = ('passed', 'failed', 'skipped')
#: Of tests.tally: what the last lines of a log say of a failure.
MOST_LINES = 40


def run(command, **variables):
    """Run a command here; its exit status."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=TESTS.parent,
        env={**os.environ, **variables},
    ).returncode


def tally(what, repository, mark):
    """What tests/tally.py says of the tests since a run."""
    return subprocess.run(
        [sys.executable, str(TESTS / 'tally.py'), what, repository, *mark],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


class Cell:
    """One release of Cinder on one Python."""

    def __init__(self, name, folder, result, is_deep):
        """Nothing has run yet.

        :param name: of the tox environment
        :param folder: of the tox environment
        :param result: file that gets what came of each part, when it ended
        :param is_deep: whether all that the doors import is tested too
        """
        self.name = name
        self.folder = pathlib.Path(folder)
        self._result = result
        self._unit = ('unit',) if is_deep else DOORS
        self.found = {
            'cinder': importlib.metadata.version('cinder'),
            'python': platform.python_version(),
            'day': datetime.date.today().isoformat(),
            'parts': {},
        }

    def stestr(self, part, paths, *arguments, top='.', after=(), **variables):
        """Run tests, and keep how many passed.

        :param part: of the result
        :param paths: folders of the tests, below tests/
        :param top: folder from which they are imported
        :param after: a program that must succeed after those of a folder
        :param variables: of their environment
        """
        print(f'== {self.name}: {part}', flush=True)
        counts = collections.Counter()
        failures = []
        for path in paths:
            repository = str(
                self.folder / part.replace(' ', '-').lower() / path
            )
            os.makedirs(repository, exist_ok=True)
            before = tally('latest', repository, ())
            run(
                [
                    '-m',
                    'stestr',
                    '--repo-url',
                    repository,
                    '--test-path',
                    f'./tests/{path}',
                    '--top-dir',
                    top,
                    'run',
                    '--concurrency',
                    '2',
                    *arguments,
                ],
                **variables,
            )
            ran = tally('counts', repository, (before,)).split()
            counts.update(dict(zip(COUNTED, map(int, ran), strict=True)))
            found = tally('failures', repository, (before,)).splitlines()
            failures += found
            if before == tally('latest', repository, ()):
                counts['failed'] += 1
                failures.append(f'tests/{path}: {NO_TEST}')
            elif after and run([*after, repository], **variables):
                counts['failed'] += 1
                failures.append(f'{after[0].name}: see the log')
        self.keep(part, *(counts[what] for what in COUNTED), failures)

    def keep(self, part, passed, failed, skipped, failures):
        """Keep how a part went; a part without a test has failed."""
        if passed + failed == 0:
            failed = 1
            failures = [*failures, NO_TEST]
        self.found['parts'][part] = {
            'passed': passed,
            'failed': failed,
            'skipped': skipped,
            'failures': failures,
        }
        self._write()
        print(
            f'== {self.name}: {part}: {passed} passed, {failed} failed, '
            f'{skipped} skipped',
            *failures,
            sep='\n',
            flush=True,
        )

    def refuse(self, part, reason):
        """Keep why a part cannot be."""
        self.found['parts'][part] = {'refused': reason}
        self._write()
        print(f'== {self.name}: {part}: {reason}', flush=True)

    def _write(self):
        self._result.write_text(json.dumps(self.found, indent=2))

    def test_unit(self):
        """Our unit tests."""
        self.stestr('unit tests', self._unit, **NATIVE)

    def test_cinders_own(self):
        """Cinder's scheduler tests, by each kind of threads."""
        after = [TESTS / 'cinder_own' / 'took_part.py']
        # The wheel is tested, and not what is in the tree.
        own = {'PYTHONSAFEPATH': '1', 'OS_DEBUG': '1'}
        self.stestr(
            'green threads',
            ['cinder_own'],
            top='./tests/cinder_own',
            after=after,
            **own,
        )
        if importlib.util.find_spec('cinder.monkey_patch') is None:
            self.refuse('native threads', 'not in this Cinder')
            return
        self.stestr(
            'native threads',
            ['cinder_own'],
            top='./tests/cinder_own',
            after=after,
            **own,
            **NATIVE,
        )

    def test_databases(self):
        """Our queries, on each database server."""
        for part, server in SERVERS.items():
            with contextlib.ExitStack() as stack:
                try:
                    url = stack.enter_context(server())
                except database_servers.ServerError as exc:
                    self.keep(part, 0, 1, 0, [str(exc)])
                    continue
                self.stestr(
                    part,
                    DOORS,
                    QUERIES,
                    **NATIVE,
                    CINDER_TIERS_TEST_DATABASE=url,
                )


def main():
    """Run all parts, and write what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('name', help='of the tox environment')
    parser.add_argument('folder', help='of the tox environment')
    parser.add_argument('result', type=pathlib.Path, help='file to write')
    parser.add_argument(
        '--all', action='store_true', help='all unit tests, not the doors only'
    )
    arguments = parser.parse_args()
    cell = Cell(
        arguments.name, arguments.folder, arguments.result, arguments.all
    )
    cell.test_cinders_own()
    cell.test_unit()
    cell.test_databases()
    sys.exit(any(part.get('failed') for part in cell.found['parts'].values()))


if __name__ == '__main__':
    main()
