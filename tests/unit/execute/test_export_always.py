# SPDX-License-Identifier: Apache-2.0
"""What holds of an export, whatever exists in the cloud."""

import dataclasses

from hypothesis import assume
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.files.tiers import exported as exported_file
from cinder_tiers.files.tiers import reader
import tests
from tests.unit.domain import catalogs as plain
from tests.unit.domain import inventories
from tests.unit.execute import foreign_worlds
from tests.unit.execute import test_plan_apply_always as always
from tests.worlds import in_memory

NAMES = {ident: name for name, (ident,) in always.PROJECTS.items()}
BY_ID = {ident: frozenset({ident}) for ident in NAMES}
key = always.key


def like(wanted, found):
    """A protection with what the other says where it says nothing."""
    if type(wanted) is not type(found):
        return wanted
    chosen = {
        name: getattr(found, name)
        for name in ('min_size', 'plugin', 'technique', 'stripe_unit_bytes')
        if getattr(wanted, name, True) is None
    }
    if 'min_size' in chosen:
        chosen['unprotected_writes'] = found.unprotected_writes
    return dataclasses.replace(wanted, **chosen)


class ExportAlwaysTestCase(testtools.TestCase):
    def export(self, world, backends):
        """The export, read back from its text."""
        known = inventories.of_world(world, backends, projects=NAMES)
        exported = export.export(known)
        text = exported_file.text_of(exported, known)
        for line in text.splitlines():
            self.assertTrue(line.isprintable(), line)
        catalog = reader.read_text(text, file='t.yaml')
        self.assertEqual(exported.catalog, catalog)
        return exported

    def make_plan(self, catalog, world):
        return plans.make(
            catalog=catalog,
            actual=dataclasses.replace(world.observe(), projects=BY_ID),
        )

    @tests.examples(200)
    @given(first=always.sound_catalogs(), second=always.sound_catalogs())
    def test_what_was_applied_is_exported(self, first, second):
        world = in_memory.World(osds=plain.osds(), existing=always.FOREIGN)
        applied = [
            catalog
            for catalog in (first, second)
            if always.try_to_apply(catalog, world)
        ]
        backends = {
            one.name: one
            for catalog in (first, second)
            for one in inventories.backends_of(catalog)
        }
        for catalog in applied[-1:]:
            backends.update(
                {one.name: one for one in inventories.backends_of(catalog)}
            )
        exported = self.export(world, backends.values())
        self.assertEqual((), exported.leftover)
        self.assertEqual((), self.make_plan(exported.catalog, world).actions)
        for wanted in (
            tier for catalog in applied[-1:] for tier in catalog.ours
        ):
            tier = exported.catalog.tier(wanted.name)
            self.assertEqual(
                (
                    wanted.tags,
                    wanted.fallback,
                    wanted.overflow,
                    wanted.backend,
                    wanted.is_public,
                    wanted.qos,
                    True,
                ),
                (
                    tier.tags,
                    tier.fallback,
                    tier.overflow,
                    tier.backend,
                    tier.is_public,
                    tier.qos,
                    tier.take_over,
                ),
            )
            if wanted.rbd:
                self.assertEqual(
                    (
                        wanted.rbd.pools,
                        wanted.rbd.device_class,
                        like(wanted.rbd.protection, tier.rbd.protection),
                        wanted.rbd.cache and wanted.rbd.cache.mode,
                    ),
                    (
                        tier.rbd.pools,
                        tier.rbd.device_class,
                        tier.rbd.protection,
                        tier.rbd.cache and tier.rbd.cache.mode,
                    ),
                )
                if wanted.rbd.primary_affinity is not None:
                    self.assertEqual(
                        wanted.rbd.primary_affinity, tier.rbd.primary_affinity
                    )
                self.assertLessEqual(
                    wanted.rbd.osd_options.items(),
                    tier.rbd.osd_options.items(),
                )

    @tests.examples(200)
    @given(catalog=always.sound_catalogs(), cut=strategies.integers(0, 20))
    def test_an_apply_that_was_cut_off_is_exported(self, catalog, cut):
        world = in_memory.World(osds=plain.osds(), existing=always.FOREIGN)
        plan = always.make_plan(catalog, world)
        # No tiers file says that a retired type is more open than its tier.
        assume(not any(one.continues for one in plan.actions))
        try:
            apply.apply(
                plan=plans.Plan(actions=plan.actions[:cut]),
                executors=world.executors,
                read=world.read,
                report=lambda result: None,
            )
        except errors.ActionFailed:
            return
        exported = self.export(world, inventories.backends_of(catalog))
        self.assertEqual((), exported.leftover)
        self.assertEqual((), self.make_plan(exported.catalog, world).actions)

    BACKENDS = (
        inventories.rbd_backend('rbd-1', 'volumes'),
        inventories.rbd_backend('rbd-1', 'volumes', host='other'),
        inventories.rbd_backend('rbd-2', 'vms'),
        inventories.rbd_backend('rbd-3', 'vms', user='other'),
        inventories.rbd_backend('twice', 'vms'),
        inventories.rbd_backend('twice', 'volumes', host='other'),
        inventories.rbd_backend('tier-a', 'volumes'),
        inventories.rbd_backend(
            'far', 'x', fsid='f' * 8 + '-ffff' * 3 + '-' + 'f' * 12
        ),
        inventories.other_backend('lvm'),
    )

    @tests.examples(200)
    @given(existing=foreign_worlds.foreign_worlds())
    def test_a_cloud_of_others_is_exported(self, existing):
        world = in_memory.World(osds=plain.osds(), existing=existing)
        exported = self.export(world, self.BACKENDS)
        self.assertEqual((), exported.catalog.ours)
        self.assertEqual((), exported.leftover)
        self.assertEqual((), self.make_plan(exported.catalog, world).actions)
        self.assert_nothing_is_dropped(exported, world)
        self.assert_storage_is_right(exported.catalog, world)

    def assert_storage_is_right(self, catalog, world):
        """Who takes a tier over changes nothing in Ceph but grants."""
        for tier in catalog.tiers:
            ours = dataclasses.replace(
                catalog,
                without_fallback=True,
                tiers=tuple(
                    dataclasses.replace(one, take_over=one is tier, access=())
                    for one in catalog.tiers
                ),
            )
            self.assertLessEqual(
                {
                    one.key.kind
                    for one in self.make_plan(ours, world).actions
                    if one.key.cluster
                },
                {actions.Kind.CEPHX_USER},
            )

    @tests.examples(200)
    @given(existing=foreign_worlds.foreign_worlds())
    def test_taking_all_of_it_over_leaves_ceph_as_it_is(self, existing):
        world = in_memory.World(osds=plain.osds(), existing=existing)
        found = self.export(world, self.BACKENDS).catalog
        # With the projects that there are.
        tiers = [
            dataclasses.replace(
                tier,
                take_over=True,
                access=None
                if tier.is_public
                else tuple(one for one in tier.projects if one in NAMES),
            )
            for tier in found.tiers
        ]
        catalog = dataclasses.replace(
            found, without_fallback=True, tiers=tuple(tiers)
        )
        for tier in catalog.tiers:
            one = key(actions.Kind.VOLUME_TYPE, tier.type_name)
            theirs = world.objects[one]
            # Cinder takes it for volume_backend_name, which would be added;
            # or a database does, and it would be removed.
            assume(
                not any(
                    name.casefold().endswith('volume_backend_name')
                    for name in theirs.extra_specs.keys()
                    - {'volume_backend_name'}
                )
            )
            world.objects[one] = dataclasses.replace(
                theirs,
                projects=theirs.projects & NAMES.keys(),
                extra_specs={**theirs.extra_specs, 'tiers:name': tier.name},
            )
        plan = self.make_plan(catalog, world)
        self.assertEqual(
            set(),
            {
                str(action.key)
                for action in plan.actions
                if action.key.kind
                not in (actions.Kind.CEPHX_USER, actions.Kind.QOS_SPEC)
            },
        )

    @tests.examples(200)
    @given(existing=foreign_worlds.foreign_worlds(may_be_ours=True))
    def test_any_cloud_is_exported_and_what_is_left_is_told(self, existing):
        world = in_memory.World(osds=plain.osds(), existing=existing)
        exported = self.export(world, self.BACKENDS)
        try:
            left = self.make_plan(exported.catalog, world).actions
        except errors.ProblemsFound as error:
            left = error.problems
        self.assertEqual(len(left), len(exported.leftover))
        self.assert_nothing_is_dropped(exported, world)

    def assert_nothing_is_dropped(self, exported, world):
        """Each type is in the catalog, or in a remark."""
        catalog = exported.catalog
        told = ' '.join(
            one.text for one in exported.remarks if one.tier is None
        )
        for name in world.observe().cinder.volume_types:
            self.assertTrue(
                catalog.tier_of_type(name)
                or name in catalog.follow_image_types
                or f'volume type {name} is not in the tiers file' in told
            )

    def test_a_cloud_without_types_is_exported(self):
        world = in_memory.World(osds=plain.osds())
        self.assertEqual(
            catalogs.Catalog(tiers=(), clusters={}),
            self.export(world, self.BACKENDS).catalog,
        )
