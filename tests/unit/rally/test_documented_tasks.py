# SPDX-License-Identifier: Apache-2.0

"""Rally takes the task of the tutorial, with what each recipe changes."""

import pathlib
import re
import shlex
import textwrap

import ddt
import fixtures
import testtools
import yaml

from cinder_tiers.figures.layers import host_file
from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.figures import results
from tests.unit.rally import test_tasks

TOP = pathlib.Path(__file__).resolve().parents[3]
GUIDE = TOP / 'doc' / 'source' / 'user'
_BLOCK = re.compile(r'(?m)^\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)')
_COMMAND = re.compile(r'\$ openstack tier ((?:[^\n\\]|\\\n)*)')


def blocks(page):
    """Each YAML block of a page, parsed."""
    text = (GUIDE / page).read_text('utf-8')
    return [
        yaml.safe_load(textwrap.dedent(each)) for each in _BLOCK.findall(text)
    ]


def commands():
    """The words after `openstack tier` of each command in the pages."""
    for page in sorted(GUIDE.glob('measure*.rst')):
        for each in _COMMAND.findall(page.read_text('utf-8')):
            yield shlex.split(re.sub(r'\\\n\s*', '', each))


RECIPES = [
    each for each in blocks('measure-howto.rst') if 'version' not in each
]
COMMANDS = list(commands())


@ddt.ddt
class DocumentedTasksTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        [self.task] = blocks('measure.rst')

    def test_rally_takes_the_task(self):
        test_tasks.check(self.task)
        self.assertEqual(
            2,
            len(
                test_tasks.workload(self.task)['scenario'][
                    'CinderTiers.fleet_fio'
                ]['fleets']
            ),
        )

    def test_there_are_recipes(self):
        self.assertEqual(
            {'scenario', 'contexts', 'sla'},
            {key for each in RECIPES for key in each},
        )

    @ddt.data(*range(len(RECIPES)))
    def test_rally_takes_a_recipe(self, number):
        recipe = RECIPES[number]
        workload = test_tasks.workload(self.task)
        arguments = workload['scenario']['CinderTiers.fleet_fio']
        changed = recipe.get('scenario', {}).get('CinderTiers.fleet_fio', {})
        if 'stop_when' in changed:
            del arguments['repeats']
        arguments.update(changed)
        workload['contexts'].update(recipe.get('contexts', {}))
        workload['sla'] = recipe.get('sla', {'failure_rate': {'max': 0}})
        # Files that the reader of the page has.
        if 'cinder_tiers' in workload['sla']:
            workload['sla']['cinder_tiers']['catalog'] = str(
                TOP / 'etc' / 'cinder-tiers' / 'tiers.yaml'
            )
        if 'cinder_tiers_compare' in workload['sla']:
            former = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
            former /= 'former.json'
            former.write_text(
                run_result.write(
                    results.run({'general': {'x': [results.slot([1])]}})
                )
            )
            workload['sla']['cinder_tiers_compare']['baseline'] = [str(former)]
        test_tasks.check(self.task)

    def test_the_host_of_layers(self):
        [host] = [
            each for each in blocks('measure-howto.rst') if 'version' in each
        ]
        self.assertTrue(host_file.host(host, 'guide').raw)

    def test_there_are_commands(self):
        self.assertEqual(
            {'compare', 'recommend', 'repeats', 'report', 'result', 'trend'},
            {words[0] for words in COMMANDS},
        )

    @ddt.data(*range(len(COMMANDS)))
    def test_each_command_takes_its_arguments(self, number):
        verb, *arguments = COMMANDS[number]
        (entry,) = (
            one
            for one in shell.entry_points(shell.GROUP)
            if one.name == f'tier_{verb}'
        )
        parser = entry.load()(None, None).get_parser(f'openstack tier {verb}')
        # argparse ends the process for what it does not know.
        self.assertIsNotNone(parser.parse_args(arguments))
