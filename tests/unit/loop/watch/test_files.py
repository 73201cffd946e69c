# SPDX-License-Identifier: Apache-2.0

"""The files of watched tiers: whole, in one folder, and of one watch."""

import contextlib
import os
import pathlib

from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import use_case as watch
from tests.unit.loop.watch import test_use_case


class FilesTestCase(test_use_case.WatchCase):
    def test_a_disk_that_is_full_does_not_end_it(self):
        said = []
        path = pathlib.Path(self.kept.path('database'))

        def complain(failure):
            said.append(failure and str(failure))
            # Nothing takes the place of a folder, as on a full disk.
            if len(said) == 1:
                path.unlink()
                path.mkdir()
            elif len(said) == 3:
                path.rmdir()
            elif len(said) == 4:
                self.stop.set()

        reported = []
        self.watch(
            windows=None,
            window_s=0.05,
            complain=complain,
            report=lambda found: reported.append(len(found[0].kept.windows)),
        )
        self.assertEqual([1, 2, 3, 4], reported)
        self.assertEqual([None, None], [said[0], said[3]])
        for each in said[1:3]:
            self.assertIn(f'{path} cannot be written', each)
        self.stop.clear()
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(5, len(found.kept.windows))

        # One window, as of cron, ends with what is wrong.
        def full(found):
            raise errors.TiersError('a.prom cannot be written')

        # What never could be written is wrong, and ends it.
        error = self.assertRaises(
            errors.TiersError,
            self.watch,
            windows=None,
            window_s=0.05,
            report=full,
        )
        self.assertEqual('a.prom cannot be written', str(error))
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(7, len(found.kept.windows))

    def test_two_watches_exclude_each_other(self):
        with self.kept.held():
            refused = self.assertRaises(errors.TiersError, self.watch)
        self.assertIn('another "tier watch" runs', str(refused))
        self.watch(window_s=0.05)

    def test_a_file_that_is_no_series_is_refused(self):
        self.watch(window_s=0.05)
        path = self.kept.path('database')
        pathlib.Path(path).write_text('{"version": 1}')
        refused = self.assertRaises(errors.TiersError, self.watch)
        self.assertIn(f'{path} is not a series', str(refused))

    def test_the_name_of_a_tier_stays_in_the_folder(self):
        path = self.kept.path('../../x/y')
        self.assertEqual(str(self.folder / 'state'), os.path.dirname(path))

    def test_it_is_removed(self):
        self.watch(window_s=0.05)
        self.assertEqual(
            ['database'],
            watch.remove(
                catalog=self.catalog,
                tiers=self.catalog.tiers,
                kept=self.kept,
                open_session=lambda cluster: contextlib.nullcontext(
                    self.session
                ),
            ),
        )
        self.assertEqual({}, self.ceph.images)
        self.assertFalse(os.path.exists(self.kept.path('database')))
