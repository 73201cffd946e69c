# SPDX-License-Identifier: Apache-2.0

"""The guide names the arguments that each ready task file has, and no other.

Rally ignores an argument that a task file does not have: a run of hours then
measures something else than what was asked for, and nobody is told.
"""

import math
import pathlib
import re

import ddt
import jinja2
from jinja2 import meta
import testtools

from tests.unit.rally import test_tasks

TOP = pathlib.Path(__file__).resolve().parents[3]
TASKS = {
    path.stem: path
    for path in sorted((TOP / 'rally_scenarios' / 'tasks').glob('*.yaml'))
}
GUIDE = TOP / 'doc' / 'source' / 'user'
_ROW = re.compile(r'(?m)^ {3}\* - (``(?:.|\n {7})+)\n {5}- ((?:.|\n {7})+)')
_BOOLEANS = {
    'check_claims',
    'check_placement',
    'drop_caches',
    'member',
    'reads',
    'side_by_side',
    'spread',
}
# All others take no text, or only some.
_TEXTS = {
    'archive_image',
    'catalog',
    'ceph_conf',
    'ceph_user',
    'cost_from',
    'database_image',
    'flavor',
    'general_image',
    'host',
    'image',
    'image_pool',
    'pool',
    'result_folder',
    'start_volume_backend',
    'start_volume_type',
    'tier',
}
_NUMBERS = {8: 'eight', 9: 'nine', 10: 'ten', 11: 'eleven', 12: 'twelve'}


def words(text):
    """What is in double backquotes, and is a name."""
    return set(re.findall(r'``([\w-]+)``', text))


def section(page, begin, end):
    """Part of a page, from one text to the next other one."""
    text = (GUIDE / page).read_text('utf-8')
    return text[text.index(begin) :].partition(end)[0]


def taken(name):
    """Names of the arguments that a task file has."""
    return meta.find_undeclared_variables(
        jinja2.Environment(autoescape=True).parse(
            TASKS[name].read_text('utf-8')
        )
    )


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
        self.assertEqual(sorted(taken(name)), sorted(documented()[name]))

    def test_the_guide_counts_the_files(self):
        self.assertIn(
            f'``rally_scenarios/tasks`` has {_NUMBERS[len(TASKS)]} task files',
            (GUIDE / 'tasks.rst').read_text('utf-8'),
        )

    @ddt.data(*TASKS)
    def test_each_of_the_wrong_kind_is_refused_by_name(self, name):
        for value, taking in (
            (None, set()),
            ([[]], set()),
            (math.nan, set()),
            (-1, set()),
            (True, _BOOLEANS),
            ('false', _TEXTS),
            ('big', _TEXTS),
        ):
            wrong = taken(name) - taking
            error = self.assertRaises(
                KeyError,
                test_tasks.render,
                TASKS[name],
                **dict.fromkeys(wrong, value),
            )
            self.assertEqual(
                wrong,
                set(
                    re.findall(
                        rf'task argument (\w+): found {re.escape(repr(value))}'
                        ', expected [^;]+',
                        error.args[0],
                    )
                ),
            )

    def test_all_that_is_wrong_is_told_at_once(self):
        error = self.assertRaises(
            KeyError,
            test_tasks.render,
            TASKS['lin2013'],
            size='big',
            member='false',
            parts=['iodepths'],
            guest_steps=[1, 2.5],
        )
        self.assertEqual(
            "task argument member: found 'false', expected true or false,"
            ' without quotes;'
            " task argument size: found 'big', expected smoke or lab or paper;"
            " task argument parts: found ['iodepths'], expected a list of"
            ' iodepth, block-size, parallel, stability, one-client;'
            ' task argument guest_steps: found [1, 2.5], expected a list of'
            ' whole numbers from 1 to 1000000000',
            error.args[0],
        )

    @ddt.data(*TASKS)
    def test_texts_are_what_they_are(self, name):
        text = 'a: "b" #\n  c: [d'
        config = test_tasks.render(
            TASKS[name],
            **dict.fromkeys(taken(name) & _TEXTS, text),
        )
        (args,) = config['subtasks'][0]['workloads'][0]['scenario'].values()
        self.assertEqual({'name': text}, args['flavor'])
        self.assertEqual(text, args['start_volume_type'])
        config = test_tasks.render(
            TASKS[name], start_volume_backend=text, start={'by': 'volume'}
        )
        contexts = config['subtasks'][0]['workloads'][0]['contexts']
        self.assertEqual(
            {'volume_backend_name': text},
            contexts['cinder_tiers_start_signal']['extra_specs'],
        )

    def test_fleets_of_idcf2014_keep_all_that_they_have(self):
        fleet = {'tier': 'a', 'image': 'b', 'volume_type': 'c'}
        for args, more in (
            ({'disks': 0}, {}),
            (
                {'disks': 9, 'iops_per_disk': 80},
                {
                    'disks': {
                        'disks': 9,
                        'iops_per_disk': 80,
                        'replicas': 2,
                        'disk_writes_per_write': 1.02,
                    }
                },
            ),
        ):
            config = test_tasks.render(
                TASKS['idcf2014'], fleets=[{**fleet, 'replicas': 2}], **args
            )
            (args,) = test_tasks.workload(config)['scenario'].values()
            self.assertEqual([{**fleet, **more}], args['fleets'])
