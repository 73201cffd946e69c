# SPDX-License-Identifier: Apache-2.0
"""A profile out of a fio job file that a user wrote.

Only what says how a disk is used is taken over, by a list of options; a guest
runs fio as root, and fio can run programs and write to any path.  What is not
taken over is refused and never passed over: a pattern that lacks an option
would have the name of the user's job and another load.

Dialect: fio 3.33 HOWTO "Job file format", ``init.c`` __parse_jobs_ini and
``parse.c`` (suffixes).  It is fio's own and not Python's configparser's:
options without a value, comments behind ``;`` and ``#`` on any line, a
``[global]`` that holds for what follows it and may come again, values that
name variables or hold sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import re
from typing import Any

from cinder_tiers.domain import errors
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import job_options
from cinder_tiers.figures.profile import profile as named_profile

MAX_BYTES = 64 * 1024
# fio has defaults for some of these, but not those by which we measure: it
# would go through the page cache, and end when the size is done.
_REQUIRED = ('rw', 'size', 'runtime', 'time_based', 'direct')
_SECTION = re.compile(r'\[([^\]]*)\]')
# What str.splitlines ends lines at.
_LINE_END = re.compile('[\r\v\f\x1c-\x1e\x85\u2028\u2029]')


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """An option of a section."""

    line: int
    option: str
    value: str


class _Lines:
    """A job file's sections, and what is wrong with them.

    :ivar jobs: [(line of the section, its name, {option: its setting}), ...]
    :ivar passed_over: {option that changes no load: the line it is first in}
    """

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self.problems: list[errors.Problem] = []
        self.jobs: list[tuple[int, str, dict[str, _Setting]]] = []
        self.passed_over: dict[str, int] = {}
        self._globals: dict[str, _Setting] = {}
        self._current: dict[str, _Setting] | None = None
        # As fio does, which ends a line at a line feed only.
        for number, line in enumerate(text.split('\n'), start=1):
            line = line.removesuffix('\r')
            spoken = re.split('[;#]', line, maxsplit=1)[0]
            # In a comment, what shows as the end of a line hides what follows.
            odd = [
                each
                for each in spoken
                if not each.isprintable() and each != '\t'
            ] + _LINE_END.findall(line)
            if odd:
                self.problem(
                    number,
                    f'the character U+{ord(odd[0]):04X}',
                    'text, blanks and tabs in lines that end with a line'
                    ' feed, as fio reads them',
                    'remove it, or put a line feed in its place',
                )
            elif spoken.strip():
                self._read(number, spoken.strip())

    def problem(
        self, line: int, found: str, expected: str, remedy: str
    ) -> None:
        problem = errors.Problem(
            where=f'{self._file}:{line}',
            found=found,
            expected=expected,
            remedy=remedy,
        )
        # A fault in [global] would be reported again with every job.
        if problem not in self.problems:
            self.problems.append(problem)

    def _read(self, number: int, line: str) -> None:
        section = _SECTION.fullmatch(line)
        if section:
            self._open(number, section[1])
        elif line.split()[0] == 'include':
            self.problem(
                number,
                'include reads another file',
                'one file that says everything',
                'copy what it holds into this file',
            )
        elif self._current is None:
            self.problem(
                number,
                f'{line[:40]!r} is in no section',
                '[global] or the name of a job in brackets',
                'put it into a section',
            )
        else:
            self._set(self._current, number, line)

    def _open(self, number: int, name: str) -> None:
        if name == 'global':
            self._current = self._globals
            return
        if name.startswith('global'):
            # fio compares six characters only.
            self.problem(
                number,
                f'fio takes [{name[:40]}] for [global]',
                '[global] or the name of a job',
                'rename it',
            )
        self._current = dict(self._globals)
        self.jobs.append((number, name, self._current))

    def _set(
        self, settings: dict[str, _Setting], number: int, line: str
    ) -> None:
        option, _equals, value = (part.strip() for part in line.partition('='))
        option = job_options.ALIASES.get(option, option)
        refusal = job_options.refusal(option)
        if refusal:
            self.problem(
                number,
                f'{option[:40]} {refusal}',
                'options that say how a disk is used',
                'remove it',
            )
        elif job_options.PASSED_OVER.fullmatch(option):
            self.passed_over.setdefault(option, number)
        elif re.search(r'\s=|=\s', line):
            self.problem(
                number,
                f'{line[:60]!r} has a blank beside its =',
                'none, fio reads none',
                'remove it',
            )
        elif set(value) & set('$`()"'):
            self.problem(
                number,
                f'{option} has the value {value[:60]!r}',
                'a plain value, no variable, sum or quotes',
                'write the value itself',
            )
        else:
            settings[option] = _Setting(
                line=number, option=option, value=value
            )


def _values(lines: _Lines, settings: dict[str, _Setting]) -> dict[str, Any]:
    found = {}
    for setting in settings.values():
        try:
            found[setting.option] = job_options.read(
                setting.option, setting.value
            )
        except job_options.Unreadable as error:
            lines.problem(
                setting.line,
                f'{setting.option} is {setting.value[:60]!r}',
                str(error),
                'fix it',
            )
    return found


def _pattern(
    lines: _Lines, line: int, name: str, values: dict[str, Any]
) -> fio_pattern.Pattern | None:
    numjobs = values.get('numjobs', 1)
    mix = values.get('rwmixread')
    if 'rwmixwrite' in values:
        mix = 100 - values['rwmixwrite']
    blocks = {
        key: values[key]
        for key in ('bs', 'bssplit', 'bsrange')
        if key in values
    } or {'bs': '4k'}
    # fio calls none in a job that only reads.
    is_writing = values['rw'] not in ('read', 'randread')
    syncs = {
        key: values.get(key) or None
        for key in ('fdatasync', 'fsync', 'sync')
        if is_writing
    }
    try:
        return fio_pattern.Pattern(
            name=name,
            **syncs,
            direct=values['direct'],
            # One in [global] says nothing about jobs that are not random.
            random_distribution=values.get('random_distribution')
            if values['rw'].startswith('rand')
            else None,
            thinktime_us=values.get('thinktime') or None,
            rw=values['rw'],
            iodepth=values.get('iodepth', 1),
            **blocks,
            # A mix in [global] says nothing about jobs that do not mix.
            rwmixread_percent=mix
            if values['rw'] in fio_pattern.MIXES
            else None,
            # fio's defaults on Linux.
            ioengine=values.get('ioengine', 'psync'),
            numjobs=numjobs,
            rate_iops=values.get('rate_iops'),
            rate_kib=values.get('rate'),
            rate_process=values.get('rate_process')
            if {'rate', 'rate_iops'} & values.keys()
            else None,
            # fio's size is of one process, a pattern's of all.
            size_mib=values['size'] * numjobs,
            startdelay_seconds=values.get('startdelay', 0),
            end_fsync=is_writing
            and (
                values.get('end_fsync', False)
                or values.get('fsync_on_close', False)
            ),
        )
    except ValueError as error:
        lines.problem(line, str(error), 'what fio can run', 'fix it')
        return None


def _patterns(
    lines: _Lines,
) -> Iterator[tuple[dict[str, Any], fio_pattern.Pattern]]:
    """(values, pattern) of each job whose options can all be read."""
    for position, (line, name, settings) in enumerate(lines.jobs):
        values = _values(lines, settings)
        missing = [option for option in _REQUIRED if option not in settings]
        if missing:
            lines.problem(
                line,
                f'job {name[:40]!r} has no {", ".join(missing)}',
                f'{", ".join(_REQUIRED)} for every job',
                'add it',
            )
        if {'rwmixread', 'rwmixwrite'} <= settings.keys():
            lines.problem(
                line,
                f'job {name[:40]!r} has rwmixread and rwmixwrite',
                'one of them',
                'remove one',
            )
        if (
            position
            and not {'stonewall', 'wait_for_previous'} & settings.keys()
        ):
            lines.problem(
                line,
                f'job {name[:40]!r} has no stonewall: fio'
                f' would run it beside the job before it',
                'jobs that take turns, as patterns do',
                'add stonewall',
            )
        if set(_REQUIRED) <= values.keys():
            pattern = _pattern(lines, line, name, values)
            if pattern is not None:
                yield values, pattern


def _method(
    lines: _Lines, jobs: list[tuple[dict[str, Any], fio_pattern.Pattern]]
) -> fio_pattern.Profile | None:
    shared = {}
    for option in ('runtime', 'ramp_time'):
        times = sorted({values.get(option, 0) for values, _ in jobs})
        if len(times) > 1:
            lines.problem(
                1,
                f'{option} is {", ".join(map(str, times))} s in'
                f' different jobs',
                'the same for all jobs of a profile',
                'put it into [global], or make two files',
            )
        shared[option] = times[0]
    try:
        return fio_pattern.Profile(
            region_mib=max(
                pattern.size_mib for _, pattern in jobs if pattern.size_mib
            ),
            runtime_seconds=shared['runtime'],
            ramp_seconds=shared['ramp_time'],
        )
    except ValueError as error:
        lines.problem(1, str(error), 'what fio can run', 'fix it')
        return None


def profile(
    text: str, *, name: str, file: str, repeats: int = 1
) -> named_profile.NamedProfile:
    """Read a job file: each of its jobs becomes a pattern.

    :param file: name of the file in messages and in the profile's source
    :param repeats: number of repeats, which a job file does not contain
    :raises cinder_tiers.domain.errors.ProblemsFound: the file cannot be used
        unchanged; all problems, each with its line
    """
    if len(text) > MAX_BYTES:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=file,
                    found=f'{len(text)} characters',
                    expected=f'at most {MAX_BYTES}',
                    remedy='make it shorter',
                )
            ]
        )
    lines = _Lines(text, file)
    jobs = list(_patterns(lines))
    if not lines.jobs:
        lines.problem(1, 'no job', 'a section other than [global]', 'add one')
    method = _method(lines, jobs) if jobs and not lines.problems else None
    if method is not None and not lines.problems:
        try:
            return named_profile.NamedProfile(
                name=name,
                method=method,
                repeats=repeats,
                source=named_profile.Source(paper=file, where='the file'),
                patterns=tuple(pattern for _, pattern in jobs),
                assumptions=tuple(
                    f'{file}:{line}: {option} is passed over: it does not '
                    'change what is read and written'
                    for option, line in lines.passed_over.items()
                ),
            )
        except ValueError as error:
            lines.problem(1, str(error), 'what fio can run', 'fix it')
    raise errors.ProblemsFound(lines.problems)
