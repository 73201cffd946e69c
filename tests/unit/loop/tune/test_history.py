# SPDX-License-Identifier: Apache-2.0

"""Which histories contradict themselves."""

import testtools

from cinder_tiers.loop.tune import history


class RefusedTestCase(testtools.TestCase):
    REFUSED = (None, ('refused: libvirt',))

    def taken(self, *outcomes, seconds=60.0):
        return history.Taken(
            part=history.BlockPurpose.SEARCH,
            seconds=seconds,
            outcomes=tuple(
                history.CandidateOutcome(
                    candidate=(1,), gain=gain, broken=broken
                )
                for gain, broken in outcomes
            ),
        )

    def test_what_was_refused_took_no_slot(self):
        refused = self.REFUSED
        for slots, found in (
            (4, self.taken((0.1, ()), (None, ()), (0.1, ('slow',)))),
            (2, self.taken(refused, refused, (0.1, ()))),
            (0, self.taken(refused, refused, seconds=0.0)),
        ):
            self.assertEqual(slots, found.slots)

    def test_what_was_refused_is_not_measured_in_vain(self):
        refused = self.taken(self.REFUSED, seconds=0.0)
        vain, good = self.taken((None, ())), self.taken((0.1, ()))
        for number, blocks in (
            (0, ()),
            (0, (refused,) * 9),
            (2, (vain, good, vain, refused, vain, refused)),
            (0, (vain, vain, vain, good)),
        ):
            self.assertEqual(number, history.History(blocks=blocks).in_vain)
