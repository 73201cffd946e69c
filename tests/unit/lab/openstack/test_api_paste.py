# SPDX-License-Identifier: Apache-2.0
"""The paste filter in Cinder's api-paste.ini, as Paste reads it."""

import pathlib
import sys

import fixtures
from paste.deploy import loadwsgi
import testtools

from lab.openstack import api_paste

STOCK = pathlib.Path(sys.prefix, 'etc/cinder/api-paste.ini')
NAMES = ('noauth', 'noauth_include_project_id', 'keystone', 'keystone_nolimit')


class ApiPasteTest(testtools.TestCase):
    def parsed(self, text):
        """The file as Paste reads it, and where it is."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'ini'
        path.write_text(text)
        return loadwsgi.ConfigLoader(str(path)).parser, path

    def pipelines(self, text):
        """The options of the application of /v3, as Paste hands them on."""
        _, path = self.parsed(text)
        context = loadwsgi.loadcontext(
            loadwsgi.APP, f'config:{path}', 'openstack_volume_api_v3'
        )
        return {name: context.local_conf[name].split() for name in NAMES}

    def other_options(self, text):
        parser, _ = self.parsed(text)
        return {
            (section, option): value
            for section in parser.sections()
            for option, value in parser[section].items()
            if section != 'filter:tiers'
            and option not in (*NAMES, 'here', '__file__')
        }

    def refusal(self, text):
        return str(
            self.assertRaises(
                api_paste.UnexpectedPipeline,
                api_paste.add_filter,
                text,
                'the.ini',
            )
        )

    def test_the_filter_is_the_last_filter_of_every_pipeline(self):
        stock = STOCK.read_text()
        changed = self.pipelines(api_paste.add_filter(stock, 'x'))
        for name, words in self.pipelines(stock).items():
            self.assertEqual([*words[:-1], 'tiers', 'apiv3'], changed[name])

    def test_paste_finds_the_factory_of_the_filter(self):
        parser, _ = self.parsed(api_paste.add_filter(STOCK.read_text(), 'x'))
        self.assertEqual(
            'cinder_tiers.api:filter_factory',
            parser['filter:tiers']['paste.filter_factory'],
        )

    def test_nothing_else_changes(self):
        stock = STOCK.read_text()
        self.assertEqual(
            self.other_options(stock),
            self.other_options(api_paste.add_filter(stock, 'x')),
        )

    def test_a_pipeline_that_ends_in_something_else_is_refused(self):
        message = self.refusal(
            STOCK.read_text().replace(
                'keystonecontext apiv3', 'keystonecontext apiv4'
            )
        )
        self.assertIn('the.ini: [composite:openstack_volume_api_v3]', message)
        self.assertIn('keystonecontext apiv4', message)

    def test_a_file_that_has_the_filter_already_is_refused(self):
        self.assertIn(
            'tiers apiv3, expected',
            self.refusal(api_paste.add_filter(STOCK.read_text(), 'x')),
        )

    def test_a_file_without_the_volume_api_is_refused(self):
        for text in (
            '',
            '[composite:osapi_volume]\n/v2: old\n',
            '[composite:osapi_volume]\n/v3: elsewhere\n',
        ):
            self.assertIn(
                'expected the name of a composite section', self.refusal(text)
            )

    def test_a_file_that_is_no_ini_file_is_refused(self):
        self.assertIn('the.ini', self.refusal('<xml/>'))
