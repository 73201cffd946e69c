# SPDX-License-Identifier: Apache-2.0


"""A volume type of somebody else becomes a tier, through Cinder's real API.

From the export to the next one, as the documentation tells it.
"""

import dataclasses
import math

import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.plan import consent as consents
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.files.tiers import exported as exported_file
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe import for_export as inventory
from cinder_tiers.observe import for_plan as world
import tests
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.unit.execute import test_cut_off
from tests.worlds import cinder_api

NAMED = 'volume type gold'
OURS = 'tags: [database]\n    priority: 20\n'


class TakeOverTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_backend('rbd-1', volume_backend_name='rbd-1')
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(
            self.api, session=test_cut_off.CutSession
        )
        self.connection.session.left = math.inf
        self.addCleanup(self.connection.close)
        self.block_storage = self.connection.block_storage
        self.addCleanup(self.api.return_to, self.empty)
        self.specs = {
            'volume_backend_name': 'rbd-1',
            'multiattach': '<is> True',
        }
        self.add_theirs()

    def add_theirs(self):
        self.old = self.block_storage.create_type(
            name='gold', extra_specs=self.specs
        )
        spec = self.block_storage.create_qos_spec(
            name='limits', consumer='back-end', total_iops_sec='7'
        )
        self.block_storage.get(
            f'/qos-specs/{spec.id}/associate',
            params={'vol_type_id': self.old.id},
        )

    def use(self, volume_type):
        volume = self.api.add_volume(
            host='node@rbd-1#rbd-1', volume_type_id=volume_type.id
        )
        self.addCleanup(self.api.delete_volume, volume)
        return volume

    @property
    def retired(self):
        """What the type that had volumes is called when it is retired."""
        return f'gold - retired {self.old.id[:8]}'

    def types(self):
        """{name: extra specs} of all but Cinder's own."""
        return {
            one.name: one.extra_specs
            for one in self.block_storage.types(is_public='None')
            if one.name != '__DEFAULT__'
        }

    def export(self):
        """The text of an export, for which a plan has nothing to do."""
        known = inventory.observe(self.connection, ())
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        text = exported_file.text_of(exported, known)
        self.assertEqual((), self.plan(text).actions)
        return text

    def plan(self, text, *names):
        catalog = reader.read_text(text, file='tiers.yaml')
        return consents.grant(
            plans.make(
                catalog=catalog,
                actual=dataclasses.replace(
                    given.nothing(),
                    projects={},
                    cinder=world.observe_cinder(self.connection, catalog),
                ),
            ),
            names,
        )

    def apply(self, plan):
        results = test_cinder_world.apply_plan(plan, self.connection)
        self.assertEqual([], test_cinder_world.undone(results))

    def taken_over(self, text):
        """The text in which the type is a tier of ours."""
        changed = text.replace('take_over: false\n', OURS)
        self.assertNotEqual(text, changed)
        return changed.replace('version: 1\n', 'version: 1\nfallback: none\n')

    def test_a_type_without_volumes_is_marked_and_given_up_again(self):
        theirs = self.export()
        ours = self.taken_over(theirs)
        (refused,) = self.plan(ours).refused
        self.assertIn(f"--allow '{NAMED}'", refused.remedy)
        self.apply(self.plan(ours, NAMED))
        (gold,) = self.block_storage.types(name='gold')
        self.assertEqual(
            (self.old.id, 'gold'), (gold.id, gold.extra_specs['tiers:name'])
        )
        self.assertIn('tags: [database]', self.export())
        self.apply(self.plan(theirs, NAMED))
        self.assertEqual({'gold': self.specs}, self.types())
        self.assertEqual(theirs, self.export())

    def test_a_type_with_volumes_is_retired_and_a_new_one_is_the_tier(self):
        volume = self.use(self.old)
        ours = self.taken_over(self.export())
        (refused,) = self.plan(ours).refused
        self.assertIn('without the ownership marker', refused.refusal.reason)
        self.assertIn('the volume type has volumes', refused.refusal.reason)
        self.assertIn(f"--allow '{NAMED}'", refused.remedy)
        self.apply(self.plan(ours, NAMED))
        self.assertEqual(
            {
                self.retired: self.specs,
                'gold': {
                    **self.specs,
                    'tiers:name': 'gold',
                    'tiers:tags': 'database',
                    'tiers:priority': '20',
                },
            },
            self.types(),
        )
        (kept,) = [
            one
            for one in self.block_storage.volumes(all_projects=True)
            if one.id == volume
        ]
        self.assertEqual(self.retired, kept.volume_type)
        self.assertEqual((), self.plan(ours).actions)
        again = self.export()
        self.assertIn('tags: [database]', again)
        self.assertIn(
            f'volume type {self.retired} is not in the tiers file',
            ' '.join(again.replace('#', '').split()),
        )

    def test_killed_after_any_write_the_next_apply_takes_it_over(self):
        self.use(self.old)
        ours = self.taken_over(self.export())
        for state in tests.share(self.kept_at_each_write(ours)):
            self.api.return_to(state)
            self.apply(self.plan(ours, NAMED))
            self.assertEqual((), self.plan(ours).actions)
            self.assertIn('tags: [database]', self.export())
            self.assertEqual({'gold', self.retired}, self.types().keys())

    def kept_at_each_write(self, text):
        """Takes over; what Cinder knew before each write, and at last."""
        plan = self.plan(text, NAMED)
        states = test_cut_off.kept_at_each_write(
            self.api, self.connection.session, lambda: self.apply(plan)
        )
        self.assertGreater(len(states), 4)
        return states

    def test_killed_after_any_write_theirs_is_closed_with_the_tier(self):
        self.use(self.old)
        ours = self.taken_over(self.export()).replace(
            OURS, f'{OURS}    access: []\n'
        )
        for state in tests.share(self.kept_at_each_write(ours)):
            self.api.return_to(state)
            self.apply(self.plan(ours, NAMED))
            self.assertEqual((), self.plan(ours).actions)
            self.assertEqual(
                {'gold', self.retired},
                {
                    one.name
                    for one in self.block_storage.types(is_public='False')
                },
            )

    def test_a_tier_with_volumes_is_not_given_up(self):
        theirs = self.export()
        self.apply(self.plan(self.taken_over(theirs), NAMED))
        self.use(self.old)
        (refused,) = self.plan(theirs).refused
        self.assertFalse(refused.refusal.yields_to_consent)
        self.assertIn('has volumes', refused.refusal.reason)
        self.assertIn('openstack volume set --type', refused.refusal.remedy)
