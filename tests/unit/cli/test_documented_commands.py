# SPDX-License-Identifier: Apache-2.0

"""The guide has each command, status and variable.

The lists of commands are generated; what they need is written by hand, and a
command that is not there is not found.
"""

import ast
import csv
import pathlib
import re

from cinder import policies
import testtools

from cinder_tiers.cli import exit_status
from tests.unit.cli import shell

GUIDE = pathlib.Path(__file__).resolve().parents[3] / 'doc' / 'source'
PACKAGE = GUIDE.parents[1] / 'cinder_tiers'
SOURCES = [
    path
    for folder in ('cli', 'loop')
    for path in sorted((PACKAGE / folder).rglob('*.py'))
]
#: Modules with tables of commands, and not of pages.
TABLES = [
    path
    for path in SOURCES
    if path.name != 'plan_markdown.py'
    and (path.parent.name != 'report' or path.name == 'result_rows.py')
]
OF_TABLE = re.compile(
    '_?([A-Z]+_)*(COLUMNS?|TABLE|PRICES|CURVE)|fields|counted'
)
#: {command: (module of its tables, names of those that are its own)}; without
#: names, all of the module are.
TABLES_OF = {
    'apply': ('cli/render/plan.py', 'RESULT_COLUMNS'),
    'audit': ('cli/render/audit.py',),
    'compare': ('loop/compare/compare_rows.py',),
    'effects': ('loop/sweep/effects_rows.py',),
    'explain': ('cli/render/explanation.py',),
    'fault': ('loop/fault/cells.py',),
    'headroom': ('loop/headroom/headroom_rows.py',),
    'lint-images': ('cli/lint_images.py',),
    'list': (
        'cli/render/tiers.py',
        *('TIER_COLUMNS', 'LONG_TIER_COLUMNS'),
        *('OFFERED_COLUMNS', 'LONG_OFFERED_COLUMNS'),
    ),
    'plan': ('cli/render/plan.py', 'PLAN_COLUMNS', 'REFUSAL_COLUMNS'),
    'publish': ('loop/publish/publish_command.py',),
    'recommend': ('loop/recommend/recommend_rows.py',),
    'repair': ('loop/repair/repair_rows.py',),
    'repeats': ('loop/compare/repeats_rows.py',),
    'response': ('loop/fault/response_rows.py',),
    'result': ('loop/report/result_rows.py',),
    'show': ('cli/render/tiers.py', 'fields'),
    'sweep': ('loop/sweep/cells.py',),
    'trend': ('loop/compare/trend_rows.py',),
    'tune': ('loop/tune/run_tune.py',),
    'usage': ('loop/usage/usage_rows.py',),
    'validate': ('cli/render/tiers.py', 'PROBLEM_COLUMNS'),
    'volumes': ('cli/render/volumes.py',),
    'watch': ('loop/watch/watch_command.py',),
}
STATUSES = {
    value
    for name, value in vars(exit_status).items()
    if name.isupper() and isinstance(value, int)
}


def part(page, begin, end):
    """Text of a page between two others."""
    text = (GUIDE / page).read_text('utf-8')
    return text[text.index(begin) :].partition(end)[0]


def tables_of(path):
    """(name, titles of columns) of tables that a module defines.

    One that is made in parts is there for each.
    """
    for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if OF_TABLE.fullmatch(name):
                    yield name, titles_in(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                if OF_TABLE.fullmatch(name):
                    yield name, titles_in(value)
            case ast.AugAssign(target=ast.Name(id='fields'), value=value):
                yield 'fields', titles_in(value)
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Name(id='fields'),
                        slice=ast.Constant(value=title),
                    )
                ]
            ):
                yield 'fields', [title]
            case ast.FunctionDef(name='_table', body=[*_, last]):
                yield '_table', titles_in(last.value)


def titles_in(node):
    """Titles in the expression of a table, without what makes its cells."""
    match node:
        case ast.Constant(value=str(title)):
            yield title
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                # Without a key, another dict is merged.
                yield from titles_in(value if key is None else key)
        case ast.Tuple(elts=parts) | ast.Call(args=parts):
            for part_of in parts:
                yield from titles_in(part_of)
        case ast.IfExp(body=body, orelse=otherwise):
            yield from titles_in(body)
            yield from titles_in(otherwise)
        case ast.Subscript(value=ast.Dict(values=choices)):
            for one in choices:
                yield from titles_in(one)


class DocumentedCommandsTestCase(testtools.TestCase):
    def test_rights_names_each_command(self):
        # The first column of a table.
        heads = ' '.join(
            re.findall(
                r'(?m)^ {3}\* - ``.*(?:\n {7}``.*)*',
                part(
                    'admin/rights.rst',
                    'list-table:: Overview',
                    '``cinder-tiers-status``',
                ),
            )
        )
        self.assertEqual(
            [], [verb for verb in shell.VERBS if f'``{verb}``' not in heads]
        )

    def test_each_status_has_its_meaning(self):
        text = (GUIDE / 'cli' / 'exit-statuses.inc').read_text('utf-8')
        self.assertEqual(
            STATUSES, {int(one) for one in re.findall(r'(?m)^(\d+)$', text)}
        )

    def test_the_guide_has_each_variable(self):
        wanted = {
            name
            for path in SOURCES
            for name in re.findall(
                r'CINDER_TIERS_[A-Z_]*[A-Z]', path.read_text('utf-8')
            )
            # Given to a command, and not taken from whoever runs ours.
            if not name.startswith('CINDER_TIERS_SWEEP')
        }
        self.assertIn('CINDER_TIERS_CATALOG', wanted)
        listed = part('cli/index.rst', 'Environment\n===', 'The output of')
        self.assertEqual(
            [], sorted(name for name in wanted if f'``{name}``' not in listed)
        )


class DocumentedPoliciesTestCase(testtools.TestCase):
    def test_cinder_has_each_rule(self):
        """An operator who permits one that is not there permits nothing."""
        rules = {rule.name for rule in policies.list_rules()}
        found = {
            name
            for path in sorted(GUIDE.rglob('*.rst'))
            for name in re.findall(
                r'``((?:scheduler|volume)_extension:[\w:]+)``',
                path.read_text('utf-8'),
            )
        }
        self.assertIn('volume_extension:type_create', found)
        self.assertEqual(set(), found - rules)


class DocumentedKeysTestCase(testtools.TestCase):
    def test_the_guide_has_each_key_of_json(self):
        """A renamed key breaks scripts, and what the page promises."""
        with open(GUIDE / 'admin' / 'json-keys.csv', newline='') as file:
            promised = {
                row['command']: re.sub('[^;:]*:(?= )', '', row['keys'])
                for row in csv.DictReader(file)
            }
        # These write a file, or a text that is not theirs.
        self.assertEqual(
            {*shell.VERBS} - {'backend-config', 'export', 'report'},
            {*promised},
        )
        taken = set()
        defined = {
            (path.relative_to(PACKAGE).as_posix(), table, title)
            for path in TABLES
            for table, titles in tables_of(path)
            for title in titles
        }
        for command, keys in promised.items():
            module, *names = TABLES_OF[command]
            own = {
                one
                for one in defined
                if one[0] == module and (not names or one[1] in names)
            }
            self.assertEqual(
                {title for _module, _table, title in own},
                {key.strip() for key in re.split('[,;]', keys)}
                - {'else as ``sweep``'}
                # Made of a word that is another between runs.
                - {'Repeats for none', 'Runs for none'},
                command,
            )
            taken |= own
        self.assertEqual(set(), defined - taken)
