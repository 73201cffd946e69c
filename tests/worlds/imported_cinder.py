# SPDX-License-Identifier: Apache-2.0

"""Loads what serves Cinder's API, for the process that others fork from.

That takes some seconds, and happens once for all of them. So does what
SQLAlchemy works out of Cinder's models with the first query.
"""

import gc
import importlib
import pathlib
import pkgutil
import tempfile

from cinder.api import contrib
from cinder import objects
from sqlalchemy import orm

MODULES = (
    'cinder.api.middleware.auth',
    'cinder.api.v3.router',
    'cinder.common.config',
    'cinder.db.migration',
    'cinder.scheduler.manager',
    'cinder.service',
    'cinder.wsgi.wsgi',
    'tests.worlds.serve_cinder_api',
    *(
        module.name
        for module in pkgutil.iter_modules(
            contrib.__path__, 'cinder.api.contrib.'
        )
    ),
)

objects.register_all()  # before what comes next, as cinder.cmd.api does
for name in MODULES:
    importlib.import_module(name)
orm.configure_mappers()
_FOLDER = tempfile.TemporaryDirectory()
#: Has the files of Cinder that all of them read.
FOLDER = pathlib.Path(_FOLDER.name)
#: Cinder's before any request.
DATABASE = importlib.import_module('tests.worlds.serve_cinder_api').load(
    FOLDER
)
# What is searched for garbage is written to, and then no longer shared.
gc.freeze()
