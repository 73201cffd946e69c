# SPDX-License-Identifier: Apache-2.0

"""Horizon's own settings, with the panels as if their files were copied.

CINDER_TIERS_TEST_WITHOUT_PANELS leaves them out. CINDER_TIERS_TEST_STATIC is a
folder for styles and scripts, if they are to be served.
CINDER_TIERS_TEST_KEYSTONE is the address of Keystone.
"""

import os
import pathlib

from openstack_dashboard.local import enabled

if 'CINDER_TIERS_TEST_WITHOUT_PANELS' not in os.environ:
    enabled.__path__.append(
        str(
            pathlib.Path(__file__).resolve().parents[2]
            / 'cinder_tiers/horizon/enabled'
        )
    )

from openstack_dashboard.settings import *  # noqa: E402,F401,F403,H303

DEBUG = False
ALLOWED_HOSTS = ['testserver', '127.0.0.1']
SECRET_KEY = 'of a test'
SESSION_ENGINE = 'django.contrib.sessions.backends.cache'
CACHES = {
    'default': {
        'BACKEND': 'django.core.cache.backends.locmem.LocMemCache',
        # Or styles, when they are compiled, drive the sessions out.
        'OPTIONS': {'MAX_ENTRIES': 100_000},
    }
}
OPENSTACK_KEYSTONE_URL = os.environ.get('CINDER_TIERS_TEST_KEYSTONE', '')
if 'CINDER_TIERS_TEST_STATIC' in os.environ:
    STATIC_ROOT = os.environ['CINDER_TIERS_TEST_STATIC']
else:
    # Styles take seconds to compile, and are Horizon's.
    COMPRESS_ENABLED = False
    COMPRESS_PRECOMPILERS = ()
# Of the services that the tests do not have, Horizon's panels complain.
LOGGING = {
    'version': 1,
    'disable_existing_loggers': True,
    'root': {'level': 'CRITICAL'},
}
