# SPDX-License-Identifier: Apache-2.0

"""Tests in here import Cinder, which must be told how to run beforehand.

As cinder-scheduler does under OS_CINDER_DISABLE_EVENTLET_PATCHING. Unsaid,
the first import that needs oslo.service would choose eventlet and patch the
threads of this process.
"""

from tests.unit import native_threads

native_threads.choose()
