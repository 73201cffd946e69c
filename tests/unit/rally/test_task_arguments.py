# SPDX-License-Identifier: Apache-2.0

"""The guide names the arguments that each ready task file has, and no other.

Rally ignores an argument that a task file does not have: a run of hours then
measures something else than what was asked for, and nobody is told.
"""

import pathlib
import re

import ddt
import jinja2
from jinja2 import meta
import testtools

TOP = pathlib.Path(__file__).resolve().parents[3]
TASKS = {
    path.stem: path
    for path in sorted((TOP / 'rally_scenarios' / 'tasks').glob('*.yaml'))
}
GUIDE = TOP / 'doc' / 'source' / 'user'
_ROW = re.compile(r'(?m)^ {3}\* - (``(?:.|\n {7})+)\n {5}- ((?:.|\n {7})+)')
_NUMBERS = {8: 'eight', 9: 'nine', 10: 'ten', 11: 'eleven', 12: 'twelve'}


def words(text):
    """What is in double backquotes, and is a name."""
    return set(re.findall(r'``([\w-]+)``', text))


def section(page, begin, end):
    """Part of a page, from one text to the next other one."""
    text = (GUIDE / page).read_text('utf-8')
    return text[text.index(begin) :].partition(end)[0]


def documented():
    """{task: names of its arguments}, as the guide has them."""
    found = {name: {'size'} for name in TASKS}
    page = section('tasks.rst', 'Arguments\n====', 'More and more guests')
    [common] = re.findall(
        r'All task files except ``layers`` take ((?:.|\n)*?),\s+as\s',
        page,
    )
    for name in TASKS.keys() - {'layers'}:
        found[name] |= words(common)
    for arguments, files in _ROW.findall(page):
        named = words(files)
        if files.startswith('all but'):
            named = TASKS.keys() - named
        for name in named:
            found[name] |= words(arguments)
    for name, page, begin, end in (
        ('layers', 'tasks.rst', 'Arguments of ``layers``', '.. _papers:'),
        ('quick', 'measure.rst', 'Arguments of the task', 'A task file of'),
    ):
        for arguments, _ in _ROW.findall(section(page, begin, end)):
            found[name] |= words(arguments)
    return found


@ddt.ddt
class TaskArgumentsTestCase(testtools.TestCase):
    @ddt.data(*TASKS)
    def test_the_guide_has_each_and_no_other(self, name):
        tree = jinja2.Environment(autoescape=True).parse(
            TASKS[name].read_text('utf-8')
        )
        self.assertEqual(
            sorted(meta.find_undeclared_variables(tree)),
            sorted(documented()[name]),
        )

    def test_the_guide_counts_the_files(self):
        self.assertIn(
            f'``rally_scenarios/tasks`` has {_NUMBERS[len(TASKS)]} task files',
            (GUIDE / 'tasks.rst').read_text('utf-8'),
        )
