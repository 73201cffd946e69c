# SPDX-License-Identifier: Apache-2.0

import json
import os
import pathlib
import struct
import subprocess

import ddt
import fixtures
import testtools
from testtools import matchers

from lab.guests import accelerator
from lab.guests import build_folder
from lab.guests import disk
from lab.guests.minimal import debian_packages
from lab.guests.minimal import host_programs
from lab.guests.minimal import initramfs

ARCHIVE = 'http://deb.debian.org/debian'

DEB822 = """\
# The main archive
Types: deb
# a comment between fields
URIs: http://deb.debian.org/debian/
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main

Types: deb deb-src
Enabled: no
URIs: http://deb.debian.org/debian
Suites: bookworm-backports
Components: main

Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
"""

INLINE_KEY = """\
Types: deb
URIs: http://other.example.net http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEYCQjIxYJKwYBBAHaRw8BAQdA
 -----END PGP PUBLIC KEY BLOCK-----
"""

ONE_LINE = """\
# deb http://deb.debian.org/debian bookworm-proposed-updates main
deb http://deb.debian.org/debian bookworm main contrib
deb [arch=amd64 signed-by=/etc/key.gpg] http://deb.debian.org/debian/ b main
deb-src http://deb.debian.org/debian bookworm main
deb [signed-by=/etc/other.gpg] http://packages.example.net/apt stable main
deb http://deb.debian.org/debian-security bookworm-security main
"""


class SourceListTestCase(testtools.TestCase):
    def test_stanzas_of_the_archive_become_source_stanzas(self):
        self.assertEqual(
            'types: deb-src\n'
            'uris: http://deb.debian.org/debian\n'
            'suites: bookworm bookworm-updates\n'
            'components: main\n'
            'signed-by: /usr/share/keyrings/debian-archive-keyring.gpg\n',
            debian_packages.deb_src_stanzas(DEB822, ARCHIVE),
        )

    def test_key_inside_a_stanza_is_kept_and_other_uris_are_not(self):
        derived = debian_packages.deb_src_stanzas(INLINE_KEY, ARCHIVE)
        self.assertIn('\n .\n mDMEYCQjIxYJKwYBBAHaRw8BAQdA\n', derived)
        self.assertIn('uris: http://deb.debian.org/debian\n', derived)
        self.assertNotIn('other.example.net', derived)

    def test_lines_of_the_archive_become_source_lines(self):
        self.assertEqual(
            'deb-src http://deb.debian.org/debian bookworm main contrib\n'
            'deb-src [arch=amd64 signed-by=/etc/key.gpg] '
            'http://deb.debian.org/debian/ b main\n',
            debian_packages.deb_src_lines(ONE_LINE, ARCHIVE),
        )

    def test_files_without_the_archive_give_nothing(self):
        archive = 'http://mirror.example.net/debian'
        self.assertEqual('', debian_packages.deb_src_stanzas(DEB822, archive))
        self.assertEqual('', debian_packages.deb_src_lines(ONE_LINE, archive))
        self.assertEqual('', debian_packages.deb_src_stanzas('', archive))


@ddt.ddt
class SourcePackageTestCase(testtools.TestCase):
    @ddt.data(
        ('Version: 3.33-3', 'fio', '3.33-3'),
        ('Source: fio-tools\nVersion: 3.33-3', 'fio-tools', '3.33-3'),
        ('Source: fio (3.33-3)\nVersion: 3.33-3+b1', 'fio', '3.33-3'),
    )
    @ddt.unpack
    def test_source_is_found_in_the_stanza(self, stanza, name, version):
        self.assertEqual(
            debian_packages.Package(name=name, version=version, sha256=''),
            debian_packages.parse_source(
                'fio', debian_packages.parse_stanza(stanza)
            ),
        )

    def test_only_the_first_stanza_is_read(self):
        fields = debian_packages.parse_stanza(
            'Version: 2\n\nVersion: 1\nSize: 3\n'
        )
        self.assertEqual({'version': '2'}, fields)

    def test_strange_source_field_is_an_error(self):
        fields = {'source': 'a b c', 'version': '1'}
        error = self.assertRaises(
            build_folder.GuestImageError,
            debian_packages.parse_source,
            'fio',
            fields,
        )
        self.assertIn('"Source: a b c"', str(error))


class MasterBootRecordTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.record = disk.master_boot_record(b'\xfa' * 440, 36864)
        self.partitions = [
            struct.unpack_from('<B3xB3xII', self.record, 446 + 16 * index)
            for index in range(4)
        ]

    def test_is_one_bootable_sector_with_the_code_in_front(self):
        self.assertEqual(512, len(self.record))
        self.assertEqual(b'\xfa' * 440 + bytes(6), self.record[:446])
        self.assertEqual(b'\x55\xaa', self.record[510:])

    def test_boot_partition_is_active_and_begins_at_one_mib(self):
        self.assertEqual((0x80, 0x83, 2048, 36864), self.partitions[0])

    def test_scratch_partition_goes_from_there_to_the_last_sector(self):
        flag, kind, first, sectors = self.partitions[1]
        self.assertEqual((0, 0xDA), (flag, kind))
        self.assertEqual(2048 + 36864, first)
        self.assertEqual(2**32 - 1, first + sectors)

    def test_there_are_no_more_partitions(self):
        self.assertEqual([(0, 0, 0, 0)] * 2, self.partitions[2:])

    def test_too_much_boot_code_is_refused(self):
        self.assertRaises(
            ValueError, disk.master_boot_record, bytes(441), 2048
        )


class ModuleFilesTestCase(testtools.TestCase):
    DEPENDENCIES = (
        'kernel/fs/isofs/isofs.ko: kernel/drivers/cdrom/cdrom.ko\n'
        'kernel/drivers/cdrom/cdrom.ko:\n'
        'kernel/drivers/scsi/sr_mod.ko.xz: kernel/drivers/cdrom/cdrom.ko '
        'kernel/drivers/scsi/scsi_mod.ko.xz\n'
        'kernel/drivers/scsi/scsi_mod.ko.xz:\n'
        'kernel/net/9p/9pnet-rdma.ko:\n'
    )
    BUILT_IN = 'kernel/drivers/virtio/virtio_pci.ko\n'

    def test_a_module_is_listed_with_what_it_needs(self):
        self.assertEqual(
            {
                'sr_mod': [
                    'kernel/drivers/scsi/sr_mod.ko.xz',
                    'kernel/drivers/cdrom/cdrom.ko',
                    'kernel/drivers/scsi/scsi_mod.ko.xz',
                ],
                'isofs': [
                    'kernel/fs/isofs/isofs.ko',
                    'kernel/drivers/cdrom/cdrom.ko',
                ],
            },
            initramfs.module_files(
                self.DEPENDENCIES, self.BUILT_IN, ('sr_mod', 'isofs')
            ),
        )

    def test_what_is_built_in_need_not_be_loaded(self):
        """As virtio_pci is in Debian 13's kernel, and not in 12's."""
        self.assertEqual(
            ['isofs'],
            list(
                initramfs.module_files(
                    self.DEPENDENCIES, self.BUILT_IN, ('virtio_pci', 'isofs')
                )
            ),
        )

    def test_dashes_in_file_names_are_underscores_in_module_names(self):
        self.assertEqual(
            {'9pnet_rdma': ['kernel/net/9p/9pnet-rdma.ko']},
            initramfs.module_files(self.DEPENDENCIES, '', ('9pnet_rdma',)),
        )

    def test_all_missing_modules_are_named(self):
        error = self.assertRaises(
            build_folder.GuestImageError,
            initramfs.module_files,
            self.DEPENDENCIES,
            self.BUILT_IN,
            ('isofs', 'ahci', 'nvme', 'virtio_pci'),
        )
        self.assertIn('no modules ahci, nvme, which', str(error))

    def test_modules_of_ext4s_checksum_are_found_by_name(self):
        self.assertEqual(
            ('crc32c_generic', 'crc32c_intel'),
            initramfs.checksum_modules(
                'kernel/arch/x86/crypto/crc32c-intel.ko.xz:\n'
                'kernel/crypto/crc32_generic.ko:\n'
                'kernel/crypto/crc32c_generic.ko: kernel/crypto/crc.ko\n'
            ),
        )

    def test_a_kernel_that_has_the_checksum_built_in_has_no_module(self):
        self.assertEqual((), initramfs.checksum_modules(self.DEPENDENCIES))


class HostProgramsTestCase(testtools.TestCase):
    LDD = """\
\tlinux-vdso.so.1 (0x00007f9796d51000)
\tlibe2p.so.2 => /lib/x86_64-linux-gnu/libe2p.so.2 (0x00007f9796c3d000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f9796a59000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f9796d53000)
"""

    def test_libraries_and_the_loader_are_files_the_kernels_own_is_none(self):
        self.assertEqual(
            [
                '/lib/x86_64-linux-gnu/libe2p.so.2',
                '/lib/x86_64-linux-gnu/libc.so.6',
                '/lib64/ld-linux-x86-64.so.2',
            ],
            [str(path) for path in host_programs.parse_ldd(self.LDD)],
        )

    def test_all_missing_libraries_are_named(self):
        error = self.assertRaises(
            build_folder.GuestImageError,
            host_programs.parse_ldd,
            '\tlibe2p.so.2 => not found\n'
            + self.LDD
            + '\tlibx => not found\n',
        )
        self.assertIn('does not find libe2p.so.2, libx;', str(error))

    def test_a_copied_program_runs_with_nothing_but_what_was_copied(self):
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (root / 'bin').mkdir()
        (root / 'busybox').write_text('not to be overwritten')
        program = pathlib.Path('/sbin/mke2fs')
        (root / 'bin' / program.name).symlink_to('../busybox')
        host_programs.copy(program, root)
        (loader,) = root.glob('lib*/ld-*')
        done = subprocess.run(
            [
                loader,
                '--inhibit-cache',
                '--library-path',
                ':'.join({str(path.parent) for path in root.glob('**/*.so*')}),
                root / 'bin/mke2fs',
                '-V',
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertThat(done.stderr, matchers.StartsWith('mke2fs 1.'))
        self.assertEqual(
            'not to be overwritten', (root / 'busybox').read_text()
        )


class GuestScriptsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.scripts = initramfs.ROOTFS / 'etc' / 'init.d'

    def test_scripts_are_good_shell(self):
        scripts = [
            file
            for file in initramfs.ROOTFS.glob('**/*')
            if file.is_file() and file.name != 'inittab'
        ]
        self.assertGreaterEqual(len(scripts), 4)
        for script in scripts:
            done = subprocess.run(
                ['sh', '-n', script], capture_output=True, text=True
            )
            self.assertEqual((0, ''), (done.returncode, done.stderr))

    def test_lsblk_lists_disks_as_those_read_it_who_look_for_a_new_one(self):
        """Tempest takes the lines with "disk" below "TYPE"."""
        program = initramfs.ROOTFS / 'bin' / 'lsblk'
        done = subprocess.run(
            [program, '-lb', '--nodeps'], capture_output=True, text=True
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        title, *lines = done.stdout.splitlines()
        column = title.index('TYPE')
        sizes = {}
        for line in lines:
            name, _, _, size, _, kind = line.split()[:6]
            self.assertEqual(kind, line[column:].split()[0])
            sizes[name] = int(size)
        self.assertEqual(
            {
                path.parent.name: int(path.read_text()) * 512
                for path in pathlib.Path('/sys/block').glob('*/size')
                if int(path.read_text()) > 0
            },
            sizes,
        )

    def test_lsblk_refuses_what_it_does_not_know(self):
        done = subprocess.run(
            [initramfs.ROOTFS / 'bin' / 'lsblk', '--fs'],
            capture_output=True,
            text=True,
        )
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn("'--fs' is not known", done.stderr)

    def test_programs_of_inittab_that_are_ours_can_be_executed(self):
        inittab = initramfs.ROOTFS / 'etc' / 'inittab'
        ours = [
            initramfs.ROOTFS / line.split(':')[3].lstrip('/')
            for line in inittab.read_text().splitlines()
            if ':/etc/' in line
        ]
        self.assertEqual(3, len(ours))
        for program in ours:
            self.assertTrue(os.access(program, os.X_OK), program)

    def test_guest_looks_for_the_label_that_the_disk_gets(self):
        devices = (self.scripts / 'devices').read_text()
        self.assertIn(f'$(wait_for_label {disk.BOOT_LABEL} ', devices)

    def of_instance(self, function, meta_data):
        """What a function of the guest prints of its meta_data.json."""
        folder = self.useFixture(fixtures.TempDir()).path
        with open(f'{folder}/meta_data.json', 'w') as file:
            json.dump(meta_data, file)
        functions = (self.scripts / 'instance').read_text()
        return subprocess.run(
            ['sh', '-s', folder],
            input=functions.replace('. /etc/init.d/labels', '')
            + f'INSTANCE=$1\n{function}\n',
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()

    def test_guest_lets_in_with_each_key_of_its_server_and_no_other(self):
        keys = [
            'ecdsa-sha2-nistp256 AAAAE2V+/cg==',
            'ssh-ed25519 AAAAC3Nz',
            'ssh-rsa AAAAB3Nz',
        ]
        self.assertEqual(
            keys,
            self.of_instance(
                'authorized_keys',
                {
                    'name': 'ssh-rsa',
                    'public_keys': {
                        'one': f'{keys[2]} Generated-by-Nova',
                        'two': f'{keys[1]} root@example\n',
                    },
                    'keys': [
                        {'data': keys[2], 'name': 'one', 'type': 'ssh'},
                        {'data': keys[0], 'name': 'three', 'type': 'ssh'},
                    ],
                },
            ),
        )

    def test_guest_without_a_key_pair_lets_nobody_in(self):
        self.assertEqual(
            ['ended'],
            self.of_instance(
                'authorized_keys; echo ended',
                {'name': 'a ssh-rsa AAAA', 'hostname': 'a'},
            ),
        )

    def test_guest_takes_the_name_of_its_server(self):
        self.assertEqual(
            ['s-rally-1a2b'],
            self.of_instance(
                'host_name', {'hostname': 's-rally-1a2b', 'name': 'other'}
            ),
        )

    def test_guest_says_what_the_probe_waits_for(self):
        devices = (self.scripts / 'devices').read_bytes()
        self.assertIn(b'echo "' + accelerator.READY + b'"', devices)
