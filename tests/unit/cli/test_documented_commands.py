# SPDX-License-Identifier: Apache-2.0

"""The guide has each command, status and variable.

The lists of commands are generated; what they need is written by hand, and a
command that is not there is not found.
"""

import pathlib
import re

from cinder import policies
import testtools

from cinder_tiers.cli import exit_status
from tests.unit.cli import shell

GUIDE = pathlib.Path(__file__).resolve().parents[3] / 'doc' / 'source'
SOURCES = [
    path
    for package in ('cinder_tiers/cli', 'cinder_tiers/loop')
    for path in sorted((GUIDE.parents[1] / package).rglob('*.py'))
]
STATUSES = {
    value
    for name, value in vars(exit_status).items()
    if name.isupper() and isinstance(value, int)
}


def part(page, begin, end):
    """Text of a page between two others."""
    text = (GUIDE / page).read_text('utf-8')
    return text[text.index(begin) :].partition(end)[0]


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
