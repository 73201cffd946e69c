# SPDX-License-Identifier: Apache-2.0


import ddt
import testtools

from cinder_tiers.figures.fleet import guest_facts
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import environment as result_environment
from tests.unit.guest import console_text

IN_THE_LAB = (
    'cpus=1 bus=virtio-blk cache=write_back scheduler=none'
    ' clock=tsc clocks=tsc_hpet_acpi_pm'
    ' vendor=OpenStack_Foundation : QEMU Virtual CPU version 2.5+'
)


def console(*events):
    heard = frames.GuestConsole(run=console_text.RUN, guest='g000')
    heard.feed(
        ''.join(
            console_text.event(number, words)
            for number, words in enumerate(events, start=1)
        )
    )
    return heard


def system(words):
    return guest_facts.system(console(f'FACTS {words}'))


def cpu_use(words, **known):
    return guest_facts.cpu_use(
        console(f'END {words}').event('END'), guest_system.GuestSystem(**known)
    )


@ddt.ddt
class GuestFactsTest(testtools.TestCase):
    def test_an_emulated_guest_of_the_lab(self):
        self.assertEqual(
            guest_system.GuestSystem(
                cpu_model='QEMU Virtual CPU version 2.5+',
                cpus=1,
                hypervisor='qemu',
                disk_bus='virtio-blk',
                write_cache='write back',
                io_scheduler='none',
                clock_source='tsc',
            ),
            system(IN_THE_LAB),
        )

    @ddt.data(
        ('clocks=tsc_kvm-clock vendor=OpenStack_Foundation', 'kvm'),
        ('clocks=xen_tsc', 'xen'),
        ('clocks=tsc', None),
        ('clocks=tsc vendor=VMware,_Inc.', 'VMware, Inc.'),
    )
    @ddt.unpack
    def test_the_hypervisor_is_known_by_its_clock(self, words, expected):
        self.assertEqual(expected, system(words).hypervisor)

    @ddt.data(
        (('BOOT at=9000', 'PREPARED at=12500'), 3.5),
        (('BOOT at=9000',), None),
        (('PREPARED at=12500',), None),
        (('BOOT at=x', 'PREPARED at=12500'), None),
        # A guest may say anything: only so much time has gone by.
        (('BOOT at=9000', 'PREPARED at=99999999'), None),
        (('BOOT at=9000', 'PREPARED at=8000'), None),
    )
    @ddt.unpack
    def test_how_long_a_guest_filled_its_region(self, events, expected):
        self.assertEqual(
            expected, guest_facts.spent_seconds(console(*events), 'fill', 60)
        )

    def test_a_guest_that_says_nothing_has_no_system(self):
        self.assertIsNone(guest_facts.system(console('BOOT kernel=6.1')))

    def test_what_cannot_be_seen_is_none(self):
        self.assertEqual(guest_system.GuestSystem(), system(': '))

    @ddt.data('cpus=-1', 'cpus=999999', 'cpus=1e3', 'cpus=0', 'cpus=x')
    def test_a_number_of_cpus_that_cannot_be_is_none(self, words):
        self.assertIsNone(system(words).cpus)

    def test_hostile_texts_are_cleaned_and_cut(self):
        found = system(
            'os=<script>alert(1)</script> bus=' + 'x' * 300 + ' : [31m<b>evil'
        )
        self.assertEqual('?script?alert(1)?/script?', found.distribution)
        self.assertEqual('x' * 64, found.disk_bus)
        self.assertEqual('?31m?b?evil', found.cpu_model)

    def test_cpus_are_shared_between_work_waiting_and_others(self):
        self.assertEqual(
            guest_system.CpuUse(busy_percent=45.5, steal_percent=10.0),
            cpu_use('ticks=1000 busy=455 steal=100 stolen=900'),
        )

    def test_steal_is_unknown_where_the_hypervisor_does_not_tell(self):
        words = 'ticks=1000 busy=10 steal=0 stolen=0'
        self.assertIsNone(cpu_use(words).steal_percent)
        self.assertIsNone(cpu_use(words, hypervisor='qemu').steal_percent)
        self.assertEqual(0, cpu_use(words, hypervisor='kvm').steal_percent)

    @ddt.data(
        'slot=0',
        'ticks=0 busy=0 steal=0 stolen=0',
        'ticks=9 busy=5 steal=5 stolen=5',
        'ticks=9 busy=-1 steal=5 stolen=5',
        'ticks=9 busy=1 steal=5 stolen=4',
        'ticks=9 busy=1 steal=x stolen=4',
    )
    def test_ticks_that_cannot_be_are_no_use(self, words):
        self.assertIsNone(cpu_use(words))

    def outcome(self, words, *cpu):
        return verdict.GuestOutcome(
            guest='g000',
            tier='fast',
            slots=(),
            clock_offset_ms=0,
            clock_samples=1,
            damaged_lines=0,
            system=system(words) if words else None,
        )

    def test_facts_of_a_run_tell_what_differs(self):
        facts = result_environment.from_guests(
            [
                self.outcome('bus=virtio-blk os=debian_12 : A'),
                self.outcome('bus=virtio-blk os=debian_12 : B'),
                self.outcome('bus=virtio-blk : A'),
            ]
        )
        self.assertEqual(
            (
                'virtio-blk',
                'differs: A, B',
                'debian 12, and some do not say',
                None,
                'no guest could see it',
            ),
            (
                facts['disk_bus'].value,
                facts['cpu_model'].value,
                facts['distribution'].value,
                facts['io_scheduler'].value,
                facts['kernel'].reason,
            ),
        )
        self.assertEqual(
            'no guest reported what its CPUs did',
            facts['steal_percent'].reason,
        )
