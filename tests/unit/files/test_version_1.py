# SPDX-License-Identifier: Apache-2.0

"""Files of version 1 that were written before: read, and written again.

Both files in `data` were written by the code of commit 4e62a16. They are not
to be renewed: what that code wrote must stay readable, and the same content
must be written in the same words.
"""

import json
import os
import pathlib

import fixtures
import testtools

from cinder_tiers.files import saved_plan
from cinder_tiers.files.tiers import reader
from cinder_tiers.files.tiers import writer
from tests.unit.files import test_saved_plan

DATA = pathlib.Path(__file__).parent / 'data'
TIERS_FILE = DATA / 'written-v1.yaml'
SAVED_PLAN = DATA / 'saved-plan-v1.json'

COMMENTS = {
    (): ('A header.', '', 'A line that is long enough to be wrapped ' * 4),
    ('tiers',): ('Of all tiers.',),
    ('tiers', 'database'): ('The first remark. ' * 8, 'Two\nlines\x1b[2J.'),
    ('tiers', 'general', 'rbd', 'pool_options', 'bulk'): ('Of one setting.',),
    ('clusters', 'second'): ('Of a cluster.',),
    ('elsewhere',): ('Of nothing that is written.',),
}
PROJECT_NAMES = {'a' * 32: 'A project', '5': 'Five'}


class TiersFileTestCase(testtools.TestCase):
    def test_a_file_that_was_written_is_written_again(self):
        text = TIERS_FILE.read_text('utf-8')
        self.assertEqual(
            text,
            writer.write(
                reader.read_text(text, file='tiers.yaml'),
                comments=COMMENTS,
                project_names=PROJECT_NAMES,
            ),
        )

    def test_what_was_written_means_what_it_meant(self):
        """One value of each kind that the file and the catalog differ in."""
        catalog = reader.read_file(str(TIERS_FILE))
        database, general, archive, scratch, null = catalog.tiers
        self.assertEqual('a' * 32, database.access[0])
        self.assertEqual('public', general.access)
        self.assertEqual((), scratch.access)
        self.assertIsNone(archive.access)
        self.assertEqual('500', database.qos.front_end['total_iops_sec'])
        self.assertEqual('007', database.qos.back_end['total_bytes_sec'])
        self.assertEqual(2000, database.quotas.size_gib)
        self.assertEqual(-1, archive.quotas.volumes)
        self.assertEqual(3, database.rbd.protection.min_size)
        self.assertIsNone(general.rbd.protection.min_size)
        self.assertTrue(scratch.rbd.protection.single_copy)
        self.assertEqual(4, archive.rbd.protection.k)
        self.assertEqual(('bfq',), general.rbd.osd_requirements.io_scheduler)
        cache = archive.rbd.cache
        self.assertEqual('ceph', cache.rbd.cluster)
        self.assertEqual('rack', cache.rbd.failure_domain)
        self.assertEqual(0.8, cache.settings['cache_target_full_ratio'])
        self.assertEqual('lvm@a#b', null.backend_name)
        self.assertFalse(null.take_over)


class SavedPlanTestCase(testtools.TestCase):
    def test_a_plan_that_was_saved_is_saved_again(self):
        saved = saved_plan.read(str(SAVED_PLAN))
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, 'plan')
        saved_plan.write(
            path,
            catalog_file=saved.catalog_file,
            catalog=saved.catalog,
            cloud=saved.cloud,
            plan=test_saved_plan.plan_of(),
        )
        self.assertEqual(
            SAVED_PLAN.read_text('utf-8'),
            pathlib.Path(path).read_text('utf-8'),
        )

    def test_a_plan_that_was_saved_is_the_same_plan_now(self):
        saved_plan.check_same(
            saved_plan.read(str(SAVED_PLAN)), test_saved_plan.plan_of()
        )
        self.assertEqual(
            1, json.loads(SAVED_PLAN.read_text('utf-8'))['version']
        )
