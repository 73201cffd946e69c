# SPDX-License-Identifier: Apache-2.0

import dataclasses
import pathlib
import struct

import fixtures
import testtools

from lab.guests import build_folder
from lab.guests.debian import archive
from lab.guests.debian import image
from lab.guests.debian import system
from lab.guests import disk
from lab.guests import image_file

TARGETS = """\
Debian\thttp://a.example/debian/\tbookworm\tbookworm\tmain
Debian\thttp://a.example/debian/\tbookworm\tbookworm\tcontrib
Debian\thttp://a.example/debian/\tbookworm-updates\tbookworm-updates\tmain
Debian\thttp://a.example/s/\tbookworm-security\tbookworm-security\tmain
. nodistro\thttp://b.example/node/\tnodistro\tnodistro\tmain
"""

SIMULATION = """\
NOTE: This is only a simulation!
Inst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64]) []
Inst fio (3.33-3 Debian:12.15/oldstable [amd64])
Conf libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64])
"""


class ArchiveTest(testtools.TestCase):
    def test_only_archives_of_debian_make_a_debian(self):
        self.assertEqual(
            (
                'bookworm',
                [
                    'deb http://a.example/debian/ bookworm main',
                    'deb http://a.example/debian/ bookworm-updates main',
                    'deb http://a.example/s/ bookworm-security main',
                ],
            ),
            archive.parse_index_targets(TARGETS),
        )

    def test_a_host_without_the_main_archive_is_told(self):
        problem = self.assertRaises(
            build_folder.GuestImageError,
            archive.parse_index_targets,
            TARGETS.splitlines()[-1],
        )
        self.assertIn('run apt-get update', str(problem))
        self.assertIn('b.example', str(problem))

    def test_each_package_has_the_version_that_apt_would_install(self):
        self.assertEqual(
            {'libc6': '2.36-9+deb12u14', 'fio': '3.33-3'},
            archive.parse_simulated_install(SIMULATION),
        )


class DiskTest(testtools.TestCase):
    def test_the_only_partition_is_bootable_and_ends_with_the_image(self):
        file = (
            pathlib.Path(self.useFixture(fixtures.TempDir()).path)
            / 'debian.raw'
        )
        disk.partition(file, 5 * 1024**2, scratch=False)
        self.assertEqual(6 * 1024**2, file.stat().st_size)
        entries = file.read_bytes()[446:510]
        self.assertEqual((0x80, 0x83), (entries[0], entries[4]))
        self.assertEqual((2048, 5 * 2048), struct.unpack('<II', entries[8:16]))
        self.assertEqual(bytes(48), entries[16:])


class RecipeTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.inputs = image.Inputs(
            packages={'fio': '3.33-3'},
            host={'mmdebstrap': '1'},
            recipe_sha256=image.recipe_sha256(),
        )

    def test_an_image_of_other_packages_is_built_anew(self):
        built = self.folder / 'built'
        built.write_bytes(b'an image')
        output = self.folder / 'debian.raw'
        image_file.publish(built, output, self.inputs)
        self.assertTrue(image_file.is_current(output, self.inputs))
        for changed in (
            {'packages': {'fio': '3.33-4'}},
            {'host': {'mmdebstrap': '2'}},
            {'recipe_sha256': ''},
        ):
            self.assertFalse(
                image_file.is_current(
                    output, dataclasses.replace(self.inputs, **changed)
                ),
                changed,
            )

    def test_cloud_init_asks_the_config_drive_and_nobody_else(self):
        text = (
            system.ROOTFS / 'etc/cloud/cloud.cfg.d/90_cinder-tiers.cfg'
        ).read_text()
        self.assertIn('datasource_list: [ConfigDrive, None]', text)

    def test_the_kernel_finds_the_root_file_system_by_its_label(self):
        for file in ('extlinux.conf', 'etc/fstab'):
            self.assertIn(
                f'LABEL={system.LABEL} ', (system.ROOTFS / file).read_text()
            )
