# SPDX-License-Identifier: Apache-2.0
"""An apply with consent that is cut off at any request, with a real Cinder."""

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
from tests.contract import cinder_api
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world

ALPHA, BETA = 'a' * 32, 'b' * 32


class CutOff(BaseException):
    """Ends a program at once, as a signal does."""


class CutSession(keystoneauth1.session.Session):
    """A session that ends the program at a request that writes."""

    #: Requests that write and are let through.
    left = 0

    def request(self, url, method, **arguments):
        # Cinder associates by GET; the rest is logging in.
        if (method != 'GET' or url.endswith('associate')) and (
            '/identity' not in url
        ):
            if self.left == 0:
                raise CutOff
            self.left -= 1
        return super().request(url, method, **arguments)


#: What is applied first, beside things of others.
BEFORE = given.of(
    given.other_tier('limited'),
    given.other_tier('closing'),
    given.other_tier('gone', qos=catalogs.Qos(back_end={'x': '1'})),
    follow_image_types=(),
)
AFTER = given.of(
    given.other_tier(
        'limited', qos=catalogs.Qos(front_end={'read_iops_sec': '5'})
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


class CutOffTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        for ident, name in ((ALPHA, 'alpha'), (BETA, 'beta')):
            cls.api.add_project(ident, name)

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(self.api)
        self.addCleanup(self.connection.close)
        self.addCleanup(self.remove)

    def remove(self):
        block_storage = self.connection.block_storage
        for one in block_storage.qos_specs():
            block_storage.delete_qos_spec(one, force=True)
        for one in block_storage.types(is_public='None'):
            if one.name != '__DEFAULT__':
                block_storage.delete_type(one)

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

    def ended_at(self, count):
        """Applies until so many requests were made; whether it was ended."""
        connection = test_cinder_world.log_in(self.api, CutSession)
        self.addCleanup(connection.close)
        connection.session.left = count
        plan = self.granted(AFTER, NAMES)
        self.assertEqual((), plan.refused)
        try:
            self.carry_out(plan, connection)
        except CutOff:
            return True
        return False

    def test_the_same_names_finish_it(self):
        count = 0
        self.begin()
        while self.ended_at(count):
            self.carry_out(self.granted(AFTER, NAMES), self.connection)
            self.assertEqual((), self.granted(AFTER, NAMES).actions, count)
            self.assert_as_wanted()
            self.remove()
            self.begin()
            count += 1
        self.assert_as_wanted()
        self.assertGreater(count, 8)

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
