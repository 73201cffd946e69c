# SPDX-License-Identifier: Apache-2.0

"""Cinder's own tests of its RBD driver, on TieredRBDDriver with one pool.

The tests are those of the installed Cinder; nothing of it is copied or
patched. Its test module knows the driver's module by the name `driver`; here
that name is the same module, but for the class under test.
"""

import importlib
import pathlib
import types
import unittest

# First of all: it makes threads green, unless the environment says not to.
from cinder.tests import unit  # noqa: F401

import cinder.volume.drivers
from cinder.volume.drivers import rbd

from cinder_tiers.driver import rbd as tiered

TESTS = 'cinder.tests.unit.volume.drivers.test_rbd'


#: Patch one method of the class by two names, which here are two classes.
LEFT_OUT = frozenset(
    {'test_update_volume_stats_1_True', 'test_update_volume_stats_2_False'}
)


class Module(types.ModuleType):
    """The module of Cinder's driver, but for the class RBDDriver."""

    RBDDriver = tiered.TieredRBDDriver

    def __getattr__(self, name):
        return getattr(rbd, name)

    def __setattr__(self, name, value):
        setattr(rbd, name, value)

    def __delattr__(self, name):
        delattr(rbd, name)


def imported_tests():
    """Cinder's test module, imported with `Module` in place of its driver."""
    cinder.volume.drivers.rbd = Module('driver')
    try:
        return importlib.import_module(TESTS)
    finally:
        cinder.volume.drivers.rbd = rbd


def load_tests(loader, tests, pattern):
    """What unittest, and so stestr, calls to find the tests of this module."""
    module = imported_tests()
    found = unittest.TestLoader().loadTestsFromModule(module)
    tests.addTests(
        test
        for suite in found
        for test in suite
        if test.id().rpartition('.')[2] not in LEFT_OUT
    )
    return tests


class UnderTestTestCase(unittest.TestCase):
    def test_the_tests_make_our_driver(self):
        case = imported_tests().RBDTestCase
        self.assertIs(tiered.TieredRBDDriver, type(case._make_drv({})))
        for name in LEFT_OUT:
            self.assertTrue(hasattr(case, name), name)

    def test_ours_comes_from_the_installed_wheel(self):
        self.assertEqual(
            'site-packages', pathlib.Path(tiered.__file__).parents[2].name
        )
