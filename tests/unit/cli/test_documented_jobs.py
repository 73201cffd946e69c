# SPDX-License-Identifier: Apache-2.0

"""The jobs that the guide shows are YAML, and run commands that exist."""

import pathlib
import re
import shlex
import textwrap

import ddt
import testtools
import yaml

from tests.unit.cli import shell

PAGE = (
    pathlib.Path(__file__).resolve().parents[3] / 'doc/source/admin/gitops.rst'
).read_text('utf-8')
_BLOCK = re.compile(r'\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)')
BLOCKS = [
    (language, textwrap.dedent(text))
    for language, text in _BLOCK.findall(PAGE)
]
_COMMAND = re.compile(r'openstack tier ((?:[^\n|>]|\\\n|>-)*)')


def commands():
    """The words after `openstack tier` of each command in a block."""
    for _, text in BLOCKS:
        text = re.sub(r'\\\n\s*', '', text)
        # A folded value of YAML, as the command of a task of Ansible.
        text = re.sub(
            r'>-\n\s*(.*)\n\s*(--.*)\n\s*(-f .*)\n', r'\1 \2 \3\n', text
        )
        for line in text.splitlines():
            for found in _COMMAND.findall(line):
                plain = re.sub(r'\{\{.*?\}\}', 'x', found)
                yield shlex.split(plain.partition(' || ')[0])


COMMANDS = list(commands())


@ddt.ddt
class JobsTestCase(testtools.TestCase):
    def test_the_examples_are_yaml(self):
        found = [
            yaml.safe_load(text)
            for language, text in BLOCKS
            if language == 'yaml'
        ]
        self.assertGreater(len(found), 5)
        for one in found:
            self.assertIsInstance(one, dict | list)

    def test_there_are_commands(self):
        self.assertLessEqual(
            {'audit', 'plan', 'validate'}, {words[0] for words in COMMANDS}
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
