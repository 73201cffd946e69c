# SPDX-License-Identifier: Apache-2.0

"""Who runs a Ceph cluster, as clusters of the release at hand tell it.

The cluster of the tests belongs to nobody. cephadm is known by two options,
which are set for the while of a test; Rook by the pod in which a monitor was
started, so that one is started as in a pod.
"""

import os
import pathlib
import socket
import subprocess
import tempfile
import time
import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.observe.ceph import owner
from tests.contract import commands
from tests.contract import real_ceph

#: Of the clusters of Rook's documentation.
NAMESPACE = 'rook-ceph'
#: Longer than a monitor takes to answer.
MOST_SECONDS = 60
#: What cephadm and its tuning of memory are known by.
ORCHESTRATOR = ('mgr', 'mgr/orchestrator/orchestrator')
AUTOTUNE = ('osd', 'osd_memory_target_autotune')


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class CephadmTestCase(commands.CommandsCase):
    def declare_memory(self):
        self.declare("""
            MARK:
              fallback: true
              rbd:
                cluster: ceph
                pool: MARK
                device_class: ssd
                failure_domain: osd
                pg_num: 8
                replicated: {size: 2}
                osd_options: {osd_memory_target: 2G}
            """)

    def set_option(self, option, value):
        who, name = option
        self.keep_option(who, name)
        # It belongs to a module, which may not be there.
        self.session.command(
            'config set', who=who, name=name, value=value, force=True
        )

    def refused(self):
        """Objects that a plan refuses, and why."""
        return {
            row['Object']: row['Reason']
            for row in self.tier('plan', expect=5)
            if row['Refused']
        }

    def test_memory_that_cephadm_tunes_is_left_to_it(self):
        self.declare_memory()
        self.set_option(ORCHESTRATOR, 'cephadm')
        self.tier('plan', expect=4)
        self.set_option(AUTOTUNE, 'true')
        ((name, reason),) = self.refused().items()
        self.assertEqual('osd options ssd (ceph)', name)
        self.assertIn('cephadm sets osd_memory_target', reason)

    def test_tuning_without_cephadm_is_nobodys(self):
        self.declare_memory()
        self.set_option(AUTOTUNE, 'true')
        self.tier('plan', expect=4)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RookTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.conf = self.folder / 'ceph.conf'

    def monitor_in_a_pod(self):
        """Start a monitor, the only one of a cluster of its own."""
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        fsid, address = uuid.uuid4(), f'[v2:127.0.0.1:{port}]'
        self.conf.write_text(
            '[global]\n'
            f'fsid = {fsid}\n'
            f'mon_host = {address}\n'
            'auth_cluster_required = none\n'
            'auth_service_required = none\n'
            'auth_client_required = none\n'
            f'mon_data = {self.folder}/mon\n'
            f'run_dir = {self.folder}\n'
            f'admin_socket = {self.folder}/$name.$pid.asok\n'
            f'log_file = {self.folder}/log\n'
            'mon_data_avail_crit = 0\n'
        )
        monitor = ['ceph-mon', '-i', 'a', '-c', self.conf]
        for command in (
            [
                *('monmaptool', '--create', '--fsid', str(fsid)),
                *('--addv', 'a', address, self.folder / 'monmap'),
            ],
            [*monitor, '--mkfs', '--monmap', self.folder / 'monmap'],
        ):
            subprocess.run(command, check=True, capture_output=True)
        process = subprocess.Popen(
            [*monitor, '-f'],
            env={**os.environ, 'POD_NAMESPACE': NAMESPACE, 'POD_NAME': 'mon'},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def namespace(self, conf):
        """What is observed once the monitors answer."""
        until = time.monotonic() + MOST_SECONDS
        while True:
            try:
                with ceph_session.session(
                    catalogs.Cluster(name='ceph', conf=str(conf))
                ) as session:
                    return owner.rook_namespace(session)
            except errors.Unreachable:
                self.assertLess(time.monotonic(), until)

    def test_a_monitor_in_a_pod_tells_its_namespace(self):
        self.monitor_in_a_pod()
        self.assertEqual(NAMESPACE, self.namespace(self.conf))

    def test_a_monitor_in_no_pod_tells_none(self):
        self.assertIsNone(self.namespace(real_ceph.CONF))
