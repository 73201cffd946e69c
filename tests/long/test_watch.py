# SPDX-License-Identifier: Apache-2.0

"""`tier watch` beside a load, on disks that become slower behind its back."""

import datetime
import json
import queue
import re
import subprocess
import threading
import time

import fixtures
from testtools import content as details

from tests.functional import disk_iops
from tests.functional import lab

#: Of 160 that three disks of 160 can do with three copies, and of 80 after.
LOAD_IOPS = 110
SLOW_IOPS = 80
#: Windows of 20 s before the change: a tier needs five minutes of them.
BEFORE_S = 330
#: It must be named within these.
NAMED_WITHIN_S = 300
_SINCE = re.compile(r'tier general: (.*?) since ([-0-9T:+Z ]+)')


class WatchTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.state = self.useFixture(fixtures.TempDir()).path
        self.image = self.unique_name('load')
        self.run_command(
            'rbd', 'create', f'tier-general/{self.image}', '--size', '1G'
        )
        self.addCleanup(
            self.run_command, 'rbd', 'rm', f'tier-general/{self.image}'
        )
        self.addCleanup(
            self.run_command,
            *('openstack', 'tier', 'watch', '--remove'),
            *('--tier', 'general', '--state', self.state),
        )

    def begin(self, *command, **pipes):
        process = subprocess.Popen(
            command, text=True, env=self.environment, **pipes
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def test_disks_that_become_slower_are_named_in_time(self):
        self.begin(
            *('fio', '--name=load', '--ioengine=rbd', '--clientname=admin'),
            *('--pool=tier-general', f'--rbdname={self.image}', '--size=1g'),
            *('--rw=randwrite', '--bs=4k', '--iodepth=8', '--time_based'),
            f'--rate_iops={LOAD_IOPS}',
            f'--runtime={BEFORE_S + NAMED_WITHIN_S + 120}',
            stdout=subprocess.DEVNULL,
        )
        # The first blocks of the image are slower than later ones.
        time.sleep(30)
        watching = self.begin(
            *('openstack', 'tier', 'watch', '--tier', 'general'),
            *('--state', self.state, '-f', 'json', '--for', '15min'),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        lines = queue.Queue()
        said = []

        def read():
            for line in watching.stderr:
                said.append(line)
                lines.put(line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        time.sleep(BEFORE_S)
        self.assertEqual([], [one for one in said if _SINCE.search(one)])
        disks = self.useFixture(disk_iops.DiskIops(self.root))
        slower_at = datetime.datetime.now(datetime.UTC)
        disks.set(SLOW_IOPS)
        named = None
        while named is None:
            passed = datetime.datetime.now(datetime.UTC) - slower_at
            try:
                line = lines.get(
                    timeout=max(0, NAMED_WITHIN_S - passed.total_seconds())
                )
            except queue.Empty:
                self.fail(f'not named in {NAMED_WITHIN_S} s: {said}')
            named = _SINCE.search(line)
        took = datetime.datetime.now(datetime.UTC) - slower_at
        watching.terminate()
        rows = json.loads(watching.stdout.read())
        reader.join()
        self.addDetail(
            'named after',
            details.text_content(f'{took}: {said} {json.dumps(rows)}'),
        )
        self.assertEqual(4, watching.wait())
        (row,) = rows
        # The load is more than the disks can do then: on a busy machine, a
        # write of the probe may wait so long that it counts as one that hangs.
        self.assertIn(row['State'], ('slower', 'hangs'))
        since = datetime.datetime.fromisoformat(row['Since'])
        # A window has 20 s.
        self.assertLess(
            abs((since - slower_at).total_seconds()), 60, row['Since']
        )
        self.assertLessEqual(
            row['Probe IOPS'], max(1.1, 0.011 * row['Client IOPS'])
        )
