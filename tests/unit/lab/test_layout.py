# SPDX-License-Identifier: Apache-2.0
"""The lab's folder: made once, never taken from somebody else."""

import pathlib
import stat
import tempfile

import testtools

from lab import layout
from lab import private_file


class LayoutTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        # Short: the lab refuses paths that are too long for a socket.
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / 'lab'

    def test_a_second_start_finds_ports_and_secrets_of_the_first(self):
        first = layout.load_or_create(
            self.root, {layout.PORT_OFFSET_VARIABLE: '500'}
        )
        again = layout.load_or_create(self.root, {})
        self.assertEqual(first, again)
        self.assertEqual(5500, again.port('keystone'))

    def test_secrets_are_for_root_only(self):
        layout.load_or_create(self.root, {})
        mode = (self.root / 'lab.json').stat().st_mode
        self.assertEqual(0o600, stat.S_IMODE(mode))

    def test_two_labs_have_different_secrets(self):
        one = layout.load_or_create(self.root, {})
        other = layout.load_or_create(self.root.with_name('other'), {})
        self.assertNotEqual(one.passwords, other.passwords)

    def test_a_folder_with_something_else_in_it_is_refused(self):
        self.root.mkdir()
        (self.root / 'thesis.txt').touch()
        problem = self.assertRaises(
            layout.LayoutError, layout.load_or_create, self.root, {}
        )
        self.assertIn('is not a lab', str(problem))
        self.assertEqual(
            ['thesis.txt'], [path.name for path in self.root.iterdir()]
        )

    def test_downloads_that_destroy_has_kept_are_no_hindrance(self):
        (self.root / 'venv').mkdir(parents=True)
        self.assertEqual(self.root, layout.load_or_create(self.root, {}).root)

    def test_files_of_the_user_for_cinder_outlive_another_start(self):
        first = layout.load_or_create(self.root, {})
        override = first.cinder_overrides / 'mine.conf'
        override.write_text('[DEFAULT]\n')
        layout.load_or_create(self.root, {})
        self.assertEqual('[DEFAULT]\n', override.read_text())

    def test_a_damaged_description_is_said_and_kept(self):
        layout.load_or_create(self.root, {})
        (self.root / 'lab.json').write_text('{')
        problem = self.assertRaises(layout.LayoutError, layout.load, self.root)
        self.assertIn(str(self.root / 'lab.json'), str(problem))

    def test_a_port_offset_that_is_no_number_is_refused(self):
        for text in ('-1', 'x', '15001'):
            problem = self.assertRaises(
                layout.LayoutError,
                layout.load_or_create,
                self.root,
                {layout.PORT_OFFSET_VARIABLE: text},
            )
            self.assertIn(repr(text), str(problem))
        self.assertFalse(self.root.exists())

    def test_no_port_is_one_that_the_kernel_gives_to_clients(self):
        lab = layout.load_or_create(
            self.root,
            {layout.PORT_OFFSET_VARIABLE: str(layout.LARGEST_PORT_OFFSET)},
        )
        self.assertLess(lab.second_ceph_daemon_ports()[1], 32768)

    def test_the_choice_of_a_network_outlives_another_start(self):
        lab = layout.load_or_create(self.root, {})
        self.assertFalse(lab.has_network)
        lab.choose_network(True)
        again = layout.load_or_create(self.root, {})
        self.assertTrue(again.has_network)
        self.assertFalse(again.gives_up_network)

    def test_a_network_that_is_given_up_is_known_until_it_is_gone(self):
        lab = layout.load_or_create(self.root, {})
        lab.choose_network(True)
        lab.choose_network(False)
        self.assertEqual(
            (False, True), (lab.has_network, lab.gives_up_network)
        )
        lab.forget_network()
        self.assertEqual(
            (False, False), (lab.has_network, lab.gives_up_network)
        )

    def test_a_lab_that_never_had_a_network_has_none_to_give_up(self):
        lab = layout.load_or_create(self.root, {})
        lab.choose_network(False)
        self.assertFalse(lab.gives_up_network)

    def test_guests_of_two_labs_have_different_addresses(self):
        labs = [
            layout.load_or_create(
                self.root / str(offset),
                {layout.PORT_OFFSET_VARIABLE: str(offset)},
            )
            for offset in (0, 1000, 2000, 15000)
        ]
        self.assertEqual(
            ['198.18.0.0/24', '198.18.10.0/24', '198.18.20.0/24']
            + ['198.18.150.0/24'],
            [str(lab.guest_subnet) for lab in labs],
        )
        self.assertEqual('198.18.10.1/24', str(labs[1].host_address))
        names = [
            name for lab in labs for name in (lab.host_link, lab.guest_link)
        ]
        self.assertEqual(8, len(set(names)))
        for lab in labs:
            self.assertTrue(lab.guest_subnet.subnet_of(layout.GUEST_ADDRESSES))
        for name in names:
            # IFNAMSIZ of the kernel, with its zero byte
            self.assertLess(len(name), 16)

    def test_a_path_too_long_for_a_socket_is_refused(self):
        long = self.root / ('x' * 60)
        self.assertRaises(layout.LayoutError, layout.load_or_create, long, {})
        self.assertFalse(long.exists())

    def test_writing_tells_whether_a_file_changed(self):
        path = self.root / 'a' / 'file'
        self.assertTrue(private_file.write(path, 'one'))
        self.assertFalse(private_file.write(path, 'one'))
        self.assertTrue(private_file.write(path, 'two'))
        self.assertEqual('two', path.read_text())
        self.assertEqual([path], list(path.parent.iterdir()))
