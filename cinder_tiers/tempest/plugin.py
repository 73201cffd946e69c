# SPDX-License-Identifier: Apache-2.0

"""Tempest plugin: registers the tests and their options."""

import collections.abc
import pathlib

from oslo_config import cfg
from tempest import config
from tempest.test_discover import plugins

from cinder_tiers.tempest import options

_HERE = pathlib.Path(__file__).resolve().parent


class CinderTiersTempestPlugin(plugins.TempestPlugin):
    """The plugin; it has no service clients of its own."""

    def load_tests(self) -> tuple[str, str]:
        """Folders of the tests, and above the packages."""
        return str(_HERE / 'tests'), str(_HERE.parents[1])

    def register_opts(self, conf: cfg.ConfigOpts) -> None:
        """Adds the group cinder_tiers."""
        config.register_opt_group(conf, options.GROUP, options.OPTIONS)

    def get_opt_lists(
        self,
    ) -> list[tuple[str, collections.abc.Sequence[cfg.Opt]]]:
        """The options by group, for a sample of tempest.conf."""
        return [(options.GROUP.name, list(options.OPTIONS))]
