# SPDX-License-Identifier: Apache-2.0

"""`cinder-tiers-status upgrade check`, for hosts of Cinder's services.

Reads cinder.conf, api-paste.ini and Cinder's database, as cinder-status
does, and changes nothing.
"""

import collections.abc
import functools
import glob
import os
import pathlib
import sys

from cinder import context
from cinder import objects
from oslo_config import cfg
from oslo_db import exception as db_exception
from oslo_upgradecheck import upgradecheck
from sqlalchemy import exc as sqlalchemy_exc

# Cinder's modules need all objects to be known before they are imported, as
# cinder.cmd.status does it.
objects.register_all()

from cinder.common import config  # noqa: E402
from cinder.scheduler import host_manager  # noqa: E402,F401 - its options

from cinder_tiers import conf as options  # noqa: E402
from cinder_tiers.doors.volume_types import applied  # noqa: E402
from cinder_tiers.status import checks  # noqa: E402
from cinder_tiers.status import paste  # noqa: E402


class Checks(upgradecheck.UpgradeCommands):
    """The upgrade checks of cinder-tiers."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Define the checks without reading anything.

        :param conf: the configuration of the process, with the options of
            Cinder; read when a check runs.
        """
        super().__init__()
        self._conf = conf
        # oslo.service's, which comes with all of eventlet.
        if 'api_paste_config' not in conf:
            conf.register_opt(
                cfg.StrOpt('api_paste_config', default='api-paste.ini')
            )

    @functools.cached_property
    def _state(self) -> applied.AppliedState | str:
        """The applied tiers, or why they cannot be read."""
        try:
            return applied.read_applied(context.get_admin_context())
        except (
            db_exception.DBError,
            db_exception.CantStartEngineError,
        ) as error:
            found = str(error).partition('\n')[0]
        except (
            cfg.Error,
            ImportError,
            sqlalchemy_exc.NoSuchModuleError,
        ) as error:
            found = f'[database]: {error}'
        except (sqlalchemy_exc.ArgumentError, ValueError):
            # Their texts have parts of the URL, which has a password.
            found = '[database] connection is not a URL of a database'
        return (
            'The applied tiers cannot be read from the Cinder '
            f'database: {found}. Run the check where cinder.conf has '
            '[database] connection, after "cinder-manage db sync".'
        )

    def _check_options(self) -> upgradecheck.Result:
        try:
            written = dict(_written(self._conf))
        except (OSError, UnicodeDecodeError, cfg.ParseError) as error:
            return checks.result(failures=[f'{error}; fix the file.'])
        return checks.options(options.register(self._conf), written)

    def _check_tiers(self) -> upgradecheck.Result:
        if isinstance(self._state, str):
            return checks.result(warnings=[self._state])
        return checks.tiers(self._state)

    def _check_scheduler(self) -> upgradecheck.Result:
        if isinstance(self._state, str):
            return checks.result(warnings=['The applied tiers are unknown.'])
        return checks.scheduler(
            self._state,
            filters=self._conf.scheduler_default_filters,
            weighers=self._conf.scheduler_default_weighers,
        )

    def _check_default_type(self) -> upgradecheck.Result:
        if isinstance(self._state, str):
            return checks.result(warnings=['The applied tiers are unknown.'])
        return checks.default_type(
            self._state, default_type=self._conf.default_volume_type
        )

    def _check_types_beside(self) -> upgradecheck.Result:
        if isinstance(self._state, str):
            return checks.result(warnings=['The applied tiers are unknown.'])
        return checks.types_beside(self._state)

    def _check_api(self) -> upgradecheck.Result:
        file = self._conf.find_file(self._conf.api_paste_config)
        if file is None:
            return checks.result(
                otherwise=f'this host has no {self._conf.api_paste_config}'
            )
        try:
            strategy = self._conf.auth_strategy
            is_limited = self._conf.api_rate_limit
        except cfg.Error as error:
            return checks.result(failures=[f'{error}; fix cinder.conf.'])
        try:
            door = paste.find_door(
                pathlib.Path(file).read_text('utf-8'),
                strategy=strategy,
                is_limited=is_limited,
            )
        except (OSError, ValueError) as error:
            return checks.result(
                failures=[
                    (f'{file}: {error}. Compare it with the one of Cinder.')
                ]
            )
        if isinstance(self._state, str):
            return checks.result(warnings=['The applied tiers are unknown.'])
        return checks.api(
            self._state,
            file=file,
            door=door,
            default_type=self._conf.default_volume_type,
        )

    _upgrade_checks = (
        ('Options', _check_options),
        ('Applied tiers', _check_tiers),
        ('Scheduler filter', _check_scheduler),
        ('API middleware', _check_api),
        ('Default volume type', _check_default_type),
        ('Other volume types', _check_types_beside),
    )


def _written(
    conf: cfg.ConfigOpts,
) -> collections.abc.Iterator[tuple[str, str]]:
    """Options as written in our section, each with its file.

    oslo.config reports only options that are registered.
    """
    files = [pathlib.Path(file) for file in conf.config_file]
    for folder in conf.config_dir:
        # As oslo.config reads it: without hidden files, unlike pathlib.
        files += map(
            pathlib.Path,
            sorted(glob.glob(os.path.join(glob.escape(folder), '*.conf'))),
        )
    for file in files:
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(file), sections).parse()
        for name in sections.get(options.GROUP, ()):
            yield name, str(file)


def main() -> int | str:
    """Runs `cinder-tiers-status` with the arguments of the process.

    :returns: 0 success, 1 a warning, 2 a failure, 255 an unexpected error;
        or the text of an error, with which the process ends with 1.
    """
    try:
        return upgradecheck.main(
            config.CONF, 'cinder', Checks(config.CONF), argv=sys.argv[1:]
        )
    except (
        cfg.ConfigFilesNotFoundError,
        cfg.ConfigDirNotFoundError,
        cfg.ConfigFilesPermissionDeniedError,
        cfg.ConfigFileParseError,
        # oslo.config lets through what else opening and reading a file raises.
        OSError,
        UnicodeDecodeError,
    ) as error:
        return (
            f'ERROR: {error}\nName readable configuration files of '
            'Cinder with --config-file or --config-dir.'
        )


if __name__ == '__main__':
    sys.exit(main())
