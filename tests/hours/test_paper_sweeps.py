# SPDX-License-Identifier: Apache-2.0

"""The sweeps of papers run by their files, and the cloud is as before.

With the script of the documentation, at the size smoke, one block, and one
guest: this is about the sweep, and a guest of the lab is emulated.
"""

import json
import pathlib
import re

import ddt
import fixtures
from testtools import content as details

from tests.functional import lab
from tests.functional import tier_objects

SWEEPS = lab.REPOSITORY / 'etc' / 'cinder-tiers'
TASKS = lab.REPOSITORY / 'rally_scenarios' / 'tasks'
PAGE = lab.REPOSITORY / 'doc' / 'source' / 'admin' / 'sweeps.rst'
#: As JSON that jq merges into what the script passes to the task.
SMALL = {'guests_per_tier': 1, 'repeats': 1}


def documented_script():
    """measure.sh of the page."""
    found = re.search(
        r'\.\. code-block:: sh\n\n((?: {3}.*\n|\n)+)', PAGE.read_text()
    )
    script = re.sub(r'^ {3}', '', found[1], flags=re.MULTILINE)
    assert 'rally task start' in script, script
    return script


@ddt.ddt
class PaperSweepTest(tier_objects.TierObjectsTestCase):
    @ddt.data(('meyer2016', ''), ('ornl2013', 'rados'))
    @ddt.unpack
    def test_it_runs_by_its_file(self, paper, part):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        script = folder / 'measure.sh'
        script.write_text(
            documented_script().replace(
                '{result_folder: $folder',
                f'{json.dumps(SMALL)} + {{result_folder: $folder',
            )
        )
        self.assertIn('guests_per_tier', script.read_text())
        before = self.world()
        dump = self.run_command('ceph', 'config', 'dump', '-f', 'json')[0]
        out = folder / 'out'
        _output, said = self.run_command(
            *('openstack', 'tier', 'sweep'),
            *(str(SWEEPS / f'sweep-{paper}.yaml'), '--blocks', '1'),
            *('--state', str(folder / 'state'), '--out', str(out), '--yes'),
            *('--', 'sh', str(script), str(TASKS / f'{paper}.yaml'), 'smoke'),
            *((part,) if part else ()),
            timeout_s=7200,
        )
        self.addDetail('sweep', details.text_content(said))
        self.assertEqual(
            dump, self.run_command('ceph', 'config', 'dump', '-f', 'json')[0]
        )
        self.assertEqual({}, tier_objects.changes(before, self.world()))
        self.run_command('openstack', 'tier', 'plan')
        swept = json.loads((out / 'sweep.json').read_text())
        self.addDetail('slots', details.text_content(json.dumps(swept)))
        self.assertEqual('complete', swept['state'])
        self.assertTrue(swept['is_brought_back'])
        self.assertEqual(
            [], [one for one in swept['slots'] if not one['is_sound']]
        )
