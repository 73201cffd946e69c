# SPDX-License-Identifier: Apache-2.0

"""The faults of a sweep file, or all that is wrong with them."""

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader as tiers_reader
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import file_reader
from tests.unit.loop.sweep import test_file_reader
from tests.unit.loop.sweep import test_file_results_faults


FACTORS = """factors:
  osd_options:
    osd_max_scrubs: [2]
"""


class ShippedTestCase(testtools.TestCase):
    def test_the_faults_of_a_paper_fit_the_sample_tiers_file(self):
        (path,) = test_file_reader.ETC.glob('fault-*.yaml')
        found = file_reader.read_file(
            str(path),
            tiers_reader.read(str(test_file_reader.ETC / 'tiers.yaml')),
            has_faults=True,
        )
        self.assertEqual(
            [faults.FaultKind.OSD_DOWN, faults.FaultKind.OSD_OUT],
            [one.kind for one in found.faults.faults],
        )
        self.assertEqual(3, len(found.sweep.slots))


@ddt.ddt
class FaultFileTestCase(testtools.TestCase):
    def problems(self, text, **named):
        error = self.assertRaises(
            errors.ProblemsFound,
            test_file_results_faults.sweep_file,
            text,
            **named,
        )
        return str(error)

    def test_a_sound_file(self):
        found = test_file_results_faults.sweep_file()
        self.assertEqual(
            faults.Faults(
                faults=(
                    faults.Fault(
                        name='out',
                        kind=faults.FaultKind.OSD_OUT,
                        at_s=60.0,
                        for_s=120.5,
                        osd=2,
                    ),
                    faults.Fault(
                        name='down',
                        kind=faults.FaultKind.OSD_DOWN,
                        at_s=300.0,
                        for_s=30.0,
                    ),
                    faults.Fault(
                        name='scrub',
                        kind=faults.FaultKind.DEEP_SCRUB,
                        at_s=0.0,
                        for_s=600.0,
                    ),
                    faults.Fault(
                        name='slow',
                        kind=faults.FaultKind.COMMAND,
                        at_s=100.0,
                        for_s=10.0,
                        begin=('slow', '--disk', 'sda'),
                        end=('fast',),
                    ),
                ),
                counts_from=faults.ANNOUNCEMENT,
                recovery_minutes=5.0,
            ),
            found.faults,
        )
        self.assertEqual(
            ['default', 'default'],
            [one.treatment for one in found.sweep.slots],
        )

    def test_faults_with_each_treatment(self):
        found = test_file_results_faults.sweep_file(
            test_file_results_faults.SOUND + FACTORS
        )
        self.assertEqual(4, len(found.sweep.slots))
        self.assertEqual(4, len(found.faults.faults))

    @ddt.data(
        ('kind: osd_out', 'kind: osd_gone', 'one of osd_out, osd_down'),
        ('at_seconds: 60', 'at_seconds: -1', 'from 0 to 86400'),
        ('for_seconds: 120.5', 'for_seconds: 0', 'from 1 to 86400'),
        ('for_seconds: 120.5', 'for_seconds: .NaN', 'the number .NaN'),
        ('recovery_minutes: 5', 'recovery_minutes: .nan', 'the number .nan'),
        ('osd: 2', 'osd: two', 'the id of an OSD'),
        ('[fast]', 'fast', 'a list of a program'),
        ('[fast]', '[]', 'a list of a program'),
        ('    end: [fast]\n', '', 'without end'),
        ('at_seconds: 300', 'at_seconds: 170', 'before out ends at 180.5 s'),
        ('kind: osd_out', 'kind: deep_scrub', 'osd only for osd_down'),
        ('kind: command', 'kind: osd_down', 'begin only for command'),
        ('counts_from: announcement', 'counts_from: x', 'one of command'),
        ('tier: database', 'tier: plain', 'has no rbd'),
        ('  out:', '  "a b":', 'a name of 1 to 80'),
        ('kind: deep_scrub', 'kidn: deep_scrub', "unknown key 'kidn'"),
        (
            'faults:\n',
            'treatments: {x: {guest: {a: 1}}}\n' + FACTORS + 'faults:\n',
            'factors together with treatments',
        ),
    )
    @ddt.unpack
    def test_what_is_wrong_is_told_with_its_place(self, old, new, expected):
        self.assertIn(old, test_file_results_faults.SOUND)
        found = self.problems(
            test_file_results_faults.SOUND.replace(old, new, 1)
        )
        self.assertIn(expected, found)
        self.assertIn('fault.yaml:', found)

    def test_a_fault_file_has_faults(self):
        self.assertIn(
            "has no 'faults'",
            self.problems('version: 1\ntier: database\n' + FACTORS),
        )

    def test_a_sweep_makes_none(self):
        found = self.problems(
            test_file_results_faults.SOUND + FACTORS, has_faults=False
        )
        self.assertIn('fault.yaml:7', found)
        self.assertIn('run "openstack tier fault"', found)

    @ddt.data('', 'faults', '[faults]', '7')
    def test_a_file_that_is_no_mapping(self, text):
        self.assertNotEqual('', self.problems(text, has_faults=False))
