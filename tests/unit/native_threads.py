# SPDX-License-Identifier: Apache-2.0

"""Tells Cinder to use native threads, before anything of it is imported.

As cinder-scheduler does under OS_CINDER_DISABLE_EVENTLET_PATCHING. Unsaid,
the first import that needs oslo.service would choose eventlet and patch the
threads of this process.
"""


def choose() -> None:
    """Do so, if this Cinder can be told."""
    try:
        from cinder import monkey_patch
    except ImportError:
        # Cinder 26 to 28: their commands patch threads, their modules do not.
        return
    monkey_patch.patch(backend='threading')
