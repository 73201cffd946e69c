# SPDX-License-Identifier: Apache-2.0

"""Limits of volumes of running servers, as fio in the guests feels them.

Cinder's volumes are of the driver for several tiers meanwhile.
"""

import pathlib
import tempfile
import time

from testtools import content as details
import yaml

from tests.functional import lab
from tests.functional import repairs
from tests.functional import test_second_cluster
from tests.long import guests

#: Emulated guests, as many as two cores have time for, and clients of librbd.
GUESTS, CLIENTS = 4, 8
TIER = 'limited'
QOS_SPEC = f'qos spec tier-{TIER}'
#: One copy of each block, so that a busy machine does more than the limits.
DECLARED = {
    'tags': [TIER],
    'priority': 93,
    'rbd': {
        'cluster': 'ceph',
        'pool': f'tier-{TIER}',
        'device_class': 'ssd',
        'failure_domain': 'osd',
        'pg_num': 8,
        'replicated': {'size': 1, 'single_copy': True},
    },
}
LIMIT, RAISED = 40, 80
#: Each does its limit within this share, this long after the command.
WITHIN = 0.05
SETTLED_S = 10
MEASURED_S = 15
#: Of which the median second is taken to say when that was.
STEADY_S = 5


class RunningLimitsTest(guests.GuestsTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = lab.user_environment()
        run = test_second_cluster.run
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.declared = yaml.safe_load(
            pathlib.Path(environment['CINDER_TIERS_CATALOG']).read_text()
        )
        cls.path = pathlib.Path(folder.name) / 'tiers.yaml'
        cls.addClassCleanup(
            run,
            environment,
            *('ceph', 'osd', 'crush', 'rule', 'rm', f'tier-{TIER}'),
        )
        cls.addClassCleanup(
            run,
            environment,
            *('ceph', 'osd', 'pool', 'rm', f'tier-{TIER}', f'tier-{TIER}'),
            '--yes-i-really-really-mean-it',
        )
        cls.addClassCleanup(
            run,
            environment,
            *('openstack', 'volume', 'qos', 'delete', f'tier-{TIER}'),
        )
        cls.addClassCleanup(
            run, environment, 'openstack', 'volume', 'type', 'delete', TIER
        )
        cls.declare(total_iops_sec=LIMIT)
        run(
            environment,
            *('openstack', 'tier', 'apply', '--catalog', str(cls.path)),
            *('--allow', QOS_SPEC),
        )
        lab.use_tiered_driver_for_class(cls, catalog=str(cls.path))
        lab.wait_until_tiers_are_known()

    @classmethod
    def declare(cls, **limits):
        """Write a catalog in which volumes of the tier have these limits."""
        content = {
            **cls.declared,
            'tiers': {
                **cls.declared['tiers'],
                TIER: {**DECLARED, 'qos': {'back_end': limits}},
            },
        }
        cls.path.write_text(yaml.safe_dump(content, sort_keys=False))

    def tier(self, command, *options, expect=0):
        return self.ask(
            *('openstack', 'tier', command, '--catalog', str(self.path)),
            *options,
            expect=expect,
        )

    def out_of_date(self, *, expect):
        return repairs.out_of_date(
            self.tier(
                *('audit', '--volumes', '--limits', '--tier', TIER),
                expect=expect,
            )
        )

    def apply(self, **limits):
        """Change the spec, which no volume feels."""
        self.declare(**limits)
        self.run_command(
            *('openstack', 'tier', 'apply', '--yes', '--catalog'),
            *(str(self.path), '--allow', QOS_SPEC),
        )

    def repair(self):
        """Give all volumes the limits of the spec; when that had ended."""
        made = {one.volume for one in self.guests}
        self.assertEqual(made, self.out_of_date(expect=4))
        rows = self.tier(
            *('repair', '--kind', 'limits', '--tier', TIER, '--yes')
        )
        ended = time.monotonic()
        self.assertEqual(
            {(one, 'done') for one in made},
            {(row['Volume'], row['Outcome']) for row in rows},
        )
        return ended

    def assert_each_does(self, what, expected, since):
        """Each guest does what it may, soon and from then on.

        :param what: names the measurement.
        :param expected: {guest: IOPS}
        :param since: second on the monotonic clock from which it may.
        """
        time.sleep(
            max(0, since + SETTLED_S + MEASURED_S + 1 - time.monotonic())
        )
        found = {
            guest: guest.rate(since + SETTLED_S, MEASURED_S)
            for guest in expected
        }
        steady_s = sorted(
            next(
                (
                    tenth / 10
                    for tenth in range(10 * (SETTLED_S + MEASURED_S))
                    if is_near(guest.rate(since + tenth / 10, STEADY_S), iops)
                ),
                -1,
            )
            for guest, iops in expected.items()
        )
        figures = sorted(found.values(), key=lambda one: one or 0)
        text = (
            f'{what}: {[one and round(one, 1) for one in figures]} IOPS, '
            f'as expected after {steady_s} s'
        )
        print(text)
        self.addDetail(what, details.text_content(text))
        for guest, iops in expected.items():
            self.assertTrue(is_near(found[guest], iops), text)
        self.assert_all_write()

    def test_running_guests_feel_the_spec_and_a_volume_that_grows(self):
        self.start(
            guests=GUESTS,
            clients=CLIENTS,
            volume_type=TIER,
            pool=f'tier-{TIER}',
        )
        self.assert_each_does('before', self.all_at(LIMIT), time.monotonic())
        self.apply(total_iops_sec=RAISED)
        self.assert_each_does('applied', self.all_at(LIMIT), time.monotonic())
        self.assert_each_does('raised', self.all_at(RAISED), self.repair())
        self.apply(total_iops_sec=LIMIT)
        self.assert_each_does('again', self.all_at(LIMIT), self.repair())
        self.apply(total_iops_sec_per_gb=LIMIT)
        self.assertEqual(set(), self.out_of_date(expect=0))
        grows = self.guests[::2]
        for guest in grows:
            self.cinder_of_member.volumes.extend(guest.volume, 2)
        for guest in grows:
            self.wait_while(
                lambda one=guest.volume: self.cinder.volumes.get(one).size != 2
            )
        self.assert_each_does(
            'one half extended',
            {**self.all_at(LIMIT), **dict.fromkeys(grows, RAISED)},
            time.monotonic(),
        )
        self.assertEqual(set(), self.out_of_date(expect=0))
        for guest in self.guests[:GUESTS]:
            self.assertEqual(
                2 * 2**30 if guest in grows else 2**30,
                self.size_in_guest(guest.server),
            )

    def all_at(self, iops):
        return dict.fromkeys(self.guests, iops)

    def size_in_guest(self, server):
        """Bytes of the disk that a server's hypervisor shows to it."""
        found, _ = self.run_command('virsh', 'domblkinfo', server, 'vda')
        return int(found.partition('Capacity:')[2].split()[0])


def is_near(iops, expected):
    return iops is not None and abs(iops - expected) <= WITHIN * expected
