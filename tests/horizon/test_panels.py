# SPDX-License-Identifier: Apache-2.0

"""What the panels add to Horizon, and what they leave alone."""

import contextlib
import gc
import json
import os
import pathlib
import subprocess
import sys
import time

import testtools

from tests.horizon import case
from tests.horizon import cloud

TOP = pathlib.Path(__file__).resolve().parents[2]
#: Prints each panel, each address that Horizon answers, and what it is made
#: of.
LIST = """
import json
import sys
import django
django.setup()
from django.conf import settings
from django import urls
import horizon

def patterns(resolver, before=''):
    for one in resolver.url_patterns:
        path = before + str(one.pattern)
        if hasattr(one, 'url_patterns'):
            yield from patterns(one, path)
        else:
            yield path

found = [*patterns(urls.get_resolver())]
print(json.dumps({
    'panels': [
        f'{dashboard.slug}/{panel.slug}'
        for dashboard in horizon.get_dashboards()
        for panel in dashboard.get_panels()
    ],
    'paths': found,
    'settings': {
        name: repr(getattr(settings, name))
        for name in (
            'AUTHENTICATION_BACKENDS', 'INSTALLED_APPS', 'LOCALE_PATHS',
            'MIDDLEWARE', 'STATICFILES_DIRS', 'STATICFILES_FINDERS',
            'TEMPLATES', 'TEST_RUNNER',
        )
    },
    'ours': [name for name in sys.modules if name.startswith('cinder_tiers')],
}))
"""
OURS = ['admin/storage_tiers', 'project/storage_tiers']


def horizon(**variables):
    """What Horizon has, in a process of its own."""
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', LIST],
        cwd=TOP,
        env={
            **os.environ,
            'DJANGO_SETTINGS_MODULE': 'tests.horizon.settings',
            'PYTHONPATH': str(TOP),
            **variables,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def sockets():
    """How many this process has open, without those of garbage."""
    gc.collect()
    folder = pathlib.Path('/proc/self/fd')
    found = 0
    for each in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += each.readlink().name.startswith('socket:')
    return found


class SocketsTestCase(case.HorizonTestCase):
    roles = ('admin', 'manager', 'member', 'reader')

    def test_no_page_leaves_a_socket_open(self):
        self.cloud.types = [cloud.volume_type(1, 'database', '')]
        self.cloud.namespace = ['database']
        image_id = self.cloud.add_image(7, 'debian', [])
        for path in (
            case.MEMBER,
            f'{case.MEMBER}images/{image_id}/tags/',
            case.ADMIN,
        ):
            self.get(path)
            before = sockets()
            for _each in range(6):
                self.get(path)
            # The service, threads of this process, has the other ends.
            end = time.monotonic() + 10
            while sockets() > before and time.monotonic() < end:
                time.sleep(0.1)
            self.assertLessEqual(sockets(), before, path)


class PanelsTestCase(testtools.TestCase):
    def test_without_its_files_horizon_is_as_before(self):
        before = horizon(CINDER_TIERS_TEST_WITHOUT_PANELS='1')
        after = horizon()
        self.assertEqual(
            OURS, sorted({*after['panels']} - {*before['panels']})
        )
        self.assertEqual(
            before['panels'],
            [one for one in after['panels'] if one not in OURS],
        )
        self.assertEqual(
            before['paths'],
            [one for one in after['paths'] if 'storage_tiers' not in one],
        )
        # With them, it has one panel more in each of two dashboards, and
        # nothing that another page could meet.
        self.assertEqual([], before['ours'])
        self.assertEqual(before['settings'], after['settings'])
