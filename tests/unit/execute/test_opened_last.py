# SPDX-License-Identifier: Apache-2.0

"""What a tenant can choose while an apply makes a tier, with a real Cinder."""

import math

import ddt

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import action as actions
import tests
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.unit.execute import test_cut_off

ALPHA, BETA = test_cut_off.ALPHA, test_cut_off.BETA
KEY = actions.Key(kind=actions.Kind.VOLUME_TYPE, name='new')
WHOLE = {
    'qos': catalogs.Qos(front_end={'read_iops_sec': '50'}),
    'quotas': catalogs.Quotas(volumes=3),
    'encryption': catalogs.Encryption(provider='luks'),
}


def of(access, **fields):
    return given.of(
        given.other_tier('new', access=access, **fields),
        follow_image_types=('choose',),
    )


@ddt.ddt
class OpenedLastTestCase(test_cut_off.AppliedCinderTestCase):
    def setUp(self):
        super().setUp()
        self.cut = test_cinder_world.log_in(self.api, test_cut_off.CutSession)
        self.cut.session.left = math.inf
        self.addCleanup(self.cut.close)
        self.members = {}
        for project in (ALPHA, BETA):
            member = test_cinder_world.log_in(
                self.api, username='member', project=project
            )
            self.addCleanup(member.close)
            self.members[project] = member

    def chosen_by(self, name='new'):
        """Projects that are offered the type."""
        return {
            project
            for project, member in self.members.items()
            if name in self.names(member)
        }

    def names(self, connection):
        return {one.name for one in connection.block_storage.types()}

    def lacks(self, wanted='new'):
        """What the type has not got yet of what is declared."""
        block_storage = self.connection.block_storage
        found = next(
            one
            for one in block_storage.types(is_public='None')
            if one.name == wanted
        )
        shown = block_storage.get(f'/types/{found.id}').json()['volume_type']
        quotas = block_storage.get('/os-quota-class-sets/default').json()
        encryption = block_storage.get(f'/types/{found.id}/encryption').json()
        return {
            name
            for name, has in (
                ('qos', shown['qos_specs_id']),
                (
                    'quotas',
                    quotas['quota_class_set'][f'volumes_{wanted}'] == 3,
                ),
                ('encryption', encryption.get('provider')),
            )
            if not has
        }

    @ddt.data(None, catalogs.PUBLIC, (ALPHA,), (ALPHA, BETA))
    def test_nobody_is_offered_a_type_that_is_not_complete(self, access):
        catalog = of(access, **WHOLE)
        allowed = (
            {ALPHA, BETA} if access in (None, catalogs.PUBLIC) else set(access)
        )
        plan = self.granted(catalog, ())
        (created,) = [one for one in plan.actions if one.key == KEY]
        self.assertEqual('create', created.verb)
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        self.assertGreater(len(states), 5)
        self.assertEqual(allowed, self.chosen_by())
        finished = tests.share(range(len(states)), len(states))
        for number, state in enumerate(states):
            self.api.return_to(state)
            offered = self.chosen_by()
            self.assertLessEqual(offered, allowed)
            if offered:
                self.assertEqual(set(), self.lacks(), number)
            elif allowed:
                # There is no choice before there is a tier.
                self.assertNotIn('choose', self.names(self.members[ALPHA]))
            if number not in finished:
                continue
            if offered != allowed:
                # Without consent, whatever was cut off.
                again = self.granted(catalog, ())
                self.assertEqual((), again.refused)
                self.assertIn(KEY, [one.key for one in again.actions])
                self.carry_out(again, self.connection)
                self.assertEqual(allowed, self.chosen_by())
            else:
                self.carry_out(self.granted(catalog, ()), self.connection)
            self.assertEqual((), self.granted(catalog, ()).actions)
            self.assertEqual(set(), self.lacks())

    def test_a_type_whose_limits_fail_stays_closed(self):
        catalog = of(None, **WHOLE)
        plan = self.granted(catalog, ())
        # Somebody takes the name of the QoS spec meanwhile.
        block_storage = self.connection.block_storage
        block_storage.create_qos_spec(
            name='tier-new', consumer='both', read_iops_sec='9'
        )
        results = test_cinder_world.apply_plan(plan, self.connection)
        (of_type,) = [one for one in results if one.action.key == KEY]
        self.assertIs(actions.Outcome.SKIPPED, of_type.outcome)
        self.assertIn('qos spec tier-new, and stays closed', of_type.reason)
        self.assertEqual(set(), self.chosen_by())
        (one,) = [
            one
            for one in self.granted(catalog, ['qos spec tier-new']).actions
            if one.key == KEY
        ]
        self.assertEqual('update', one.verb)
        self.assertEqual(
            (False, True), (one.before.is_public, one.after.is_public)
        )
        self.assertIn('an interrupted apply left it closed', one.explanation)
        self.carry_out(
            self.granted(catalog, ['qos spec tier-new']), self.connection
        )
        self.assertEqual({ALPHA, BETA}, self.chosen_by())
        self.assertEqual(
            '',
            next(
                one.description or ''
                for one in block_storage.types()
                if one.name == 'new'
            ),
        )

    def test_a_type_that_needs_nothing_else_is_made_in_one_request(self):
        plan = self.granted(of(None), ())
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        # That of the tier, and that which follows the image.
        self.assertEqual(3, len(states))

    @ddt.data(
        {'access': (ALPHA,)},
        {'access': None, 'tags': ('other',), 'backend_name': 'elsewhere'},
    )
    def test_the_file_may_change_before_it_is_applied_again(self, fields):
        """Without consent, for nobody has had anything of the type."""
        plan = self.granted(of(None, tags=('first',), **WHOLE), ())
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        catalog = of(**fields, **WHOLE)
        found = []
        self.cut.session.before_a_write = lambda: found.append(
            (self.chosen_by(), self.chosen_by() and self.lacks())
        )
        self.addCleanup(delattr, self.cut.session, 'before_a_write')
        finished = tests.share(states[1:-2], len(states))
        for state in states[1:-2]:
            self.api.return_to(state)
            self.assertEqual(set(), self.chosen_by())
            if state not in finished:
                continue
            self.carry_out(self.granted(catalog, ()), self.cut)
            self.assertEqual((), self.granted(catalog, ()).actions)
            self.assertEqual(
                set(fields['access'] or self.members), self.chosen_by()
            )
        self.assertEqual([], [one for one in found if one[0] and one[1]])

    @ddt.data(None, (ALPHA,))
    def test_a_successor_is_offered_when_it_is_complete(self, access):
        empty = self.api.keep()
        self.addCleanup(self.api.return_to, empty)
        before = of(access, tags=('first',), **WHOLE)
        self.carry_out(self.granted(before, ()), self.connection)
        (in_use,) = [
            one
            for one in self.connection.block_storage.types(is_public='None')
            if one.name == 'new'
        ]
        self.api.add_volume(host='node@x#x', volume_type_id=in_use.id)
        allowed = self.chosen_by()
        plan = self.granted(
            of(access, tags=('second',), **WHOLE), ['volume type new']
        )
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        closed = 0
        finished = tests.share(range(len(states)), len(states))
        for number, state in enumerate(states):
            self.api.return_to(state)
            offered = self.chosen_by('new - new')
            self.assertLessEqual(offered, allowed)
            if offered:
                self.assertEqual(set(), self.lacks('new - new'), number)
            # All but between the two renames.
            if self.chosen_by() != allowed:
                self.assertEqual(allowed, offered)
            elif 'new - new' in self.all_names():
                closed += not offered
                if number not in finished:
                    continue
                # The tier works on by its type if that is wanted after all.
                self.carry_out(
                    self.granted(before, ['volume type new - new']),
                    test_cinder_world.log_in(self.api),
                )
                self.assertEqual({'new', 'choose'}, self.all_names())
                self.assertEqual(set(), self.lacks())
        self.assertGreater(closed, 2)

    def all_names(self):
        return {
            one.name
            for one in self.connection.block_storage.types(is_public='None')
        } - {'__DEFAULT__'}

    def test_what_is_open_is_never_closed(self):
        self.carry_out(self.granted(of(None), ()), self.connection)
        catalog = of(None, **WHOLE)
        states = test_cut_off.kept_at_each_write(
            self.api,
            self.cut.session,
            lambda: self.carry_out(self.granted(catalog, ()), self.cut),
        )
        for state in states:
            self.api.return_to(state)
            self.assertEqual({ALPHA, BETA}, self.chosen_by())

    def test_what_somebody_closed_is_opened_only_for_who_asks(self):
        catalog = of(None, **WHOLE)
        self.carry_out(self.granted(catalog, ()), self.connection)
        block_storage = self.connection.block_storage
        found = block_storage.find_type('new')
        block_storage.put(
            f'/types/{found.id}', json={'volume_type': {'is_public': False}}
        )
        (refused,) = self.granted(catalog, ()).refused
        self.assertEqual(KEY, refused.key)
        self.assertFalse(refused.before.is_half_made)

    def test_a_wider_access_comes_after_the_limits(self):
        self.carry_out(self.granted(of((ALPHA,)), ()), self.connection)
        catalog = of((ALPHA, BETA), **WHOLE)
        plan = self.granted(catalog, ())
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        for state in states:
            self.api.return_to(state)
            if self.chosen_by() != {ALPHA}:
                self.assertEqual(set(), self.lacks())
        self.assertEqual({ALPHA, BETA}, self.chosen_by())

    def test_access_goes_from_one_project_to_another(self):
        self.carry_out(self.granted(of((ALPHA,)), ()), self.connection)
        catalog = of((BETA,), **WHOLE)
        plan = self.allowed(catalog)
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        self.assertEqual({BETA}, self.chosen_by())
        for state in states:
            self.api.return_to(state)
            if BETA in self.chosen_by():
                self.assertEqual(set(), self.lacks())
