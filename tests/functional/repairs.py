# SPDX-License-Identifier: Apache-2.0

"""The lab with limits on a tier, and `openstack tier repair` for it."""

import json
import pathlib

import fixtures
import yaml

from tests.functional import volumes

POOL = 'tier-database'
QOS_SPEC = 'qos spec tier-database'
#: Of writes one after another; the disks of the lab do more.
LIMIT, RAISED = 100, 200


def out_of_date(rows):
    """Ids of volumes that rows of the audit name for their limits."""
    return {
        row['Object'].removeprefix('volume ')
        for row in rows
        if row['Aspect'] == 'limits' and row['Object'].startswith('volume ')
    }


class RepairCase(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.original = self.environment['CINDER_TIERS_CATALOG']
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x')
        self.addCleanup(
            self.run_command,
            *('openstack', 'tier', 'apply', '--yes'),
            *('--catalog', self.original, '--allow', QOS_SPEC),
        )

    def apply_limit(self, iops):
        """Apply a limit, and a burst, to the tier of databases."""
        content = yaml.safe_load(pathlib.Path(self.original).read_text())
        content['tiers']['database']['qos'] = {
            'back_end': {
                'total_iops_sec': iops,
                'total_iops_sec_max': 2 * iops,
            }
        }
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))
        self.run_command(
            *('openstack', 'tier', 'apply', '--yes'),
            *('--catalog', str(self.path)),
        )

    def tier(self, command, *options, expect):
        """Rows of a command with the tiers file."""
        return self.ask(
            *('openstack', 'tier', command, '--catalog', str(self.path)),
            *options,
            expect=expect,
        )

    def limits_of(self, volume):
        found, _ = self.run_command(
            *('rbd', 'config', 'image', 'list', '--format', 'json'),
            f'{POOL}/volume-{volume}',
        )
        return {
            one['name'].removeprefix('rbd_qos_'): one['value']
            for one in json.loads(found)
            if one['source'] == 'image' and 'qos' in one['name']
        }

    def out_of_date(self, *, expect):
        return out_of_date(
            self.tier(
                *('audit', '--volumes', '--limits', '--tier', 'database'),
                expect=expect,
            )
        )
