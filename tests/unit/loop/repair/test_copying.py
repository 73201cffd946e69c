# SPDX-License-Identifier: Apache-2.0

import dataclasses
import errno

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import copying
from cinder_tiers.loop.repair import repair
from tests.unit.loop.repair import test_repair

HOST = 'node@tiers-ceph#tier-fast'


class Session:
    """Of a cluster whose manager has tasks for images, or refuses to tell."""

    def __init__(self, *images, refuses=False):
        self.images = images
        self.refuses = refuses
        self.asked = []

    def ask_manager(self, prefix):
        self.asked.append(prefix)
        if self.refuses:
            raise ceph_session.CephRefused('no rights', errno=errno.EACCES)
        # A pool that is removed in the background has tasks without image.
        return [
            {'refs': {'action': 'migrate execute', 'image_name': one}}
            for one in self.images
        ] + [{'refs': {'action': 'trash remove'}}]


def result(ident, outcome=repair.StepOutcome.DONE, host=HOST, **fields):
    return carry_out.StepResult(
        step=repair.RepairStep(
            kind=repair.RepairKind.PLACEMENT,
            volume=dataclasses.replace(
                test_repair.VOLUME, volume_id=ident, **fields
            ),
            tier='fast',
            reason='',
            retype_to='fast',
        ),
        outcome=outcome,
        host=host,
    )


class CopyingTestCase(testtools.TestCase):
    def test_volumes_that_moved_and_have_a_task_are_counted(self):
        self.assertEqual(
            'Ceph\'s manager still copies 2 of 3 volumes that moved: see "ceph'
            ' rbd task list"',
            copying.text(
                [
                    result('a'),
                    result('b', stored_id='named'),
                    result('c'),
                    result('d', outcome=repair.StepOutcome.FAILED, host=None),
                    result('e', host=None),
                ],
                [
                    Session('volume-a', 'volume-d', 'volume-e'),
                    Session(refuses=True),
                    Session('volume-named', 'volume-b', 'other'),
                ],
            ),
        )

    def test_nothing_is_said_where_no_task_is_seen(self):
        for session in (Session('other'), Session(refuses=True)):
            self.assertEqual('', copying.text([result('a')], [session]))
            self.assertEqual(['rbd task list'], session.asked)

    def test_no_manager_is_asked_where_nothing_moved(self):
        session = Session('volume-a')
        self.assertEqual('', copying.text([result('a', host=None)], [session]))
        self.assertEqual([], session.asked)
