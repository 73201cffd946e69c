# SPDX-License-Identifier: Apache-2.0

"""What an interrupted apply left of a pool, and the tiers file is another."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from tests.unit.domain import catalogs as plain
from tests.unit.execute import test_no_harm_unasked
from tests.worlds import placing_cluster

DRAFT, POOL = 'a.tiers-new', 'a'
#: The pool for the data of an erasure coded tier in `POOL`.
DATA_DRAFT, DATA = 'a-data.tiers-new', 'a-data'
DELETION = (
    f'ceph osd pool delete {DATA_DRAFT} {DATA_DRAFT} '
    '--yes-i-really-really-mean-it'
)


class Killed(BaseException):
    """Ends a program at once, as a signal does."""


class Dying(placing_cluster.Cluster):
    """A cluster whose client dies after so many commands that write."""

    left = None

    def command(self, prefix, **arguments):
        """Answers a command, unless the client is dead."""
        writes = prefix in (
            'osd pool create',
            'osd pool set',
            'osd pool set-quota',
            'osd pool application enable',
            'osd pool application set',
            'osd pool rename',
        )
        if writes and self.left is not None:
            if not self.left:
                raise Killed
            self.left -= 1
        return super().command(prefix, **arguments)


def no_manager():
    raise errors.Unreachable('no manager')


def declared(**changes):
    rbd = plain.rbd(
        **{
            'pool': POOL,
            'device_class': 'hdd',
            'failure_domain': 'host',
            'pg_num': 8,
            'protection': catalogs.Replicated(size=3),
            **changes,
        }
    )
    return plain.of(plain.tier('a', fallback=True, rbd=rbd))


OLD = declared(
    options={
        'compression_mode': 'force',
        'noscrub': True,
        'quota_max_bytes': 2**50,
    }
)
COPIES = declared(pool=DATA)
CODED, CODED_WIDER = (
    declared(protection=catalogs.ErasureCoded(k=2, m=m)) for m in (1, 2)
)


@ddt.ddt
class HalfMadePoolTestCase(testtools.TestCase):
    def play(self):
        play = test_no_harm_unasked.Play()
        play.ceph.__class__ = Dying
        return play

    def plan(self, play, catalog):
        """A plan with consent to options that are not known to be safe."""
        plan = play.plan(catalog)
        return consent.grant(
            plan,
            [
                str(one.key)
                for one in plan.refused
                if one.refusal.yields_to_consent
            ],
        )

    def killed_after(self, writes, catalog):
        """A cloud that an apply left when it had sent so many commands.

        :returns: it; None when the apply came to its end.
        """
        play = self.play()
        play.ceph.left = writes
        try:
            play.apply(self.plan(play, catalog))
        except Killed:
            play.ceph.left = None
            return play
        return None

    def half_made(self, catalog):
        """Clouds with a pool that lacks its name, and maybe more."""
        found = []
        for writes in range(1, 20):
            play = self.killed_after(writes, catalog)
            if play is None:
                break
            found.extend(
                [play]
                if any(one.endswith('.tiers-new') for one in play.ceph.pools)
                else ()
            )
        self.assertGreater(len(found), 2)
        return found

    def failures(self, play, catalog):
        results = play.apply(self.plan(play, catalog))
        return [
            (str(one.action.key), one.reason)
            for one in results
            if one.outcome is not actions.Outcome.DONE
        ]

    @ddt.data(
        {},
        {'pg_num': 16},
        {'pg_num': None},
        {'device_class': 'ssd'},
        {'failure_domain': 'osd'},
        {'protection': catalogs.Replicated(size=2)},
        {'protection': catalogs.Replicated(size=4, min_size=3)},
        {'options': {'noscrub': False, 'compression_mode': 'none'}},
        {
            'protection': catalogs.Replicated(size=2),
            'device_class': 'ssd',
            'pg_num': 16,
        },
    )
    def test_it_becomes_what_the_file_has_now(self, changes):
        new = declared(**changes)
        afresh = self.play()
        self.assertEqual([], self.failures(afresh, new))
        wanted = afresh.ceph.pools[POOL]
        for play in self.half_made(OLD):
            self.assertEqual([], self.failures(play, new))
            self.assertEqual((), play.plan(new).actions)
            self.assertNotIn(DRAFT, play.ceph.pools)
            found = play.ceph.pools[POOL]
            same = {'ident': wanted.ident, 'rule': wanted.rule}
            if new.tiers[0].rbd.pg_num is None:
                # What the file does not name is left as it is.
                same['autoscale_mode'] = wanted.autoscale_mode
            self.assertEqual(
                wanted, dataclasses.replace(found, **same), changes
            )
            self.assertEqual(
                dataclasses.replace(afresh.ceph.rules[wanted.rule], ident=0),
                dataclasses.replace(play.ceph.rules[found.rule], ident=0),
            )

    @ddt.data(
        (COPIES, CODED),
        (CODED, CODED_WIDER),
        (CODED_WIDER, CODED),
        (CODED, COPIES),
    )
    @ddt.unpack
    def test_one_that_ceph_cannot_change_is_named_with_its_deletion(
        self, old, new
    ):
        tried = 0
        for play in self.half_made(old):
            if DATA_DRAFT not in play.ceph.pools:
                continue
            tried += 1
            # Of a plan that did not see it, the executor refuses it.
            draft = play.ceph.pools.pop(DATA_DRAFT)
            unaware = self.plan(play, new)
            play.ceph.pools[DATA_DRAFT] = draft
            before = dataclasses.replace(draft)
            (refused,) = play.plan(new).refused
            self.assertEqual(f'pool {DATA} (ceph)', str(refused.key))
            self.assertFalse(refused.refusal.yields_to_consent)
            self.assertIn(DATA_DRAFT, refused.refusal.reason)
            self.assertIn(DELETION, refused.refusal.remedy)
            self.assertIn(
                DELETION,
                {
                    str(one.action.key): one.reason
                    for one in play.apply(unaware)
                }[f'pool {DATA} (ceph)'],
            )
            self.assertEqual(before, play.ceph.pools[DATA_DRAFT])
            self.assertNotIn(DATA, play.ceph.pools)
            del play.ceph.pools[DATA_DRAFT]
            self.assertEqual([], self.failures(play, new))
        self.assertGreater(tried, 0)

    @ddt.data({}, {'pg_num': 16})
    def test_one_with_objects_is_not_touched(self, changes):
        for play in self.half_made(OLD):
            plan = self.plan(play, declared(**changes))
            play.write(DRAFT, 3)
            before = dataclasses.replace(play.ceph.pools[DRAFT])
            (refused,) = play.plan(declared(**changes)).refused
            self.assertIn('is not empty (objects: 3)', refused.refusal.reason)
            self.assertNotIn('pool delete', refused.refusal.remedy)
            self.assertIn(
                'is not empty (objects: 3)',
                ''.join(r.reason for r in play.apply(plan)),
            )
            self.assertEqual(before, play.ceph.pools[DRAFT])

    def test_one_of_another_application_is_not_touched(self):
        play = self.play()
        play.ceph.make_pool(DRAFT, applications=('cephfs',))
        (refused,) = play.plan(OLD).refused
        self.assertIn('cephfs', refused.refusal.reason)

    def test_without_statistics_it_is_neither_finished_nor_altered(self):
        for play in self.half_made(OLD):
            play.ceph._osd_df = no_manager
            for catalog in (OLD, declared(pg_num=16)):
                (refused,) = play.plan(catalog).refused
                self.assertIn(
                    'could not be determined', refused.refusal.reason
                )

    def test_the_plan_says_that_it_is_finished(self):
        for play in self.half_made(OLD):
            (action,) = play.plan(OLD).actions[:1]
            self.assertEqual((f'finishes pool {DRAFT}',), action.notes)

    def test_no_tier_has_a_pool_of_such_a_name(self):
        rbd = plain.rbd(pool='b', cache=plain.cache(DRAFT))
        for one in (plain.rbd(pool=DRAFT), rbd):
            (problem,) = pool_kind.check(plain.of(plain.tier('b', rbd=one)))
            self.assertIn(DRAFT, problem.found)

    def test_defaults_of_the_cluster_are_left(self):
        play = self.play()
        play.ceph.make_pool(DRAFT, flags={'bulk', 'noscrub'})
        self.assertEqual([], self.failures(play, declared(pg_num=None)))
        self.assertEqual({'bulk'}, play.ceph.pools[POOL].flags)
        self.assertLess(pool_options.OF_THE_CLUSTER, pool_options.BOOLEANS)
