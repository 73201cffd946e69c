# SPDX-License-Identifier: Apache-2.0
"""What Cinder's services read, and what makes them start anew."""

import pathlib
import tempfile

import testtools

from lab import layout
from lab.openstack import conf_files
from lab.openstack import services

BACKENDS = """# for Ceph
[DEFAULT]
enabled_backends = tier-a,tier-b

[tier-a]
volume_backend_name = tier-a
"""


class ServicesTestCase(testtools.TestCase):
    """A lab whose services do not run."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.lab = layout.load_or_create(pathlib.Path(folder.name) / 'lab', {})
        (self.lab.etc / 'cinder.conf').write_text('[DEFAULT]\n')
        self.lab.cinder_backends.write_text(BACKENDS)
        self.lab.cinder_api_paste.write_text('')


class CinderFilesTest(ServicesTestCase):
    def override(self, name, text):
        (self.lab.cinder_overrides / name).write_text(text)

    def versions(self):
        return [
            program.environment['CINDER_TIERS_LAB_CONFIGURATION']
            for program in (
                services.api_program(self.lab, 'cinder'),
                *services.worker_programs(
                    self.lab, ['cinder-scheduler', 'cinder-volume']
                ),
            )
        ]

    def test_every_service_reads_the_users_folder_last(self):
        wanted = (
            f'--config-file {self.lab.etc}/cinder.conf '
            f'--config-file {self.lab.etc}/cinder-backends.conf '
            f'--config-dir {self.lab.etc}/cinder.d'
        )
        for program in (
            services.api_program(self.lab, 'cinder'),
            *services.worker_programs(
                self.lab, ['cinder-scheduler', 'cinder-volume']
            ),
        ):
            self.assertTrue(
                ' '.join(program.argv).endswith(wanted), program.argv
            )

    def test_a_change_in_the_users_folder_restarts_all_of_cinder(self):
        seen = [self.versions()]
        for change in (
            lambda: self.override('a.conf', '[DEFAULT]\n'),
            lambda: self.override('a.conf', '[DEFAULT]\nx = 1\n'),
            lambda: self.override('b.conf', '[DEFAULT]\nx = 2\n'),
        ):
            change()
            seen.append(self.versions())
        for versions in zip(*seen, strict=True):
            self.assertEqual(len(seen), len(set(versions)), seen)

    def test_what_cinder_does_not_read_restarts_nothing(self):
        before = self.versions()
        self.override('a.conf.off', '[DEFAULT]\n')
        self.assertEqual(before, self.versions())

    def test_a_file_that_changes_its_place_restarts_all_of_cinder(self):
        self.override('1.conf', '[DEFAULT]\n')
        before = self.versions()
        (self.lab.cinder_overrides / '1.conf').rename(
            self.lab.cinder_overrides / '2.conf'
        )
        for old, new in zip(before, self.versions(), strict=True):
            self.assertNotEqual(old, new)

    def test_a_changed_api_paste_restarts_the_api_only(self):
        before = self.versions()
        self.lab.cinder_api_paste.write_text('[x]\n')
        after = self.versions()
        self.assertNotEqual(before[0], after[0])
        self.assertEqual(before[1:], after[1:])

    def test_the_users_folder_may_choose_the_backends(self):
        self.assertEqual(
            ['tier-a', 'tier-b'], conf_files.enabled_backends(self.lab)
        )
        self.override('a.conf', '[DEFAULT]\nenabled_backends = tier-b, full\n')
        self.assertEqual(
            ['tier-b', 'full'], conf_files.enabled_backends(self.lab)
        )
        self.assertEqual(
            [
                'cinder-volume.cinder-tiers-lab@tier-b',
                'cinder-volume.cinder-tiers-lab@full',
            ],
            services.find_queues(self.lab, 'cinder-volume'),
        )


class ThreadsTest(ServicesTestCase):
    """Cinder's services run with native threads unless told otherwise."""

    #: Without the second one, images are downloaded by one thread only.
    VARIABLES = (
        'OS_CINDER_DISABLE_EVENTLET_PATCHING',
        'EVENTLET_THREADPOOL_SIZE',
    )
    NATIVE = ('1', '0')
    EVENTLET = (None, None)

    def programs(self):
        return [
            services.api_program(self.lab, 'cinder'),
            *services.worker_programs(
                self.lab, ['cinder-scheduler', 'cinder-volume']
            ),
        ]

    def values(self):
        return [
            tuple(map(program.environment.get, self.VARIABLES))
            for program in self.programs()
        ]

    def test_native_threads_are_the_first_choice(self):
        self.assertEqual('native', self.lab.threads)
        self.assertEqual([self.NATIVE] * 3, self.values())

    def test_a_lab_from_before_there_was_a_choice_keeps_eventlet(self):
        (self.lab.root / 'cinder-threads').unlink()
        self.lab = layout.load_or_create(self.lab.root, {})
        self.assertEqual('eventlet', self.lab.threads)
        self.assertEqual([self.EVENTLET] * 3, self.values())

    def test_another_choice_starts_all_of_cinder_anew(self):
        before = self.programs()
        self.lab.choose_threads('eventlet')
        self.assertEqual([self.EVENTLET] * 3, self.values())
        for old, new in zip(before, self.programs(), strict=True):
            self.assertNotEqual(old, new)
        self.lab.choose_threads('native')
        self.assertEqual(before, self.programs())

    def test_the_choice_outlives_another_start(self):
        self.lab.choose_threads('eventlet')
        self.lab = layout.load_or_create(self.lab.root, {})
        self.assertEqual([self.EVENTLET] * 3, self.values())

    def test_other_services_are_left_as_they_are(self):
        (self.lab.etc / 'nova.conf').write_text('')
        before = services.worker_programs(self.lab, ['nova-scheduler'])
        self.lab.choose_threads('eventlet')
        self.assertEqual(
            before, services.worker_programs(self.lab, ['nova-scheduler'])
        )
