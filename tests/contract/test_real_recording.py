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

from tests.contract import every_kind
from tests.contract import real_ceph
from tests.contract import recorded
from tests.contract import releases

FOLDER = os.environ.get('CINDER_TIERS_TEST_RECORD')
#: Longer than an OSD takes to hear of an option.
MOST_SECONDS = 60


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RecordingTestCase(every_kind.CephOnlyCase):
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
        answers = {}
        for phase in every_kind.PHASES:
            if phase == every_kind.APPLIED:
                self.assert_all_done(self.carry_out(self.plan(phase)))
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
