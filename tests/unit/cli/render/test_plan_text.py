# SPDX-License-Identifier: Apache-2.0

"""What a person reads of a plan, at three widths of a terminal.

The texts are in plans/; look at them when they change.
"""

import dataclasses
import pathlib

import ddt
import testtools

from cinder_tiers.cli.render import plan_text
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import reader

TEXTS = pathlib.Path(__file__).parents[1] / 'plans'
CATALOG = reader.read_text(
    """version: 1
clusters: {ceph: {}}
tiers:
  general:
    fallback: true
    rbd: {cluster: ceph, pool: tier-general, device_class: hdd, pg_num: 8,
          replicated: {size: 3}}
  database:
    tags: [database]
    rbd: {cluster: ceph, pool: tier-database, device_class: ssd, pg_num: 8,
          replicated: {size: 3}}
""",
    file='tiers.yaml',
)
POOL = ceph_state.Pool(
    name='tier-database',
    kind='replicated',
    size=2,
    min_size=1,
    pg_num=32,
    pg_autoscale_mode='off',
    crush_rule='replicated_rule',
    options={'compression_mode': 'none'},
)
WANTED = dataclasses.replace(
    POOL,
    size=3,
    min_size=2,
    crush_rule='tier-database',
    options={'compression_mode': 'aggressive'},
)
TYPE = cinder_state.VolumeType(name='gold', extra_specs={})
MANY = osd_options.shown({osd: str(osd % 2) for osd in range(10000)})


def action(kind, name, before, after, cluster='ceph', **more):
    return actions.Action(
        key=actions.Key(kind=kind, name=name, cluster=cluster),
        before=before,
        after=after,
        why='the ownership marker is there, but not the tier',
        **more,
    )


MOVE = actions.Refusal(
    reason='it would move or rewrite data of an existing pool: size 2 -> 3',
    remedy='declare the current settings in the tiers file',
    yields_to_consent=True,
)
FOREIGN = actions.Refusal(
    reason='the pool is used by cephfs',
    remedy='name another pool in the tiers file',
)
ALL = (
    action(
        actions.Kind.CRUSH_RULE,
        'tier-database',
        None,
        ceph_state.CrushRule(
            name='tier-database',
            kind='replicated',
            root='default',
            device_class='ssd',
            failure_domain='host',
        ),
    ),
    action(actions.Kind.POOL, POOL.name, POOL, WANTED, refusal=MOVE),
    action(
        actions.Kind.POOL,
        'tier-general',
        dataclasses.replace(POOL, name='tier-general'),
        dataclasses.replace(WANTED, name='tier-general'),
        refusal=FOREIGN,
    ),
    action(
        actions.Kind.HOST_OSD_OPTIONS,
        'node1',
        ceph_state.OsdOptions(name='node1', values={'osd_max_scrubs': MANY}),
        ceph_state.OsdOptions(name='node1', values={'osd_max_scrubs': '2'}),
    ),
    action(
        actions.Kind.VOLUME_TYPE,
        'gold',
        TYPE,
        None,
        cluster=None,
        consented=MOVE,
    ),
    action(
        actions.Kind.VOLUME_TYPE,
        'database',
        None,
        dataclasses.replace(TYPE, name='database'),
        cluster=None,
    ),
)
MOVES = effects.Effect(
    bytes_to_move=12 * 2**30,
    statements=(
        'moves about 12 GiB, takes about 12 GiB more (size 2 -> 3)',
        'room for about 40 GiB more',
    ),
    problems=('osd.3 becomes 91 % full: Ceph would stop all writes',),
)
FOUND = {one.key: effects.NONE for one in ALL} | {ALL[1].key: MOVES}


def text(*chosen, width, found=FOUND):
    return '\n'.join(
        plan_text.lines(
            plans.Plan(actions=chosen),
            catalog=CATALOG,
            found=found,
            width=width,
        )
    )


@ddt.ddt
class PlanTextTestCase(testtools.TestCase):
    @ddt.data(80, 120, 200)
    def test_it_reads_as_it_should_at_a_width(self, width):
        shown = text(*ALL, width=width)
        self.assertEqual((TEXTS / f'{width}.txt').read_text(), shown + '\n')
        self.assertThat(
            max(map(len, shown.splitlines())),
            testtools.matchers.LessThan(width + 1),
        )

    def test_a_way_to_allow_it_is_never_cut(self):
        name = 'n' * 200
        long = dataclasses.replace(
            ALL[1], key=dataclasses.replace(ALL[1].key, name=name)
        )
        self.assertIn(
            f"{name} (ceph)'",
            ' '.join(
                text(long, width=80, found={long.key: effects.NONE}).split()
            ),
        )

    def test_nothing_steers_a_terminal(self):
        odd = dataclasses.replace(
            ALL[4],
            key=dataclasses.replace(ALL[4].key, name='a\x1b[2J\nb'),
            why='x\x1b]0;y\x07',
        )
        shown = text(odd, width=80, found={odd.key: effects.NONE})
        self.assertTrue(shown.replace('\n', '').isprintable(), shown)

    @ddt.data(
        ((), 'Plan: 0 to create, 0 to update, 0 to delete; no data moves.'),
        (
            (0, 3, 4),
            'Plan: 1 to create, 1 to update, 1 to delete; no data moves.',
        ),
        (
            (1, 2),
            'Plan: 0 to create, 0 to update, 0 to delete, 2 refused; no data '
            'moves.',
        ),
    )
    @ddt.unpack
    def test_what_it_comes_to(self, chosen, expected):
        plan = plans.Plan(actions=tuple(ALL[number] for number in chosen))
        self.assertEqual(expected, plan_text.summary(plan, FOUND))

    @ddt.data(
        ((2**30, 2**30), 'about 2 GiB move.'),
        ((2**30, None), 'at least 1 GiB move.'),
        ((None, 0), 'how much data moves is unknown.'),
    )
    @ddt.unpack
    def test_how_much_moves(self, sizes, expected):
        chosen = [
            dataclasses.replace(ALL[number], refusal=None) for number in (1, 2)
        ]
        found = {
            one.key: effects.Effect(bytes_to_move=size)
            for one, size in zip(chosen, sizes, strict=True)
        }
        plan = plans.Plan(actions=tuple(chosen))
        self.assertThat(
            plan_text.summary(plan, found),
            testtools.matchers.EndsWith(f'; {expected}'),
        )
