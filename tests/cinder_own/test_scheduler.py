# SPDX-License-Identifier: Apache-2.0

"""Cinder's own scheduler tests, with TierFilter and TierWeigher as defaults.

The tests are those of the installed Cinder; nothing of it is copied or
patched. Its default lists exist twice: as defaults of its options, and in
cinder.tests.unit.scheduler.helpers, where its tests write down again what a
scheduler finds through entry points. Ours are appended to both before a test
is loaded; took_part.py counts afterwards in how many tests they had a say.
"""

import logging
import os
import pathlib
import unittest

# First of all: it makes threads green, as the command cinder-scheduler does,
# unless the environment says not to.
from cinder.tests import unit  # noqa: F401

import cinder  # noqa: H306
from cinder.scheduler import filters
from cinder.scheduler import host_manager
from cinder.scheduler import weights
from cinder.tests.unit.scheduler import fakes
from cinder.tests.unit.scheduler import helpers
from cinder.tests.unit import test
from eventlet import patcher
from oslo_config import cfg
from oslo_messaging.rpc import client

import cinder_tiers
import shared_connection

FILTER = 'TierFilter'
WEIGHER = 'TierWeigher'


def installed(handler, name):
    """The class of a name, found as cinder-scheduler finds it.

    :param handler: one of Cinder's handlers of filters or weighers
    :param name: name of the class
    :raises LookupError: no entry point leads to it
    """
    classes = {found.__name__: found for found in handler.get_all_classes()}
    if name not in classes:
        raise LookupError(
            f'{name} is not among the entry points '
            f'{handler.namespace}: {sorted(classes)}'
        )
    return classes[name]


def extend_default_lists():
    """Add ours at the end, wherever Cinder's defaults are written down."""
    tier_filter = installed(
        filters.BackendFilterHandler('cinder.scheduler.filters'), FILTER
    )
    tier_weigher = installed(
        weights.OrderedHostWeightHandler('cinder.scheduler.weights'), WEIGHER
    )
    defaults = {
        option.dest: option.default
        for option in host_manager.host_manager_opts
    }
    cfg.set_defaults(
        host_manager.host_manager_opts,
        scheduler_default_filters=[
            *defaults['scheduler_default_filters'],
            FILTER,
        ],
        scheduler_default_weighers=[
            *defaults['scheduler_default_weighers'],
            WEIGHER,
        ],
    )
    for listed, classes in (
        (helpers.ALL_FILTERS, helpers.ALL_FILTER_CLASSES),
        (
            helpers.DEFAULT_SCHEDULER_FILTERS,
            helpers.DEFAULT_SCHEDULER_FILTER_CLASSES,
        ),
    ):
        listed.append(FILTER)
        classes.append(tier_filter)
    helpers.ALL_WEIGHERS.append(WEIGHER)
    helpers.ALL_WEIGHER_CLASSES.append(tier_weigher)


def shorten_rpc_timeout():
    """Make RPC calls time out after a second: no scheduler runs here.

    A test that ends waits for the background thread that reads the pools from
    cinder-scheduler, and has OS_TEST_TIMEOUT for all it does.
    """
    cfg.set_defaults(client._client_opts, rpc_response_timeout=1)


def load_tests(loader, tests, pattern):
    """What unittest, and so stestr, calls to find the tests of this module."""
    extend_default_lists()
    shorten_rpc_timeout()
    shared_connection.keep_open_while_used()
    # Cinder's tests leave out what is below INFO, OS_DEBUG or not; these two
    # say which filters and weighers ran.
    for name in (
        'cinder.scheduler.base_filter',
        'cinder.scheduler.base_weight',
    ):
        logging.getLogger(name).setLevel(logging.DEBUG)
    top = pathlib.Path(cinder.__file__).parents[1]
    # A loader keeps the top of what it discovered first.
    tests.addTests(
        unittest.TestLoader().discover(
            str(pathlib.Path(helpers.__file__).parent),
            pattern='test_*.py',
            top_level_dir=str(top),
        )
    )
    return tests


class DefaultListsTestCase(test.TestCase):
    """What the tests beside this one run with."""

    def assert_has_ours(self, manager, *cinder_filters):
        self.assertEqual(
            [*cinder_filters, FILTER],
            [found.__name__ for found in manager.enabled_filters],
        )
        self.assertEqual(
            ['CapacityWeigher', WEIGHER],
            [
                found.__name__
                for found in manager._choose_backend_weighers(None)
            ],
        )

    def test_the_default_options_name_ours(self):
        self.assert_has_ours(
            host_manager.HostManager(),
            'AvailabilityZoneFilter',
            'CapacityFilter',
            'CapabilitiesFilter',
        )

    def test_the_scheduler_that_cinder_tests_has_ours(self):
        self.assert_has_ours(
            fakes.FakeHostManager(),
            'AvailabilityZoneFilter',
            'CapabilitiesFilter',
            'CapacityFilter',
        )

    def test_threads_are_those_that_were_asked_for(self):
        native = 'OS_CINDER_DISABLE_EVENTLET_PATCHING' in os.environ
        self.assertNotEqual(native, patcher.is_monkey_patched('thread'))

    def test_ours_come_from_the_installed_wheel(self):
        self.assertEqual(
            pathlib.Path(cinder.__file__).parents[1],
            pathlib.Path(cinder_tiers.__file__).parents[1],
        )
        self.assertEqual(
            'site-packages', pathlib.Path(cinder.__file__).parents[1].name
        )
