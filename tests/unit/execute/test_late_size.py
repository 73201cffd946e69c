# SPDX-License-Identifier: Apache-2.0

"""A monitor gets min_size before the size that was sent before it."""

import threading

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.state import action as actions
from tests.unit.domain import catalogs as plain
from tests.unit.execute import test_no_harm_unasked
from tests.worlds import placing_cluster


class Overtaken(placing_cluster.Cluster):
    """A cluster to which each size is late, as of a thread that waited."""

    overtaken = None

    def command(self, prefix, **arguments):
        """Answers a size after the first min_size."""
        if self.overtaken is None or prefix != 'osd pool set':
            return super().command(prefix, **arguments)
        if arguments['var'] == 'size':
            assert self.overtaken.wait(60), 'nothing overtook the size'
        try:
            return super().command(prefix, **arguments)
        finally:
            if arguments['var'] == 'min_size':
                self.overtaken.set()


def declared(size, min_size):
    rbd = plain.rbd(
        pool='a',
        device_class='hdd',
        failure_domain='osd',
        pg_num=8,
        protection=catalogs.Replicated(size=size, min_size=min_size),
    )
    return plain.of(plain.tier('a', fallback=True, rbd=rbd))


@ddt.ddt
class LateSizeTestCase(testtools.TestCase):
    @ddt.data(
        ((3, 2), (2, 2)),
        ((2, 2), (3, 2)),
        # Ceph refuses a min_size above the size that a pool still has.
        ((2, 2), (4, 3)),
        ((4, 3), (3, 2)),
    )
    @ddt.unpack
    def test_both_are_what_the_file_has(self, before, after):
        play = test_no_harm_unasked.Play()
        play.apply(play.plan(declared(*before)))
        play.ceph.__class__ = Overtaken
        play.ceph.overtaken = threading.Event()
        plan = play.plan(declared(*after))
        asked = [str(one.key) for one in plan.refused]
        self.assertEqual(['pool a (ceph)'], asked)
        results = play.apply(consent.grant(plan, asked))
        self.assertEqual(
            {actions.Outcome.DONE}, {one.outcome for one in results}, results
        )
        self.assertTrue(play.ceph.overtaken.is_set())
        pool = play.ceph.pools['a']
        self.assertEqual(after, (pool.size, pool.min_size))
        self.assertEqual((), play.plan(declared(*after)).actions)
