# SPDX-License-Identifier: Apache-2.0

import pathlib
import subprocess

import ddt
import fixtures
import testtools

from lab.guests import boot_files
from lab.guests import build_folder
from lab.guests import disk

CONFIG = """\
DEFAULT guest
LABEL guest
  LINUX /vmlinuz
  INITRD /initramfs
  APPEND console=ttyS0 quiet
"""
BOOT_KIB = 2048


@ddt.ddt
class CopyTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'a folder'
        )
        self.folder.mkdir()
        self.files = {
            name: self.folder / f'copied.{name}'
            for name in ('kernel', 'initramfs', 'arguments')
        }

    def image(self, **files):
        """A disk with these files in a partition behind its first MiB."""
        content = self.folder / 'content'
        content.mkdir()
        for name, data in files.items():
            (content / name.replace('_', '.')).write_bytes(data)
        image = self.folder / 'guest.raw'
        disk.partition(image, BOOT_KIB * 1024)
        subprocess.run(
            [
                '/sbin/mke2fs',
                '-q',
                '-t',
                'ext2',
                '-E',
                'offset=1048576',
                '-d',
                content,
                image,
                f'{BOOT_KIB}k',
            ],
            check=True,
        )
        return image

    def test_what_the_boot_loader_starts_is_copied(self):
        kernel, initramfs = bytes(range(256)) * 300, b'archive'
        image = self.image(
            vmlinuz=kernel,
            initramfs=initramfs,
            extlinux_conf=CONFIG.encode(),
        )
        self.files['kernel'].write_bytes(b'of an older image, and longer')
        boot_files.copy(image, **self.files)
        self.assertEqual(
            (kernel, initramfs, 'console=ttyS0 quiet\n'),
            (
                self.files['kernel'].read_bytes(),
                self.files['initramfs'].read_bytes(),
                self.files['arguments'].read_text(),
            ),
        )

    @ddt.data(
        ({'vmlinuz': b'k'}, 'no file initramfs'),
        ({'initramfs': b'i', 'extlinux_conf': b'APPEND x'}, 'no file vmlinuz'),
        (
            {'vmlinuz': b'k', 'initramfs': b'i', 'extlinux_conf': b'LABEL a'},
            'no line APPEND',
        ),
    )
    @ddt.unpack
    def test_another_image_is_refused(self, files, said):
        problem = self.assertRaises(
            build_folder.GuestImageError,
            boot_files.copy,
            self.image(**files),
            **self.files,
        )
        self.assertIn('guest.raw', str(problem))
        self.assertIn(said, str(problem))
