# SPDX-License-Identifier: Apache-2.0

"""Tiers files that include others, on the command line."""

import json
import os
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.files.tiers import reader
from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case


class ValidateTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(os.path.realpath(folder.name))
        (self.folder / 'env').mkdir()
        (self.folder / 'base.yaml').write_text(
            tiers_file_case.TIERS.replace('front_end', 'back_end'), 'utf-8'
        )
        self.path = self.folder / 'env' / 'prod.yaml'
        self.path.write_text(
            'include: [../base.yaml]\n'
            'tiers: {general: {description: "\\u00e4"}}\n'
        )

    def validate(self, *arguments, **environment):
        return shell.openstack(
            'tier', 'validate', str(self.path), *arguments, **environment
        )

    def test_the_merged_file_is_all_that_is_printed(self):
        ran = self.validate('--merged', '--include-root', str(self.folder))
        self.assertEqual(
            (0, f'{self.path} is valid; tiers: 2\n'), (ran.status, ran.stderr)
        )
        self.assertTrue(ran.stdout.replace('\n', '').isprintable())
        alone = reader.read_text(ran.stdout, file='alone')
        self.assertEqual(
            reader.read_file(str(self.path), include_root=str(self.folder)),
            alone,
        )
        self.assertEqual('\u00e4', alone.tier('general').description)

    def test_findings_are_shown_in_place_of_an_invalid_file(self):
        self.path.write_text('include: [../base.yaml]\ncolor: red\n')
        ran = self.validate(
            '-f',
            'lint',
            '--merged',
            CINDER_TIERS_INCLUDE_ROOT=str(self.folder),
        )
        self.assertEqual((1, ''), (ran.status, ran.stderr))
        self.assertIn(f"{self.path}:2: error: unknown key 'color'", ran.stdout)

    def test_the_folder_bounds_what_is_read(self):
        ran = self.validate('-f', 'json')
        self.assertEqual(1, ran.status)
        (problem,) = json.loads(ran.stdout)
        self.assertEqual(f'{self.path}:1', problem['Where'])
        self.assertIn('is outside of', problem['Found'])


@ddt.ddt
class CommandsTestCase(tiers_file_case.TiersFileTestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name) / 'base.yaml'
        self.base.write_text(tiers_file_case.TIERS, 'utf-8')
        relative = os.path.relpath(
            os.path.realpath(self.base),
            os.path.dirname(os.path.realpath(self.path)),
        )
        self.write(
            f'include: [{relative}]\n'
            'tiers: {database: {tags: [oltp], overflow: null}}\n'
        )
        self.root = ('--include-root', '/')

    @ddt.data(
        ('plan', 4),
        ('audit', 4),
        ('apply', 0),
        ('list', 0),
        ('backend-config', 0),
    )
    @ddt.unpack
    def test_each_command_reads_the_whole(self, command, status):
        ran = self.run_tier(command, *self.root)
        self.assertEqual(status, ran.status, ran.stderr)

    def test_what_is_applied_is_the_whole(self):
        self.assertEqual(0, self.run_tier('apply', *self.root).status)
        ran = self.run_tier('plan', *self.root)
        self.assertEqual(0, ran.status, ran.stdout)
        self.base.write_text(
            tiers_file_case.TIERS.replace('backend: lvm', 'backend: other')
        )
        self.assertEqual(4, self.run_tier('plan', *self.root).status)

    def test_a_saved_plan_needs_no_file(self):
        saved = f'{self.path}.plan'
        self.addCleanup(os.unlink, saved)
        ran = self.run_tier('plan', *self.root, '--out', saved)
        self.assertEqual(4, ran.status, ran.stderr)
        base, root = (
            path.read_text('utf-8')
            for path in (self.base, pathlib.Path(self.path))
        )
        self.base.unlink()
        self.write('broken: [')
        ran = shell.openstack(
            *self.api.arguments_of('admin'), 'tier', 'apply', saved
        )
        self.assertEqual(0, ran.status, ran.stderr)
        self.base.write_text(base, 'utf-8')
        self.write(root)
        ran = self.run_tier('plan', *self.root)
        self.assertEqual(0, ran.status, ran.stdout)
