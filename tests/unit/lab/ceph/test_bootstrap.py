# SPDX-License-Identifier: Apache-2.0
"""Tests of lab.ceph.bootstrap: what the files alone say of the parts."""

import dataclasses
import pathlib
import uuid

import fixtures
import testtools

from lab.ceph import bootstrap
from lab.ceph import errors
from lab.ceph import topology


class PartsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.layout = topology.CephLayout(
            folder=folder / 'ceph',
            osds=topology.six_osds(),
            fsid=uuid.uuid4(),
            ports=topology.Ports(),
        )
        bootstrap.write_configuration(self.layout)

    def _make(self, daemon, last):
        self.layout.data(daemon).mkdir()
        (self.layout.data(daemon) / last).touch()

    def test_the_identity_of_a_cluster_lasts(self):
        self.assertEqual(
            self.layout.fsid, bootstrap.read_fsid(self.layout.folder)
        )

    def test_a_folder_without_a_cluster_has_no_identity(self):
        self.assertIsNone(bootstrap.read_fsid(self.layout.folder / 'nothing'))

    def test_a_damaged_identity_is_an_error_that_names_the_file(self):
        (self.layout.folder / 'fsid').write_text('half of i')
        error = self.assertRaises(
            errors.CephError, bootstrap.read_fsid, self.layout.folder
        )
        self.assertIn(f'{self.layout.folder}/fsid', str(error))

    def test_services_that_are_not_root_may_read_the_conf(self):
        self.assertEqual(0o644, self.layout.conf.stat().st_mode & 0o777)

    def test_the_manager_gets_its_rbd_tasks_without_progress(self):
        source = self.layout.folder / 'rbd_support'
        source.mkdir()
        (source / 'task.py').write_text(
            'rbd.RBD().remove(ioctx, name,\n'
            '    on_progress=partial(self.progress_callback, task))\n'
        )
        for _ in range(2):
            copy = bootstrap.copy_without_progress(
                source, self.layout.manager_modules_copied
            )
            self.assertEqual(
                'rbd.RBD().remove(ioctx, name,\n    )\n',
                (copy / 'task.py').read_text(),
            )

    def test_nothing_made_yet_is_fine(self):
        bootstrap.check(self.layout)
        self.assertFalse(bootstrap.is_made(self.layout, 'mon.a'))

    def test_an_osd_whose_making_was_interrupted_is_not_made(self):
        self._make('osd.0', 'fsid')
        self.assertFalse(bootstrap.is_made(self.layout, 'osd.0'))
        bootstrap.check(self.layout)

    def test_everything_that_is_lost_is_named_at_once(self):
        self._make('osd.0', 'ready')
        self._make('osd.3', 'ready')
        self.layout.disk(self.layout.osds[0], 'block').touch()
        self.layout.disk(self.layout.osds[3], 'block').touch()
        error = str(
            self.assertRaises(errors.CephError, bootstrap.check, self.layout)
        )
        self.assertIn("monitor's database is gone", error)
        self.assertIn('osd.3.block.db: the disk of osd.3 is gone', error)
        self.assertNotIn('disk of osd.0', error)

    def test_the_lost_disk_of_a_filestore_is_named(self):
        osd = topology.Osd(
            id=0,
            host='a',
            device_class='ssd',
            data_gib=1,
            object_store='filestore',
        )
        layout = dataclasses.replace(self.layout, osds=(osd,))
        self._make('mon.a', 'store.db')
        self._make('osd.0', 'ready')
        error = str(
            self.assertRaises(errors.CephError, bootstrap.check, layout)
        )
        self.assertIn('osd.0.xfs: the disk of osd.0 is gone', error)

    def test_a_whole_cluster_is_fine(self):
        self._make('mon.a', 'store.db')
        for osd in self.layout.osds:
            self._make(osd.name, 'ready')
            self.layout.disk(osd, 'block').touch()
            self.layout.disk(osd, 'block.db').touch()
        bootstrap.check(self.layout)
        self.assertTrue(bootstrap.is_made(self.layout, 'mon.a'))
