# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What the tier commands have in common on the command line."""

import argparse
import collections.abc
import contextlib
import os

from osc_lib.command import command
from osc_lib import exceptions

from cinder_tiers.domain import errors

DEFAULT_CATALOG = '/etc/cinder-tiers/tiers.yaml'


def exit_with_1(parser: argparse.ArgumentParser) -> None:
    """Makes a wrong argument exit with status 1.

    argparse would exit with 2, which has a meaning of its own here.
    """
    def error(message: str) -> None:
        parser.exit(1, f'{parser.format_usage()}{parser.prog}: error: '
                       f'{message}\n')

    parser.error = error


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Adds --catalog, and makes a wrong argument exit with status 1."""
    exit_with_1(parser)
    parser.add_argument(
        '--catalog', metavar='<file>', default=default_catalog(),
        help=f'tiers file (default: $CINDER_TIERS_CATALOG, else '
             f'{DEFAULT_CATALOG})')


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

    :raises exceptions.CommandError: in place of an errors.TiersError.
    """
    try:
        yield
    except errors.TiersError as error:
        raise exceptions.CommandError(str(error)) from error
