# SPDX-License-Identifier: Apache-2.0

"""Tiers that change their projects and default types, with a real Cinder.

At no moment a project has a default type that it may not use: Cinder would
refuse each volume of its whose request names no type.
"""

import math

import ddt

from cinder_tiers.clients import default_types
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import action as actions
import tests
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.unit.execute import test_cut_off

ALPHA, BETA, GAMMA = test_cut_off.ALPHA, test_cut_off.BETA, 'c' * 32
ALL = (ALPHA, BETA, GAMMA)
PUBLIC = catalogs.PUBLIC


def of(**tiers):
    """A catalog; {name of a tier: its (access, default_for)}."""
    return given.of(
        *(
            given.other_tier(name, access=access, default_for=default_for)
            for name, (access, default_for) in tiers.items()
        ),
        follow_image_types=(),
    )


@ddt.ddt
class DefaultMovesTestCase(test_cut_off.AppliedCinderTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api.add_project(GAMMA, 'gamma')
        cls.host = cls.api.add_backend('any')

    def setUp(self):
        super().setUp()
        self.empty = self.api.keep()
        self.addCleanup(self.api.return_to, self.empty)
        self.cut = test_cinder_world.log_in(self.api, test_cut_off.CutSession)
        self.cut.session.left = math.inf
        self.addCleanup(self.cut.close)

    def defaults(self):
        """{project: (its default type, whether it may use it)}."""
        block_storage = self.connection.block_storage
        types = {one.id: one for one in block_storage.types(is_public='None')}
        return {
            project: (
                types[ident].name,
                types[ident].is_public
                or project
                in {
                    row['project_id']
                    for row in block_storage.get_type_access(ident)
                },
            )
            for project, ident in default_types.list_all(block_storage).items()
        }

    def assert_usable(self, expected, after):
        """Applies; nobody is locked out by it, nor by a cut-off."""
        plan = self.allowed(after)
        states = test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        )
        finished = tests.share(range(len(states)), len(states))
        for number, state in enumerate(states):
            self.api.return_to(state)
            self.assertEqual(
                set(),
                {one for one in self.defaults().items() if not one[1][1]},
                number,
            )
            if number not in finished:
                continue
            self.carry_out(self.allowed(after), self.connection)
            self.assertEqual((), self.granted(after, ()).actions, number)
            self.assertEqual(
                {one: (name, True) for one, name in expected.items()},
                self.defaults(),
            )

    @ddt.data(
        # One tier gains and loses projects.
        (
            of(gold=((ALPHA, BETA), (BETA,))),
            of(gold=((ALPHA,), (ALPHA,))),
            {ALPHA: 'gold'},
        ),
        (
            of(gold=((BETA,), (BETA,))),
            of(gold=((ALPHA,), (ALPHA,))),
            {ALPHA: 'gold'},
        ),
        (
            of(gold=(PUBLIC, (BETA,))),
            of(gold=((ALPHA,), (ALPHA,))),
            {ALPHA: 'gold'},
        ),
        # Its project goes to a tier that closes to others.
        (
            of(gold=((ALPHA, BETA), (BETA,)), plain=((GAMMA,), ())),
            of(gold=((ALPHA,), ()), plain=((BETA,), (BETA,))),
            {BETA: 'plain'},
        ),
        (
            of(gold=((ALPHA, BETA), (BETA,)), plain=(PUBLIC, (GAMMA,))),
            of(gold=((ALPHA,), (ALPHA,)), plain=((BETA,), (BETA,))),
            {ALPHA: 'gold', BETA: 'plain'},
        ),
        # Two tiers swap their projects, and three.
        (
            of(gold=((BETA,), (BETA,)), plain=((ALPHA,), (ALPHA,))),
            of(gold=((ALPHA,), (ALPHA,)), plain=((BETA,), (BETA,))),
            {ALPHA: 'gold', BETA: 'plain'},
        ),
        (
            of(
                gold=((BETA,), (BETA,)),
                plain=((ALPHA,), (ALPHA,)),
                slow=((GAMMA,), (GAMMA,)),
            ),
            of(
                gold=((ALPHA,), (ALPHA,)),
                plain=((GAMMA,), (GAMMA,)),
                slow=((BETA,), (BETA,)),
            ),
            {ALPHA: 'gold', GAMMA: 'plain', BETA: 'slow'},
        ),
    )
    @ddt.unpack
    def test_nobody_is_locked_out_meanwhile(self, before, after, expected):
        self.carry_out(self.granted(before, ()), self.connection)
        self.assert_usable(expected, after)

    def test_nor_when_the_type_is_in_use_and_changes(self):
        self.carry_out(
            self.granted(of(gold=((ALPHA, BETA), (BETA,))), ()),
            self.connection,
        )
        (found,) = [
            one
            for one in self.connection.block_storage.types(is_public='None')
            if one.name == 'gold'
        ]
        self.api.add_volume(host=self.host, volume_type_id=found.id)
        self.assert_usable(
            {ALPHA: 'gold'},
            given.of(
                given.other_tier(
                    'gold',
                    backend_name='general',
                    access=(ALPHA,),
                    default_for=(ALPHA,),
                ),
                follow_image_types=(),
            ),
        )

    def test_nor_before_the_limits_of_the_next_tier_are_there(self):
        """It is opened last, to its new projects, and closed at once."""
        self.carry_out(
            self.granted(of(gold=((BETA,), (BETA,))), ()), self.connection
        )
        self.assert_usable(
            {ALPHA: 'gold'},
            given.of(
                given.other_tier(
                    'gold',
                    access=(ALPHA,),
                    default_for=(ALPHA,),
                    qos=catalogs.Qos(front_end={'read_iops_sec': '50'}),
                    quotas=catalogs.Quotas(volumes=3),
                ),
                follow_image_types=(),
            ),
        )

    def test_a_project_moves_in_one_step_where_it_may(self):
        """It has a default type all the time."""
        self.carry_out(
            self.granted(
                of(gold=((ALPHA, BETA), (BETA,)), plain=((GAMMA,), ())), ()
            ),
            self.connection,
        )
        after = of(gold=((ALPHA,), ()), plain=((BETA,), (BETA,)))
        plan = self.allowed(after)
        for state in test_cut_off.kept_at_each_write(
            self.api, self.cut.session, lambda: self.carry_out(plan, self.cut)
        ):
            self.api.return_to(state)
            self.assertEqual({BETA}, self.defaults().keys())

    def test_what_was_only_unset_is_said(self):
        self.carry_out(
            self.granted(of(gold=((BETA,), (BETA,))), ()), self.connection
        )
        plan = self.allowed(of(gold=((ALPHA,), (ALPHA,))))
        gold = self.connection.block_storage.find_type('gold')
        # Somebody else opens it meanwhile, to a project that nobody named.
        self.connection.block_storage.add_type_access(gold, GAMMA)
        results = {
            str(one.action.key): one
            for one in test_cinder_world.apply_plan(plan, self.connection)
        }
        self.assertIs(
            actions.Outcome.FAILED, results['volume type gold'].outcome
        )
        of_default = results['project defaults gold']
        self.assertIs(actions.Outcome.SKIPPED, of_default.outcome)
        self.assertIn(
            'it needs volume type gold, and is only unset', of_default.reason
        )
        self.assertEqual({}, self.defaults())
