# SPDX-License-Identifier: Apache-2.0

"""The guide has the arguments of the ready task files and of the scenario.

Rally ignores an argument that a task file does not have: a run of hours then
measures something else than what was asked for, and nobody is told.
"""

import csv
import inspect
import io
import json
import math
import pathlib
import re

import ddt
import jinja2
from jinja2 import meta
from rally import plugins
import testtools
import yaml

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.fleet import scenario
from tests.unit.rally import test_tasks

TOP = pathlib.Path(__file__).resolve().parents[4]
TASKS = {
    path.stem: path
    for path in sorted((TOP / 'rally_scenarios' / 'tasks').glob('*.yaml'))
}
GUIDE = TOP / 'doc' / 'source' / 'user'
TABLE = GUIDE / 'task-arguments.csv'
_DEFINED = re.compile(r'(?m)^(``.*)\n {3}\S')
# A longer default says less than the task file.
_MOST_CHARACTERS = 60
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


def defined():
    """Terms of the list of arguments, {name: the whole term}."""
    text = (GUIDE / 'measure-reference.rst').read_text('utf-8')
    begin = text.index('.. _task-arguments:')
    return {
        name: term
        for term in _DEFINED.findall(
            text[begin : text.index('.. _pattern-keys:')]
        )
        for name in re.findall(r'``(\w+)``(?=[ ,]|$)', term)
    }


def taken(name):
    """Names of the arguments that a task file has."""
    return meta.find_undeclared_variables(
        jinja2.Environment(autoescape=True).parse(
            TASKS[name].read_text('utf-8')
        )
    )


def _default(values):
    """A cell: one value, or those of the sizes; none if empty."""
    texts = [
        f'``{json.dumps(each)}``' if each or each == 0 else 'none'
        for each in values
    ]
    if max(map(len, texts)) > _MOST_CHARACTERS:
        return 'see the file'
    return ' / '.join(texts if len(set(texts)) > 1 else texts[:1])


def table():
    """The file that the documentation shows."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TOP / 'rally_scenarios' / 'tasks'),
        autoescape=True,
    )
    files = {}
    for name, path in TASKS.items():
        template = environment.from_string(path.read_text('utf-8'))
        sizes = [
            template.make_module({'size': size})
            for size in ('smoke', 'lab', 'paper')
        ]
        for argument in taken(name) - {'size'}:
            default = _default([getattr(one, argument) for one in sizes])
            files.setdefault((argument, default), []).append(name)
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(
        [f'``{argument}``', _files(names), default]
        for (argument, default), names in sorted(files.items())
    )
    return text.getvalue()


def _files(names):
    left = TASKS.keys() - names
    if len(left) > 3:
        return ', '.join(names)
    return 'all but ' + ', '.join(sorted(left)) if left else 'all'


@ddt.ddt
class TaskArgumentsTestCase(testtools.TestCase):
    def test_the_table_in_the_guide_is_that_of_the_files(self):
        self.assertEqual(table(), TABLE.read_text('utf-8'), table())

    def test_the_guide_explains_each_and_no_other(self):
        of_scenario = set(inspect.signature(scenario.FleetFio.run).parameters)
        of_scenario -= {'self'}
        terms = defined()
        self.assertEqual(
            sorted(of_scenario.union(*map(taken, TASKS))), sorted(terms)
        )
        self.assertEqual(
            of_scenario,
            {name for name, term in terms.items() if f'``{name}`` (S' in term},
        )

    def test_the_guide_has_the_defaults_of_the_scenario(self):
        parameters = inspect.signature(scenario.FleetFio.run).parameters
        for name, term in defined().items():
            shown = re.search(rf'``{name}`` \(S; ``?(.*?)``?\)', term)
            if shown and parameters[name].default is not None:
                self.assertEqual(
                    yaml.safe_load(shown[1]), parameters[name].default, name
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
