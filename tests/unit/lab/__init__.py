# SPDX-License-Identifier: Apache-2.0
"""Tests of the lab: a package of devstack/, which nothing installs."""

import pathlib
import sys

_DEVSTACK = str(pathlib.Path(__file__).resolve().parents[3] / 'devstack')
if _DEVSTACK not in sys.path:
    sys.path.insert(0, _DEVSTACK)
