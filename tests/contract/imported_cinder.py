# SPDX-License-Identifier: Apache-2.0

"""Imports what serves Cinder's API, for the process that others fork from.

That takes some seconds, and happens once for all of them.
"""

import importlib

from cinder import objects

MODULES = (
    'cinder.api.v3.router',
    'cinder.common.config',
    'cinder.db.migration',
    'cinder.scheduler.manager',
    'cinder.service',
    'tests.contract.serve_cinder_api',
)

objects.register_all()  # before what comes next, as cinder.cmd.api does
for name in MODULES:
    importlib.import_module(name)
