# SPDX-License-Identifier: Apache-2.0

"""What holds of a sweep wherever it is ended: the world comes back.

Word for word, in a cloud in memory of which each value is written by itself.
"""

import contextlib
import copy
import dataclasses

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.execute import apply
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import run_restore as restore
from cinder_tiers.loop.sweep import run_sweep as execution
import tests
from tests.contract import in_memory
from tests.unit.domain import catalogs as plain

OSDS = actions.Key(kind=actions.Kind.OSD_OPTIONS, cluster='ceph', name='ssd')
POOL = actions.Key(
    kind=actions.Kind.POOL, cluster='ceph', name='tier-database'
)
QOS = actions.Key(kind=actions.Kind.QOS_SPEC, name='tier-database')
RBD = ('tiers', 'database', 'rbd')


class Killed(BaseException):
    """Stands for SIGKILL: nothing that catches errors stops it."""


class World:
    """A cloud in memory whose writes end the program when they are counted.

    :param left: writes of single values that are let through; None: all.
    """

    def __init__(self, objects, catalog, left=None):
        self.cloud = in_memory.World(osds=plain.osds(), existing=objects)
        self.catalog = catalog
        self.left = left
        #: Single values that were written.
        self.written = 0
        #: Options of OSDs that are refused.
        self.refused = set()
        #: Keys of objects whose values in effect nobody tells.
        self.silent = set()

    @property
    def executors(self):
        return dict.fromkeys(actions.Kind, self)

    def observe(self):
        return self.cloud.observe()

    def read(self, key):
        if key in self.silent:
            raise errors.Unreachable(f'{key} does not answer')
        return self.cloud.read(key)

    def now(self, key):
        # Monitors know what they told OSDs, whether these run or not.
        if key in self.silent and key.kind is not actions.Kind.OSD_OPTIONS:
            raise errors.Unreachable(f'{key} does not answer')
        found = self.cloud.objects.get(key)
        return found and difference.texts_of(found)

    def memory_of(self, cluster, osd_ids):
        raise LookupError(f'nothing gives memory to {osd_ids} of {cluster}')

    def write(self, wanted, *, key, current, consented=False):
        for step in steps(wanted, self.cloud.objects.get(key)):
            if self.left is not None and self.written >= self.left:
                raise Killed(key)
            if self.refused & set(getattr(step, 'values', ())):
                raise errors.ActionFailed(f'Ceph refused {step.values}')
            self.written += 1
            self.cloud.write(
                step,
                key=key,
                current=self.cloud.objects.get(key),
                consented=consented,
            )

    @property
    def objects(self):
        """All that is there; of OSDs, only what they were told."""
        return {
            key: one
            for key, one in self.cloud.objects.items()
            if not isinstance(one, ceph_state.OsdOptions) or one.values
        }


def steps(wanted, current):
    """The states between two of an object, as services take them."""
    if isinstance(wanted, ceph_state.OsdOptions):
        for name, value in wanted.values.items():
            yield dataclasses.replace(wanted, values={name: value})
    elif isinstance(wanted, ceph_state.Pool):
        for field in ('options', 'rbd_options'):
            for name, value in getattr(wanted, field).items():
                now = dict(getattr(current, field))
                now[name] = value
                if value is None:
                    del now[name]
                current = dataclasses.replace(current, **{field: now})
                yield current
    elif isinstance(wanted, cinder_state.QosSpec) and current is None:
        yield dataclasses.replace(wanted, volume_types=frozenset())
        yield wanted
    else:
        yield wanted


@strategies.composite
def chosen(draw, names, values):
    return {
        name: draw(values)
        for name in draw(strategies.lists(names, unique=True, max_size=2))
    }


OSD_OPTIONS = strategies.fixed_dictionaries(
    {},
    optional={
        'osd_max_backfills': strategies.integers(1, 3),
        'bluestore_cache_size_ssd': strategies.sampled_from(
            (2**28, 2**29, 2**30)
        ),
    },
)
POOL_OPTIONS = chosen(
    strategies.sampled_from(('recovery_priority', 'recovery_op_priority')),
    strategies.integers(1, 3),
)
RBD_OPTIONS = chosen(
    strategies.sampled_from(('rbd_cache_size', 'rbd_readahead_max_bytes')),
    strategies.sampled_from((2**20, 2**21, 2**22)),
)
LIMITS = chosen(
    strategies.sampled_from(('read_iops_sec', 'write_iops_sec')),
    strategies.sampled_from(('100', '200', '300')),
)
PARTS = strategies.fixed_dictionaries(
    {
        'osd_options': OSD_OPTIONS,
        'options': POOL_OPTIONS,
        'rbd_options': RBD_OPTIONS,
        'limits': LIMITS,
    }
)


def with_parts(catalog, parts):
    """A catalog with more options of its tier."""
    (tier,) = catalog.tiers
    limits = {
        **(tier.qos.front_end if tier.qos else {}),
        **parts['limits'],
    }
    return dataclasses.replace(
        catalog,
        tiers=(
            dataclasses.replace(
                tier,
                qos=catalogs.Qos(front_end=limits) if limits else None,
                rbd=dataclasses.replace(
                    tier.rbd,
                    **{
                        name: {**getattr(tier.rbd, name), **parts[name]}
                        for name in ('osd_options', 'options', 'rbd_options')
                    },
                ),
            ),
        ),
    )


def applied(catalog):
    """The objects of a cloud that is as a catalog declares it."""
    world = in_memory.World(osds=plain.osds())
    results = apply.apply(
        plan=plans.make(catalog=catalog, actual=world.observe()),
        executors=world.executors,
        read=world.read,
        report=lambda result: None,
    )
    assert all(one.outcome is actions.Outcome.DONE for one in results)
    pool = world.objects[POOL]
    # Ceph shows every setting of a pool, whether it was set or not.
    world.objects[POOL] = dataclasses.replace(
        pool,
        options={
            **dict.fromkeys(
                ('recovery_priority', 'compression_max_blob_size'), 'unset'
            ),
            **pool.options,
        },
    )
    return world.objects


class SweepCase(testtools.TestCase):
    """A sweep of the tier database, as its parts."""

    def prepared(self, world, default, treatments, blocks=1):
        sweep = design.Sweep(
            tier='database',
            blocks=blocks,
            seed=1,
            treatments=tuple(
                design.Treatment(name=str(number))
                for number in range(len(treatments))
            ),
        )
        return preparation.prepare(
            sweep,
            {
                design.DEFAULT: default,
                **{
                    str(number): with_parts(default, parts)
                    for number, parts in enumerate(treatments)
                },
            },
            world.observe(),
            world.now,
            world.memory_of,
        )

    def run_sweep(self, prepared, world, measure=None, **arguments):
        reported = []
        execution.run(
            prepared,
            world=world,
            measure=measure
            or (
                lambda slot, treatment: record.MeasuredSlot(
                    exit_status=0, result_file=None
                )
            ),
            report=reported.append,
            **arguments,
        )
        return reported

    def restore(self, prepared, world, **arguments):
        return restore.restore(
            prepared.kept,
            executors=world.executors,
            read=world.read,
            now=world.now,
            **arguments,
        )

    def assert_empty_plan(self, default, world):
        self.assertEqual(
            (), plans.make(catalog=default, actual=world.observe()).actions
        )


class AlwaysTestCase(SweepCase):
    @tests.examples(200)
    @given(
        declared=PARTS,
        told=OSD_OPTIONS,
        treatments=strategies.lists(PARTS, min_size=1, max_size=3),
        left=strategies.integers(0, 40),
        left_again=strategies.integers(0, 5),
    )
    def test_the_world_comes_back(
        self, declared, told, treatments, left, left_again
    ):
        default = with_parts(
            plain.of(plain.tier(), follow_image_types=()), declared
        )
        objects = applied(default)
        # Somebody has told the OSDs more than the tiers file declares.
        more = {
            name: f'{value}'
            for name, value in told.items()
            if name not in default.tiers[0].rbd.osd_options
        }
        if more:
            before = objects.get(OSDS)
            objects[OSDS] = ceph_state.OsdOptions(
                name='ssd',
                values={**(before.values if before else {}), **more},
            )
        world = World(copy.deepcopy(objects), default, left)
        before = world.objects
        prepared = self.prepared(world, default, treatments)
        try:
            slots = self.run_sweep(prepared, world)
            self.assertTrue(all(one.is_sound for one in slots))
        except Killed:
            # The restore is ended as well, and is begun anew.
            world.left = world.written + left_again
            with contextlib.suppress(Killed):
                self.restore(prepared, world)
        world.left = None
        self.assertTrue(
            all(one.is_back for one in self.restore(prepared, world))
        )
        self.assertEqual(before, world.objects)
        self.assert_empty_plan(default, world)
        written = world.written
        again = self.restore(prepared, world)
        self.assertEqual(
            {restore.RestoreOutcome.AS_BEFORE},
            {one.outcome for one in again}
            or {restore.RestoreOutcome.AS_BEFORE},
        )
        self.assertEqual(written, world.written)


PLAIN = plain.of(plain.tier(), follow_image_types=())
BACKFILLS = {
    'osd_options': {'osd_max_backfills': 4},
    'options': {},
    'rbd_options': {},
    'limits': {},
}
LIMIT = {
    'osd_options': {},
    'options': {},
    'rbd_options': {},
    'limits': {'read_iops_sec': '50'},
}
NOTHING = dict.fromkeys(BACKFILLS, {})


class SlotTestCase(SweepCase):
    def setUp(self):
        super().setUp()
        self.world = World(applied(PLAIN), PLAIN)
        self.measured = []

    def measure(self, slot, treatment):
        self.measured.append(slot.treatment)
        return record.MeasuredSlot(exit_status=0, result_file=None)

    def verdicts(self, treatments, **arguments):
        prepared = self.prepared(self.world, PLAIN, treatments)
        return {
            one.slot.treatment: one.verdict
            for one in self.run_sweep(
                prepared, self.world, self.measure, **arguments
            )
        }

    def test_what_is_not_in_effect_is_not_measured(self):
        self.world.cloud.ignored = {OSDS}
        self.assertEqual(
            {
                'default': record.TreatmentVerdict.IN_EFFECT,
                '0': record.TreatmentVerdict.NOT_IN_EFFECT,
                '1': record.TreatmentVerdict.IN_EFFECT,
            },
            self.verdicts([BACKFILLS, LIMIT]),
        )
        self.assertEqual({'default', '1'}, set(self.measured))

    def test_what_is_changed_while_it_is_measured_is_told(self):
        def measure(slot, treatment):
            if treatment.name == '0':
                self.world.cloud.objects[OSDS] = ceph_state.OsdOptions(
                    name='ssd', values={}
                )
            return record.MeasuredSlot(exit_status=0, result_file=None)

        prepared = self.prepared(self.world, PLAIN, [BACKFILLS, NOTHING])
        found = {
            one.slot.treatment: one.verdict
            for one in self.run_sweep(prepared, self.world, measure)
        }
        self.assertEqual(record.TreatmentVerdict.CHANGED, found['0'])
        self.assertEqual(record.TreatmentVerdict.IN_EFFECT, found['1'])

    def test_somebody_elses_value_ends_it_and_stays(self):
        def measure(slot, treatment):
            self.world.cloud.objects[OSDS] = ceph_state.OsdOptions(
                name='ssd', values={'osd_max_backfills': '7'}
            )
            return record.MeasuredSlot(exit_status=0, result_file=None)

        prepared = self.prepared(self.world, PLAIN, [BACKFILLS])
        error = self.assertRaises(
            errors.ActionFailed,
            self.run_sweep,
            prepared,
            self.world,
            measure,
        )
        self.assertIn('which another user has set', str(error))
        (left,) = self.restore(prepared, self.world)
        self.assertEqual(
            (restore.RestoreOutcome.LEFT, '7'), (left.outcome, left.found)
        )
        self.assertEqual(
            '7', self.world.objects[OSDS].values['osd_max_backfills']
        )
        (back,) = self.restore(prepared, self.world, allowed={left.name})
        self.assertEqual(restore.RestoreOutcome.BROUGHT_BACK, back.outcome)
        self.assertNotIn(OSDS, self.world.objects)

    def changed_by(self, *treatments):
        """A world as a kill in a slot has left it."""
        prepared = self.prepared(self.world, PLAIN, treatments)
        world = self.world
        for name, wanted in prepared.catalogs.items():
            if name != design.DEFAULT:
                apply.apply(
                    plan=plans.make(catalog=wanted, actual=world.observe()),
                    executors=world.executors,
                    read=world.read,
                    report=lambda result: None,
                )
        return prepared

    def test_osds_that_do_not_answer_get_their_options_back(self):
        before = self.world.objects
        prepared = self.changed_by(BACKFILLS)
        self.assertNotEqual(before, self.world.objects)
        self.world.silent = {OSDS}
        (back,) = self.restore(prepared, self.world)
        self.assertEqual(restore.RestoreOutcome.BROUGHT_BACK, back.outcome)
        self.assertEqual(before, self.world.objects)

    def test_what_does_not_answer_keeps_nothing_else_from_coming_back(self):
        before = self.world.objects
        prepared = self.changed_by(
            {
                **BACKFILLS,
                'rbd_options': {'rbd_cache_size': 2**20},
                'limits': {'read_iops_sec': '50'},
            }
        )
        self.assertEqual([POOL, OSDS, QOS], [one.key for one in prepared.kept])
        self.world.silent = {POOL}
        self.assertRaises(
            errors.Unreachable, self.restore, prepared, self.world
        )
        self.assertEqual(
            [POOL],
            [
                key
                for key in {**before, **self.world.objects}
                if before.get(key) != self.world.objects.get(key)
            ],
        )
        self.world.silent = set()
        self.restore(prepared, self.world)
        self.assertEqual(before, self.world.objects)

    def test_a_value_that_is_refused_keeps_no_other_from_coming_back(self):
        both = {
            **NOTHING,
            'osd_options': {
                'bluestore_cache_size_ssd': 2**30,
                'osd_max_backfills': 4,
            },
        }
        prepared = self.changed_by(both)
        # It comes first, and Ceph does not have it any more.
        self.world.refused = {'bluestore_cache_size_ssd'}
        gone, back = self.restore(prepared, self.world)
        self.assertEqual(
            (
                restore.RestoreOutcome.FAILED,
                restore.RestoreOutcome.BROUGHT_BACK,
            ),
            (gone.outcome, back.outcome),
        )
        self.assertIn('Ceph refused', gone.reason)
        self.assertEqual(
            {'bluestore_cache_size_ssd': str(2**30)},
            self.world.objects[OSDS].values,
        )

    def test_limits_that_somebody_else_added_keep_the_qos_spec(self):
        prepared = self.prepared(self.world, PLAIN, [LIMIT])
        self.world.cloud.objects[QOS] = cinder_state.QosSpec(
            name=QOS.name,
            consumer='front-end',
            specs={'read_iops_sec': '50', 'size_iops_sec': '8'},
            volume_types=frozenset({'database'}),
        )
        before = self.world.objects
        found = self.restore(prepared, self.world)
        self.assertEqual(
            {restore.RestoreOutcome.LEFT}, {one.outcome for one in found}
        )
        self.assertEqual(before, self.world.objects)
        name = 'qos spec tier-database:specs.size_iops_sec'
        self.assertTrue(
            all(
                one.is_back
                for one in self.restore(prepared, self.world, allowed={name})
            )
        )
        self.assertNotIn(QOS, self.world.objects)

    def test_what_apply_refuses_stays_refused(self):
        moves = {**NOTHING, 'options': {'target_size_ratio': 0.5}}
        pool = self.world.cloud.objects[POOL]
        self.world.cloud.objects[POOL] = dataclasses.replace(
            pool, pg_autoscale_mode='on'
        )
        self.world.cloud.bytes_in[POOL.name] = 10**6
        catalog = plain.of(
            plain.tier(rbd=plain.rbd(pool='tier-database', pg_num=None)),
            follow_image_types=(),
        )
        error = self.assertRaises(
            errors.Refused,
            self.prepared,
            self.world,
            catalog,
            [moves, BACKFILLS],
        )
        self.assertIn('a sweep makes no change that "tier apply"', str(error))

    def test_a_world_that_is_not_as_declared_is_not_swept(self):
        error = self.assertRaises(
            errors.ActionFailed,
            self.prepared,
            self.world,
            with_parts(PLAIN, BACKFILLS),
            [LIMIT],
        )
        self.assertIn('update osd options ssd', str(error))

    def test_each_slot_is_measured_in_its_order(self):
        prepared = self.prepared(
            self.world, PLAIN, [BACKFILLS, LIMIT, NOTHING], blocks=3
        )
        self.run_sweep(prepared, self.world, self.measure)
        self.assertEqual(
            [one.treatment for one in prepared.sweep.slots], self.measured
        )

    def test_no_slot_begins_after_a_stop(self):
        self.assertEqual(
            {}, self.verdicts([BACKFILLS], is_to_stop=lambda: True)
        )
