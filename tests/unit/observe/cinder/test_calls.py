# SPDX-License-Identifier: Apache-2.0

"""How many calls a read of Cinder takes, and how many at a time."""

import collections
import threading

import keystoneauth1.session
import testtools

from cinder_tiers.clients import side_by_side
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.observe import for_audit
from cinder_tiers.observe import for_export
from cinder_tiers.observe import for_plan
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

ALPHA, BETA = 'a' * 32, 'b' * 32
PROJECTS = {f'{number:032x}': f'project {number}' for number in range(1, 21)}
#: How many types of each sort there are.
EACH = 12


class CountingSession(keystoneauth1.session.Session):
    """A session that knows what was asked for, and how much at once."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self._turn = threading.Lock()
        self.forget()

    def forget(self):
        """Begins to count anew."""
        self.asked = collections.Counter()
        self.under_way = collections.Counter()
        self.at_once = collections.Counter()

    def request(self, url, method, **arguments):
        what = url.partition('?')[0].rpartition('/')[2]
        with self._turn:
            self.asked[what] += 1
            self.under_way[what] += 1
            self.at_once[what] = max(self.at_once[what], self.under_way[what])
        try:
            return super().request(url, method, **arguments)
        finally:
            with self._turn:
                self.under_way[what] -= 1


class CallsTestCase(testtools.TestCase):
    """Types of others: private ones, some of which name no backend."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        for ident, name in PROJECTS.items():
            cls.api.add_project(ident, name)
        cls.api.add_backend('any')
        connection = test_cinder_world.log_in(cls.api)
        cls.addClassCleanup(connection.close)
        block_storage = connection.block_storage
        for number in range(EACH):
            for name, specs in (
                ('named', {'volume_backend_name': 'any'}),
                ('nameless', {'multiattach': '<is> True'}),
                ('several', {'volume_backend_name': 'any other'}),
            ):
                made = block_storage.create_type(
                    name=f'{name}-{number}', is_public=False, extra_specs=specs
                )
                for project in list(PROJECTS)[number : number + 2]:
                    block_storage.add_type_access(made, project)

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(self.api, CountingSession)
        self.addCleanup(self.connection.close)
        self.session = self.connection.session

    def test_an_export_asks_only_of_what_can_be_a_tier(self):
        found = for_export.observe(self.connection, ())
        asked = dict(self.session.asked)
        self.assertEqual(
            {f'named-{number}' for number in range(EACH)},
            {one.type_name for one in export.export(found).catalog.tiers},
        )
        self.assertEqual(EACH, asked['encryption'])
        self.assertEqual(EACH, asked['os-volume-type-access'])
        self.assertEqual(
            {
                project
                for number in range(EACH)
                for project in list(PROJECTS)[number : number + 2]
            },
            set(found.projects),
        )

    def test_what_is_left_out_needs_neither(self):
        """The same file as from all that Cinder would have said."""
        found = for_export.observe(self.connection, ())
        for name, one in found.cinder.volume_types.items():
            self.assertEqual(name.startswith('named'), bool(one.projects))
        self.assertEqual({}, found.cinder.encryptions)

    def test_it_asks_side_by_side(self):
        for_export.observe(self.connection, ())
        for what in ('encryption', 'os-volume-type-access'):
            self.assertIn(
                self.session.at_once[what],
                range(2, side_by_side.API_AT_ONCE + 1),
                what,
            )

    def test_so_do_a_plan_and_an_audit(self):
        catalog = given.of(
            *(
                given.other_tier(
                    f'named-{number}',
                    access=tuple(list(PROJECTS)[number : number + 1]),
                    encryption=catalogs.Encryption(provider='luks'),
                )
                for number in range(EACH)
            ),
            follow_image_types=(),
        )
        for read, private in (
            (for_plan.observe, EACH),
            (for_audit.observe, 3 * EACH),
        ):
            self.session.forget()
            read(catalog=catalog, connection=self.connection, clusters={})
            asked = self.session.asked
            self.assertEqual(
                (private, EACH, EACH),
                (
                    asked['os-volume-type-access'],
                    asked['encryption'],
                    # How many volumes have each type.
                    asked['volumes'],
                ),
            )
            for what in ('os-volume-type-access', 'encryption', 'volumes'):
                self.assertGreater(self.session.at_once[what], 1, what)
