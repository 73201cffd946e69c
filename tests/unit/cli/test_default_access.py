# SPDX-License-Identifier: Apache-2.0
"""Projects that lose access to their default type, with a real Cinder."""

import json

import ddt
import openstack.exceptions

from tests.unit.cli import test_retired_types
from tests.unit.execute import test_cinder_world

ALPHA, BETA = test_retired_types.ALPHA, test_retired_types.BETA
TIERS = """version: 1
tiers:
  gold: {{backend: ssd, tags: [{tag}], access: {access}{more}}}
  general: {{fallback: true, backend: lvm{other}}}
"""
LOCKED = f'no longer use it: beta ({BETA}); Cinder would refuse each new'


@ddt.ddt
class DefaultAccessTestCase(test_retired_types.RetiredTypesCase):
    def declare(self, access, *, tag='x', more='', other=''):
        self.write(
            TIERS.format(access=access, tag=tag, more=more, other=other)
        )

    def default(self, project, name):
        self.api.set_default_type(project, self.types()[name].id)

    def can_create(self, project):
        """Whether a member gets a volume without naming a type."""
        member = test_cinder_world.log_in(
            self.api, username='member', project=project
        )
        self.addCleanup(member.close)
        try:
            member.block_storage.create_volume(size=1)
        except openstack.exceptions.NotFoundException:
            return False
        return True

    def said(self):
        """What the plan says, in one line."""
        return ' '.join(self.run_on_tiers(5, 'plan').split())

    def apply_all(self):
        names = [
            row['Object']
            for row in json.loads(self.run_on_tiers(5, 'plan', '-f', 'json'))
            if row['Refused']
        ]
        self.run_on_tiers(
            0, 'apply', *(part for one in names for part in ('--allow', one))
        )

    def found(self):
        """{(object, projects)} of default types that may not be used."""
        rows = json.loads(self.run_on_tiers(0, 'audit', '-f', 'json'))
        return {
            (row['Object'], *row['Current']['projects without access'])
            for row in rows
            if row['Aspect'] == 'project defaults'
        }

    @ddt.data('[alpha, beta]', 'public')
    def test_who_would_be_locked_out_is_named(self, before):
        self.declare(before)
        self.run_on_tiers(0, 'apply')
        self.default(BETA, 'gold')
        self.default(ALPHA, 'gold')
        self.assertTrue(self.can_create(BETA))
        self.assertEqual(set(), self.found())
        self.declare('[alpha]')
        self.assertIn(LOCKED, self.said())
        self.assertIn('"cinder default-type-unset PROJECT"', self.said())
        self.apply_all()
        self.assertEqual(
            (True, False), tuple(map(self.can_create, (ALPHA, BETA)))
        )
        self.run_on_tiers(0, 'plan')
        self.assertEqual({('tier gold', BETA)}, self.found())
        self.run_on_tiers(4, 'audit', '--strict', '--tier', 'gold')
        self.assertIn(
            'volume type gold is the default type of projects that may not '
            'use it',
            ' '.join(self.run_on_tiers(0, 'audit').split()),
        )
        self.api.set_default_type(BETA, None)
        self.assertEqual(set(), self.found())

    @ddt.data('[alpha, beta]', 'public')
    def test_also_of_a_type_that_is_replaced(self, before):
        self.declare(before)
        self.run_on_tiers(0, 'apply')
        self.default(BETA, 'gold')
        self.api.add_volume(
            host=self.host, volume_type_id=self.types()['gold'].id
        )
        self.declare('[alpha]', tag='y')
        self.assertIn(LOCKED, self.said())
        self.apply_all()
        self.assertEqual({('tier gold', BETA)}, self.found())

    def retire(self, access, **declared):
        """Retires the type of gold, which becomes the default of beta."""
        self.declare(access, **declared)
        self.run_on_tiers(0, 'apply')
        old = self.types()['gold']
        self.api.add_volume(host=self.host, volume_type_id=old.id)
        self.declare(access, tag='y', **declared)
        self.apply_all()
        (retired,) = [
            name for name, one in self.types().items() if one.id == old.id
        ]
        self.default(BETA, retired)
        return retired

    @ddt.data(
        ('[alpha, beta]', ''),
        ('public', ''),
        ('[alpha, beta]', ', default_for: []'),
    )
    @ddt.unpack
    def test_also_of_a_retired_type(self, access, more):
        retired = self.retire(access, more=more)
        self.declare('[alpha]', tag='y', more=more)
        self.assertEqual(1, self.said().count(LOCKED))
        self.apply_all()
        self.assertFalse(self.can_create(BETA))
        self.run_on_tiers(0, 'plan')
        self.assertEqual({('tier gold', BETA)}, self.found())
        self.assertIn(
            f'volume type {retired} is the default type of projects',
            ' '.join(self.run_on_tiers(0, 'audit').split()),
        )

    def test_a_retired_type_stays_private_beside_a_public_one(self):
        self.retire('[alpha]')
        self.declare('public', tag='y')
        self.run_on_tiers(0, 'apply')
        self.assertEqual({('tier gold', BETA)}, self.found())

    def test_who_gets_another_tier_is_not_locked_out(self):
        self.retire('[alpha, beta]')
        self.default(ALPHA, 'gold')
        self.declare(
            '[]',
            tag='y',
            more=', default_for: []',
            other=', default_for: [beta]',
        )
        self.assertNotIn('no longer use it', self.said())
        self.apply_all()
        self.assertEqual(
            (True, True), tuple(map(self.can_create, (ALPHA, BETA)))
        )
        self.assertEqual(set(), self.found())
        self.run_on_tiers(0, 'plan')

    def test_nor_is_who_was_already(self):
        """The plan says what it does, and the audit what is."""
        self.declare('[alpha, beta]')
        self.run_on_tiers(0, 'apply')
        self.api.add_project('c' * 32, 'gamma')
        self.default('c' * 32, 'gold')
        self.assertEqual({('tier gold', 'c' * 32)}, self.found())
        self.declare('[alpha]')
        self.assertNotIn('no longer use it', self.said())

    def test_a_type_of_others_is_left_to_them(self):
        """Who may use it was not asked."""
        self.declare('[alpha]')
        self.run_on_tiers(0, 'apply')
        self.connection.block_storage.create_type(
            name='theirs', is_public=False
        )
        self.default(BETA, 'theirs')
        self.assertEqual(set(), self.found())
