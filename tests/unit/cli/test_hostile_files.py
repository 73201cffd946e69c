# SPDX-License-Identifier: Apache-2.0

"""Texts of files cannot steer a terminal, a CI system, a spreadsheet, a shell.

Each text and key of a result is a payload, as far as its reader takes that.
"""

import copy
import csv
import io
import json
import os
import tempfile

import ddt
import testtools

from cinder_tiers.cli.render import cells
from cinder_tiers.domain import record
from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.loop.report import runs

PAYLOAD = (
    "=cmd|' /C calc'!A0 \x1b[2J\u202e##vso[task.setvariable]x\r\n"
    '::error file=a::b\n  ::stop-commands::c\n##[error]d\u2028'
)
PROGRAMS = ('table', 'csv', 'value', 'json', 'yaml')


def places(value, path=()):
    """(path, whether it is a key) of each text of a document, by its shape."""
    if isinstance(value, str):
        yield path, False
    elif isinstance(value, dict):
        for key, found in value.items():
            yield (*path, key), True
            yield from places(found, (*path, key))
    elif isinstance(value, list):
        for number, found in enumerate(value[:1]):
            yield from places(found, (*path, number))


def with_payload(document, path, *, is_key, number):
    """A copy of a document with a payload of its own in one place."""
    changed = copy.deepcopy(document)
    where = changed
    for step in path[:-1]:
        where = where[step]
    payload = f'{PAYLOAD}#{number}'
    if is_key:
        where[payload] = where.pop(path[-1])
    else:
        where[path[-1]] = payload
    return changed


def hostile_result():
    """A result with payloads in all places that its reader takes."""
    found = json.loads(
        json.dumps(
            record.plain(runs.run(patterns=1, repeats=2, guests=1, seconds=3))
        )
    )
    taken = 0
    for number, (path, is_key) in enumerate([*places(found)]):
        try:
            changed = with_payload(found, path, is_key=is_key, number=number)
            run_result.read(json.dumps(changed), has_times=False)
        except (KeyError, TypeError, ValueError):
            continue
        found = changed
        taken += 1
    return found, taken


class Harmless:
    """What must be true of each output."""

    def assert_harmless(self, ran, form=''):
        self.assertNotIn('Traceback', ran.stderr)
        for text in (ran.stdout, ran.stderr):
            self.assertNotIn('##vso[', text)
            self.assertNotIn('##[', text)
            for line in text.split('\n'):
                self.assertTrue(line.isprintable(), repr(line))
                self.assertNotRegex(line, r'^\s*(::[a-z-]+[ :]|##)')
        if form == 'csv':
            for row in csv.reader(io.StringIO(ran.stdout), escapechar='\\'):
                for cell in row:
                    self.assertEqual(cell, cells.inert(cell))


@ddt.ddt
class ResultsTestCase(Harmless, testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        document, cls.taken = hostile_result()
        cls.hostile = cls.keep('hostile.json', document)
        cls.other = cls.keep(
            'other.json', {**document, 'run': f'{document["run"]}x'}
        )
        cls.unreadable = cls.keep('unreadable.json', {PAYLOAD: PAYLOAD})

    @classmethod
    def keep(cls, name, document):
        path = os.path.join(cls.folder, name)
        with open(path, 'w', encoding='utf-8') as stream:
            json.dump(document, stream)
        return path

    def test_many_places_are_tried(self):
        self.assertGreater(self.taken, 25)

    @ddt.data(*PROGRAMS)
    def test_results_of_two_runs(self, form):
        for command in ('compare', 'trend'):
            ran = shell.openstack(
                'tier', command, self.hostile, self.other, '-f', form
            )
            self.assert_harmless(ran, form)

    @ddt.data('table', 'csv')
    def test_a_result(self, form):
        ran = shell.openstack('tier', 'repeats', self.hostile, '-f', form)
        self.assert_harmless(ran, form)

    def test_junit(self):
        path = os.path.join(self.folder, 'junit.xml')
        shell.openstack(
            *('tier', 'compare', self.hostile, self.other, '--junit', path)
        )
        with open(path, encoding='utf-8') as stream:
            text = stream.read()
        self.assert_harmless(shell.Ran(status=0, stdout=text, stderr=''))

    @ddt.data(
        ('compare', '{0}', '{0}'),
        ('compare', '{0}', '{1}'),
        ('trend', '{0}', '{1}'),
        ('repeats', '{0}'),
        ('effects', '{0}'),
        ('response', '{0}'),
        ('report', '{0}', '-o', '{2}'),
        ('recommend', '--volumes', '{0}'),
        ('validate', '{0}'),
        ('validate', '{0}', '-f', 'lint'),
        ('apply', '{0}'),
        ('sweep', '{0}', '--dry-run'),
    )
    def test_what_cannot_be_read(self, words):
        ran = shell.openstack(
            'tier',
            *(
                word.format(
                    self.unreadable,
                    self.hostile,
                    os.path.join(self.folder, 'page.html'),
                )
                for word in words
            ),
        )
        self.assertNotEqual(0, ran.status)
        self.assert_harmless(ran)

    def test_copies_of_a_run(self):
        with open(self.hostile, encoding='utf-8') as stream:
            copy_of = self.keep('copy.json', json.load(stream))
        ran = shell.openstack('tier', 'trend', self.hostile, copy_of)
        self.assertEqual(1, ran.status)
        self.assertIn('are results of the same run', ran.stderr)
        self.assert_harmless(ran)
