# SPDX-License-Identifier: Apache-2.0

"""Default quotas below what projects have, with Cinder's real API."""

import ddt

from tests.unit.cli import test_retired_types

ALPHA, BETA = test_retired_types.ALPHA, test_retired_types.BETA
TIERS = """
version: 1
tiers:
  database:
    tags: [fast]
    priority: 1
    backend: ssd
    quotas: {quotas}
  general:
    fallback: true
    backend: lvm
"""
NAME = 'default quota database'


@ddt.ddt
class QuotasInUseTestCase(test_retired_types.RetiredTypesCase):
    def declare(self, quotas):
        self.write(TIERS.format(quotas=quotas))

    def setUp(self):
        super().setUp()
        self.declare('{volumes: 9}')
        self.run_on_tiers(0, 'apply')
        ident = self.types()['database'].id
        for project, size in ((ALPHA, 5), (ALPHA, 6), (ALPHA, 1), (BETA, 2)):
            volume = self.api.add_volume(
                host=self.host,
                volume_type_id=ident,
                project_id=project,
                size=size,
            )
        for _ in range(2):
            self.api.add_snapshot(
                volume_id=volume, project_id=BETA, volume_size=2
            )
        # One of no tier.
        other = self.api.add_volume(host=self.host, project_id=ALPHA, size=9)
        self.api.add_snapshot(volume_id=other, project_id=ALPHA, volume_size=9)

    @ddt.data(
        (
            '{volumes: 2}',
            'a quota of volumes 2 is below what projects have (3 of project '
            f'alpha ({ALPHA})): without',
        ),
        (
            '{volumes: 9, gigabytes: 1}',
            'a quota of gigabytes 1 is below what projects have (12 of '
            f'project alpha ({ALPHA}), 6 of project beta ({BETA})): without',
        ),
        (
            '{volumes: 9, snapshots: 1}',
            'a quota of snapshots 1 is below what projects have (2 of '
            f'project beta ({BETA})): without',
        ),
    )
    @ddt.unpack
    def test_it_is_lowered_with_consent_only(self, quotas, reason):
        self.declare(quotas)
        text = ' '.join(self.run_on_tiers(5, 'plan').split())
        self.assertIn(reason, text)
        self.run_on_tiers(5, 'apply')
        self.run_on_tiers(0, 'apply', '--allow', NAME)
        # An exceeded quota that stays as it is needs no consent.
        self.run_on_tiers(0, 'plan')

    @ddt.data(
        '{volumes: 3}',
        '{volumes: 9, gigabytes: 12}',
        '{volumes: 9, snapshots: 2}',
        '{volumes: 10}',
    )
    def test_what_projects_have_is_enough(self, quotas):
        self.declare(quotas)
        self.run_on_tiers(0, 'apply')

    def test_to_raise_one_that_is_too_small_is_free(self):
        self.declare('{volumes: 1}')
        self.run_on_tiers(0, 'apply', '--allow', NAME)
        self.declare('{volumes: 2}')
        self.run_on_tiers(0, 'apply')
