# SPDX-License-Identifier: Apache-2.0

"""`openstack tier response`, run by the real shell on the files of faults."""

import dataclasses
import json
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import record
from tests.unit.cli import shell
from tests.unit.loop.fault import test_response as bench
from tests.unit.loop.sweep import test_effects_command

RECOVERS = bench.levels((60, 100), (30, 0), (60, 100))
STAYS = bench.levels((60, 100), (30, 0), (60, 40))


@ddt.ddt
class ResponseTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )

    def faulty(self, values, **fields):
        """The folder of a run with one fault of each slot.

        :param values: IOPS of each second; None: there is no result
        :param fields: of the fault
        """
        sweep = test_effects_command.SweepFolder(
            self.folder / 'out', {}, blocks=1
        )
        (one,) = sweep.results.records
        if values is not None:
            pathlib.Path(self.folder / 'out' / 'slot-0001.json').write_text(
                run_result.write(bench.run_of(values))
            )
        made = faults.FaultRecord(
            **{
                'name': 'out',
                'kind': faults.FaultKind.OSD_OUT,
                'target': 'osd.1',
                'began': bench.EPOCH + 60.0,
                'ended': bench.EPOCH + 80.0,
                'healthy': bench.EPOCH + 95.0,
                **fields,
            }
        )
        sweep_files.write(
            sweep.file,
            dataclasses.replace(
                sweep.results,
                records=(
                    dataclasses.replace(
                        one,
                        verdict=record.TreatmentVerdict.FAULT_NOT_MADE
                        if made.problem
                        else one.verdict,
                        measured=dataclasses.replace(
                            one.measured, faults=(made,)
                        ),
                    ),
                ),
            ),
        )
        return sweep.file

    def response(self, path, *options):
        ran = shell.openstack('tier', 'response', path, '-f', 'json', *options)
        return ran.status, json.loads(ran.stdout or '[]'), ran.stderr

    def test_a_load_that_recovers(self):
        status, (row,), said = self.response(self.faulty(RECOVERS))
        self.assertEqual(0, status, said)
        self.assertEqual(
            ('out', 'osd.1', 20.0, 'x', 100.0, 0.0, 30.0, 15.0),
            tuple(
                row[name]
                for name in (
                    *('Fault', 'Target', 'Lasted s', 'Pattern'),
                    *('IOPS before', 'IOPS during', 'Longest stall s'),
                    'Healthy after s',
                )
            ),
        )
        self.assertTrue(1 <= row['Recovered after s'] <= 10)
        self.assertIsNone(row['Gets along after s'])
        self.assertIn('gets along: too short to tell', row['Reason'])

    def test_a_load_that_does_not(self):
        status, (row,), _said = self.response(self.faulty(STAYS))
        self.assertEqual(4, status)
        self.assertIn('recovered: not within these 70 s', row['Reason'])
        status, _rows, _said = self.response(
            self.faulty_again(STAYS), '--bound', '70'
        )
        self.assertEqual(0, status)

    def faulty_again(self, values):
        self.folder /= 'again'
        return self.faulty(values)

    @ddt.data(
        ({'began': None, 'ended': None, 'problem': 'not \x1b[1mmade'}, 'not '),
        ({'began': 1.0, 'ended': 2.0}, 'no pattern was measured'),
        ({'began': 9.0, 'ended': 2.0, 'problem': 'odd'}, 'odd'),
    )
    @ddt.unpack
    def test_what_cannot_be_determined(self, fields, reason):
        status, (row,), _said = self.response(self.faulty(RECOVERS, **fields))
        self.assertEqual(3, status)
        self.assertIn(reason, row['Reason'])
        self.assertNotIn('\x1b', row['Reason'])
        self.assertIsNone(row['IOPS before'])

    def test_a_slot_without_its_result(self):
        path = self.faulty(RECOVERS)
        (self.folder / 'out' / 'slot-0001.json').write_text('{}')
        status, (row,), _said = self.response(path)
        self.assertEqual(3, status)
        self.assertIn('slot-0001.json', row['Reason'])

    def test_a_slot_that_was_not_measured_is_not_passed_over(self):
        sweep = test_effects_command.SweepFolder(
            self.folder / 'out', {'osd_x': None}, blocks=1
        )
        status, (row,), said = self.response(sweep.file)
        self.assertEqual(3, status, said)
        self.assertEqual(('osd_x', '-'), (row['Treatment'], row['Fault']))
        self.assertIn('not in effect', row['Reason'])
        self.assertNotIn('\x1b', row['Reason'])

    @ddt.data('ended early', 'running')
    def test_a_run_that_is_not_complete_is_told(self, state):
        path = self.faulty(RECOVERS)
        self.assertEqual(0, self.response(path)[0])
        sweep = pathlib.Path(path)
        sweep.write_text(
            json.dumps({**json.loads(sweep.read_text()), 'state': state})
        )
        status, (row,), said = self.response(path)
        self.assertEqual(3, status)
        self.assertIsNotNone(row['Recovered after s'])
        self.assertIn('the sweep', said)

    def test_a_fault_after_which_the_cluster_was_not_well(self):
        status, (row,), _said = self.response(
            self.faulty(
                RECOVERS,
                healthy=None,
                problem='3600 s after it had ended, the cluster had '
                'HEALTH_ERR: PG_DAMAGED',
            )
        )
        self.assertEqual(3, status)
        self.assertIn('fault not made', row['Reason'])
        self.assertIn('out: 3600 s after it had ended', row['Reason'])

    def test_a_number_that_is_none_is_refused(self):
        path = self.faulty(RECOVERS)
        text = pathlib.Path(path).read_text()
        pathlib.Path(path).write_text(
            text.replace(str(bench.EPOCH + 95.0), 'NaN')
        )
        status, _rows, said = self.response(path)
        self.assertEqual(1, status)
        self.assertIn('a file that is not JSON', said)

    def test_a_sweep_without_faults(self):
        sweep = test_effects_command.SweepFolder(self.folder / 'out', {})
        status, rows, said = self.response(sweep.file)
        self.assertEqual((0, []), (status, rows))
        self.assertIn('no slot of this sweep has faults', said)

    def test_reads_and_writes_and_their_p99(self):
        path = self.faulty(RECOVERS)
        pathlib.Path(self.folder / 'out' / 'slot-0001.json').write_text(
            run_result.write(
                bench.run_of(
                    RECOVERS,
                    series_of_directions={
                        'read': tuple(0.1 * each for each in RECOVERS),
                        'write': tuple(0.9 * each for each in RECOVERS),
                    },
                    latency_windows=(
                        *bench.windows((12, 10, 450), (18, 70, 450)),
                        *bench.windows((30, 5, 50), direction='read'),
                    ),
                )
            )
        )
        status, rows, said = self.response(path)
        self.assertEqual(0, status, said)
        self.assertEqual(
            [
                ('all', 100.0, 10.0, 70.0),
                ('read', 10.0, None, None),
                ('write', 90.0, 10.0, 70.0),
            ],
            [
                (
                    row['Direction'],
                    row['IOPS before'],
                    row['p99 ms before'],
                    row['p99 ms after'],
                )
                for row in rows
            ],
        )
        self.assertIn(
            'p99 during: 200 I/Os, expected at least 1000', rows[1]['Reason']
        )
        page = self.folder / 'page.html'
        ran = shell.openstack('tier', 'report', path, '-o', str(page))
        self.assertEqual(0, ran.status, ran.stderr)
        text = page.read_text()
        self.assertIn('Slot 1 default, x: p99', text)
        self.assertIn('out osd.1: IOPS 100 before', text)

    @ddt.data(('--window', '0'), ('--bound', '100'))
    def test_arguments_that_are_not_possible(self, options):
        path = self.faulty(RECOVERS)
        status, _rows, said = self.response(path, *options)
        self.assertEqual(2, status)
        self.assertIn('expected', said)

    def test_effects_leave_out_a_slot_whose_fault_was_not_made(self):
        path = self.faulty(RECOVERS, problem='not made')
        ran = shell.openstack('tier', 'effects', path, '-f', 'json')
        self.assertIn('no slot of default has a sound result', ran.stderr)
