# SPDX-License-Identifier: Apache-2.0

import os
import pathlib

import fixtures
import testtools

from lab.guests import accelerator

# Reads its command line as QEMU does: a doubled comma is a comma.
FAKE_QEMU = """\
#!/bin/sh
for word; do
    case $word in
    file,id=serial,path=*)
        serial=$(printf %s "${word#file,id=serial,path=}" | sed 's/,,/,/g');;
    esac
done
echo $$ > "$(dirname "$0")/pid"
"""

STAYS = 'exec sleep 60\n'


class ProbeTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.kvm_device = self.folder / 'kvm'
        self.kvm_device.touch()
        self.image = self.folder / 'guest.raw'
        self.image.touch()
        self.logs = self.folder / 'logs, of the lab'
        self.logs.mkdir()

    def probe(self, behaviour='', timeout_seconds=30):
        """Probe with a QEMU that is a shell script.

        :param behaviour: shell commands; ``$serial`` is the console's file.
        :param timeout_seconds: as of ``accelerator.probe``.
        """
        qemu = self.folder / 'qemu'
        qemu.write_text(FAKE_QEMU + behaviour)
        qemu.chmod(0o755)
        return accelerator.probe(
            self.image,
            log_directory=self.logs,
            timeout_seconds=timeout_seconds,
            kvm_device=self.kvm_device,
            qemu=str(qemu),
        )

    def assert_qemu_is_gone(self):
        pid = int((self.folder / 'pid').read_text())
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def test_machine_without_kvm_emulates(self):
        self.kvm_device.unlink()
        self.assertEqual(
            accelerator.Accelerator(
                name='tcg',
                reason=f'cannot open {self.kvm_device}: '
                'No such file or directory',
            ),
            self.probe(),
        )
        self.assertFalse((self.folder / 'pid').exists())

    def test_kvm_that_cannot_be_opened_is_not_used(self):
        # Root may open any file, but nobody a folder for writing.
        self.kvm_device.unlink()
        self.kvm_device.mkdir()
        found = self.probe()
        self.assertEqual('tcg', found.name)
        self.assertIn('Is a directory', found.reason)
        self.assertFalse((self.folder / 'pid').exists())

    def test_guest_that_gets_ready_proves_kvm(self):
        found = self.probe(
            'echo SeaBIOS > "$serial"; sleep 0.2\n'
            'echo "cinder-tiers guest ready" >> "$serial"\n' + STAYS
        )
        self.assertEqual('kvm', found.name)
        self.assertRegex(found.reason, r'^the guest was ready in \d+\.\d s$')
        self.assert_qemu_is_gone()

    def test_guest_that_stands_still_is_given_up(self):
        found = self.probe(
            'echo SeaBIOS > "$serial"\n' + STAYS, timeout_seconds=2.5
        )
        self.assertEqual('tcg', found.name)
        self.assertIn('not ready in 2.5 s', found.reason)
        self.assert_qemu_is_gone()

    def test_kvm_error_is_told_without_waiting_for_the_timeout(self):
        found = self.probe(
            'echo "warning: some feature" >&2\n'
            'echo "KVM internal error. Suberror: 1" >&2\n'
            'echo "RAX=0000000000000000" >&2\n' + STAYS
        )
        self.assertEqual('tcg', found.name)
        self.assertIn('KVM internal error. Suberror: 1', found.reason)
        self.assertNotIn('RAX', found.reason)
        self.assert_qemu_is_gone()

    def test_qemu_that_ends_is_told_with_its_last_line(self):
        found = self.probe(
            'echo "first" >&2\n'
            'echo "failed to initialize kvm: Permission denied" >&2\n'
            'exit 7\n'
        )
        self.assertEqual('tcg', found.name)
        self.assertIn('status 7', found.reason)
        self.assertIn('kvm: Permission denied', found.reason)

    def test_console_of_an_earlier_probe_is_not_believed(self):
        (self.logs / 'accelerator-serial.log').write_bytes(accelerator.READY)
        self.assertEqual('tcg', self.probe('exit 1\n').name)

    def test_missing_image_is_an_error_and_no_answer(self):
        self.image.unlink()
        self.assertRaises(FileNotFoundError, self.probe)
        self.assertFalse((self.folder / 'pid').exists())

    def test_missing_qemu_is_an_error_and_no_answer(self):
        self.assertRaises(
            FileNotFoundError,
            accelerator.probe,
            self.image,
            log_directory=self.logs,
            kvm_device=self.kvm_device,
            qemu=str(self.folder / 'no-such-qemu'),
        )
