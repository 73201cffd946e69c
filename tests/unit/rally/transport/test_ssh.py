# SPDX-License-Identifier: Apache-2.0

"""Both transports: Nova's console in files, and a real sshd on loopback."""

import socket
import threading
import time
import unittest

import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins.transport import console
from rally_scenarios.plugins.transport import ssh
from tests.contract import transport_contract
from tests.unit.guest import console_text
from tests.unit.rally import local_sshd
from tests.unit.rally import nova_consoles

OUTPUT = transport_contract.OUTPUT


def say_a_banner(listening):
    """That of an SSH server, and then nothing."""
    connected, _address = listening.accept()
    with connected:
        connected.sendall(b'SSH-2.0-evil\x1b[2J\r\n')
        connected.recv(4096)


@unittest.skipIf(
    local_sshd.PROGRAM is None, 'sshd is not installed (bindep.txt)'
)
class SshTest(transport_contract.TransportContract, testtools.TestCase):
    copies = 1
    results_on_console = False
    timeout_seconds = 60

    def setUp(self):
        super().setUp()
        private, public = local_sshd.new_key()
        self.key = ssh.private_key(private)
        self.public = public
        self.sshds = {
            guest.name: self.useFixture(
                local_sshd.LocalSshd(self.folder, public)
            )
            for guest in self.guests
        }

    def transport(self, guests):
        made = ssh.SshTransport(
            logins={
                guest.name: ssh.Login(
                    host='127.0.0.1',
                    port=self.sshds[guest.name].port,
                    user=self.sshds[guest.name].user,
                    folder=str(self.work(guest)),
                )
                for guest in guests
            },
            key=self.key,
            console=console.ConsoleTransport(self.nova),
            timeout_seconds=self.timeout_seconds,
            retry_seconds=0.5,
        )
        self.addCleanup(made.close)
        return made

    def told(self, guest):
        return self.work(guest) / 'log'

    def address(self, guest):
        return f'127.0.0.1:{self.sshds[guest.name].port}'

    def cut_off(self, guest):
        self.sshds[guest.name].stop()

    def reconnect(self, guest):
        self.sshds[guest.name].start()

    def problem(self, transport, guest):
        return str(
            self.assertRaises(console.TransportError, transport.read, guest)
        )

    def test_more_than_one_reading_takes_comes_with_the_next_ones(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        lines = [f'{number} {"x" * 100}\n' for number in range(6000)]
        self.tell(guest, ''.join(lines))
        text = ''
        for _ in range(4):
            text += transport.read(guest)
        self.assertEqual(''.join(lines), text)

    def test_a_guest_that_booted_again_is_read_from_the_beginning(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        self.assertEqual('', transport.read(guest))
        self.tell(guest, 'one\ntwo\n')
        self.assertEqual('one\ntwo\n', transport.read(guest))
        self.told(guest).unlink()
        self.tell(guest, 'three\n')
        self.assertEqual(
            ['', 'three\n'], [transport.read(guest) for _ in range(2)]
        )

    def test_missing_pieces_are_asked_for_by_their_numbers(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        lines = console_text.result(3, OUTPUT, width=60)
        (self.work(guest) / 'sent-3').write_text(''.join(lines))
        (self.work(guest) / 'sent-4').write_text('all of it\n')
        self.tell(guest, 'an event\n')
        self.assertEqual(
            lines[1] + lines[4],
            transport.ask_again(guest, frames.Missing(lines={3: (2, 5)})),
        )
        self.assertEqual(
            'all of it\nan event\n',
            transport.ask_again(
                guest, frames.Missing(lines={4: (), 9: (1,)}, events=(2,))
            ),
        )

    def test_who_answers_with_another_host_key_is_not_believed(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        self.tell(guest, 'one\n')
        self.assertEqual('one\n', transport.read(guest))
        self.cut_off(guest)
        self.sshds[guest.name].new_host_key()
        self.reconnect(guest)
        # First it is told that the connection broke, perhaps more than once;
        # nothing is ever read.
        while 'another host answers' not in self.problem(transport, guest):
            time.sleep(0.1)
        self.assertIn('another host answers', transport.evidence(guest))

    def test_a_guest_that_sends_without_end_or_never_is_cut_short(self):
        guest = self.guests[0]
        for command, self.timeout_seconds, message in (
            ('yes', 60, 'more than 262244 bytes'),
            ('sleep 60', 2, 'not done within 2 s'),
            ('exit 3', 60, 'status 3'),
        ):
            self.cut_off(guest)
            self.sshds[guest.name].start(f'ForceCommand {command}')
            self.assertIn(
                message, self.problem(self.transport(self.guests), guest)
            )

    def test_what_a_guest_says_to_ssh_does_not_steer_the_terminal(self):
        """Neither in our words nor in those that paramiko logs itself."""
        log = self.useFixture(fixtures.FakeLogger())
        guest = self.guests[0]
        self.cut_off(guest)
        self.sshds[guest.name].start(
            "ForceCommand printf 'bad\\033]0;x\\007\\nINFO' >&2; exit 3"
        )
        found = [self.problem(self.transport(self.guests), guest)]
        self.assertIn('status 3', found[0])
        self.assertIn('bad?]0;x??INFO', found[0])
        self.cut_off(guest)
        with socket.create_server(
            ('127.0.0.1', self.sshds[guest.name].port)
        ) as listening:
            threading.Thread(
                target=say_a_banner, args=(listening,), daemon=True
            ).start()
            found.append(self.problem(self.transport(self.guests), guest))
        self.assertIn('client evil?[2J', log.output)
        for text in (*found, *log.output.splitlines()):
            self.assertTrue(text.isprintable(), text)

    def test_what_a_shell_prints_by_itself_is_not_taken_for_words(self):
        guest = self.guests[0]
        self.cut_off(guest)
        self.sshds[guest.name].start(
            'ForceCommand echo Welcome; eval "$SSH_ORIGINAL_COMMAND"'
        )
        self.tell(guest, 'one\n')
        transport = self.transport(self.guests)
        expected = "found 'Welcome', expected a number of lines"
        self.assertIn(expected, self.problem(transport, guest))
        self.assertIn(expected, transport.evidence(guest))

    def test_who_is_not_let_in_shows_its_console_and_why(self):
        guest = self.guests[0]
        self.console(guest).write_text('Kernel panic - not syncing\n')
        self.key = ssh.private_key(local_sshd.new_key()[0])
        transport = self.transport(self.guests)
        self.assertIn('Authentication failed', self.problem(transport, guest))
        evidence = transport.evidence(guest)
        self.assertIn('Kernel panic', evidence)
        self.assertIn('Authentication failed', evidence)

    def test_what_ssh_did_not_bring_is_taken_from_the_console(self):
        """Events are printed there as well."""
        self.console(self.guests[0]).write_text(
            console_text.event(1, 'BOOT')
            + console_text.event(2, 'FAILED : found no disk')
        )
        for guest in self.guests:
            self.cut_off(guest)
        collector = self.listener(self.transport(self.guests))
        self.assertFalse(collector.wait_for_leader(1))
        self.assertEqual(
            'found no disk',
            collector.console(self.guests[0]).event('FAILED').text,
        )

    def test_nova_forgets_what_the_contract_says_it_forgets(self):
        guest = self.guests[0]
        self.console(guest).write_text('a' + 'b' * nova_consoles.KEPT_BYTES)
        self.assertEqual(
            'b' * nova_consoles.KEPT_BYTES,
            self.nova.servers.get_console_output(guest.server_id),
        )

    def test_what_is_no_private_key_is_named_without_being_shown(self):
        error = self.assertRaises(
            ValueError, ssh.private_key, '-----BEGIN SECRET-----'
        )
        self.assertIn('no private key that can be read', str(error))
        self.assertNotIn('BEGIN SECRET', str(error))
