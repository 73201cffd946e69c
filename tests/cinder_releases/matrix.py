# SPDX-License-Identifier: Apache-2.0

"""Each supported Cinder on each supported Python, in environments of tox.

For each cell the wheel and the sdist are installed beside Cinder, and what
the base install adds to it is looked at; then cell.py runs the tests. What
came of a cell is a file in the folder of results; --table makes the table of
the documentation of those. tests/run.sh calls this with the Python of
.tox/runner.
"""

import argparse
import contextlib
import csv
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
RUNNER = pathlib.Path(sys.executable).parent
RESULTS = TOP / '.tox' / 'results' / 'cinder-releases'
PYTHONS = ('3.11', '3.12', '3.13', '3.14')
#: Debian forky has it, and not what the oldest Cinder needs: its cells are
#: asked for by name.
ASKED_FOR = '3.14'
#: 'newest' is what PyPI has today, of Cinder and of all that it needs.
RELEASES = ('26', '27', '28', '29', 'newest')
#: The tests of one part that hangs must leave the others their time.
CELL_SECONDS = 3 * 60 * 60
INSTALL_SECONDS = 60 * 60
PACKAGES = 'wheel and sdist'
#: In the order of the table; the tests' are those of cell.py.
PARTS = (
    PACKAGES,
    'unit tests',
    'green threads',
    'native threads',
    'MariaDB',
    'PostgreSQL',
)
HEADER = ['Cinder', 'Python', *PARTS, 'Day']
OURS = 'cinder-tiers'
#: uv asks PyPI only, and downloads no Python of its own.
ENVIRONMENT = {'UV_PYTHON_DOWNLOADS': 'never', 'UV_SYSTEM_CERTS': '1'}
LONGEST_REASON = 300


class CommandError(Exception):
    """A command failed; the message is the end of what it said."""


def run(*command, seconds=INSTALL_SECONDS, **variables):
    """Run a command; its standard output.

    :raises CommandError: it failed, or was not done after so many seconds.
    """
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=TOP,
            env={**os.environ, **ENVIRONMENT, **variables},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as exc:
        raise CommandError(f'not done after {seconds} s: {command}') from exc
    if done.returncode:
        raise CommandError(done.stdout + done.stderr)
    return done.stdout


def name_of(release, python):
    """The tox environment of a cell, such as cinder28-py312."""
    return f'cinder{release}-py{python.replace(".", "")}'


CELLS = {
    name_of(release, python): (release, python)
    for release in RELEASES
    for python in PYTHONS
}


def path_with(python):
    """$PATH, such that pythonX.Y is that version; pyenv may have it.

    A shim of pyenv is on the path for each version, and runs only the chosen
    one.

    :raises CommandError: there is none.
    """
    found = shutil.which(f'python{python}')
    with contextlib.suppress(CommandError):
        if found and run(found, '--version').startswith(f'Python {python}.'):
            return os.environ['PATH']
    root = pathlib.Path(
        os.environ.get('PYENV_ROOT', pathlib.Path.home() / '.pyenv')
    )
    folders = sorted(
        root.glob(f'versions/{python}.*/bin'),
        key=lambda folder: [
            int(number) for number in re.findall(r'\d+', folder.parent.name)
        ],
    )
    if not folders:
        raise CommandError(f'Python {python} is not on this machine')
    return f'{folders[-1]}{os.pathsep}{os.environ["PATH"]}'


def build(folder):
    """Build the sdist of what is committed, and the wheel from it.

    :returns: their paths.
    """
    folder = pathlib.Path(folder)
    # pbr takes the files of the sdist from git, and leaves some beside them.
    run('git', 'clone', '--quiet', '--shared', TOP, folder / 'source')
    dists = folder / 'dists'
    run(
        RUNNER / 'uv',
        'build',
        '-q',
        '-o',
        dists,
        folder / 'source',
        # pbr would read the whole history, for two files that nothing needs.
        SKIP_GENERATE_AUTHORS='1',
        SKIP_WRITE_GIT_CHANGELOG='1',
    )
    [wheel] = dists.glob('*.whl')
    [sdist] = dists.glob('*.tar.gz')
    return wheel, sdist


def pins_of(release):
    """Arguments for uv: the versions of a release, and its Cinder."""
    if release == 'newest':
        return ['cinder']
    return ['-c', HERE / f'cinder-{release}.txt', 'cinder']


def try_packages(release, path, dists):
    """Install wheel and sdist beside a Cinder, each into one of its own.

    :returns: what is to be kept of it.
    """
    failures = []
    for dist in dists:
        with tempfile.TemporaryDirectory() as folder:
            try:
                failures += _try_package(release, path, dist, folder)
            except CommandError as exc:
                failures.append(f'{dist.name}: {reason_of(str(exc))}')
    return {
        'passed': len(dists) - len(failures[: len(dists)]),
        'failed': len(failures),
        'skipped': 0,
        'failures': failures,
    }


def _try_package(release, path, dist, folder):
    """What is wrong with an archive beside a Cinder, a line each."""
    pip = [RUNNER / 'uv', 'pip']
    python = ['--python', folder]
    pins = pins_of(release)
    run(RUNNER / 'uv', 'venv', '--quiet', folder, PATH=path)

    def installed():
        listed = json.loads(run(*pip, 'list', *python, '--format', 'json'))
        return {one['name']: one['version'] for one in listed}

    run(*pip, 'install', '--quiet', *python, *pins)
    before = installed()
    run(*pip, 'install', '--quiet', *python, *pins, dist)
    run(*pip, 'check', *python)
    after = installed()
    changed = {
        f'{name} {before.get(name, "none")} -> {after.get(name, "none")}'
        for name in before.keys() | after.keys()
        if name != OURS and before.get(name) != after.get(name)
    }
    if OURS not in after:
        changed.add(f'{OURS} is not installed')
    return [f'{dist.name}: {one}' for one in sorted(changed)]


def reason_of(output):
    """The lines of an output that say why, as one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if re.search(r'(?i)\berror\b|not done|conflict|requires|because', line)
    ]
    return ' '.join(telling or lines[-3:])[:LONGEST_REASON]


def try_cell(name, dists, is_deep):
    """Install and test one cell; what is to be kept of it.

    :param name: of CELLS
    :param dists: paths of the wheel and of the sdist
    :param is_deep: whether all unit tests are run
    """
    release, python = CELLS[name]
    result = RESULTS / f'{name}.json'
    log = RESULTS / f'{name}.log'
    result.unlink(missing_ok=True)
    found = {'cinder': release, 'python': python, 'parts': {}}
    try:
        path = path_with(python)
    except CommandError as exc:
        return {**found, 'refused': str(exc)}
    found['parts'][PACKAGES] = try_packages(release, path, dists)
    environment = f'{name}-all' if is_deep else name
    # What does not end in time is missed below.
    with (
        log.open('w') as stream,
        contextlib.suppress(subprocess.TimeoutExpired),
    ):
        subprocess.run(
            [
                RUNNER / 'tox',
                'run',
                '-e',
                environment,
                '--installpkg',
                dists[0],
                '--',
                result,
            ],
            cwd=TOP,
            env={**os.environ, **ENVIRONMENT, 'PATH': path},
            stdout=stream,
            stderr=subprocess.STDOUT,
            timeout=CELL_SECONDS,
        )
    if not result.exists():
        return {**found, 'refused': reason_of(log.read_text())}
    parts = found['parts'] | json.loads(result.read_text())['parts']
    found = json.loads(result.read_text()) | {'parts': parts}
    for part in set(PARTS) - parts.keys():
        parts[part] = {
            'passed': 0,
            'failed': 1,
            'skipped': 0,
            'failures': [f'did not end: see {log}'],
        }
    return found


def text_of(name, part):
    """A cell of the table.

    :param name: of PARTS
    :param part: what came of it; None: it did not run
    """
    if part is None:
        return 'not run'
    if 'refused' in part:
        return part['refused']
    if part['failed']:
        return f'{part["failed"]} of {part["passed"] + part["failed"]} failed'
    return 'yes' if name == PACKAGES else str(part['passed'])


def former_rows(file):
    """{cell: its row} of a table that was written before.

    :param file: the table
    :returns: nothing if there is none, or it has other columns or cells
    """
    if not file.exists():
        return {}
    with file.open(newline='') as stream:
        header, *rows = csv.reader(stream)
    if header != HEADER or len(rows) != len(CELLS):
        return {}
    return dict(zip(CELLS, rows, strict=True))


def write_table(file):
    """Make the table of the results that there are; a row for each cell.

    A cell without a result here keeps its row: all of them take longer than
    one machine may be there.
    """
    former = former_rows(file)
    with file.open('w', newline='') as stream:
        writer = csv.writer(stream, lineterminator='\n')
        writer.writerow(HEADER)
        for name, (release, python) in CELLS.items():
            result = RESULTS / f'{name}.json'
            if not result.exists():
                not_run = ['not run'] * (len(PARTS) + 1)
                writer.writerow(former.get(name, [release, python, *not_run]))
                continue
            found = json.loads(result.read_text())
            version = found['cinder']
            if release == 'newest':
                version += ', all as new as on that day'
            refused = found.get('refused')
            parts = [
                text_of(
                    part,
                    found['parts'].get(part)
                    or (refused and {'refused': refused}),
                )
                for part in PARTS
            ]
            writer.writerow([version, found['python'], *parts, found['day']])


def main():
    """Try the cells that are asked for, one after another."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument(
        'cells',
        nargs='*',
        metavar='CELL',
        help=f'of {" ".join(CELLS)}; all but those of Python {ASKED_FOR}'
        ' unless given',
    )
    parser.add_argument(
        '--all', action='store_true', help='all unit tests, not the doors only'
    )
    parser.add_argument(
        '--table',
        type=pathlib.Path,
        metavar='FILE',
        help='try nothing; write what came of the last tries here, and keep'
        ' the rows of other cells',
    )
    arguments = parser.parse_args()
    if arguments.table:
        write_table(arguments.table)
        return
    unknown = set(arguments.cells) - CELLS.keys()
    if unknown:
        parser.error(f'no such cell: {" ".join(sorted(unknown))}')
    RESULTS.mkdir(parents=True, exist_ok=True)
    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    with tempfile.TemporaryDirectory() as folder:
        dists = build(folder)
        for name in arguments.cells or [
            cell for cell, (_, python) in CELLS.items() if python != ASKED_FOR
        ]:
            found = try_cell(name, dists, arguments.all)
            found.setdefault('day', datetime.date.today().isoformat())
            (RESULTS / f'{name}.json').write_text(json.dumps(found, indent=2))
            for part, came in found['parts'].items():
                for key in counts:
                    counts[key] += came.get(key, 0)
                for failure in came.get('failures', ()):
                    print(f'FAILED {name}: {part}: {failure}')
            if 'refused' in found:
                counts['failed'] += 1
                print(f'FAILED {name}: {found["refused"]}')
    print(', '.join(f'{number} {key}' for key, number in counts.items()))
    sys.exit(counts['failed'] > 0)


if __name__ == '__main__':
    main()
