# SPDX-License-Identifier: Apache-2.0

"""What a guest says on Nova's console, in files."""

from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins.transport import console
from tests.contract import transport_contract
from tests.unit.guest import console_text


RUN = transport_contract.RUN


OUTPUT = transport_contract.OUTPUT


class ConsoleTest(transport_contract.TransportContract, testtools.TestCase):
    copies = 2
    results_on_console = True

    def transport(self, guests):
        return console.ConsoleTransport(self.nova)

    def told(self, guest):
        return self.console(guest)

    def address(self, guest):
        return guest.server_id

    def cut_off(self, guest):
        self.nova.unreachable.add(guest.server_id)

    def reconnect(self, guest):
        self.nova.unreachable.discard(guest.server_id)

    def test_what_a_flood_pushed_out_comes_with_the_copy(self):
        """More than Nova keeps, between two readings."""
        guest = self.guests[0]
        lines = console_text.whole_run([(3, 0, OUTPUT)])
        lines[-1] = lines[-1].replace(
            lines[-1], console_text.event(7, 'DONE copies=2')
        )
        transport = self.transport(self.guests)
        heard = frames.GuestConsole(run=RUN, guest=guest.name)
        self.tell(guest, ''.join(lines[:4]))
        heard.feed(transport.read(guest))
        self.tell(guest, ''.join(lines[4:8]) + '[ 9.9] kernel: oops\n' * 6000)
        heard.feed(transport.read(guest))
        self.tell(guest, ''.join(lines[8:]))
        heard.feed(transport.read(guest))
        self.assertEqual((5, 6), heard.missing.events)
        self.tell(guest, ''.join(lines))
        heard.feed(transport.read(guest))
        self.assertEqual(
            (OUTPUT, frames.Missing()), (heard.result(3), heard.missing)
        )

    def test_evidence_is_what_was_read_last(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        self.assertIn('409', transport.evidence(guest))
        self.tell(guest, 'login: ')
        self.assertEqual('login: ', transport.evidence(guest))
        self.cut_off(guest)
        self.assertEqual('login: ', transport.evidence(guest))
