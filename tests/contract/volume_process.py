# SPDX-License-Identifier: Apache-2.0

"""A cinder-volume with TieredRBDDriver, as a program that is to be killed.

Its argument is a cinder.conf. Its input is lines of JSON: first the options of
the backend, then requests to retype. It prints what it has done.
"""

import json
import logging
import os
import sys
import time

from tests.unit import native_threads

native_threads.choose()

from cinder import objects  # noqa: E402

objects.register_all()

from cinder.common import config  # noqa: E402,F401 - registers options
from cinder import context  # noqa: E402
from cinder import coordination  # noqa: E402
from cinder import rpc  # noqa: E402
from cinder.volume import configuration  # noqa: E402
from cinder.volume.drivers import rbd as cinder_rbd  # noqa: E402
from cinder.volume import manager  # noqa: E402
from oslo_config import cfg  # noqa: E402
import rados  # noqa: E402

from cinder_tiers.driver import rbd as tiered  # noqa: E402
from tests.contract import driver_case  # noqa: E402


def say(text):
    print(text, flush=True)


class Connection(rados.Rados):
    """Says under which address Ceph knows it."""

    def connect(self, *args, **options):
        super().connect(*args, **options)
        say(f'connected {self.get_addrs()}')

    def shutdown(self):
        if self.state == 'connected':
            say(f'disconnected {self.get_addrs()}')
        super().shutdown()


class Sayer(logging.Handler):
    """Says what is logged."""

    def emit(self, record):
        say(record.getMessage())


def settle(service):
    while service.driver._moves._moves:
        service.driver._moves.go_on()
        time.sleep(driver_case.POLL_S)


def serve():
    given = json.loads(sys.stdin.readline())
    cfg.CONF.set_override('state_path', given['state_path'])
    cfg.CONF.set_override(
        'backend_url', f'file://{given["state_path"]}', group='coordination'
    )
    rpc.init(cfg.CONF)
    coordination.COORDINATOR.start()
    configuration.Configuration(
        [*cinder_rbd.RBD_OPTS, *tiered.OPTIONS],
        config_group=driver_case.BACKEND,
    )
    for name, value in given['options'].items():
        cfg.CONF.set_override(name, value, group=driver_case.BACKEND)
    service = manager.VolumeManager(
        host=driver_case.HOST,
        service_name=driver_case.BACKEND,
        volume_driver=driver_case.DRIVER,
    )
    service.init_host(service_id=1)
    settle(service)
    say('serving')
    admin = context.get_admin_context()
    for line in sys.stdin:
        request = json.loads(line)
        volume = objects.Volume.get_by_id(admin, request['volume'])
        say('asked')
        service.retype(
            admin,
            volume,
            request['type'],
            {'host': request['host'], 'cluster_name': None},
            'never',
        )
        say('answered')
        settle(service)
        say('ended')


def main():
    """Let one serve after another, until one comes to the end of its input.

    Each has what was imported already, which takes longer than all it does.
    """
    cfg.CONF(
        [],
        project='cinder',
        default_config_files=[sys.argv[1]],
        default_config_dirs=[],
    )
    rados.Rados = Connection
    log = logging.getLogger('cinder_tiers.driver')
    log.setLevel(logging.INFO)
    log.addHandler(Sayer())
    while True:
        pid = os.fork()
        if not pid:
            try:
                serve()
            finally:
                os._exit(0)
        say(f'pid {pid}')
        _, status = os.waitpid(pid, 0)
        say('gone')
        if not os.WIFSIGNALED(status):
            break


if __name__ == '__main__':
    main()
