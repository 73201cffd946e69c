# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import stat
import subprocess
import sys
import tempfile

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.execute import lock_file

TOP = pathlib.Path(__file__).resolve().parents[3]
#: Any user that is not root.
OTHER = 65534
IS_ROOT = os.geteuid() == 0


class SharedFolderTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.parent = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.parent, 0o1777)

    def shared(self):
        return lock_file.shared_folder([self.parent])

    def made(self, name, content=b''):
        path = pathlib.Path(self.parent) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def test_all_users_may_make_files_and_remove_only_their_own(self):
        path = self.shared()
        self.assertEqual(0o1777, stat.S_IMODE(os.stat(path).st_mode))
        self.assertEqual(path, self.shared())

    def test_the_first_folder_that_is_open_to_all_is_taken(self):
        closed = self.enterContext(tempfile.TemporaryDirectory())
        for mode in (0o755, 0o777, 0o1775):
            os.chmod(closed, mode)
            self.assertEqual(
                os.path.join(self.parent, 'cinder-tiers'),
                lock_file.shared_folder(['/nonexistent', closed, self.parent]),
            )

    def test_where_there_is_none_it_says_what_to_do(self):
        os.chmod(self.parent, 0o755)
        error = self.assertRaises(errors.TiersError, self.shared)
        self.assertIn(self.parent, str(error))
        self.assertIn('--coordination-url', str(error))

    def test_a_link_in_place_of_the_folder_is_refused(self):
        elsewhere = self.made('elsewhere/file').parent
        os.symlink(elsewhere, os.path.join(self.parent, 'cinder-tiers'))
        before = os.stat(elsewhere)
        self.assertRaises(errors.TiersError, self.shared)
        self.assertEqual(before.st_mode, os.stat(elsewhere).st_mode)

    def test_a_file_in_place_of_the_folder_is_refused(self):
        self.made('cinder-tiers')
        self.assertRaises(errors.TiersError, self.shared)

    @testtools.skipUnless(IS_ROOT, 'only root can give files away')
    def test_what_another_user_made_becomes_root_s(self):
        os.mkdir(os.path.join(self.parent, 'cinder-tiers'))
        file = self.made('cinder-tiers/lock')
        for path in (file, file.parent):
            os.chown(path, OTHER, OTHER)
        with lock_file.opened(os.path.join(self.shared(), 'lock')):
            pass
        for path in (file, file.parent):
            self.assertEqual(0, path.stat().st_uid)

    @testtools.skipUnless(IS_ROOT, 'only root can become another user')
    def test_a_user_shares_the_lock_of_root_but_not_that_of_another(self):
        path = os.path.join(self.shared(), 'lock')
        with lock_file.opened(path) as file:
            file.write('root was here')
        self.assertEqual((0, 'root was here\n'), self.as_other(path))
        os.chown(path, 1, 1)
        status, said = self.as_other(path)
        self.assertEqual(1, status)
        self.assertIn('belongs to user 1', said)

    def as_other(self, path):
        """Reads the note as another user; (status, output)."""
        done = subprocess.run(
            [
                '/usr/bin/env',
                'python3',
                '-c',
                """
import os, sys
sys.path.insert(0, sys.argv[1])
from cinder_tiers.execute import lock_file
os.setuid(int(sys.argv[3]))
with lock_file.opened(sys.argv[2]) as file:
    print(file.read())
""",
                str(TOP),
                path,
                str(OTHER),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            env={'PATH': f'{os.path.dirname(sys.executable)}:/usr/bin'},
        )
        return done.returncode, done.stdout or done.stderr


class LockFileTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.folder, 'lock')

    def test_the_next_one_reads_the_note_of_the_last(self):
        with lock_file.opened(self.path) as file:
            self.assertEqual('', file.read())
            file.write('a longer note')
            file.write('a note')
        with lock_file.opened(self.path) as file:
            self.assertEqual('a note', file.read())

    def test_a_note_cannot_steer_a_terminal(self):
        with lock_file.opened(self.path) as file:
            file.write('a\x1b[2J\nb')
            self.assertEqual('a[2Jb', file.read())

    def test_a_link_is_refused_and_its_target_left_alone(self):
        target = pathlib.Path(self.folder) / 'target'
        os.symlink(target, self.path)
        error = self.assertRaises(errors.TiersError, self.open)
        self.assertIn(self.path, str(error))
        self.assertFalse(target.exists())

    def test_a_second_name_of_another_file_is_refused(self):
        target = pathlib.Path(self.folder) / 'target'
        target.touch()
        os.link(target, self.path)
        error = self.assertRaises(errors.TiersError, self.open)
        self.assertIn('not a regular file with a single link', str(error))

    def test_a_pipe_is_refused_and_not_waited_for(self):
        os.mkfifo(self.path)
        self.assertRaises(errors.TiersError, self.open)

    def test_who_may_write_in_the_folder_may_use_the_lock(self):
        for mode, expected in (
            (0o700, 0o600),
            (0o755, 0o600),
            (0o770, 0o660),
            (0o1777, 0o666),
        ):
            os.chmod(self.folder, mode)
            self.open()
            self.assertEqual(
                expected, stat.S_IMODE(os.stat(self.path).st_mode)
            )
            os.unlink(self.path)

    def open(self):
        with lock_file.opened(self.path):
            pass
