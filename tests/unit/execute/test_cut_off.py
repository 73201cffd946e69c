# SPDX-License-Identifier: Apache-2.0
"""An apply with consent that is cut off at any request, with a real Cinder."""

import math

import keystoneauth1.session
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import for_plan as observer
import tests
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

ALPHA, BETA = 'a' * 32, 'b' * 32


class CutOff(BaseException):
    """Ends a program at once, as a signal does."""


def writes(method, url):
    """Whether a request changes something."""
    # Cinder associates by GET; the rest is logging in.
    return (method != 'GET' or url.endswith('associate')) and (
        '/identity' not in url
    )


class CutSession(keystoneauth1.session.Session):
    """A session that ends the program at a request that writes."""

    #: Requests that write and are let through.
    left = 0
    #: What is called before each of them.
    before_a_write = staticmethod(lambda: None)

    def request(self, url, method, **arguments):
        if writes(method, url):
            if self.left == 0:
                raise CutOff
            self.left -= 1
            self.before_a_write()
        return super().request(url, method, **arguments)


def kept_at_each_write(api, session, apply):
    """Apply once; what Cinder knew before each write, and after the last.

    A program that is killed leaves one of these states. To return to them
    costs a small part of what it costs to make each of them by requests.

    :param api: the `CinderApi`
    :param session: the `CutSession` of who applies
    :param apply: the function that applies all
    :returns: names of copies for `CinderApi.return_to`
    """
    kept = []
    session.left = math.inf
    session.before_a_write = lambda: kept.append(api.keep())
    try:
        apply()
    finally:
        del session.before_a_write
    return [*kept, api.keep()]


#: What is applied first, beside things of others.
BEFORE = given.of(
    given.other_tier('limited'),
    given.other_tier('closing'),
    given.other_tier('gone', qos=catalogs.Qos(back_end={'x': '1'})),
    follow_image_types=(),
)
AFTER = given.of(
    given.other_tier(
        'limited', qos=catalogs.Qos(front_end={'read_iops_sec': '50'})
    ),
    given.other_tier('closing', access=(ALPHA,)),
    given.other_tier(
        'theirs',
        access=(ALPHA,),
        backend_name=None,
        extra_specs={'vendor_name': 'x'},
    ),
    follow_image_types=(),
)
NAMES = (
    'qos spec tier-limited',
    'volume type closing',
    'volume type theirs',
    'qos spec tier-gone',
    'volume type gone',
)


class AppliedCinderTestCase(testtools.TestCase):
    """Applies to Cinder's real API, with two projects."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        for ident, name in ((ALPHA, 'alpha'), (BETA, 'beta')):
            cls.api.add_project(ident, name)
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(self.api)
        self.addCleanup(self.connection.close)
        self.addCleanup(self.api.return_to, self.empty)

    def granted(self, catalog, names):
        return consent.grant(
            plans.make(
                catalog=catalog,
                actual=observer.observe(
                    catalog=catalog, clusters={}, connection=self.connection
                ),
            ),
            names,
        )

    def allowed(self, catalog):
        """The plan for a catalog, with consent to all of it."""
        plan = self.granted(catalog, ())
        return consent.grant(plan, [str(one.key) for one in plan.refused])

    def carry_out(self, plan, connection):
        for result in apply.apply(
            plan=plan,
            report=lambda one: None,
            executors=registry.executors(
                connection=connection,
                clusters={},
                read_usage=ceph_usage.attempt,
            ),
            read=observer.reader(connection=self.connection, clusters={}),
        ):
            self.assertEqual(
                (actions.Outcome.DONE, ''), (result.outcome, result.reason)
            )


class CutOffTestCase(AppliedCinderTestCase):
    def begin(self):
        """Makes what is there before; gold and theirs are not ours."""
        self.carry_out(self.granted(BEFORE, ()), self.connection)
        block_storage = self.connection.block_storage
        limited = block_storage.find_type('limited')
        gold = block_storage.create_qos_spec(name='gold', consumer='both')
        block_storage.associate_qos_spec(gold, limited.id)
        theirs = block_storage.create_type(
            name='theirs',
            is_public=False,
            extra_specs={'volume_backend_name': 'y', 'theirs': 'z'},
        )
        block_storage.add_type_access(theirs, BETA)

    def test_the_same_names_finish_it(self):
        self.begin()
        connection = test_cinder_world.log_in(self.api, CutSession)
        self.addCleanup(connection.close)
        plan = self.granted(AFTER, NAMES)
        self.assertEqual((), plan.refused)
        states = kept_at_each_write(
            self.api,
            connection.session,
            lambda: self.carry_out(plan, connection),
        )
        self.assertGreater(len(states), 9)
        self.assert_as_wanted()
        for count, state in tests.share(list(enumerate(states[:-1]))):
            self.api.return_to(state)
            self.carry_out(self.granted(AFTER, NAMES), self.connection)
            self.assertEqual((), self.granted(AFTER, NAMES).actions, count)
            self.assert_as_wanted()

    def test_nobody_reaches_a_backend_that_is_only_for_others(self):
        """A type that is closed, or opened, while its backend changes."""
        name = 'moved'

        def at(backend, *projects):
            return given.of(
                given.other_tier(
                    name, backend_name=backend, access=projects or 'public'
                ),
                follow_image_types=(),
            )

        for before, after in (
            (at('all'), at('alpha', ALPHA)),
            (at('alpha', ALPHA), at('all')),
            (at('beta', BETA), at('alpha', ALPHA)),
        ):
            allowed = {
                one.tiers[0].backend: {
                    project
                    for project in (ALPHA, BETA)
                    if one.tiers[0].is_public or project in one.tiers[0].access
                }
                for one in (before, after)
            }
            self.api.return_to(self.empty)
            self.carry_out(self.granted(before, ()), self.connection)
            connection = test_cinder_world.log_in(self.api, CutSession)
            self.addCleanup(connection.close)
            plan = self.allowed(after)
            states = kept_at_each_write(
                self.api,
                connection.session,
                lambda plan=plan, connection=connection: self.carry_out(
                    plan, connection
                ),
            )
            self.assertGreater(len(states), 2)
            for state in states:
                self.api.return_to(state)
                one = observer.reader(connection=self.connection, clusters={})(
                    actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name)
                )
                reach = {ALPHA, BETA} if one.is_public else set(one.projects)
                backend = one.extra_specs['volume_backend_name']
                self.assertLessEqual(reach, allowed[backend])

    def test_a_killed_program_leaves_what_it_wrote(self):
        """As the states above are made: by writes that are not made."""
        self.begin()
        before = self.types()
        connection = test_cinder_world.log_in(self.api, CutSession)
        self.addCleanup(connection.close)
        plan = self.granted(AFTER, NAMES)
        kept = self.api.keep()
        found = []
        for count in (0, 3):
            self.api.return_to(kept)
            connection.session.left = count
            self.assertRaises(CutOff, self.carry_out, plan, connection)
            found.append(self.types())
        self.assertEqual(before, found[0])
        self.assertNotEqual(before, found[1])
        self.api.return_to(kept)
        states = kept_at_each_write(
            self.api,
            connection.session,
            lambda: self.carry_out(plan, connection),
        )
        for state, types in zip((states[0], states[3]), found, strict=True):
            self.api.return_to(state)
            self.assertEqual(types, self.types())

    def types(self):
        """{id: (name, extra specs)} of volume types, {name: QoS spec}."""
        block_storage = self.connection.block_storage
        return {
            one.id: (one.name, one.extra_specs)
            for one in block_storage.types(is_public='None')
        } | {one.name: one.specs for one in block_storage.qos_specs()}

    def assert_as_wanted(self):
        block_storage = self.connection.block_storage
        self.assertEqual(
            {'gold', 'tier-limited'},
            {one.name for one in block_storage.qos_specs()},
        )
        self.assertEqual(
            {'__DEFAULT__', 'limited', 'closing', 'theirs'},
            {one.name for one in block_storage.types(is_public='None')},
        )
