# SPDX-License-Identifier: Apache-2.0

"""`tier fault` as a user has it, as far as it goes without Ceph."""

import contextlib
import datetime
import json

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import cells as render
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_journal as journals
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import use_cases
from cinder_tiers.observe import cloud_id
from cinder_tiers import workflow
from tests.contract import fault_cluster
from tests.unit.loop.sweep import test_sweep_command

FAULTS = """version: 1
tier: limited
blocks: 1
faults:
  out: {kind: osd_out, at_seconds: 1, for_seconds: 1}
"""


TWO_CLUSTERS = """version: 1
clusters: {gone: {}, ceph: {}}
tiers:
  there:
    fallback: true
    rbd:
      cluster: gone
      pool: tier-there
      device_class: ssd
      replicated: {size: 3}
  here:
    tags: [here]
    rbd:
      cluster: ceph
      pool: tier-a
      device_class: ssd
      replicated: {size: 3}
"""


class ClustersForFaults(dict):
    """Open sessions that no plan looks at."""

    def items(self):
        """For a plan: none."""
        return ()


class FaultCommandTestCase(test_sweep_command.SweptCloudTestCase):
    def setUp(self):
        super().setUp()
        self.file.write_text(FAULTS, 'utf-8')
        self.cluster = fault_cluster.Cluster()
        self.sound = self.cluster.state

    def fault(self, *arguments):
        return self.tier('fault', *arguments)

    def test_a_tier_without_a_ceph_pool(self):
        ran = self.fault(str(self.file), '--', 'true')
        self.assertEqual(1, ran.status)
        self.assertIn("tier 'limited', which has no rbd", ran.stderr)
        self.assert_as_before()

    def test_a_sweep_makes_no_faults(self):
        ran = self.sweep('true')
        self.assertEqual(1, ran.status)
        self.assertIn('run "openstack tier fault" with it', ran.stderr)

    def test_arguments_that_do_not_fit(self):
        for arguments, expected in (
            ((), 'no fault file'),
            ((str(self.file),), 'no measuring command'),
            ((str(self.file), '--restore'), 'given together with <file>'),
        ):
            ran = self.fault(*arguments)
            self.assertEqual(2, ran.status)
            self.assertIn(expected, ran.stderr)

    def test_there_is_nothing_to_mend(self):
        ran = self.fault('--restore')
        self.assertEqual((0, '[]'), (ran.status, ran.stdout.strip()))
        self.assertEqual(0, self.fault('--status').status)

    def kill(
        self,
        kind=faults.FaultKind.OSD_OUT,
        catalog=test_sweep_command.TIERS,
        more=(),
        folder='',
    ):
        """What a process leaves that is killed during a fault."""
        target = faults.Target(
            fault=faults.Fault(
                name='out', kind=kind, at_s=1.0, for_s=1.0, osd=1
            ),
            cluster='ceph',
            pool='tier-a',
            osd=1,
        )
        journals.write(
            journals.path_in(
                str(self.state), cloud_id.identity_of(self.connection)
            ),
            journals.Journal(
                cloud=cloud_id.identity_of(self.connection),
                tier='limited',
                sweep_file='',
                catalog_file='tiers.yaml',
                catalog=catalog,
                started='2026-11-24T00:00:00Z',
                by='root',
                results='',
                objects=(),
                faults=(target, *more),
                folder=folder,
            ),
        )
        self.cluster.command('osd out', ids=['1'])
        return target

    @contextlib.contextmanager
    def open_clusters(self, catalog):
        yield ClustersForFaults(ceph=self.cluster)

    def restore(self, **arguments):
        return use_cases.restore(
            **{
                'connection': self.connection,
                'state': str(self.state),
                'lock': workflow.Lock(url=f'file://{self.folder}/locks'),
                'open_clusters': self.open_clusters,
                **arguments,
            }
        )

    def test_ceph_is_mended_without_keystone(self):
        """A fault or an option of OSDs may be why it does not answer."""
        gone = use_cases.without(errors.Unreachable('Keystone did not answer'))
        error = self.assertRaises(
            errors.Unreachable, self.restore, connection=gone
        )
        self.assertIn('Keystone did not answer', str(error))
        self.kill()
        (path,) = self.journals()
        other = path.with_name(f'sweep-{"0" * 16}.json')
        other.write_text(path.read_text())
        self.assertRaises(errors.Unreachable, self.restore, connection=gone)
        other.unlink()
        self.assertNotEqual(self.sound, self.cluster.state)
        back = self.restore(connection=gone)
        self.assertTrue(back.is_complete)
        self.assertEqual('Keystone did not answer', back.unplanned)
        self.assertEqual(self.sound, self.cluster.state)
        self.assertEqual([], self.journals())

    def test_a_cluster_that_is_gone_keeps_no_other_as_it_is(self):
        @contextlib.contextmanager
        def open_clusters(catalog):
            names = [one.name for one in catalog.clusters_in_use]
            if 'gone' in names:
                raise errors.Unreachable('Ceph cluster gone cannot be reached')
            yield dict.fromkeys(names, self.cluster)

        self.kill(catalog=TWO_CLUSTERS)
        back = self.restore(open_clusters=open_clusters)
        self.assertTrue(back.is_complete)
        self.assertEqual(self.sound, self.cluster.state)
        self.assertIn('gone cannot be reached', back.unplanned)

    def look(self):
        return use_cases.look(
            connection=self.connection,
            state=str(self.state),
            open_clusters=self.open_clusters,
        )

    def test_what_a_killed_process_has_left_is_mended(self):
        self.kill()
        (value,) = self.look().values
        self.assertEqual(
            ('fault out: osd.1', 'in', 'out', 'changed by the sweep'),
            (*value[:3], value[3].value),
        )
        back = self.restore()
        self.assertTrue(back.is_complete)
        self.assertEqual(self.sound, self.cluster.state)
        self.assertEqual('brought back', back.values[0].outcome.value)
        self.assert_as_before()

    def test_what_cannot_be_mended_stays_in_the_journal(self):
        target = self.kill()
        del self.cluster.osds[1]
        back = self.restore()
        self.assertFalse(back.is_complete)
        self.assertIn('no longer exists', back.values[0].reason)
        self.assertEqual(1, len(self.journals()))
        # The operator knows: the disk is dead and was replaced.
        self.assertTrue(self.restore(accepted=[target.name]).is_complete)
        self.assertEqual([], self.journals())

    def test_a_plan_that_cannot_be_made_hides_no_outcome(self):
        gone = test_sweep_command.TIERS.replace(
            'tags: [limited]', 'tags: [limited]\n    access: [gone]'
        )
        self.kill(catalog=gone)
        back = self.restore()
        self.assertTrue(back.is_complete)
        self.assertEqual('brought back', back.values[0].outcome.value)
        self.assertIsNone(back.planned)
        self.assertIn('gone', back.unplanned)
        self.assertEqual(self.sound, self.cluster.state)
        self.assertEqual([], self.journals())

    def test_what_cannot_be_looked_at_keeps_nothing_from_being_mended(self):
        mark = self.folder / 'throttled'
        mark.touch()
        command = faults.Target(
            fault=faults.Fault(
                name='slow',
                kind=faults.FaultKind.COMMAND,
                at_s=1.0,
                for_s=1.0,
                end=('rm', '-f', str(mark)),
            ),
            cluster='ceph',
            pool='tier-a',
        )
        self.kill(more=(command,))
        # The disk is so slow that monitors do not answer.
        self.cluster.silent = {'osd dump'}
        error = self.assertRaises(errors.Unreachable, self.restore)
        self.assertIn('run "openstack tier sweep --restore"', str(error))
        self.assertFalse(mark.exists())
        self.assertEqual(1, len(self.journals()))
        self.cluster.silent = set()
        self.assertTrue(self.restore().is_complete)
        self.assertEqual(self.sound, self.cluster.state)

    def test_commands_run_where_the_sweep_ran(self):
        home = self.folder / 'home'
        home.mkdir()
        (home / 'mend.sh').write_text('rm throttled')
        (home / 'throttled').touch()
        command = faults.Target(
            fault=faults.Fault(
                name='slow',
                kind=faults.FaultKind.COMMAND,
                at_s=1.0,
                for_s=1.0,
                end=('sh', 'mend.sh'),
            ),
            cluster='ceph',
            pool='tier-a',
        )
        self.kill(more=(command,), folder=str(home))
        self.assertTrue(self.restore().is_complete)
        self.assertFalse((home / 'throttled').exists())
        self.kill(more=(command,), folder=str(self.folder / 'gone'))
        back = self.restore()
        self.assertFalse(back.is_complete)
        self.assertIn(
            f"'sh' cannot be started in {self.folder}/gone: No such file",
            back.values[1].reason,
        )

    def test_a_journal_with_tiers_that_this_release_refuses_is_named(self):
        self.kill(catalog=test_sweep_command.TIERS.replace('tags:', 'tagz:'))
        (path,) = self.journals()
        for begin in (self.restore, self.look):
            error = self.assertRaises(errors.TiersError, begin)
            for text in (
                f'{path} ("catalog"):7: ',
                "'tagz'",
                'the text of tiers.yaml in the journal of the sweep',
                'restore with the release of cinder-tiers that wrote it',
            ):
                self.assertIn(text, str(error))
        self.assertEqual([path], self.journals())
        self.assertNotEqual(self.sound, self.cluster.state)

    def test_a_journal_with_a_cluster_that_nobody_has_is_named(self):
        self.kill()
        (path,) = self.journals()
        path.write_text(
            path.read_text().replace('"cluster": "ceph"', '"cluster": "cehp"')
        )
        for begin in (self.restore, self.look):
            error = self.assertRaises(errors.ProblemsFound, begin)
            for text in (str(path), "cluster 'cehp'", 'expected one of ceph'):
                self.assertIn(text, str(error))
        self.assertEqual([path], self.journals())
        # As it is of the kind of an object that no sweep changes.
        document = json.loads(path.read_text())
        document['objects'] = [
            {
                'kind': 'cephx user',
                'cluster': 'ceph',
                'name': 'client.a',
                'existed': True,
                'settings': [],
            }
        ]
        path.write_text(json.dumps(document))
        error = self.assertRaises(errors.ProblemsFound, self.restore)
        self.assertIn(
            "found 'cephx user', expected one of osd options", str(error)
        )

    def test_nothing_else_begins_before(self):
        self.kill()
        self.declare('limited')
        ran = self.sweep('true')
        self.assertEqual(1, ran.status)
        self.assertIn('openstack tier sweep --restore', ran.stderr)


@ddt.ddt
class RowsTestCase(testtools.TestCase):
    def rows(self, *made):
        return list(
            render.record_rows(
                record.SlotRecord(
                    slot=design.TreatmentSlot(
                        number=1, block=2, treatment='default'
                    ),
                    verdict=record.TreatmentVerdict.IN_EFFECT,
                    measured=record.MeasuredSlot(
                        exit_status=0, result_file=None, faults=made
                    ),
                    started='',
                    ended='',
                )
            )
        )

    def test_a_row_for_each_fault(self):
        at = datetime.datetime(
            2026, 11, 24, 1, 2, 3, tzinfo=datetime.UTC
        ).timestamp()
        rows = self.rows(
            faults.FaultRecord(
                name='out',
                kind=faults.FaultKind.OSD_OUT,
                target='osd.2',
                began=at,
                ended=at + 60.04,
                healthy=at + 90.04,
            ),
            faults.FaultRecord(
                name='slow',
                kind=faults.FaultKind.COMMAND,
                target='command',
                problem='not \x1b[31mmade',
            ),
        )
        self.assertEqual(
            [
                ['osd.2', '2026-11-24T01:02:03Z', 60.0, 30.0, ''],
                ['command', None, None, None, 'not \\x1b[31mmade'],
            ],
            [
                [
                    getattr(cell, 'machine_readable', lambda cell=cell: cell)()
                    for cell in row[5:]
                ]
                for row in rows
            ],
        )
        self.assertTrue(
            all(len(row) == len(render.RECORD_COLUMNS) for row in rows)
        )
        json.dumps(
            [
                getattr(cell, 'machine_readable', lambda cell=cell: cell)()
                for row in rows
                for cell in row
            ]
        )

    def test_a_slot_that_was_not_measured_has_a_row(self):
        (row,) = self.rows()
        self.assertEqual(len(render.RECORD_COLUMNS), len(row))
