# SPDX-License-Identifier: Apache-2.0

"""Check that the WSGI server of cinder-api runs the API door's threads.

Must not know what the threads are for.
"""

import sys

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


def warn_without_threads() -> bool:
    """Log a warning when threads stand still between requests.

    uWSGI before 2.0.28 keeps Python's lock while it waits for a request,
    unless `enable-threads` or `threads` is set: 2.0.21 lets a thread run only
    while a request is served.

    :returns: whether they do.
    """
    # uWSGI has it made before it loads an application.
    uwsgi = sys.modules.get('uwsgi')
    if uwsgi is None or getattr(uwsgi, 'has_threads', True):
        return False
    LOG.warning(
        'uWSGI runs without threads, but the cinder-tiers middleware '
        'needs them: the threads that query Glance and read the tiers do '
        'not run between requests. Add "enable-threads = true" to the '
        '[uwsgi] section of the cinder-api configuration, and restart '
        'cinder-api.'
    )
    return True
