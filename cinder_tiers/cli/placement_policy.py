# SPDX-License-Identifier: Apache-2.0

"""Placement options of cinder.conf, for commands that place volumes."""

import argparse
import dataclasses

from oslo_config import cfg

from cinder_tiers.cli import base
from cinder_tiers import conf
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import decision


def add_config_file(
    parser: argparse.ArgumentParser, *, only_with: str = ''
) -> None:
    """Add --config-file, a list of paths for `read`.

    :param only_with: option that --config-file depends on; '' for none.
    """
    base.add_names(
        parser,
        '--config-file',
        '<file>',
        (f'with {only_with}: ' if only_with else '')
        + 'read the placement options of [cinder_tiers] from this '
        'cinder.conf of cinder-api or cinder-scheduler (default: assume '
        'their defaults; may be repeated)',
    )


def read(config_files: list[str]) -> decision.Policy:
    """Read the placement options as cinder-api and cinder-scheduler do.

    :param config_files: paths of cinder.conf; none for the defaults.
    :raises errors.NotVisible: a file cannot be read, or has an invalid value.
    """
    options = cfg.ConfigOpts()
    try:
        group = conf.register(options)
        options([], default_config_files=config_files, default_config_dirs=[])
        return dataclasses.replace(
            conf.policy_of(group), is_known=bool(config_files)
        )
    except (cfg.Error, ValueError) as error:
        raise errors.NotVisible(
            f'--config-file: {error}; name the cinder.conf of cinder-api or '
            'cinder-scheduler'
        ) from error
