# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What holds of plan and apply whatever two catalogs say.

The first is applied to a cloud that has objects of others, then the second.
"""

import dataclasses

from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from cinder_tiers.domain import actions
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import catalog_rules
from cinder_tiers.domain import errors
from cinder_tiers.domain import plan as plans
from cinder_tiers.domain import state
from cinder_tiers.execute import apply
from tests.contract import in_memory
from tests.unit.domain import catalogs as plain

NAMES = ('a', 'b', 'c', 'theirs')
PROJECTS = {'one': frozenset('1'), 'two': frozenset('2')}
LIMITS = strategies.dictionaries(
    strategies.sampled_from(('read_iops_sec', 'write_iops_sec')),
    strategies.sampled_from('12'), min_size=1)


def key(kind, name, cluster=None):
    return actions.Key(kind=kind, name=name, cluster=cluster)


FOREIGN = {
    key(actions.Kind.VOLUME_TYPE, 'theirs'): state.VolumeType(
        name='theirs', is_public=False, extra_specs={'x': '1'}),
    key(actions.Kind.VOLUME_TYPE, 'more'): state.VolumeType(
        name='more', extra_specs={'volume_backend_name': 'tier-a'}),
    key(actions.Kind.QOS_SPEC, 'gold'): state.QosSpec(
        name='gold', consumer='both', specs={'x': '1'},
        volume_types=frozenset({'theirs'})),
    key(actions.Kind.QOS_SPEC, 'tier-theirs'): state.QosSpec(
        name='tier-theirs', consumer='both', specs={'x': '1'},
        volume_types=frozenset({'more'})),
    key(actions.Kind.POOL, 'cephfs', 'ceph'): state.Pool(
        name='cephfs', kind='replicated', size=3, min_size=2, pg_num=8,
        pg_autoscale_mode='on', crush_rule='replicated_rule',
        applications=frozenset({'cephfs'}))}


@strategies.composite
def storages(draw, name):
    """The fields of a tier that say where it lies."""
    kind = draw(strategies.sampled_from(('rbd', 'backend', 'specs')))
    specs = draw(strategies.dictionaries(
        strategies.sampled_from(('multiattach', 'vendor_name')),
        strategies.sampled_from(('<is> True', 'x')),
        min_size=1 if kind == 'specs' else 0))
    protection = draw(strategies.sampled_from((
        catalogs.Replicated(size=2, min_size=1),
        catalogs.Replicated(size=3, min_size=2),
        catalogs.ErasureCoded(k=2, m=1))))
    rbd = plain.rbd(
        pool=draw(strategies.sampled_from((f'tier-{name}', f'new-{name}'))),
        device_class=draw(strategies.sampled_from(('ssd', 'hdd'))),
        pg_num=draw(strategies.sampled_from((None, 8, 16))),
        protection=protection)
    return {'extra_specs': specs, 'rbd': rbd if kind == 'rbd' else None,
            'backend_name': f'old-{name}' if kind == 'backend' else None}


@strategies.composite
def tiers(draw, name, priority):
    front = draw(strategies.none() | LIMITS)
    back = draw(strategies.none() | strategies.just(front) if front
                else strategies.none() | LIMITS)
    return catalogs.Tier(
        name=name, priority=priority, fallback=priority == 0,
        tags=draw(strategies.sampled_from(((), (name,)))),
        description=draw(strategies.sampled_from((None, '', 'text'))),
        overflow=draw(strategies.none() | strategies.sampled_from(NAMES)),
        access=draw(strategies.sampled_from((
            None, catalogs.PUBLIC, (), ('one',), ('one', 'two')))),
        qos=(catalogs.Qos(front_end=front, back_end=back)
             if front or back else None),
        quotas=draw(strategies.none() | strategies.builds(
            catalogs.Quotas, volumes=strategies.integers(-1, 1),
            size_gib=strategies.integers(-1, 1))),
        **draw(storages(name)))


@strategies.composite
def sound_catalogs(draw):
    # Seldom a name that belongs to somebody else.
    names = draw(strategies.lists(strategies.sampled_from(
        NAMES * 4 if draw(strategies.integers(0, 3)) == 0 else NAMES[:3]),
        min_size=1, max_size=3, unique=True))
    found = [draw(tiers(name, priority))
             for priority, name in enumerate(names)]
    # Overflow to a tier that is not there would seldom be sound.
    catalog = plain.of(*(
        tier if tier.overflow in names else dataclasses.replace(
            tier, overflow=None) for tier in found),
        follow_image_types=draw(strategies.sampled_from(
            ((),) * 4 + (('image-tier',),) * 4 + (('more',),))))
    assume(not catalog_rules.check(catalog))
    return catalog


def make_plan(catalog, world):
    return plans.make(catalog=catalog, actual=dataclasses.replace(
        world.observe(), projects=PROJECTS))


def try_to_apply(catalog, world):
    """Applies a catalog; returns whether the plan had no refused action."""
    plan = make_plan(catalog, world)
    try:
        apply.apply(plan=plan, executors=world.executors, read=world.read,
                    report=lambda result: None)
    except errors.ActionFailed:
        return False
    return True


def has_as_much_access(before, after):
    return after.is_public or (not before.is_public
                               and before.projects <= after.projects)


class AlwaysTestCase(testtools.TestCase):

    def assert_harmless(self, before, after):
        """Nothing of others, no data and no access was touched."""
        for one, found in before.items():
            self.assertIn(one, after)
            if one in FOREIGN:
                self.assertEqual(found, after[one])
            if isinstance(found, state.VolumeType):
                self.assertTrue(has_as_much_access(found, after[one]))
            if isinstance(found, state.QosSpec):
                self.assertLessEqual(found.volume_types,
                                     after[one].volume_types)
            if isinstance(found, state.Pool):
                self.assertEqual(
                    (found.size, found.pg_num, found.crush_rule),
                    (after[one].size, after[one].pg_num,
                     after[one].crush_rule))

    @settings(max_examples=200, deadline=None)
    @given(first=sound_catalogs(), second=sound_catalogs())
    def test_apply_does_no_harm_and_leaves_nothing_to_do(self, first,
                                                         second):
        world = in_memory.World(osds=plain.osds(), existing=FOREIGN)
        for catalog in (first, second):
            before = dict(world.objects)
            if try_to_apply(catalog, world):
                self.assertEqual((), make_plan(catalog, world).actions)
            else:
                self.assertEqual(before, world.objects)
            self.assert_harmless(before, world.objects)
