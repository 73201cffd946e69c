# SPDX-License-Identifier: Apache-2.0

"""A pool that gets, or loses, a CRUSH rule of two levels, moment by moment."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.execute.ceph import pool as executed
from tests.unit.domain import catalogs as given
from tests.unit.files import test_plan_cases
from tests.worlds import in_memory

ZONES = {
    f'default/{zone}/{zone}{host}': ['ssd'] for zone in 'xyz' for host in 'abc'
}
POOL = actions.Key(kind=actions.Kind.POOL, cluster='ceph', name='database')


def copies(size, each=None, **settings):
    return catalogs.Replicated(
        size=size,
        replicas_per_failure_domain=each,
        sub_failure_domain=each and 'host',
        **settings,
    )


class Moments:
    """A cluster with one pool, which keeps what it was at each moment."""

    def __init__(self, pool):
        self.size, self.rule = pool.size, pool.crush_rule
        self.seen = []

    def command(self, prefix, *, var, val, **arguments):
        assert prefix == 'osd pool set', prefix
        if var == 'size':
            self.size = int(val)
        elif var == 'crush_rule':
            self.rule = val
        self.seen.append((self.rule, self.size))


@ddt.ddt
class TwoLevelsTestCase(testtools.TestCase):
    @ddt.data(
        (copies(4, 2), copies(2)),
        (copies(2), copies(4, 2)),
        (copies(6, 2), copies(3)),
        (copies(3), copies(6, 2)),
        (copies(6, 3), copies(4, 2)),
        (copies(4, 2), copies(6, 3)),
        (copies(6, 2), copies(4, 2)),
        (copies(3), copies(2)),
    )
    @ddt.unpack
    def test_copies_are_in_as_many_zones_at_each_moment(self, before, after):
        world = in_memory.World(osds=test_plan_cases.osds_of(ZONES))
        old, new = (
            given.of(
                given.tier(
                    fallback=True,
                    rbd=given.rbd(
                        pool='database', failure_domain='zone', protection=one
                    ),
                )
            )
            for one in (before, after)
        )
        for action in plans.make(catalog=old, actual=world.observe()).actions:
            world.write(action.after, key=action.key, current=action.before)
        plan = consent.grant(
            plans.make(catalog=new, actual=world.observe()), (str(POOL),)
        )
        (action,) = [one for one in plan.actions if one.key == POOL]
        rules = dict(world.observe().ceph['ceph'].crush_rules)
        for one in plan.actions:
            if one.key.kind is actions.Kind.CRUSH_RULE:
                rules[one.key.name] = one.after
        moments = Moments(action.before)
        executed.Pools(
            {'ceph': moments},
            read_usage=lambda session: usages.Unknown(reason='not asked'),
        ).write(
            action.after,
            key=action.key,
            current=action.before,
            consented=True,
        )
        self.assertEqual(
            (action.after.crush_rule, after.size), moments.seen[-1]
        )
        zones = [
            # There are three of them.
            min(3, rules[rule].failure_domains_for(size))
            for rule, size in moments.seen
        ]
        ends = before.failure_domains, after.failure_domains
        self.assertGreaterEqual(min(zones), min(ends), moments.seen)
