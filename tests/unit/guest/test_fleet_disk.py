# SPDX-License-Identifier: Apache-2.0


"""Which disk a guest works on, for real: a process, files as its devices."""

import dataclasses
import json

from cinder_tiers.figures.fio import iops_log
from cinder_tiers.figures.fleet import verdict
from tests.unit.guest import test_fleet_script

# A volume id; virtio-blk keeps 20 characters of it.
SERIAL = '0f4d7b1e-35a5-4d4f-ae43-07f3db2ac0a5'


class DataDiskTest(test_fleet_script.LocalFleetCase):
    def setUp(self):
        super().setUp()
        self.devices = self.folder / 'devices'
        self.blocks = self.folder / 'blocks'
        self.mounts = self.folder / 'mounts'
        self.fleets = []
        self.devices.mkdir()
        self.mounts.write_text('/dev/vda1 / ext4 rw 0 0\n')
        for name, serial in (('vda', 'another'), ('vdb', SERIAL[:20])):
            (self.blocks / name).mkdir(parents=True)
            (self.blocks / name / 'serial').write_text(f'{serial}\n')

    def outcome(self, *serials, volumes=('',), **of_fleet):
        fleet = self.fleet(['fast'], **of_fleet)
        self.fleets.append(fleet)
        fleet.start(
            0,
            shell='busybox',
            data_serials=serials or (SERIAL,),
            devices=str(self.devices),
            blocks=str(self.blocks),
            mounts=str(self.mounts),
            target='',
        )
        fleet.wait()
        return fleet.outcomes(volumes)[0]

    def test_the_data_disk_is_found_by_its_serial(self):
        found = self.outcome()
        self.assertEqual(
            (verdict.GuestVerdict.COMPLETE, str(self.devices / 'vdb')),
            (found.verdict, found.target),
        )
        self.assertEqual(4 * 1024**2, (self.devices / 'vdb').stat().st_size)

    def test_several_data_disks_are_worked_on_at_once(self):
        """Each in its whole region, with figures of its own."""
        other = '77777777-35a5-4d4f-ae43-07f3db2ac0a5'
        (self.blocks / 'vdc').mkdir()
        (self.blocks / 'vdc' / 'serial').write_text(f'{other[:20]}\n')
        found = self.outcome(
            other,
            SERIAL,
            volumes=(other, SERIAL),
            profile=dataclasses.replace(
                test_fleet_script.PROFILE, runtime_seconds=3
            ),
            pattern=dataclasses.replace(
                test_fleet_script.RANDWRITE, rate_iops=50
            ),
        )
        self.assertEqual(
            (verdict.GuestVerdict.COMPLETE, str(self.devices / 'vdc'), ()),
            (found.verdict, found.target, found.reasons),
        )
        self.assertEqual(
            [4 * 1024**2] * 2,
            [(self.devices / name).stat().st_size for name in ('vdb', 'vdc')],
        )
        console = self.fleets[0].console(0)
        fio = json.loads(iops_log.split(console.result(0)).output)
        self.assertEqual(
            [str(self.devices / name) for name in ('vdc', 'vdb')],
            [job['job options']['filename'] for job in fio['jobs']],
        )
        measured = found.slots[0].measured
        self.assertEqual(
            [other, SERIAL], [volume for volume, _each in measured.volumes]
        )
        of_volumes = [each for _volume, each in measured.volumes]
        self.assertEqual(
            (
                sum(each.total_ios for each in of_volumes),
                sum(each.clat.count for each in of_volumes),
            ),
            (measured.result.total_ios, measured.result.clat.count),
        )
        self.assertGreater(min(each.total_ios for each in of_volumes), 0)
        # 50 a second of each; fio catches up at the beginning.
        self.assertGreater(max(iops for _ms, iops in measured.series), 80)

    def test_one_of_several_that_is_missing_is_named(self):
        found = self.outcome(SERIAL, 'ffffffff' + SERIAL[8:])
        self.assertEqual(verdict.GuestVerdict.BROKEN, found.verdict)
        self.assertIn(
            'found no disk with the serial ffffffff', found.reasons[0]
        )

    def test_another_disk_is_never_taken_for_it(self):
        found = self.outcome('ffffffff' + SERIAL[8:])
        self.assertEqual(verdict.GuestVerdict.BROKEN, found.verdict)
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
        self.assertEqual(verdict.GuestVerdict.BROKEN, found.verdict)
        self.assertIn('vdb is mounted', found.reasons[0])
        self.assertIn('boot from another image', found.reasons[0])
        self.assertEqual([], list(self.devices.iterdir()))

    def test_each_file_system_of_it_may_be_mounted(self):
        """A line end would cut the frame that says so in two."""
        self.mounts.write_text(
            f'{self.devices}/vdb15 /boot/efi vfat rw 0 0\n'
            f'{self.devices}/vdb1 /m\u00e9dia ext4 rw 0 0\n'
        )
        found = self.outcome()
        self.assertEqual(verdict.GuestVerdict.BROKEN, found.verdict)
        self.assertIn('vdb is mounted', found.reasons[0])
        self.assertIn('boot from another image', found.reasons[0])

    def test_nor_is_one_that_lvm_or_a_raid_has(self):
        """The root is on a volume of LVM, of a partition of the disk."""
        self.mounts.write_text('/dev/mapper/vg-root / ext4 rw 0 0\n')
        (self.blocks / 'vdb' / 'vdb1' / 'holders' / 'dm-0').mkdir(parents=True)
        found = self.outcome()
        self.assertEqual(verdict.GuestVerdict.BROKEN, found.verdict)
        self.assertIn('vdb is in use by dm-0', found.reasons[0])
        self.assertEqual([], list(self.devices.iterdir()))

    def test_a_mounted_disk_of_a_longer_name_is_another(self):
        self.mounts.write_text(f'{self.devices}/vdba1 / ext4 rw 0 0\n')
        self.assertEqual(verdict.GuestVerdict.COMPLETE, self.outcome().verdict)

    def test_what_is_not_filled_must_be_a_device(self):
        """fio would lay out a file, that is fill it, before it reads."""
        found = self.outcome(fill=False)
        self.assertEqual(verdict.GuestVerdict.BROKEN, found.verdict)
        self.assertIn('must be a block device', found.reasons[0])
        self.assertEqual([], list(self.devices.iterdir()))
