# SPDX-License-Identifier: Apache-2.0

"""`openstack tier usage`, run by the real shell against a real Cinder API."""

import datetime
import json
import uuid

import testtools

from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case
from tests.unit.execute.cinder import test_volume_type
from tests.unit.loop.headroom import test_headroom_command

ALPHA, BETA = 'a' * 32, 'b' * 32
HOSTILE = 'be"ta\n\x1b[2J\\'
COSTS = """version: 1
follow_image_types: [image-tier]
tiers:
  database:
    tags: [database]
    priority: 20
    backend: ssd
    overflow: general
    access: [alpha]
    qos: {front_end: {total_iops_sec: 500}}
    cost: {currency: EUR, per_gib_month: 0.1, per_1000_iops_month: "0.30"}
  general:
    fallback: true
    backend: lvm
    cost: {currency: EUR, per_gib_month: 0.02}
  growing:
    tags: [growing]
    priority: 10
    backend: lvm
    qos: {front_end: {read_iops_sec_per_gb: 60, write_iops_sec_per_gb: 50}}
"""


class UsageCommandCase(
    test_headroom_command.Results, tiers_file_case.TiersFileTestCase
):
    text = COSTS

    def setUp(self):
        super().setUp()
        self.api.add_project(BETA, HOSTILE)
        self.begin_applied()
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        self.types = {
            one.name: one.id
            for one in connection.block_storage.types(is_public='None')
        }
        self.block_storage = connection.block_storage
        self.ssd, self.lvm = (
            self.api.add_backend(name) for name in ('ssd', 'lvm')
        )

    def add(self, name, project, size, **fields):
        return self.api.add_volume(
            host=self.lvm,
            volume_type_id=self.types[name],
            project_id=project,
            size=size,
            **fields,
        )

    def usage(self, *arguments, role='admin', project=ALPHA, prices=True):
        if prices:
            arguments = ('--catalog', self.path, *arguments)
        return shell.openstack(
            *self.api.arguments_of(role, project),
            *('tier', 'usage', '-f', 'json', *arguments),
        )

    def rows(self, ran, *columns):
        self.assertEqual(0, ran.status, ran.stderr)
        return [
            tuple(row[name] for name in columns)
            for row in json.loads(ran.stdout)
        ]


class UsageCommandTestCase(UsageCommandCase):
    def test_an_administrator_sees_all_projects(self):
        self.add('database', ALPHA, 10)
        self.add('database', BETA, 5, servers=[str(uuid.uuid4())] * 2)
        self.add('database', BETA, 5, status='error')
        self.add('growing', ALPHA, 100)
        self.add('growing', ALPHA, 10)
        self.add('general', BETA, 7)
        self.add('__DEFAULT__', BETA, 1)
        ran = self.usage()
        beta = 'be"ta\\n\\x1b[2J\\\\'[:-1]
        found = self.rows(
            ran,
            *('Tier', 'Volume Type', 'Project', 'Volumes', 'GiB', 'IOPS'),
            'Remark',
        )
        no_limit = '1 of 1 without an IOPS limit'
        self.assertEqual(
            [
                ('database', 'database', 'alpha', 1, 10, 500, ''),
                ('database', 'database', beta, 2, 10, 1000, ''),
                ('general', 'general', beta, 1, 7, None, no_limit),
                # Reads and writes together.
                ('growing', 'growing', 'alpha', 2, 110, 12100, ''),
                (None, '__DEFAULT__', beta, 1, 1, None, no_limit),
            ],
            found,
        )
        self.assertIn('neither deleted volumes', ran.stderr)
        self.assertEqual(
            [
                {'amount': '1.150000', 'currency': 'EUR'},
                {'amount': '1.300000', 'currency': 'EUR'},
                {'amount': '0.140000', 'currency': 'EUR'},
                None,
                None,
            ],
            [one for (one,) in self.rows(ran, 'Price a Month')],
        )
        shown = self.usage('--project', ALPHA)
        self.assertEqual(
            [('database',), ('growing',)], self.rows(shown, 'Tier')
        )
        table = shell.openstack(
            *self.api.arguments_of('admin'),
            *('tier', 'usage', '--catalog', self.path, '-f', 'table'),
        )
        self.assertNotIn('\x1b', table.stdout)
        self.assertIn('1.15 EUR', table.stdout)

    def test_what_a_volume_is_copied_to_is_not_another_volume(self):
        moves = self.add('database', ALPHA, 10, migration_status='migrating')
        self.add('general', ALPHA, 10, migration_status=f'target:{moves}')
        self.assertEqual(
            [('database', 1, 10)],
            self.rows(self.usage(), 'Tier', 'Volumes', 'GiB'),
        )

    def test_a_tier_may_be_unknown(self):
        """The type follows an image, and the image is gone."""
        for _ in range(2):
            self.add('image-tier', ALPHA, 1, image_id=str(uuid.uuid4()))
        ran = self.usage()
        self.assertEqual(3, ran.status)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(
            (None, 'image-tier', 2),
            (row['Tier'], row['Volume Type'], row['Volumes']),
        )
        self.assertEqual(
            1, ran.stderr.count('the tier of 2 volumes is unknown')
        )

    def test_a_retired_type_counts_for_its_tier(self):
        self.add('growing', ALPHA, 4)
        self.write(COSTS.replace('tags: [growing]', 'tags: [growth]'))
        applied = self.run_tier('apply', '--allow', 'volume type growing')
        self.assertEqual(0, applied.status, applied.stderr)
        columns = ('Tier', 'Volume Type', 'Volumes', 'GiB', 'IOPS')
        self.assertEqual(
            [('growing', 'growing', 1, 4, 440)],
            self.rows(self.usage(), *columns),
        )
        # To a member it is a volume type; none is called "retired".
        ran = self.usage(role='member')
        self.assertEqual(
            [(None, 'growing', 1, 4, None)], self.rows(ran, *columns)
        )

    def test_a_member_sees_the_own_project(self):
        self.add('database', ALPHA, 10)
        self.add('general', BETA, 7)
        for prices in (True, False):
            ran = self.usage(role='member', prices=prices)
            self.assertNotIn('403', ran.stderr)
            self.assertNotIn('olicy', ran.stderr)
            self.assertEqual(
                [(None, 'database', ALPHA, 1, 10, None)],
                self.rows(
                    ran,
                    *('Tier', 'Volume Type', 'Project', 'Volumes', 'GiB'),
                    'IOPS',
                ),
            )
            self.assertEqual(
                prices, 'Price a Month' in json.loads(ran.stdout)[0]
            )
        self.api.asked()
        self.usage(role='member', prices=False)
        # Neither other projects nor images are asked for.
        self.assertEqual(
            [],
            [
                path
                for path in self.api.asked()
                if 'projects' in path or 'images' in path
            ],
        )
        ran = self.usage('--project', ALPHA, role='member')
        self.assertEqual([(10,)], self.rows(ran, 'GiB'))
        ran = self.usage('--project', BETA, role='member')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('is not your own', ran.stderr)
        ran = self.usage(
            '--headroom',
            self.write_result(test_headroom_command.curve_run()),
            role='member',
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('--headroom needs the volumes of all', ran.stderr)

    def test_only_what_the_records_tell_is_known(self):
        kept = self.add('general', ALPHA, 10)
        self.api.change_volume(
            kept,
            created_at=datetime.datetime(2026, 1, 1),
            updated_at=datetime.datetime(2026, 1, 2),
        )
        period = ('--from', '2026-01-01', '--to', '2026-01-03')
        ((hours, price),) = self.rows(
            self.usage(*period), 'GiB-hours', 'Price of GiB-hours'
        )
        self.assertEqual({'at_least': 240, 'at_most': 480}, hours)
        # 240 / 730 * 0.02
        self.assertEqual(
            {
                'at_least': '0.006575',
                'at_most': '0.013151',
                'currency': 'EUR',
            },
            price,
        )
        # Now Cinder extends it, and nobody can tell what it had.
        self.api.change_volume(kept, size=20)
        ((hours,),) = self.rows(self.usage(*period), 'GiB-hours')
        self.assertEqual({'at_least': 0, 'at_most': 960}, hours)
        # What is gone is in nothing, and that is said.
        self.api.delete_volume(kept)
        ran = self.usage(*period)
        self.assertEqual([], self.rows(ran, 'GiB-hours'))
        self.assertIn(
            'GiB-hours from 2026-01-01T00:00:00+00:00 to '
            '2026-01-03T00:00:00+00:00. Cinder shows neither deleted',
            ran.stderr,
        )

    def test_each_change_of_size_type_or_project_is_a_change(self):
        """What the lower end rests on, of a real Cinder."""
        for change in (
            {'size': 2},
            {'volume_type_id': self.types['growing']},
            {'project_id': BETA},
        ):
            ident = self.add('general', ALPHA, 1)
            before = datetime.datetime(2026, 1, 2)
            self.api.change_volume(ident, updated_at=before)
            self.api.change_volume(ident, **change)
            found = self.block_storage.get_volume(ident)
            self.assertLess(
                before, datetime.datetime.fromisoformat(found.updated_at)
            )

    def test_what_is_sold_of_a_curve(self):
        self.add('database', ALPHA, 10)
        self.add('database', BETA, 10)
        result = self.write_result(test_headroom_command.curve_run())
        expected = COSTS.replace(
            '    overflow: general\n',
            '    overflow: general\n    expect: {w: {p99_ms_max: 100}}\n',
        )
        for text, until, share in (
            (COSTS, '70 % of the most', 1000 / (0.7 * 0.999 * 160)),
            (expected, 'p99_ms_max 100', 1000 / test_headroom_command.MOST),
        ):
            self.write(text)
            ran = self.usage('--headroom', result, '--project', ALPHA)
            # All projects share the tier.
            ((((one,),),)) = [self.rows(ran, 'Sold of Curve')[0]]
            self.assertEqual(
                ('w', until, 1000, 'write'),
                (
                    one['curve'],
                    one['until'],
                    one['sold_iops'],
                    one['direction'],
                ),
            )
            self.assertAlmostEqual(share, 1000 / one['load_iops'], 1)
        self.add('__DEFAULT__', ALPHA, 1)
        ran = self.usage('--headroom', result)
        self.assertEqual([], self.rows(ran, 'Sold of Curve')[-1][0])


class WrongArgumentsTestCase(testtools.TestCase):
    def test_wrong_periods_are_wrong_arguments(self):
        for arguments, said in (
            (('--from', '2026-02-02', '--to', '2026-02-01'), 'before the end'),
            (('--from', '2026-02-01', '--to', '2026-02-01'), 'before the end'),
            (('--from', '2999-01-01'), 'before now'),
            (('--from', 'yesterday'), 'expected a date such as'),
            (('--to', '2026-02-30'), 'expected a date such as'),
            (('--to', '0001-01-01T00:00+14:00'), 'expected a date such as'),
            (('--to', '0001-01-01'), 'expected a date such as'),
            (('--to', '1969-12-31'), 'expected a date such as'),
        ):
            ran = shell.openstack('tier', 'usage', *arguments)
            self.assertEqual((2, ''), (ran.status, ran.stdout))
            self.assertIn(said, ' '.join(ran.stderr.split()))
