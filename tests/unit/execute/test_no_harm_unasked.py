# SPDX-License-Identifier: Apache-2.0

"""No sequence of plan and apply without consent harms what holds data.

The plans are the product's, and so are the readers and executors that carry
them out, by the commands of Ceph. What harm is says the cluster, by what
became of each object (`placing_cluster`). Between the steps others write,
change pools and capabilities, and lose hosts, and a plan may be applied when
it is long out of date.
"""

import dataclasses
import itertools

import ddt
from hypothesis import assume
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import cluster as observed_cluster
from cinder_tiers.observe.ceph import usage as observed_usage
import tests
from tests.contract import placing_contract
from tests.contract import real_ceph
from tests.unit.domain import catalogs as plain
from tests.worlds import in_memory
from tests.worlds import placing_cluster

HOSTS = dict.fromkeys('abcd', ('ssd', 'hdd', 'hdd'))
#: Ceph's kinds that the cluster has.
KINDS = (
    actions.Kind.ERASURE_CODE_PROFILE,
    actions.Kind.CRUSH_RULE,
    actions.Kind.POOL,
    actions.Kind.CEPHX_USER,
    actions.Kind.PRIMARY_AFFINITY,
)
OTHERS_USER = 'client.nova'
#: `vms` is a pool of Nova, `files` one of CephFS, `old` one from before there
#: were applications, and `bare` what an interrupted apply left; the others
#: are made by the tiers file.
POOL_NAMES = ('a', 'b', 'vms', 'files', 'old', 'bare')
PROTECTIONS = (
    catalogs.Replicated(size=1, single_copy=True),
    catalogs.Replicated(size=2),
    catalogs.Replicated(size=2, min_size=1, unprotected_writes=True),
    catalogs.Replicated(size=3),
    catalogs.Replicated(size=3, min_size=1, unprotected_writes=True),
    catalogs.Replicated(size=3, min_size=2),
    catalogs.Replicated(size=3, min_size=3),
    catalogs.ErasureCoded(k=2, m=1),
    catalogs.ErasureCoded(k=2, m=2, min_size=3),
)
OPTIONS = strategies.fixed_dictionaries(
    {},
    optional={
        'bulk': strategies.booleans(),
        'noscrub': strategies.booleans(),
        'nosizechange': strategies.booleans(),
        'nopgchange': strategies.booleans(),
        'pg_autoscale_bias': strategies.sampled_from((1, 2)),
        'pg_num_min': strategies.sampled_from((1, 64)),
        'quota_max_bytes': strategies.sampled_from(
            (0, 1, placing_cluster.GIB, 5 * placing_cluster.GIB, 2**50)
        ),
        'quota_max_objects': strategies.sampled_from((0, 1, 5, 10**6)),
        'target_size_ratio': strategies.sampled_from((0, 0.1)),
    },
)
#: Settings that stand beside no pg_num.
STEERING = {'bulk', 'pg_autoscale_bias', 'pg_num_min', 'target_size_ratio'}


@strategies.composite
def rbd_pools(draw, name):
    options = draw(OPTIONS)
    return plain.rbd(
        pool=name,
        # Seldom another place than before, with which all is refused.
        device_class=draw(
            strategies.sampled_from(('hdd',) * 6 + ('ssd', None))
        ),
        failure_domain=draw(strategies.sampled_from(('host',) * 6 + ('osd',))),
        pg_num=None
        if STEERING & options.keys()
        else draw(strategies.sampled_from((None, 8, 16))),
        protection=draw(strategies.sampled_from(PROTECTIONS)),
        options=options,
    )


@strategies.composite
def sound_catalogs(draw):
    names = draw(
        strategies.lists(
            strategies.sampled_from(POOL_NAMES[:2] * 2 + POOL_NAMES),
            min_size=1,
            max_size=2,
            unique=True,
        )
    )
    affinity = draw(strategies.sampled_from((None, None, 0.5)))
    found = []
    for priority, name in enumerate(names):
        rbd = draw(rbd_pools(name))
        if rbd.device_class:
            rbd = dataclasses.replace(rbd, primary_affinity=affinity)
        found.append(
            plain.tier(name, priority=priority, fallback=not priority, rbd=rbd)
        )
    catalog = plain.of(*found)
    assert not catalog_rules.check(catalog), catalog_rules.check(catalog)
    return catalog


@strategies.composite
def edited(draw, catalog):
    """The same tiers, of which one has something else."""
    number = draw(strategies.integers(0, len(catalog.tiers) - 1))
    tier = catalog.tiers[number]
    other = draw(rbd_pools(tier.name))
    kept = draw(
        strategies.sampled_from(
            (
                ('device_class', 'failure_domain', 'protection', 'pg_num'),
                ('device_class', 'failure_domain', 'protection', 'pg_num'),
                ('device_class', 'failure_domain', 'options'),
                ('protection', 'options', 'pg_num'),
            )
        )
    )
    rbd = dataclasses.replace(
        other, **{field: getattr(tier.rbd, field) for field in kept}
    )
    if rbd.pg_num is not None:
        rbd = dataclasses.replace(
            rbd,
            options={
                name: value
                for name, value in rbd.options.items()
                if name not in STEERING
            },
        )
    tiers = list(catalog.tiers)
    tiers[number] = dataclasses.replace(
        tier,
        rbd=dataclasses.replace(
            rbd,
            primary_affinity=tier.rbd.primary_affinity
            if rbd.device_class == tier.rbd.device_class
            else None,
        ),
    )
    found = plain.of(*tiers)
    assume(not catalog_rules.check(found))
    return found


class Play:
    """The cluster, its clients and administrators, and Cinder."""

    def __init__(self):
        cluster = catalogs.Cluster(name='ceph')
        self.ceph = placing_cluster.Cluster(cluster, HOSTS)
        self.ceph.make_pool('vms', autoscale_mode='on', of_others=True)
        self.ceph.make_pool('files', applications=('cephfs',), of_others=True)
        self.ceph.make_pool('old', applications=(), of_others=True)
        self.ceph.make_rule('bare', 'hdd')
        self.ceph.make_pool('bare', applications=(), size=2, rule='bare')
        for name in ('vms', 'files', 'old'):
            self.write(name, 4)
        self.ceph.users = {
            OTHERS_USER: {'mon': 'profile rbd', 'osd': 'allow rwx pool=vms'}
        }
        self.cinder = in_memory.World(osds=plain.osds())

    def write(self, pool, count):
        """Clients write new objects, unless the pool serves no I/O."""
        for number in range(count):
            self.ceph.pools[pool].objects.add(f'{pool}-{number}')

    def adopt(self, names):
        """Pools that were named are of the tiers file from then on."""
        for name in names & self.ceph.pools.keys():
            self.ceph.pools[name].of_others = False

    def write_to_new_pools(self):
        for name, pool in self.ceph.pools.items():
            if not pool.of_others:
                self.write(name, 2)

    def plan(self, catalog):
        return plans.make(
            catalog=catalog,
            actual=actual_state.ActualState(
                cinder=self.cinder.observe().cinder,
                ceph={
                    'ceph': dataclasses.replace(
                        observed_cluster.observe(self.ceph, catalog),
                        usage=observed_usage.attempt(self.ceph),
                    )
                },
            ),
        )

    def read(self, key):
        if key.cluster is None:
            return self.cinder.read(key)
        return observed_cluster.read(self.ceph, key)

    def apply(self, plan):
        """Applies a plan, as old as it may be.

        :returns: the results; None when the plan was refused.
        """
        ours = registry.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.ceph},
            read_usage=observed_usage.attempt,
        )
        try:
            return apply.apply(
                plan=plan,
                executors={
                    **self.cinder.executors,
                    **{kind: ours[kind] for kind in KINDS},
                },
                read=self.read,
                report=lambda result: None,
            )
        except errors.Refused:
            return None

    def change_pool(self, draw):
        """What an administrator may do to any pool."""
        name = draw(strategies.sampled_from(sorted(self.ceph.pools)))
        pool = self.ceph.pools[name]
        field, values = draw(
            strategies.sampled_from(
                (
                    ('size', (1, 2, 3, 4)),
                    ('min_size', (1, 2, 3)),
                    ('pg_num', (8, 16, 32)),
                    ('autoscale_mode', ('on', 'off')),
                    ('quota_max_bytes', (0, 2**45)),
                    ('applications', ('rbd', 'cephfs', None)),
                    ('flags', ('nosizechange', 'nopgchange')),
                )
            )
        )
        value = draw(strategies.sampled_from(values))
        if field == 'applications':
            pool.applications = {value: {}} if value else {}
        elif field == 'flags':
            pool.flags ^= {value}
        elif field == 'size' and pool.kind != placing_cluster.REPLICATED:
            return
        else:
            setattr(pool, field, value)
        pool.min_size = min(pool.min_size, pool.size)
        self.ceph.settle()

    def change_grants(self, draw):
        user = draw(strategies.sampled_from(sorted(self.ceph.users)))
        pool = draw(strategies.sampled_from(POOL_NAMES))
        self.ceph.users[user] = {
            'mon': 'profile rbd',
            'osd': f'profile rbd pool={pool}, allow r pool=files',
        }


def named_pools(plan):
    """What consent was given to: pools and users, by name."""
    return {one.key.name for one in plan.actions if one.consented}


@ddt.ddt
class NoHarmUnaskedTestCase(testtools.TestCase):
    def assert_harmless(self, play, plan):
        """Carries out a plan, and looks at what became of the data."""
        before = play.ceph.look()
        play.apply(plan)
        play.adopt(named_pools(plan))
        harmed = before.harm_done(play.ceph.look())
        allowed = named_pools(plan)
        self.assertEqual(
            set(),
            {one for one in harmed if one[0] not in allowed},
            [f'{one.verb} {one.key}' for one in plan.actions],
        )

    @ddt.data(*itertools.permutations(PROTECTIONS, 2))
    @ddt.unpack
    def test_another_administrator_makes_the_pool_first(self, mine, theirs):
        """And volumes are on it before a plan to make it is applied."""
        play = Play()
        old, new = (
            play.plan(
                plain.of(
                    plain.tier(
                        'a',
                        fallback=True,
                        rbd=plain.rbd(
                            pool='a', device_class='hdd', protection=one
                        ),
                    )
                )
            )
            for one in (mine, theirs)
        )
        self.assert_harmless(play, new)
        play.write('a', 5)
        self.assert_harmless(play, old)

    @tests.examples(150)
    @given(data=strategies.data())
    def test_whatever_others_do_meanwhile(self, data):
        play, declared, made = Play(), [], []
        for _ in range(data.draw(strategies.integers(3, 10), 'steps')):
            step = data.draw(
                strategies.sampled_from(
                    (
                        'plan',
                        *('plan and apply',) * 5,
                        'apply an old plan',
                        'write',
                        'change a pool',
                        'change grants',
                        'lose a host',
                        'all hosts are back',
                    )
                ),
                'step',
            )
            if step in ('plan', 'plan and apply'):
                catalog = data.draw(
                    edited(declared[-1])
                    if declared and data.draw(strategies.integers(0, 3))
                    else sound_catalogs()
                )
                declared.append(catalog)
                plan = play.plan(catalog)
                names = [
                    str(one.key)
                    for one in plan.refused
                    if one.refusal.yields_to_consent
                    and not data.draw(strategies.integers(0, 2), 'consent')
                ]
                plan = consent.grant(plan, names)
                # As an operator does who leaves out what is refused.
                plan = plans.Plan(
                    actions=tuple(
                        one for one in plan.actions if not one.refusal
                    )
                )
                made.append(plan)
                if step == 'plan and apply':
                    self.assert_harmless(play, plan)
                    if data.draw(strategies.booleans(), 'they are used'):
                        play.write_to_new_pools()
            elif step == 'apply an old plan' and made:
                self.assert_harmless(
                    play, data.draw(strategies.sampled_from(made))
                )
            elif step == 'write':
                play.write(
                    data.draw(
                        strategies.sampled_from(sorted(play.ceph.pools))
                    ),
                    data.draw(strategies.integers(1, 6)),
                )
            elif step == 'change a pool':
                play.change_pool(data.draw)
            elif step == 'change grants':
                play.change_grants(data.draw)
            elif step == 'lose a host':
                play.ceph.down = {data.draw(strategies.sampled_from('abcd'))}
            elif step == 'all hosts are back':
                play.ceph.down = set()


class HarmIsSeenTestCase(testtools.TestCase):
    """The cluster shows each harm, or the test above would prove nothing."""

    def setUp(self):
        super().setUp()
        self.play = Play()
        self.ceph = self.play.ceph
        self.before = self.ceph.look()

    def set_pool(self, var, val, pool='vms'):
        self.ceph.command('osd pool set', pool=pool, var=var, val=val)

    def assert_seen(self, *what, of='vms'):
        found = self.before.harm_done(self.ceph.look())
        self.assertLessEqual({(of, one) for one in what}, found)

    def test_nothing_happened(self):
        self.assertEqual(set(), self.before.harm_done(self.ceph.look()))

    def test_a_copy_less(self):
        self.set_pool('size', '2')
        self.assert_seen('copies lost')

    def test_a_copy_more(self):
        self.set_pool('size', '4')
        self.assert_seen('data moved')

    def test_a_size_chooses_another_min_size(self):
        self.set_pool('size', '1')
        self.assert_seen(
            'copies lost', 'writes are acknowledged with fewer copies'
        )

    def test_writes_that_fewer_copies_have(self):
        self.set_pool('min_size', '1')
        self.assert_seen('writes are acknowledged with fewer copies')

    def test_a_lost_host_stops_what_it_did_not(self):
        self.set_pool('min_size', '3')
        self.assert_seen('I/O stopped')

    def test_other_numbers_of_placement_groups(self):
        self.set_pool('pg_autoscale_mode', 'off')
        self.set_pool('pg_num', '64')
        self.assert_seen('data moved')

    def test_what_steers_the_autoscaler(self):
        self.set_pool('bulk', 'true')
        self.assert_seen('data moved')

    def test_another_rule(self):
        self.ceph.make_rule('other', 'ssd')
        self.set_pool('crush_rule', 'other')
        self.assert_seen('data moved')

    def test_a_quota_that_is_reached(self):
        self.ceph.command(
            'osd pool set-quota', pool='vms', field='max_objects', val='4'
        )
        self.assert_seen('I/O stopped')

    def test_a_grant_less(self):
        self.ceph.command(
            'auth caps', entity=OTHERS_USER, caps=['mon', 'profile rbd']
        )
        self.assert_seen('lost osd allow rwx pool=vms', of=OTHERS_USER)

    def test_a_setting_of_others(self):
        self.set_pool('noscrub', 'true')
        self.assert_seen('the pool of others has other settings')


class PlacingClusterTestCase(
    placing_contract.PlacingContract, testtools.TestCase
):
    """The cluster in memory does as Ceph does."""

    def setUp(self):
        super().setUp()
        self.mark = 'contract'
        self.session = placing_cluster.Cluster(
            catalogs.Cluster(name='ceph'), HOSTS
        )
