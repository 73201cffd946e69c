# SPDX-License-Identifier: Apache-2.0


"""Which disk a guest works on, for real: a process, files as its devices."""

from rally_scenarios.bench.fleet import verdict
from tests.unit.guest import test_fleet_script

# A volume id; virtio-blk keeps 20 characters of it.
SERIAL = '0f4d7b1e-35a5-4d4f-ae43-07f3db2ac0a5'


class DataDiskTest(test_fleet_script.LocalFleetCase):
    def setUp(self):
        super().setUp()
        self.devices = self.folder / 'devices'
        self.blocks = self.folder / 'blocks'
        self.mounts = self.folder / 'mounts'
        self.devices.mkdir()
        self.mounts.write_text('/dev/vda1 / ext4 rw 0 0\n')
        for name, serial in (('vda', 'another'), ('vdb', SERIAL[:20])):
            (self.blocks / name).mkdir(parents=True)
            (self.blocks / name / 'serial').write_text(f'{serial}\n')

    def outcome(self, serial=SERIAL, **of_fleet):
        fleet = self.fleet(['fast'], **of_fleet)
        fleet.start(
            0,
            shell='busybox',
            data_serial=serial,
            devices=str(self.devices),
            blocks=str(self.blocks),
            mounts=str(self.mounts),
            target='',
        )
        fleet.wait()
        return fleet.outcomes()[0]

    def test_the_data_disk_is_found_by_its_serial(self):
        found = self.outcome()
        self.assertEqual(
            (verdict.Verdict.COMPLETE, str(self.devices / 'vdb')),
            (found.verdict, found.target),
        )
        self.assertEqual(4 * 1024**2, (self.devices / 'vdb').stat().st_size)

    def test_another_disk_is_never_taken_for_it(self):
        found = self.outcome(serial='ffffffff' + SERIAL[8:])
        self.assertEqual(verdict.Verdict.BROKEN, found.verdict)
        self.assertIn(
            'found no disk with the serial ffffffff', found.reasons[0]
        )
        self.assertEqual([], list(self.devices.iterdir()))

    def test_a_data_disk_that_the_guest_runs_from_is_not_written_to(self):
        """Both disks are clones of one image: the wrong one was mounted."""
        self.mounts.write_text(
            f'proc /proc proc rw 0 0\n{self.devices}/vdb1 / ext4 rw 0 0\n'
        )
        found = self.outcome()
        self.assertEqual(verdict.Verdict.BROKEN, found.verdict)
        self.assertIn('vdb is mounted', found.reasons[0])
        self.assertIn('boot from another image', found.reasons[0])
        self.assertEqual([], list(self.devices.iterdir()))

    def test_what_is_not_filled_must_be_a_device(self):
        """fio would lay out a file, that is fill it, before it reads."""
        found = self.outcome(fill=False)
        self.assertEqual(verdict.Verdict.BROKEN, found.verdict)
        self.assertIn('must be a block device', found.reasons[0])
        self.assertEqual([], list(self.devices.iterdir()))
