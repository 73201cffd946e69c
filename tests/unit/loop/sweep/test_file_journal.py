# SPDX-License-Identifier: Apache-2.0

"""The journal of a sweep: what is to be brought back, on the disk."""

import json
import os
import pathlib
import tempfile
from unittest import mock

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.loop.sweep import file_journal as journals
from cinder_tiers.loop.sweep import kept as keeping
from tests.unit.loop.sweep import test_file_reader


JOURNAL = journals.Journal(
    cloud='a b',
    tier='database',
    sweep_file='sweep.yaml',
    catalog_file='tiers.yaml',
    catalog=test_file_reader.TIERS,
    started='2026-11-23T20:00:00Z',
    by='root on a, process 1',
    results='/r/sweep.json',
    folder='/r',
    objects=(
        keeping.Kept(
            kind=actions.Kind.OSD_OPTIONS,
            cluster='ceph',
            name='ssd',
            existed=True,
            settings=(
                keeping.Setting(
                    field='values.osd_recovery_sleep',
                    before=None,
                    swept=frozenset({'0.5', '1'}),
                    option_kind='float',
                ),
            ),
        ),
        keeping.Kept(
            kind=actions.Kind.QOS_SPEC,
            name='tier-database',
            existed=False,
            settings=(
                keeping.Setting(
                    field='consumer', before=None, swept=frozenset({'both'})
                ),
            ),
        ),
    ),
)


class JournalTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(
            self.enterContext(tempfile.TemporaryDirectory()), 'new', 'j.json'
        )

    def test_it_is_read_as_it_was_written(self):
        self.assertIsNone(journals.read(self.path))
        journals.write(self.path, JOURNAL)
        self.assertEqual(JOURNAL, journals.read(self.path))
        self.assertEqual(0o600, os.stat(self.path).st_mode & 0o777)
        self.assertEqual(
            0o700, os.stat(os.path.dirname(self.path)).st_mode & 0o777
        )
        journals.remove(self.path)
        self.assertIsNone(journals.read(self.path))
        journals.remove(self.path)

    def test_it_never_takes_the_place_of_another(self):
        journals.write(self.path, JOURNAL)
        self.assertRaises(
            errors.TiersError, journals.write, self.path, JOURNAL
        )

    def test_a_link_in_its_place_is_neither_read_nor_followed(self):
        os.makedirs(os.path.dirname(self.path))
        elsewhere = f'{self.path}.other'
        os.symlink(elsewhere, self.path)
        self.assertRaises(
            errors.TiersError, journals.write, self.path, JOURNAL
        )
        self.assertFalse(os.path.exists(elsewhere))
        journals.write(elsewhere, JOURNAL)
        error = self.assertRaises(
            errors.ProblemsFound, journals.read, self.path
        )
        self.assertIn('a symbolic link', str(error))

    @testtools.skipIf(os.geteuid(), 'only root gives files away')
    def test_that_of_another_user_is_not_read(self):
        journals.write(self.path, JOURNAL)
        os.chown(self.path, 12345, -1)
        error = self.assertRaises(
            errors.ProblemsFound, journals.read, self.path
        )
        self.assertIn('a journal of user 12345', str(error))

    def test_its_new_folder_is_on_the_disk_too(self):
        synced = []
        fsync = os.fsync

        def note(handle):
            synced.append(os.readlink(f'/proc/self/fd/{handle}'))
            fsync(handle)

        with mock.patch.object(os, 'fsync', note):
            journals.write(self.path, JOURNAL)
        folder = os.path.realpath(os.path.dirname(self.path))
        self.assertIn(folder, synced)
        self.assertIn(os.path.dirname(folder), synced)

    def test_what_no_sweep_makes_is_never_deleted(self):
        journals.write(self.path, JOURNAL)
        path = pathlib.Path(self.path)
        content = json.loads(path.read_text())
        for kind in ('pool', 'osd options'):
            content['objects'] = [
                {
                    'kind': kind,
                    'cluster': 'ceph',
                    'name': 'tier-database',
                    'existed': False,
                    'settings': [],
                }
            ]
            path.write_text(json.dumps(content))
            error = self.assertRaises(
                errors.ProblemsFound, journals.read, self.path
            )
            self.assertIn(
                f'"existed": false of {kind} tier-database (ceph), which no '
                'sweep creates',
                str(error),
            )

    def test_another_version_is_not_read(self):
        journals.write(self.path, JOURNAL)
        content = json.loads(pathlib.Path(self.path).read_text())
        pathlib.Path(self.path).write_text(
            json.dumps({**content, 'version': 2})
        )
        error = self.assertRaises(
            errors.ProblemsFound, journals.read, self.path
        )
        self.assertIn('do not remove it', str(error))
