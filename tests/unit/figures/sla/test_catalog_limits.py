# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.figures.sla import catalog_limits
from cinder_tiers.files.tiers import yaml_document

CATALOG = """version: 1
tiers:
  database:
    tags: [database]
    backend: ssd
    expect: {4k: {iops_min: 500}}
  general: {fallback: true, backend: hdd}
"""


def read(text):
    return catalog_limits.read_catalog(
        yaml_document.read(text, file='t.yaml').value, file='t.yaml'
    )


@ddt.ddt
class CatalogLimitsTest(testtools.TestCase):
    def test_tiers_with_expectations(self):
        self.assertEqual(
            {'database': {'4k': {'iops_min': 500}}}, read(CATALOG)
        )

    def test_the_rest_of_the_catalog_is_not_looked_at(self):
        self.assertEqual(
            {'database': {'4k': {'iops_min': 500}}},
            read(CATALOG.replace('backend: ssd', 'backendx: ssd')),
        )

    def test_a_file_that_includes_others_is_refused(self):
        error = self.assertRaises(
            errors.ProblemsFound, read, f'include: [base.yaml]\n{CATALOG}'
        )
        self.assertIn('"openstack tier validate --merged"', str(error))

    @ddt.data(
        '[]',
        '{}',
        'version: 1',
        'version: 2\ntiers: {}',
        'version: 1\ntiers: []',
    )
    def test_what_is_no_catalog_is_refused(self, text):
        error = self.assertRaises(errors.ProblemsFound, read, text)
        self.assertIn('t.yaml: no catalog of tiers', str(error))

    def test_all_that_is_wrong_is_told_by_place(self):
        error = self.assertRaises(
            errors.ProblemsFound,
            read,
            CATALOG.replace('iops_min: 500', 'iops_mn: 500, p99_ms_max: fast'),
        )
        self.assertEqual(
            [
                't.yaml: tiers: database.4k.iops_mn',
                't.yaml: tiers: database.4k.p99_ms_max',
            ],
            [problem.where for problem in error.problems],
        )
