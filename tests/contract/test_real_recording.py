# SPDX-License-Identifier: Apache-2.0

"""Records what the Ceph release at hand answers, for the unit tests.

With CINDER_TIERS_TEST_RECORD naming a folder, such as
tests/unit/observe/data, each run leaves the answers there, and
tests/unit/observe/test_releases.py says how what they mean is accepted.
Without it the test only checks that they can be had.
"""

import os
import pathlib
import time

import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry as executing
from cinder_tiers.observe.ceph import cluster
from cinder_tiers.observe.ceph import usage
from cinder_tiers.observe import registry as observing
from tests.contract import every_kind
from tests.contract import in_memory
from tests.contract import real_ceph
from tests.contract import recorded
from tests.contract import releases

FOLDER = os.environ.get('CINDER_TIERS_TEST_RECORD')
#: Longer than an OSD takes to hear of an option.
MOST_SECONDS = 60


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RecordingTestCase(every_kind.EveryKindCase):
    # The same in each recording.
    mark = every_kind.MARK

    def setUp(self):
        super().setUp()
        self.cinder = in_memory.World(osds=())
        self.remove()

    def plan(self, phase):
        return plans.make(
            catalog=every_kind.catalog_of(phase),
            actual=every_kind.observed(self.session, phase, self.cinder),
        )

    def read(self, key):
        if key.cluster is None:
            return self.cinder.read(key)
        return cluster.read(self.session, key)

    def carry_out(self, plan):
        executors = executing.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.session},
            read_usage=usage.attempt,
        )
        executors |= dict.fromkeys(observing.CINDER, self.cinder)
        results = apply.apply(
            plan=plan,
            executors=executors,
            read=self.read,
            report=lambda result: None,
            settle_s=30.0,
        )
        self.assertEqual(
            [],
            [
                (str(one.action.key), one.reason)
                for one in results
                if one.reason
            ],
        )

    def wait_for_each_change(self):
        """OSDs hear of an option soon."""
        wanted = releases.AUDITED - {'pool options'}
        until = time.monotonic() + MOST_SECONDS
        while (
            found := {
                one.key.kind.value
                for one in self.plan(every_kind.CHANGED).actions
            }
        ) != wanted:
            self.assertLess(time.monotonic(), until, found)
            time.sleep(1)

    def test_each_phase_is_answered(self):
        self.assertEqual(every_kind.HOST, self.host)
        answers = {}
        for phase in every_kind.PHASES:
            if phase == every_kind.APPLIED:
                self.carry_out(self.plan(phase))
            elif phase == every_kind.CHANGED:
                self.change_behind_our_back()
                self.wait_for_each_change()
            recorder = recorded.Recorder(self.session)
            every_kind.meaning(recorder, phase, self.cinder)
            answers[phase] = recorder.answers
        self.assertNotEqual({}, answers[every_kind.APPLIED])
        if FOLDER:
            recorded.write(
                pathlib.Path(FOLDER, f'every-kind-{self.version}.json'),
                version=self.version,
                answers=answers,
                lab=str(pathlib.Path(real_ceph.CONF).parents[1]),
            )
