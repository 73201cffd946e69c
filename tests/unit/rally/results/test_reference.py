# SPDX-License-Identifier: Apache-2.0

"""The result file that an SLA judges, and no other."""

import ddt
from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.results import reference
from tests.unit.rally import test_sla


@ddt.ddt
class ReferenceTest(test_sla.TierSLACase):
    @ddt.data(
        (lambda file: file.unlink(), 'cannot read the result file'),
        (
            lambda file: file.write_text(file.read_text() + ' '),
            'not the one that the run wrote: its SHA-256 is',
        ),
    )
    @ddt.unpack
    def test_another_file_is_not_judged(self, spoil, told):
        run = self.iteration()
        spoil(self.file())
        success, detail = self.judge(test_sla.HELD, run)
        self.assertIs(False, success)
        self.assertIn(told, detail)

    def test_a_file_of_a_newer_version_is_refused_with_its_reason(self):
        run = self.iteration()
        file = self.file()
        file.write_text(
            file.read_text().replace(
                f'{{"version":{run_result.VERSION}', '{"version":99'
            )
        )
        run['output']['complete'] = [
            reference.output(file, '0123456789abcdef')
        ]
        success, detail = self.judge(test_sla.HELD, run)
        self.assertIs(False, success)
        self.assertIn('this code reads version 7', detail)

    def file(self):
        (found,) = self.folder.glob('*.json')
        return found
