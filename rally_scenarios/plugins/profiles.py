# SPDX-License-Identifier: Apache-2.0
"""Patterns that a task requests, and checks whether they are available.

A task names one of the profiles in ``rally_scenarios/profiles``, or a job file
of its own, or lists patterns.  Files are read here and judged in ``figures``;
the validator has Rally refuse a task before anything is created.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from importlib import resources
from importlib.resources import abc
import os
import pathlib
import re
from typing import Any

import yaml

from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling
from cinder_tiers.figures.fio import load_step
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import job_file
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.profile import yaml_profile

# Of a task that lists its patterns and says no more.
_DEFAULTS = {'region_mib': 32, 'ramp_seconds': 5, 'runtime_seconds': 6}
_METHOD_ARGUMENTS = (*_DEFAULTS, 'ioengine')
_SOURCES = ('patterns', 'profile', 'job_file')
# Those of a task that ``chosen`` takes.
ARGUMENTS = (
    *_SOURCES,
    'profile_size',
    'repeats',
    'load_steps',
    *_METHOD_ARGUMENTS,
)


def _folder() -> abc.Traversable:
    return resources.files('rally_scenarios').joinpath('profiles')


def names() -> tuple[str, ...]:
    """Names of the profiles that come with the project."""
    return tuple(
        sorted(
            file.name.removesuffix('.yaml')
            for file in _folder().iterdir()
            if file.name.endswith('.yaml')
        )
    )


def _one_problem(
    where: str, found: str, expected: str, remedy: str
) -> errors.ProblemsFound:
    return errors.ProblemsFound(
        [
            errors.Problem(
                where=where, found=found, expected=expected, remedy=remedy
            )
        ]
    )


def named(name: str) -> named_profile.NamedProfile:
    """Return one of the project's profiles, at size ``paper``.

    :param name: one of ``names()``
    :raises cinder_tiers.domain.errors.ProblemsFound: there is no profile with
        this name
    """
    known = names()
    if name not in known:
        raise _one_problem(
            f'profile {name[:60]!r}',
            'there is none of that name',
            f'one of {", ".join(known)}',
            f'{spelling.did_you_mean(name, known)}name one of them',
        )
    file = f'{name}.yaml'
    return yaml_profile.profile(
        yaml.safe_load(_folder().joinpath(file).read_text('utf-8')), file=file
    )


def from_job_file(path: str) -> named_profile.NamedProfile:
    """Return the profile that a job file describes, at size ``paper``.

    :param path: path on the host of Rally; ``~`` is the home of the user of
        Rally
    :raises cinder_tiers.domain.errors.ProblemsFound: the file cannot be read,
        or cannot be used unchanged
    """
    file = pathlib.Path(os.path.expanduser(path))
    try:
        with file.open('rb') as opened:
            text = opened.read(job_file.MAX_BYTES + 1).decode('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise _one_problem(
            f'job_file {path!r}',
            f'cannot read it: {error}',
            'a fio job file',
            'name another file',
        ) from error
    name = re.sub('[^a-z0-9.-]', '-', file.stem.lower())[:40]
    return job_file.profile(text, name=name, file=path)


def _of_patterns(
    patterns: Sequence[Mapping[str, Any]],
    *,
    size: str | None,
    repeats: int | None,
    method: Mapping[str, Any],
) -> named_profile.NamedProfile:
    if size is not None:
        raise _one_problem(
            'profile_size',
            f'{size} given with patterns',
            'profile or job_file with it',
            'remove it',
        )
    return named_profile.NamedProfile(
        name='patterns',
        repeats=repeats or 1,
        patterns=tuple(fio_pattern.Pattern(**each) for each in patterns),
        method=fio_pattern.Profile(**{**_DEFAULTS, **method}),
        source=named_profile.LISTED_BY_TASK,
    )


def chosen(
    *,
    patterns: Sequence[Mapping[str, Any]] | None = None,
    profile: str | None = None,
    job_file: str | None = None,
    profile_size: str | None = None,
    repeats: int | None = None,
    load_steps: Sequence[int] | None = None,
    **method: int | str | None,
) -> named_profile.NamedProfile:
    """Return the profile that a task's arguments request; None: not given.

    :param load_steps: see ``load_step.paced``; each pattern runs at each step
    :param method: region_mib, ramp_seconds, runtime_seconds and ioengine
    :raises cinder_tiers.domain.errors.ProblemsFound: not exactly one of
        patterns, profile and job_file is given, or it is not available
    :raises ValueError: the values do not fit each other
    """
    sources = dict(zip(_SOURCES, (patterns, profile, job_file), strict=True))
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        raise _one_problem(
            'arguments',
            f'{" and ".join(given) or "nothing"} given',
            f'one of {", ".join(_SOURCES)}',
            'give one of them',
        )
    method = {
        name: value for name, value in method.items() if value is not None
    }
    if patterns is not None:
        found = _of_patterns(
            patterns, size=profile_size, repeats=repeats, method=method
        )
    else:
        found = (
            named(profile) if profile is not None else from_job_file(job_file)
        )
        size = named_profile.ProfileSize(profile_size or 'paper')
        found = named_profile.changed(
            named_profile.at_size(found, size), repeats=repeats, **method
        )
    if load_steps is not None:
        found = dataclasses.replace(
            found, patterns=load_step.paced(found.patterns, load_steps)
        )
    wrong = list(fio_pattern.ramp_problems(found.patterns, found.method))
    if wrong:
        raise ValueError('; '.join(wrong))
    return found


def from_task(arguments: Mapping[str, Any]) -> named_profile.NamedProfile:
    """Return the profile requested by a task that Rally has not read yet.

    :param arguments: arguments of the scenario in the task
    :raises cinder_tiers.domain.errors.ProblemsFound: see ``chosen``
    :raises ValueError: see ``chosen``
    """
    return chosen(**{name: arguments.get(name) for name in ARGUMENTS})
