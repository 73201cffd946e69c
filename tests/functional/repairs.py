# SPDX-License-Identifier: Apache-2.0

"""The lab with limits on a tier, and `openstack tier repair` for it."""

import contextlib
import json
import pathlib
import signal
import subprocess

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


def named(rows):
    """Ids of volumes that rows of the audit name, warnings aside."""
    return {
        row['Object'].removeprefix('volume ')
        for row in rows
        if row['Object'].startswith('volume ')
        and row['State'] in ('non-compliant', 'out of date', 'unknown')
    }


class RepairCase(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x')
        self.addCleanup(self.apply, '--allow', QOS_SPEC)

    def declared(self):
        """The tiers file without limits."""
        path = self.environment['CINDER_TIERS_CATALOG']
        return yaml.safe_load(pathlib.Path(path).read_text())

    def apply(self, *options, **more):
        """Apply the tiers file, with more of the tier of databases."""
        content = self.declared()
        content['tiers']['database'].update(more)
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))
        self.run_command(
            *('openstack', 'tier', 'apply', '--yes'),
            *('--catalog', str(self.path), *options),
        )

    def apply_limit(self, iops):
        """Apply a limit, and a burst, to the tier of databases."""
        limits = {'total_iops_sec': iops, 'total_iops_sec_max': 2 * iops}
        self.apply(qos={'back_end': limits})

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

    @contextlib.contextmanager
    def watched(self):
        """While `tier watch` runs; its folder."""
        folder = self.path.with_name('state')
        with subprocess.Popen(
            ('openstack', 'tier', 'watch', '--catalog', str(self.path))
            + ('--state', str(folder)),
            stdout=subprocess.DEVNULL,
            env=self.environment,
        ) as watch:
            try:
                self.wait_while(
                    lambda: not list(pathlib.Path(folder).glob('*.json'))
                )
                yield str(folder)
            finally:
                watch.send_signal(signal.SIGINT)
