# SPDX-License-Identifier: Apache-2.0

"""Tiers files of real deployments, planned on the Ceph release at hand.

The files are in tests/cases/deployments, each after a deployment that is
documented. What validate and plan say is compared with planned/VERSION/
NAME.txt beside them, so that each message is read by who changes it; a test
with CINDER_TIERS_TEST_ACCEPT writes those files anew. Nothing is applied. The
clusters of all files are the one at hand, which has three hosts and the
device classes hdd and ssd, and an empty Cinder.
"""

import os
import pathlib
import re
import tempfile

import ddt
import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from tests.contract import real_ceph
from tests.unit.cli import shell
from tests.worlds import cinder_api

FOLDER = pathlib.Path(__file__).parents[1] / 'cases' / 'deployments'
NAMES = sorted(file.stem for file in FOLDER.glob('*.yaml'))
ACCEPT = os.environ.get('CINDER_TIERS_TEST_ACCEPT')


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
@ddt.ddt
class DeploymentsTestCase(testtools.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cluster = catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
        with ceph_session.session(cluster) as session:
            cls.version = session.command('version')['version'].split()[2]
            cls.fsid = session.command('fsid')['fsid']

    def said(self, verb, path, *arguments):
        """A command and all that it says, without what is of this machine."""
        ran = shell.openstack(
            *self.api.shell_arguments, 'tier', verb, *arguments
        )
        text = (
            f'$ openstack tier {verb}\n{ran.stdout}{ran.stderr}'
            f'exit status: {ran.status}\n'
        )
        # The Cinder here has no scheduler, and plan says so.
        text = re.sub(
            '(?m)^Could not check whether backends serve .*\n', '', text
        )
        text = text.replace(str(path), path.name)
        text = text.replace(self.fsid, 'FSID')
        return text.replace(real_ceph.CONF, '/etc/ceph/ceph.conf')

    @ddt.data(*NAMES)
    def test_validate_and_plan(self, name):
        text = (FOLDER / f'{name}.yaml').read_text('utf-8')
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(folder, f'{name}.yaml')
        path.write_text(
            re.sub('(?m)(^ +conf: ).*$', rf'\g<1>{real_ceph.CONF}', text)
        )
        said = self.said('validate', path, str(path)) + self.said(
            'plan', path, '--catalog', str(path)
        )
        golden = FOLDER / 'planned' / self.version / f'{name}.txt'
        if ACCEPT:
            golden.parent.mkdir(parents=True, exist_ok=True)
            golden.write_text(said)
        self.assertEqual(golden.read_text('utf-8'), said)
