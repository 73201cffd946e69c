# SPDX-License-Identifier: Apache-2.0

"""What the tier commands have in common on the command line."""

import argparse
import collections.abc
import contextlib
import logging
import os

from osc_lib.command import command
from osc_lib import exceptions

from cinder_tiers.cli import plugin
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain import text as escaping

#: What is said of a name of --allow that changed nothing.
NOT_NEEDED = '--allow %r has no effect: no refused change has that name'
DEFAULT_CATALOG = '/etc/cinder-tiers/tiers.yaml'


def exit_with_1(parser: argparse.ArgumentParser) -> None:
    """Makes a wrong argument exit with status 1.

    argparse would exit with 2, which has a meaning of its own here.
    """

    def error(message: str) -> None:
        parser.exit(
            1, f'{parser.format_usage()}{parser.prog}: error: {message}\n'
        )

    parser.error = error


def name_program(parser: argparse.ArgumentParser) -> None:
    """Makes the examples those of the program that runs."""
    if parser.prog.startswith(f'{plugin.PROGRAM} '):
        parser.epilog = parser.epilog.replace(
            'openstack tier ', f'{plugin.PROGRAM} '
        )


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Adds --catalog; names the program; a wrong argument gives status 1."""
    exit_with_1(parser)
    name_program(parser)
    parser.add_argument(
        '--catalog',
        metavar='<file>',
        default=default_catalog(),
        help=f'tiers file (default: $CINDER_TIERS_CATALOG, else '
        f'{DEFAULT_CATALOG})',
    )


def add_allow(parser: argparse.ArgumentParser) -> None:
    """Adds --allow.

    :param parser: or a group of its arguments.
    """
    parser.add_argument(
        '--allow',
        metavar='<object>',
        action='append',
        default=[],
        help=(
            'carry out the refused change of this object, named as in the '
            'column Object of "tier plan"; the part in parentheses may be '
            'omitted if the name is unambiguous (may be repeated)'
        ),
    )


def default_catalog() -> str:
    """Path of the tiers file when none is named."""
    return os.environ.get('CINDER_TIERS_CATALOG', DEFAULT_CATALOG)


class StatusLister(command.Lister):
    """A command that shows a table.

    cliff's lister has no exit status of its own; this one's is
    :attr:`exit_status`, 0 until `take_action` sets another.
    """

    exit_status = 0

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Runs the command.

        :returns: the exit status.
        """
        return super().run(parsed_args) or self.exit_status


class CatalogLister(StatusLister):
    """A command that takes a tiers file and shows a table."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        add_catalog(parser)
        return parser


@contextlib.contextmanager
def user_errors() -> collections.abc.Iterator[None]:
    """Shows expected failures as OSC does, without a traceback.

    What could steer a terminal is escaped: services and files are quoted.

    :raises exceptions.CommandError: in place of an errors.TiersError.
    """
    try:
        yield
    except errors.TiersError as error:
        raise exceptions.CommandError(
            escaping.printable_lines(str(error))
        ) from error


def log_effects(
    log: logging.Logger,
    planned: collections.abc.Iterable[actions.Action],
    found: collections.abc.Mapping[actions.Key, effects.Effect],
) -> None:
    """Logs one line for each action that has an effect on data or room.

    An error when the action is refused, or when volumes would stop being
    served; else a warning.

    :param log: of the command.
    :param planned: of one plan.
    :param found: the effect of each action.
    """
    for action in planned:
        effect = found[action.key]
        if not str(effect):
            continue
        is_error = action.refusal or effect.problems
        log.log(
            logging.ERROR if is_error else logging.WARNING,
            '%s',
            escaping.printable(
                f'effect of {action.verb} {action.key}, estimated: {effect}'
            ),
        )
