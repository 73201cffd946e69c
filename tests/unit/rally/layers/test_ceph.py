# SPDX-License-Identifier: Apache-2.0

"""Notes of unfinished runs; what they name is removed in functional tests."""

import fcntl
import pathlib

import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.layers import host_file
from rally_scenarios.plugins.layers import ceph as layers_ceph
from rally_scenarios.plugins.layers import process

PLACE = layers_ceph.Place(
    ceph=host_file.Ceph(conf='/srv/ceph.conf', user='bench'),
    pool='p',
    name='cinder-tiers-layers-0123',
    image_pool='p',
)
#: In place of rbd and rados: notes its words, knows one image.
TOOL = """#!/bin/sh
echo "${0##*/} $*" >> "$0.words"
case "$*" in *" ls p") echo cinder-tiers-layers-0123 ;; esac
"""


class NotesTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.tools = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.EnvironmentVariable('PATH', f'{self.tools}:/usr/bin:/bin')
        )
        for name in ('rbd', 'rados'):
            (self.tools / name).write_text(TOOL)
            (self.tools / name).chmod(0o755)

    def words(self, tool):
        file = self.tools / f'{tool}.words'
        return file.read_text().splitlines() if file.exists() else []

    def cut_off(self):
        """A note as it is after its run was killed."""
        with layers_ceph.noted(PLACE, self.folder):
            (file,) = self.folder.iterdir()
            text = file.read_text()
        for tool in self.tools.glob('*.words'):
            tool.unlink()
        file.write_text(text)
        return file

    def test_a_run_that_ends_well_leaves_no_note_and_searches_no_pool(self):
        with layers_ceph.noted(PLACE, self.folder):
            self.assertEqual(1, len(list(self.folder.iterdir())))
        self.assertEqual([], list(self.folder.iterdir()))
        self.assertIn(
            'rm --no-progress p/cinder-tiers-layers-0123',
            self.words('rbd')[-1],
        )
        self.assertEqual([], self.words('rados'))

    def test_objects_that_may_be_there_are_searched_for(self):
        with layers_ceph.noted(PLACE, self.folder) as unremoved:
            unremoved.add('write-0')
        self.assertIn(
            '--namespace cinder-tiers-layers-0123 ls', self.words('rados')[0]
        )

    def test_a_run_that_fails_leaves_no_note_of_what_it_has_removed(self):
        def fail():
            with layers_ceph.noted(PLACE, self.folder):
                raise OSError('unplugged')

        self.assertRaises(OSError, fail)
        self.assertEqual([], list(self.folder.iterdir()))
        (self.tools / 'rbd').write_text('#!/bin/sh\necho no >&2; exit 2\n')
        self.assertRaises(process.LayerError, fail)
        self.assertEqual(1, len(list(self.folder.iterdir())))

    def test_the_next_run_removes_what_a_killed_one_left(self):
        self.cut_off()
        layers_ceph.remove_unfinished(self.folder)
        self.assertEqual([], list(self.folder.iterdir()))
        self.assertIn(
            'rm --no-progress p/cinder-tiers-layers-0123',
            self.words('rbd')[-1],
        )
        self.assertIn(
            '--conf /srv/ceph.conf --name client.bench', self.words('rados')[0]
        )

    def test_one_that_still_runs_is_left_alone(self):
        file = self.cut_off()
        with file.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            layers_ceph.remove_unfinished(self.folder)
        self.assertTrue(file.exists())
        self.assertEqual([], self.words('rbd'))

    def test_a_note_stays_while_what_it_names_cannot_be_removed(self):
        file = self.cut_off()
        (self.tools / 'rbd').write_text('#!/bin/sh\necho no >&2; exit 2\n')
        error = self.assertRaises(
            process.LayerError, layers_ceph.remove_unfinished, self.folder
        )
        self.assertIn(str(file), str(error))
        self.assertTrue(file.exists())

    def test_a_note_of_a_run_that_made_nothing_goes(self):
        self.cut_off().write_text('')
        layers_ceph.remove_unfinished(self.folder)
        self.assertEqual([], list(self.folder.iterdir()))
        self.assertEqual([], self.words('rbd'))

    def test_a_note_that_is_none_is_told_and_nothing_is_touched(self):
        for text in (
            '{',
            '[]',
            '{"pool": "p"}',
            '{"ceph": {"x": 1}}',
            '{"ceph": {}, "pool": "p", "name": "volume-1", "image_pool": "p"}',
        ):
            file = self.cut_off()
            file.write_text(text)
            error = self.assertRaises(
                process.LayerError,
                layers_ceph.remove_unfinished,
                self.folder,
            )
            self.assertIn(str(file), str(error))
            self.assertEqual([], self.words('rbd'))
            file.unlink()
