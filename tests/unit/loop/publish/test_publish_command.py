# SPDX-License-Identifier: Apache-2.0

"""`openstack tier publish`, and who reads what it wrote.

Run by the real shell against a real Cinder API, as admin and as member; the
tiers lie on storage that exists. With Ceph: tests/functional/test_card.py.
"""

import dataclasses
import json
import os
import tempfile

import jsonschema

from cinder_tiers.domain.card import card as cards
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from tests.functional import test_card
from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case
from tests.unit.execute.cinder import test_volume_type
from tests.unit.loop.publish import recorded

TIERS = """version: 1
follow_image_types: [image-tier]
tiers:
  database:
    description: For databases.
    tags: [database]
    priority: 20
    backend: ssd
    access: [alpha]
    qos: {front_end: {total_iops_sec: 500}}
    expect: {x: {p99_ms_max: 20, iops_min: 300}}
  general:
    fallback: true
    backend: lvm
"""
ALPHA, OTHER = 'a' * 32, 'b' * 32
SENTENCE = (
    'For databases. Promise: x p99_ms at most 20, iops at least 300. '
    'Measured 2026-11-21T20:00Z: x (3 runs) p99_ms'
)


class PublishCommandTestCase(tiers_file_case.TiersFileTestCase):
    text = TIERS

    def setUp(self):
        super().setUp()
        self.begin_applied()
        self.connection = test_volume_type.connect(self.api)
        self.addCleanup(self.connection.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def saved(self, run, name='run.json'):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(run_result.write(run))
        return path

    def publish(self, *arguments, answer=None, run=recorded.RUN):
        return shell.openstack(
            *self.api.arguments_of('admin'),
            *('tier', 'publish', '--catalog', self.path, '-f', 'json'),
            *arguments,
            self.saved(run),
            answer=answer,
        )

    def states(self, ran):
        return {row['Tier']: row['State'] for row in json.loads(ran.stdout)}

    def described(self, name='database'):
        for one in self.connection.block_storage.types(is_public='None'):
            if one.name == name:
                return one.description
        raise AssertionError(name)

    def type_id(self, name='database'):
        return next(
            one.id
            for one in self.connection.block_storage.types(is_public='None')
            if one.name == name
        )

    def as_member(self, *arguments, project=ALPHA):
        return shell.openstack(
            *self.api.arguments_of('member', project), 'tier', *arguments
        )

    def audited(self):
        ran = self.run_tier('audit', '-f', 'json')
        return ran.status, [
            row for row in json.loads(ran.stdout) if row['Aspect'] == 'card'
        ]

    def test_published_read_stale_and_mended(self):
        # Cinder changes no extra spec of a type in use, but a description.
        self.api.add_volume(
            host=self.api.add_backend('ssd'), volume_type_id=self.type_id()
        )
        promised = self.described()
        self.assertEqual(
            'For databases. Promise: x p99_ms at most 20, iops at least 300.',
            promised,
        )

        # Nobody is there to ask.
        ran = self.publish()
        self.assertEqual(4, ran.status)
        self.assertIn('Nothing was changed: confirmation needs', ran.stderr)
        self.assertEqual(
            {'database': 'planned', 'general': 'planned'}, self.states(ran)
        )
        ran = self.publish(answer='n\n')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(f'now: {promised}\n  new: {promised} Meas', ran.stderr)
        self.assertIn('Publish 2 cards? [y/N]', ran.stderr)
        self.assertEqual(promised, self.described())

        ran = self.publish(answer='y\n')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual(
            {'database': 'published', 'general': 'published'},
            self.states(ran),
        )
        text = self.described()
        self.assertTrue(text.startswith(SENTENCE), text)
        ran = self.publish('--yes')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual(
            {'database': 'published already', 'general': 'published already'},
            self.states(ran),
        )
        for command in ('plan', 'apply'):
            ran = self.run_tier(command, '-f', 'json')
            self.assertEqual((0, '[]'), (ran.status, ran.stdout.strip()))
        self.assertEqual(text, self.described())
        self.assertEqual((0, []), self.audited())

        # A member sees the result file's figures, and nothing of others.
        ran = self.as_member('show', 'database', '-f', 'json')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        shown = json.loads(ran.stdout)
        jsonschema.Draft202012Validator(cards.schema()).validate(shown['card'])
        slots = recorded.RUN.tiers[0].patterns[0].slots
        self.assertEqual(
            [
                (quantity, *map(cards.rounded, (one.mean, one.low, one.high)))
                for quantity in ('p99_ms', 'iops')
                if (one := trust.estimate(slots, quantity))
            ],
            [
                (one['quantity'], one['mean'], one['low'], one['high'])
                for one in shown['card']['measured']['figures']
            ],
        )
        self.assertEqual('private', shown['access'])
        (first, second, third) = json.loads(
            self.as_member('list', '-f', 'json').stdout
        )
        self.assertEqual(
            ('database', 'general', 'image-tier'),
            (first['Name'], second['Name'], third['Name']),
        )
        self.assertEqual(shown['card']['measured'], first['Measured'])
        for role in ('member', 'admin'):
            table = shell.openstack(
                *self.api.arguments_of(role, ALPHA), 'tier', 'list'
            ).stdout
            self.assertIn('x (3 runs): p99_ms', table)
            self.assertGreaterEqual(120, max(map(len, table.splitlines())))
        for verb in ('table', 'csv', 'value', 'yaml'):
            ran = self.as_member('list', '-f', verb, project=OTHER)
            self.assertEqual((0, ''), (ran.status, ran.stderr))
            self.assertIn('general', ran.stdout)
            self.assertNotIn('atabase', ran.stdout)
        ran = self.as_member('show', 'database', project=OTHER)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('expected one of general, image-tier;', ran.stderr)
        admin = json.loads(self.run_admin('show', 'database').stdout)
        self.assertEqual(shown['card'], admin['card'])

        # Words and tags change nothing; the limits of volumes do.
        self.write(
            TIERS.replace('For databases.', 'OLTP').replace(
                'iops_min: 300', 'iops_min: 400'
            )
        )
        self.assertEqual(0, self.run_tier('apply').status)
        self.assertIn('OLTP. Promise: x p99_ms at most 20, ', self.described())
        self.assertIn('400. Measured 2026-11-21T20:00Z: x', self.described())
        self.assertEqual(
            '[]', self.run_tier('plan', '-f', 'json').stdout.strip()
        )
        self.assertEqual((0, []), self.audited())
        self.write(TIERS.replace('sec: 500', 'sec: 400'))
        ran = self.publish('--yes')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('the cloud is not as the tiers file says', ran.stderr)
        status, (found,) = self.audited()
        self.assertEqual(4, status)
        self.assertEqual('out of date', found['State'])
        self.assertIn('QoS, encryption, backend or extra', found['Reason'])
        self.assertIn(
            'the card is stale: QoS',
            self.run_tier('plan', '-f', 'json').stdout,
        )
        self.assertEqual(0, self.run_tier('apply').status)
        stale = f'{promised} Not measured since 2026-11-21T20:00Z.'
        self.assertEqual(stale, self.described())
        self.assertEqual((0, []), self.audited())
        self.assertIn(
            'not measured since 2026-11-21T20:00Z',
            self.as_member('show', 'database').stdout,
        )
        ran = self.publish('--yes')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('before the tier changed', ran.stderr)
        self.assertEqual(stale, self.described())
        again = dataclasses.replace(
            recorded.RUN, ended_at='2026-11-22T08:30:59+01:00'
        )
        ran = self.publish('--yes', '--tier', 'database', run=again)
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn('Measured 2026-11-22T07:30Z: x', self.described())

        # What is published is not replaced by what was measured before.
        ran = self.publish('--yes')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('none before 2026-11-22T07:30Z', ran.stderr)

    def run_admin(self, *arguments):
        return shell.openstack(
            *self.api.arguments_of('admin'), 'tier', *arguments, '-f', 'json'
        )

    def test_what_is_not_to_be_trusted_is_not_published(self):
        before = self.described()
        for changed, said in (
            ([recorded.slot(500)], 'its interval is not known'),
            (
                [
                    recorded.slot(500, clat_ms=(1,) * 99),
                    recorded.slot(510, clat_ms=(1,) * 99),
                ],
                'x p99_ms is not published: a repeat has 99 I/Os',
            ),
            (
                [recorded.slot(500), recorded.slot(510, is_steady=None)],
                'x is not published: steadiness not known; see "tier result',
            ),
        ):
            found = recorded.run({'database': {'x': changed}})
            ran = self.publish('--yes', run=found)
            (row,) = json.loads(ran.stdout)
            self.assertIn(said, '; '.join(row['Remarks']))
            if row['State'] == 'not published':
                self.assertEqual(5, ran.status)
                self.assertNotIn('Measured', self.described())
            else:
                # Of the same run, the IOPS are known.
                self.assertIn('x (2 runs) iops 505 [', self.described())
                self.connection.block_storage.update_type(
                    self.type_id(), description=before
                )
        doubted = dataclasses.replace(
            recorded.RUN,
            doubts=(
                run_result.Caveat(about='steal', text='database x: much'),
            ),
        )
        ran = self.publish('--yes', run=doubted)
        self.assertEqual(5, ran.status, ran.stderr)
        self.assertEqual(
            {'database': 'not published', 'general': 'published'},
            self.states(ran),
        )

    def test_a_result_that_does_not_fit_is_refused_in_words(self):
        figures = {'x': [recorded.slot(500), recorded.slot(510)]}
        other = self.saved(
            recorded.run({'database': figures}, nonce='1' * 16), 'other.json'
        )
        for found, more, said in (
            (recorded.run({'gold': figures}), (), 'is not in the tiers file'),
            (
                recorded.run(
                    {'database': figures}, types={'database': 'general'}
                ),
                (),
                'volumes of volume type general',
            ),
            (recorded.RUN, (other,), 'one result for each pattern of a tier'),
            (recorded.RUN, ('--tier', 'gold'), "no tier 'gold'"),
            (
                dataclasses.replace(recorded.RUN, ended_at='yesterday'),
                (),
                "ended_at 'yesterday'",
            ),
            (
                dataclasses.replace(
                    recorded.RUN, ended_at='2099-01-01T00:00:00+00:00'
                ),
                (),
                'which is not in the future',
            ),
        ):
            ran = self.publish('--yes', *more, run=found)
            self.assertEqual((1, ''), (ran.status, ran.stdout), said)
            self.assertIn(said, ' '.join(ran.stderr.split()))
        self.assertNotIn('Measured', self.described())

    def test_a_tier_that_changed_since_it_was_measured(self):
        # There is no card yet, of which the fingerprint would tell.
        def run(**changes):
            return dataclasses.replace(
                recorded.RUN,
                tiers=tuple(
                    dataclasses.replace(
                        one,
                        type_as_measured=run_result.TypeAsMeasured(
                            **{
                                'extra_specs': {'volume_backend_name': 'ssd'},
                                'qos_consumer': 'front-end',
                                'qos_specs': {'total_iops_sec': '500'},
                                'encryption': {},
                                **changes,
                            }
                        ),
                    )
                    for one in recorded.RUN.tiers
                ),
            )

        only = ('--yes', '--tier', 'database')
        for changed, said in (
            (
                {'qos_specs': {'total_iops_sec': '900'}},
                'QoS total_iops_sec was 900 and is 500',
            ),
            (
                {'qos_consumer': None, 'qos_specs': {}},
                'QoS consumer was none and is front-end; QoS total_iops_sec '
                'was none and is 500',
            ),
            (
                {'extra_specs': {'volume_backend_name': 'h\x1bdd', 'a': 'b'}},
                'extra spec a was b and is none; extra spec '
                'volume_backend_name was h\\x1bdd and is ssd',
            ),
        ):
            ran = self.publish(*only, run=run(**changed))
            self.assertEqual((1, ''), (ran.status, ran.stdout), said)
            self.assertIn(
                'volume type database changed since it was measured: ' + said,
                ' '.join(ran.stderr.split()),
            )
            self.assertIn('measure the tier again', ran.stderr)
        self.assertNotIn('Measured', self.described())

        ran = self.publish(*only, run=run())
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertNotIn('changes since', ran.stdout)
        self.assertIn('Measured', self.described())

        # An old result, which says nothing of it.
        ran = self.publish(*only)
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertIn(
            'changes since the measurement are not noticed',
            '; '.join(json.loads(ran.stdout)[0]['Remarks']),
        )

    def test_a_card_with_words_behind_it(self):
        only = ('--yes', '--tier', 'general')
        self.assertEqual(0, self.publish(*only).status)
        self.connection.block_storage.update_type(
            self.type_id('general'),
            description=self.described('general') + ' Ask Ann first.',
        )
        status, (found,) = self.audited()
        self.assertEqual(
            (0, 'warning', 'tier general'),
            (status, found['State'], found['Object']),
        )
        self.assertIn('goes on after the card', found['Reason'])
        self.assertIn('--description', found['Reason'])
        ran = self.publish(*only)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('goes on after its card', ' '.join(ran.stderr.split()))

        # As it says.
        self.write(
            TIERS.replace(
                'backend: lvm', 'backend: lvm\n    description: All.'
            )
        )
        self.assertEqual(0, self.run_tier('apply').status)
        self.assertEqual('All.', self.described('general'))
        self.assertEqual((0, []), self.audited())
        ran = self.publish(*only)
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn('All. Measured', self.described('general'))

    def test_the_result_of_the_functional_test(self):
        slots = recorded.RUN.tiers[0].patterns[0].slots
        run = recorded.run({test_card.TIER: {'x': slots}})
        self.assertEqual(run_result.write(run), test_card.RECORDED.read_text())
        for quantity, expected in test_card.FIGURES.items():
            one = trust.estimate(slots, quantity)
            self.assertEqual(
                expected, [*map(cards.rounded, (one.mean, one.low, one.high))]
            )

    def test_no_room(self):
        self.write(TIERS.replace('For databases.', 'x' * 230))
        self.assertEqual(0, self.run_tier('apply').status)
        ran = self.publish('--yes')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('leaves 23 of 255 characters', ran.stderr)
        ran = self.run_tier('validate')
        self.assertIn(
            'leave 0 of 255 characters', ' '.join(ran.stderr.split())
        )

    def test_a_member_publishes_nothing(self):
        ran = shell.openstack(
            *self.api.arguments_of('member', ALPHA),
            *('tier', 'publish', '--catalog', self.path, '--yes'),
            self.saved(recorded.RUN),
        )
        self.assertNotEqual(0, ran.status)
        self.assertEqual('', ran.stdout)
        self.assertNotIn('Measured', self.described())

    def test_hostile_descriptions_are_text(self):
        name = 'x\x1b[2J'
        self.connection.block_storage.create_type(
            name=name,
            is_public=True,
            description='<script>Measured 2026-11-21T20:00Z: x',
        )
        for arguments in (('list',), ('show', name)):
            for form in ('table', 'json', 'yaml'):
                ran = self.as_member(*arguments, '-f', form)
                self.assertEqual((0, ''), (ran.status, ran.stderr))
                self.assertTrue(
                    all(line.isprintable() for line in ran.stdout.split('\n'))
                )
                self.assertIn('<script>Measured', ran.stdout)
