# SPDX-License-Identifier: Apache-2.0

"""What treatments may take of the memory of hosts."""

import dataclasses
import types

import ddt
import testtools

from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.loop.sweep import memory
from tests.unit.domain import catalogs

GIB = 2**30
SSD = actions.Key(kind=actions.Kind.OSD_OPTIONS, cluster='ceph', name='ssd')
#: On each of three hosts an SSD and an HDD, with 4 GiB each.
OSDS = catalogs.osds()
FACTS = {
    osd.osd_id: ceph_state.OsdMemory(
        host=f'vm-{osd.location["host"]}',
        host_bytes=32 * GIB,
        target_bytes=4 * GIB,
    )
    for osd in OSDS
}
SSDS = [osd.osd_id for osd in OSDS if osd.device_class == 'ssd']
HDDS = [osd.osd_id for osd in OSDS if osd.device_class == 'hdd']


def plan(after, before=4 * GIB, name=memory.TARGET):
    return types.SimpleNamespace(
        actions=(
            actions.Action(
                key=SSD,
                before=ceph_state.OsdOptions(
                    name='ssd', values={name: str(before)}
                ),
                after=ceph_state.OsdOptions(
                    name='ssd', values={name: str(after)}
                ),
                why='',
            ),
        )
    )


@ddt.ddt
class JudgeTestCase(testtools.TestCase):
    def judge(self, facts=FACTS, **planned):
        self.asked = []

        def read(cluster, osd_ids):
            self.asked.append((cluster, sorted(osd_ids)))
            return facts

        return memory.judge(
            planned,
            {'ceph': catalogs.empty_cluster(osds=OSDS)},
            read,
            where=lambda treatment: 'sweep.yaml:7',
        )

    def changed(self, osd_ids, **changes):
        return {
            osd_id: dataclasses.replace(osd, **changes)
            if osd_id in osd_ids
            else osd
            for osd_id, osd in FACTS.items()
        }

    def test_a_target_that_is_no_longer_set_is_asked_of_no_host(self):
        """What OSDs have then is Ceph's default, and no treatment's."""
        unset = plan(0)
        (action,) = unset.actions
        after = dataclasses.replace(action.after, values={memory.TARGET: None})
        unset.actions = (dataclasses.replace(action, after=after),)
        self.assertEqual(memory.MemoryJudgement(), self.judge(unset=unset))
        self.assertEqual([], self.asked)

    def test_more_than_a_host_has_is_refused(self):
        found = self.judge(large=plan(64 * GIB))
        (objection,) = found.objections
        for part in (
            'large: sweep.yaml:7: osd_memory_target 64 GiB of osd options ssd',
            f'on host vm-a the OSDs would need 68 GiB (osd.{SSDS[0]} beside '
            f'osd.{HDDS[0]}), and it has 32 GiB of memory',
            '2 more hosts likewise',
            # 0.7 of 32 GiB, less the 4 GiB of the other one.
            'use at most 18841M',
        ):
            self.assertIn(part, objection)
        self.assertEqual((), found.warnings)
        # What is proposed is neither refused nor doubted.
        again = self.judge(less=plan(18841 * 2**20))
        self.assertEqual(memory.MemoryJudgement(), again)

    @ddt.data((28, 0), (29, 1))
    @ddt.unpack
    def test_others_on_the_host_count(self, gib, objections):
        found = self.judge(one=plan(gib * GIB))
        self.assertEqual(objections, len(found.objections))

    def test_what_leaves_less_than_cephadm_does_is_told(self):
        found = self.judge(tight=plan(24 * GIB))
        self.assertEqual((), found.objections)
        (warning,) = found.warnings
        self.assertIn('leaves 12 % for everything else, and cephadm', warning)
        self.assertEqual((), self.judge(usual=plan(18 * GIB)).warnings)

    def test_the_smallest_host_counts(self):
        facts = self.changed({SSDS[1], HDDS[1]}, host_bytes=8 * GIB)
        (objection,) = self.judge(facts, one=plan(6 * GIB)).objections
        self.assertIn('on host vm-b the OSDs would need 10 GiB', objection)
        self.assertNotIn('likewise', objection)
        self.assertIn('use at most 1638M', objection)

    def test_what_takes_less_than_now_is_no_harm(self):
        """A machine for tests may have too little for the default."""
        facts = self.changed(FACTS, host_bytes=4 * GIB)
        found = self.judge(facts, less=plan(2 * GIB), more=plan(5 * GIB))
        (objection,) = found.objections
        self.assertTrue(objection.startswith('more: '))
        # Of such a host no value is to be had.
        self.assertTrue(objection.endswith('remove the value'), objection)

    def test_all_osds_of_one_kernel_count_whatever_their_crush_hosts(self):
        facts = self.changed(FACTS, host='lab')
        (objection,) = self.judge(facts, one=plan(8 * GIB)).objections
        self.assertIn('on host lab the OSDs would need 36 GiB', objection)

    @ddt.data({'host': None}, {'host_bytes': None})
    def test_a_host_that_is_not_known_is_not_refused_but_told(self, unknown):
        found = self.judge(
            self.changed(FACTS, **unknown),
            one=plan(64 * GIB),
            other=plan(32 * GIB),
        )
        self.assertEqual((), found.objections)
        (warning,) = found.warnings
        self.assertIn(
            'osd options ssd (ceph): the memory of the host', warning
        )
        self.assertIn(f'osd.{SSDS[0]}, ', warning)

    def test_osds_that_were_never_started_are_told(self):
        (warning,) = self.judge({}, one=plan(64 * GIB)).warnings
        self.assertIn(f'osd.{SSDS[2]} is not known', warning)

    def test_another_osd_whose_value_is_not_known_is_told(self):
        facts = self.changed({HDDS[0]}, target_bytes=None)
        (warning,) = self.judge(facts, one=plan(8 * GIB)).warnings
        self.assertIn(f'osd_memory_target of osd.{HDDS[0]} is not', warning)

    def test_nothing_is_asked_for_other_options(self):
        self.judge(one=plan(5, 4, 'osd_max_scrubs'), same=plan(4 * GIB))
        self.assertEqual([], self.asked)
        self.judge(one=plan(5 * GIB), other=plan(6 * GIB))
        self.assertEqual([('ceph', SSDS)], self.asked)
