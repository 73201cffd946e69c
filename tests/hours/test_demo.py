# SPDX-License-Identifier: Apache-2.0

"""Demos in a row: the first table that a user sees can be believed.

``CINDER_TIERS_TEST_DEMOS`` says how many, ten by default.  Each prints what
``general`` did of what its disks allow, the caveats, and how long it took.
"""

import os
import re

from tests.functional import lab

DEMOS = int(os.environ.get('CINDER_TIERS_TEST_DEMOS', '10'))
#: Of what three disks with three copies allow.
WITHIN_PERCENT = 10
_GENERAL = re.compile(r'^general: .* expected \(([+-]\d+)%\)$', re.MULTILINE)
_TOOK = re.compile(r'^demo ended after (\d+) s$', re.MULTILINE)


class DemoTest(lab.LabTestCase):
    def test_general_is_what_its_disks_allow_in_each_demo(self):
        off, seconds, doubted = [], [], 0
        for number in range(1, DEMOS + 1):
            output, _errors = self.lab_sh('demo', timeout_s=1800)
            off.append(int(_GENERAL.search(output)[1]))
            seconds.append(int(_TOOK.search(output)[1]))
            caveats = [
                line
                for line in output.splitlines()
                if 'not steady' in line or 'may be' in line
            ]
            doubted += bool(caveats)
            print(
                f'demo {number}: general {off[-1]:+d} %, {seconds[-1]} s'
                + ''.join(f'\n    {line.strip()}' for line in caveats),
                flush=True,
            )
        print(
            f'general from {min(off):+d} to {max(off):+d} %; demos of'
            f' {min(seconds)} to {max(seconds)} s; {doubted} of {DEMOS} with'
            f' a caveat on steadiness or starts',
            flush=True,
        )
        self.assertLessEqual(max(map(abs, off)), WITHIN_PERCENT, off)
