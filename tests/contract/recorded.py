# SPDX-License-Identifier: Apache-2.0

"""What real clusters answered, kept for tests that have no cluster.

`Recorder` stands in front of a session, `Replay` in its place.
"""

import collections.abc
import dataclasses
import json
import platform

from cinder_tiers.clients import ceph as ceph_session


def request(method, *arguments, **named):
    """A request to a session as one line, the same for the same request."""
    words = [method, *map(str, arguments)]
    words += [f'{name}={value}' for name, value in sorted(named.items())]
    return ' '.join(words)


def reduced(line, answer):
    """An answer without secrets, and without what nobody reads of it."""
    if line.startswith('command auth get '):
        return [{**one, 'key': ''} for one in answer]
    if line == 'command osd metadata':
        # What is of the machine, and not of its OSDs.
        return [
            {
                name: value
                for name, value in one.items()
                if not name.startswith(('cpu', 'distro', 'kernel', 'mem'))
            }
            for one in answer
        ]
    if line == 'command get_command_descriptions':
        # Without the arguments and the help, which are 600 KB.
        return {
            name: {'sig': [word for word in one['sig'] if str(word) == word]}
            for name, one in answer.items()
        }
    return answer


def lines(value, depth):
    """JSON with line breaks in so many levels of objects."""
    if not depth or not isinstance(value, dict) or not value:
        return json.dumps(value)
    return (
        '{\n'
        + ',\n'.join(
            f'{json.dumps(name)}: {lines(one, depth - 1)}'
            for name, one in value.items()
        )
        + '\n}'
    )


def write(path, *, version, answers, lab):
    """Keep the answers of a cluster.

    :param answers: {phase: {request: answer}}; of a phase, what the phase
        before it answered as well is left out.
    :param lab: the folder of the cluster, which tells of the machine.
    """
    shorter, before = {}, {}
    for phase, told in answers.items():
        shorter[phase] = {
            line: answer
            for line, answer in told.items()
            if before.get(line) != answer
        }
        before |= told
    # An answer in a line, so that one that changed can be seen.
    text = lines({'ceph': version, 'answers': shorter}, depth=3)
    text = text.replace(lab, '/var/lib/cinder-tiers-lab').replace(
        f'"{platform.node()}"', '"lab"'
    )
    path.write_text(text + '\n')


def read(path):
    """{phase: {request: answer}} of a file that `write` made."""
    phases, before = {}, {}
    for phase, told in json.loads(path.read_text('utf-8'))['answers'].items():
        before = before | told
        phases[phase] = before
    return phases


class Recorder:
    """A session that keeps what was answered.

    :param session: with a cluster.
    """

    def __init__(self, session):
        self._session = session
        self.cluster = session.cluster
        #: {request: answer}.
        self.answers = {}
        #: The requests, each without its arguments but the first.
        self.asked = set()

    def __getattr__(self, method):
        """What asks the session."""

        def ask(*arguments, **named):
            line = request(method, *arguments, **named)
            self.asked.add(request(method, *arguments[:1]))
            try:
                answer = getattr(self._session, method)(*arguments, **named)
            except ceph_session.CephRefused as error:
                self.answers[line] = {
                    'errno': error.errno,
                    'said': str(error),
                }
                raise
            if isinstance(answer, collections.abc.Iterator):
                answer = list(answer)
            self.answers[line] = {'answer': reduced(line, answer)}
            return answer

        return ask


class Replay:
    """A session that gives recorded answers.

    :param answers: {request: answer} of a `Recorder`.
    :param cluster: as the catalog declares it.
    """

    def __init__(self, answers, *, cluster):
        self._answers = answers
        self.cluster = cluster

    def __getattr__(self, method):
        """What asks the session."""

        def ask(*arguments, **named):
            line = request(method, *arguments, **named)
            if line not in self._answers:
                raise LookupError(
                    f'nothing was recorded of {line!r}; if it is a new '
                    'request, record again: see tests/contract/'
                    'test_real_recording.py'
                )
            found = self._answers[line]
            if 'errno' in found:
                raise ceph_session.CephRefused(
                    found['said'], errno=found['errno']
                )
            return found['answer']

        return ask


def plain(value, like=None):
    """A value of the domain as JSON has it.

    :param like: what was plain before; then fields that are newer are left
        out, so that a new field is not a difference.
    """
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(
                getattr(value, field.name),
                None if like is None else like[field.name],
            )
            for field in dataclasses.fields(value)
            if like is None or field.name in like
        }
    if isinstance(value, collections.abc.Mapping):
        return {
            str(name): plain(one, like.get(str(name)) if like else None)
            for name, one in sorted(value.items(), key=str)
        }
    if isinstance(value, collections.abc.Set):
        return sorted(value)
    if isinstance(value, list | tuple):
        before = (
            like if like and len(like) == len(value) else [None] * len(value)
        )
        return [
            plain(one, old) for one, old in zip(value, before, strict=True)
        ]
    return value
