# SPDX-License-Identifier: Apache-2.0

"""`openstack tier effects`, run by the real shell on the files of a sweep."""

import json
import pathlib
import tempfile

import testtools

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import record
from tests.unit.cli import shell
from tests.unit.loop.sweep import test_effects as bench

WHEN = '2026-11-23T20:00:00Z'


class SweepFolder:
    """The folder that a sweep leaves.

    :param path: of the folder
    :param factors: {treatment: what IOPS are multiplied by; None: it is not
        in effect}
    """

    def __init__(self, path, factors, *, blocks=4, state='complete'):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        sweep = design.Sweep(
            tier='database',
            treatments=tuple(
                design.Treatment(
                    name=name,
                    changes={
                        ('tiers', 'database', 'rbd', 'osd_options', name): 1
                    },
                )
                for name in factors
            ),
            blocks=blocks,
            seed=1,
        )
        records = tuple(
            self.measured(slot, {design.DEFAULT: 1, **factors}[slot.treatment])
            for slot in sweep.slots
        )
        self.results = sweep_files.Results(
            sweep=sweep,
            sweep_file='sweep.yaml',
            catalog_file='tiers.yaml',
            started=WHEN,
            state=state,
            is_brought_back=True,
            records=records,
        )
        self.file = str(self.path / sweep_files.NAME)
        sweep_files.write(self.file, self.results)

    def measured(self, slot, factor):
        measured = None
        if factor is not None:
            # As the sweep writes it, and before the folder was moved.
            name = f'/srv/elsewhere/slot-{slot.number:04}.json'
            result = self.path / pathlib.Path(name).name
            iops = 100 * factor * 1.5**slot.block + 0.1 * slot.number
            result.write_text(run_result.write(bench.run(iops)))
            measured = record.MeasuredSlot(exit_status=0, result_file=name)
        return record.SlotRecord(
            slot=slot,
            verdict=record.TreatmentVerdict.IN_EFFECT
            if measured
            else record.TreatmentVerdict.NOT_IN_EFFECT,
            reason='' if measured else 'osd.1 has 2, not \x1b[1m4',
            measured=measured,
            started=WHEN,
            ended=WHEN,
        )

    def change(self, **values):
        """Other values in sweep.json."""
        path = pathlib.Path(self.file)
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


class EffectsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )

    def sweep(self, **factors):
        return SweepFolder(self.folder / 'out', factors)

    def effects(self, path, *options):
        return shell.openstack('tier', 'effects', str(path), *options)

    def test_each_treatment_beside_a_default_of_100(self):
        sweep = self.sweep(osd_fast=2, osd_same=1, osd_gone=None)
        ran = self.effects(sweep.file, '-f', 'json', '--quantity', 'iops')
        self.assertEqual(3, ran.status, ran.stderr)
        fast, same, gone = json.loads(ran.stdout)
        self.assertEqual(
            ('osd_fast', 'x', 'iops', 'better'),
            tuple(
                fast[name]
                for name in ('Treatment', 'Pattern', 'Quantity', 'Finding')
            ),
        )
        effect = fast['Effect']
        self.assertAlmostEqual(200, effect['effect'], delta=2)
        self.assertLess(effect['low'], effect['effect'])
        self.assertLess(effect['effect'], effect['high'])
        self.assertEqual(4, effect['blocks'])
        self.assertEqual(
            ('osd_same', 'cannot tell'), (same['Treatment'], same['Finding'])
        )
        self.assertIn(
            '10 % would most likely have shown, as 3 blocks are enough',
            same['Reason'],
        )
        self.assertEqual(
            ('osd_gone', 'not in effect', 'osd.1 has 2, not \\x1b[1m4', None),
            (
                gone['Treatment'],
                gone['Finding'],
                gone['Reason'],
                gone['Effect']['effect'],
            ),
        )

    def test_a_person_reads_the_ratio_with_its_interval(self):
        ran = self.effects(self.sweep(osd_fast=2).file, '-c', 'Effect')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertRegex(ran.stdout, r'(199|200)\.\d \(19\d\.\d to 20\d\.\d\)')

    def test_a_worse_treatment_has_a_status_of_its_own(self):
        ran = self.effects(self.sweep(osd_slow=0.5, osd_gone=None).file)
        self.assertEqual(4, ran.status, ran.stderr)

    def test_a_copy_of_a_result_is_told(self):
        sweep = self.sweep(slow=0.5)
        self.assertNotIn('a copy of', self.effects(sweep.file).stderr)
        first, second = (
            sweep.path / f'slot-{each.number:04}.json'
            for each in [
                slot
                for slot in sweep.results.sweep.slots
                if slot.treatment == 'slow'
            ][:2]
        )
        second.write_bytes(first.read_bytes())
        self.assertRegex(
            self.effects(sweep.file).stderr,
            r'the result of slot \d+ is a copy of that of slot \d+',
        )

    def test_only_results_in_the_folder_are_read(self):
        sweep = self.sweep(osd_fast=2)
        (self.folder / 'out').rename(self.folder / 'moved')
        moved = self.folder / 'moved' / 'sweep.json'
        self.assertEqual(0, self.effects(moved).status)
        (self.folder / 'moved' / 'slot-0001.json').write_text('{}')
        ran = self.effects(moved)
        self.assertEqual(0, ran.status, ran.stderr)
        (first, *_others) = sweep.results.sweep.slots
        self.assertIn(
            f'block 1 of {first.treatment} is not used: no sound result',
            ran.stderr,
        )

    def test_a_sweep_that_is_not_complete_says_so(self):
        sweep = self.sweep(osd_fast=2)
        sweep.change(state='running', is_brought_back=False)
        ran = self.effects(sweep.file)
        self.assertIn('the sweep is not complete', ran.stderr)
        sweep.change(state='ended early')
        ran = self.effects(sweep.file)
        self.assertIn('ended early, after 8 of 8 slots', ran.stderr)
        self.assertIn('openstack tier sweep --status', ran.stderr)

    def test_a_file_that_is_none_of_a_sweep(self):
        sweep = self.sweep(osd_fast=2)
        slot = json.loads(pathlib.Path(sweep.file).read_text())['slots'][0]
        for changes, expected in (
            ({'version': 2}, "version: found '2', expected 1"),
            ({'version': 1, 'kind': 'run'}, "expected 'sweep'"),
            ({'kind': 'sweep', 'slots': [slot] * 2}, 'block'),
            (
                {'slots': [{**slot, 'treatment': 'x\x1b'}]},
                'slot 1 of',
            ),
            ({'slots': [{**slot, 'block': 0}]}, 'slot 1 with block 0'),
            ({'slots': [], 'blocks': 10**9}, 'blocks, expected 1 to'),
            ({'blocks': 4, 'state': 'x'}, "state: found 'x'"),
            ({'state': 'complete', 'treatments': {}}, 'expected default'),
        ):
            sweep.change(**changes)
            ran = self.effects(sweep.file)
            self.assertEqual(1, ran.status, changes)
            self.assertIn(expected, ran.stderr)
            self.assertNotIn('\x1b', ran.stderr)
            self.assertIn('the results of a sweep, version 1', ran.stderr)
        for path in (self.folder / 'none', self.folder):
            self.assertEqual(1, self.effects(path).status)

    def test_what_cannot_be_asked(self):
        sweep = self.sweep(osd_fast=2)
        ran = self.effects(sweep.file, '--quantity', 'happiness')
        self.assertEqual(2, ran.status)
        self.assertIn("'happiness': expected", ran.stderr)
        ran = self.effects(sweep.file, '--tier', 'other')
        self.assertEqual(1, ran.status)
        self.assertIn("osd_fast: tier 'other' is not in all", ran.stderr)
