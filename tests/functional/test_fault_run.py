# SPDX-License-Identifier: Apache-2.0

"""`tier fault` on the lab, with faults that harm no other test."""

import json
import pathlib

import fixtures
import yaml

from tests.functional import lab

#: Has a pool deep-scrubbed, and makes a file for some seconds. The scrub
#: begins before the file is made and lasts at most half as long, so that it is
#: over when the file goes, however slow the machine is.
FAULTS = {
    'scrub': {'kind': 'deep_scrub', 'at_seconds': 1, 'for_seconds': 3},
    'file': {'kind': 'command', 'at_seconds': 1, 'for_seconds': 6},
}
#: Ends when the file has come and gone.
COMMAND = (
    'set -e; while [ ! -e "$0" ]; do sleep 0.1; done; '
    'while [ -e "$0" ]; do sleep 0.1; done; '
    'echo "{}" > "$CINDER_TIERS_SWEEP_RESULT"'
)


class FaultRunTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.made = self.folder / 'made'
        faults = json.loads(json.dumps(FAULTS))
        faults['file'] |= {
            'begin': ['touch', str(self.made)],
            'end': ['rm', '-f', str(self.made)],
        }
        self.file = self.folder / 'fault.yaml'
        self.file.write_text(
            yaml.safe_dump(
                {
                    'version': 1,
                    'tier': 'database',
                    'blocks': 1,
                    'recovery_minutes': 5,
                    'faults': faults,
                },
                sort_keys=False,  # they are begun in this order
            )
        )

    def fault(self, *options, expect=0):
        return self.run_command(
            *('openstack', 'tier', 'fault', str(self.file)),
            *('--state', str(self.folder / 'state')),
            *('--out', str(self.folder / 'out')),
            *('-f', 'json', '--yes'),
            *options,
            *('--', 'sh', '-c', COMMAND, str(self.made)),
            expect=expect,
        )

    def test_each_fault_is_made_and_over(self):
        fsid = self.run_command('ceph', 'fsid')[0].strip()
        output, errors = self.fault('--allow', fsid)
        rows = {row['Fault']: row for row in json.loads(output)}
        self.assertEqual(FAULTS.keys(), rows.keys(), errors)
        for row in rows.values():
            self.assertEqual(
                ('in effect', ''), (row['Verdict'], row['Problem']), rows
            )
        self.assertFalse(self.made.exists())
        (slot,) = json.loads((self.folder / 'out' / 'sweep.json').read_text())[
            'slots'
        ]
        self.assertTrue(slot['is_sound'])
        for one in slot['faults']:
            self.assertLess(one['began'], one['ended'])
            self.assertLessEqual(one['ended'], one['healthy'])
        scrub, made = slot['faults']
        self.assertEqual(
            ['scrub', 'file'], [scrub['name'], made['name']], slot
        )
        self.assertLessEqual(scrub['began'], made['began'])
        self.run_command('openstack', 'tier', 'plan')

    def test_another_cluster_than_the_named_one_gets_none(self):
        _output, errors = self.fault(
            '--allow', '8c5d6bb0-9d6c-4f0e-8f43-2f6a3a9f6f1e', expect=5
        )
        self.assertIn(
            'faults are injected only into a cluster that you', errors
        )
        self.assertFalse((self.folder / 'out' / 'sweep.json').exists())
        self.assertFalse(self.made.exists())
