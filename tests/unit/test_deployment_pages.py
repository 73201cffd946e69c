# SPDX-License-Identifier: Apache-2.0

"""What the pages for deployment tools tell to do has the result they promise.

Of Kolla, the command that changes the paste file of its image is run on that
of the Cinder that is installed here.
"""

import configparser
import pathlib
import re
import subprocess
import sys

import fixtures
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / 'doc/source/install/kolla-ansible.rst'
API_PASTE = pathlib.Path(sys.prefix, 'etc/cinder/api-paste.ini')
PIPELINES = 'composite:openstack_volume_api_v3'


def parsed(text):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser


class KollaTestCase(testtools.TestCase):
    def run_footer(self):
        """Run the RUN of the page on a copy of the file; the copy's text."""
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'api.ini'
        )
        path.write_text(API_PASTE.read_text())
        [command] = re.findall(
            r'(?s)^   RUN (.*?)^   \{% endblock', PAGE.read_text(), re.M
        )
        self.assertEqual(2, command.count('/etc/cinder/api-paste.ini'))
        subprocess.run(
            [
                'sh',
                '-c',
                command.replace('/etc/cinder/api-paste.ini', str(path)),
            ],
            check=True,
        )
        return path.read_text()

    def test_the_middleware_is_last_in_every_pipeline(self):
        before = parsed(API_PASTE.read_text())
        after = parsed(self.run_footer())
        for name, value in before[PIPELINES].items():
            if name != 'use':
                self.assertRegex(value, ' apiv3$')
                value = value.replace(' apiv3', ' tiers apiv3')
            self.assertEqual(value, after[PIPELINES][name])

    def test_the_middleware_is_defined_and_nothing_else_changes(self):
        before = parsed(API_PASTE.read_text())
        after = parsed(self.run_footer())
        self.assertEqual(
            {'paste.filter_factory': 'cinder_tiers.api:filter_factory'},
            {
                key: after['filter:tiers'][key]
                for key in after['filter:tiers']
                if key not in after.defaults()
            },
        )
        self.assertEqual(
            ['filter:tiers'],
            sorted(set(after.sections()) - set(before.sections())),
        )
        for section in set(before.sections()) - {PIPELINES}:
            self.assertEqual(before[section], after[section])

    def test_it_is_the_example_of_the_package(self):
        example = parsed((TOP / 'etc/cinder-tiers/api-paste.ini').read_text())
        self.assertEqual(
            example['filter:tiers']['paste.filter_factory'],
            parsed(self.run_footer())['filter:tiers']['paste.filter_factory'],
        )
