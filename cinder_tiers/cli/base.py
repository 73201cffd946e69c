# SPDX-License-Identifier: Apache-2.0

"""Arguments and formats that the tier commands share."""

import argparse
import collections.abc
import contextlib
import io
import itertools
import logging
import os
import shutil
import sys
import typing

from cliff.formatters import base as formatters
import keystoneauth1.exceptions
from osc_lib.command import command
from osc_lib import exceptions
import stevedore

from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli.render import cells
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain import text as escaping

if typing.TYPE_CHECKING:
    import openstack.config.loader
    import openstack.connection

#: Warning for a name of --allow that changed nothing.
NOT_NEEDED = '--allow %r has no effect: no refused change has that name'
#: Warning of a command that needs confirmation and cannot ask for it.
NOT_ASKED = (
    'Nothing was changed: confirmation needs a terminal; to confirm without '
    'one, run the command again with --yes'
)
#: Name of the format of `TextFormatter`.
TEXT = 'text'
#: Columns of a text that is not shown in a terminal.
WIDTH_OF_FILES = 80
_INCLUDE_ROOT = 'CINDER_TIERS_INCLUDE_ROOT'
_STATE = 'CINDER_TIERS_STATE'
DEFAULT_CATALOG = '/etc/cinder-tiers/tiers.yaml'
#: A service that accepts a request and never answers would otherwise keep a
#: command, and the lock of an apply, for ever. Longer than proxies wait.
ANSWER_TIMEOUT_S = 300


def add_catalog(
    parser: argparse.ArgumentParser, meaning: str | None = None
) -> None:
    """Add --catalog and --include-root.

    :param meaning: help of --catalog for a command to which a tiers file is
        optional; None if it is required.
    """
    parser.add_argument(
        '--catalog',
        metavar='<file>',
        type=not_empty,
        default=None if meaning else default_catalog(),
        help=meaning
        or f'tiers file (default: $CINDER_TIERS_CATALOG, else '
        f'{DEFAULT_CATALOG})',
    )
    parser.add_argument(
        '--include-root',
        metavar='<folder>',
        type=not_empty,
        default=os.environ.get(_INCLUDE_ROOT) or None,
        help=(
            'folder that must contain all files that the tiers file '
            f'includes (default: ${_INCLUDE_ROOT}, else the folder of the '
            'tiers file)'
        ),
    )


def not_empty(text: str) -> str:
    """Return the value of an argument, which must not be empty.

    A shell passes `"$PLAN"` as an empty argument if PLAN is not set. That must
    not mean the same as no argument.

    :raises argparse.ArgumentTypeError: the value is empty or only white space.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError(
            f'{text!r} is empty; give a value, or remove the argument'
        )
    return text


def add_name(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
    option: str,
    metavar: str,
    meaning: str,
) -> None:
    """Add an option with a value that must not be empty.

    :param parser: parser, or a group of its arguments.
    :param meaning: help of the option.
    """
    parser.add_argument(option, metavar=metavar, type=not_empty, help=meaning)


def add_names(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
    option: str,
    metavar: str,
    meaning: str,
    *,
    dest: str | None = None,
) -> None:
    """Add an option that may be repeated; its values must not be empty.

    :param dest: attribute of the list; None for the name of the option.
    """
    parser.add_argument(
        option,
        metavar=metavar,
        type=not_empty,
        action='append',
        default=[],
        dest=dest,
        help=meaning,
    )


def limit_wait(config: 'openstack.config.loader.OpenStackConfig') -> None:
    """Make ANSWER_TIMEOUT_S the default of `api_timeout` in clouds.yaml.

    :param config: configuration of the shell, which sets no timeout itself.
    """
    # The loader copies its defaults into a cloud of that name if it finds no
    # other one.
    clouds = config.cloud_config['clouds']
    for values in (config.defaults, clouds.get('defaults') or {}):
        if values.get('api_timeout') is None:
            values['api_timeout'] = ANSWER_TIMEOUT_S


def connect(
    shown: 'StatusCommand',
) -> 'openstack.connection.Connection':
    """Return the connection of the command; log in to Keystone first.

    :raises errors.Unreachable: Keystone does not answer. OSC reports a
        refusal.
    :raises exceptions.CommandError: no cloud is chosen, or credentials are
        missing.
    """
    if not shown.auth_required:
        from openstack import exceptions as sdk_exceptions

        limit_wait(shown.app.cloud_config)
        # The shell checked this before, and did not log in.
        shown.auth_required = True
        try:
            shown.app.prepare_to_run_command(shown)
        except sdk_exceptions.ConfigException as error:
            raise CommandFailed(
                f'Cannot log in: {error}; choose a cloud of clouds.yaml with '
                'OS_CLOUD or --os-cloud, or set the OS_ variables of an openrc'
            ) from error
        except _NO_ANSWER as error:
            shown.auth_required = False
            raise errors.Unreachable(
                f'Keystone did not answer: {error}; check auth_url, and try '
                'again'
            ) from error
    return shown.app.client_manager.sdk_connection


def add_state(parser: argparse.ArgumentParser, holds: str) -> None:
    """Add --state, a folder that outlives the command.

    :param holds: contents of the folder, for the help.
    """
    parser.add_argument(
        '--state',
        metavar='<folder>',
        type=not_empty,
        default=os.environ.get(_STATE) or _state_folder(),
        help=(
            f'folder for {holds} (default: ${_STATE}, else cinder-tiers '
            'below $XDG_STATE_HOME or ~/.local/state)'
        ),
    )


def add_measuring_command(parser: argparse.ArgumentParser) -> None:
    """Add `command`: all words after "--".

    argparse assigns a repeatable positional argument together with the one
    before it, with no words if there are none, and rejects words after a later
    option: "FILE --out FOLDER -- COMMAND" would be an error.
    """
    parser.add_argument(
        'command',
        metavar='<command>',
        nargs='*',
        help='command that measures one slot, after "--"',
    )
    parse = parser.parse_known_args

    def parse_known_args(
        args: collections.abc.Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        if '--' not in words:
            return parse(words, namespace)
        place = words.index('--')
        found, unknown = parse(words[:place], namespace)
        found.command = [*found.command, *words[place + 1 :]]
        return found, unknown

    _parse_by(parser, parse_known_args)


def _parse_by(
    parser: argparse.ArgumentParser,
    parse: collections.abc.Callable[
        [
            collections.abc.Sequence[str] | None,
            argparse.Namespace | None,
        ],
        tuple[argparse.Namespace, list[str]],
    ],
) -> None:
    # argparse creates subclasses elsewhere; no caller passes another
    # namespace, for which typeshed has an overload.
    parser.parse_known_args = parse  # type: ignore[assignment,method-assign]


def refuse_dashes(parser: argparse.ArgumentParser) -> None:
    """Reject "--" as the value of an option, such as --out=--.

    Before Python 3.13, argparse drops this value, does not call the type of
    the option, and stores an empty list.
    """
    parse = parser.parse_known_args

    def parse_known_args(
        args: collections.abc.Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        for word in itertools.takewhile(lambda one: one != '--', words):
            name, _, value = word.partition('=')
            if name.startswith('--') and value == '--':
                parser.error(f"argument {name}: expected a value, not '--'")
        return parse(words, namespace)

    _parse_by(parser, parse_known_args)


def add_yes(
    parser: argparse.ArgumentParser,
    unasked: str = ' (never asked unless standard input is a terminal)',
) -> None:
    """Add --yes.

    :param unasked: end of the help: when a command does not ask.
    """
    parser.add_argument(
        '-y',
        '--yes',
        action='store_true',
        help=f'do not ask for confirmation{unasked}',
    )


def _state_folder() -> str:
    """Return a folder of the user that survives a reboot."""
    return os.path.join(
        os.environ.get('XDG_STATE_HOME')
        or os.path.expanduser('~/.local/state'),
        'cinder-tiers',
    )


def add_allow(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
) -> None:
    """Add --allow.

    :param parser: parser, or a group of its arguments.
    """
    add_names(
        parser,
        '--allow',
        '<object>',
        'carry out the refused change of this object, named as in the '
        'column Object of "tier plan"; the part in parentheses may be '
        'omitted if the name is unambiguous (may be repeated)',
    )


def default_catalog() -> str:
    """Return the path of the tiers file when --catalog is not given."""
    return os.environ.get('CINDER_TIERS_CATALOG') or DEFAULT_CATALOG


def keep_encodable(stream: typing.TextIO) -> None:
    r"""Make a stream show characters outside its encoding as `\xe9`.

    Names in Cinder and Ceph are any text, and terminals with LC_ALL=C or
    PYTHONIOENCODING=ascii show little of it. Python does the same for standard
    error.

    :param stream: text stream; one without an encoding is left unchanged.
    """
    if isinstance(stream, io.TextIOWrapper) and stream.errors == 'strict':
        stream.reconfigure(errors='backslashreplace')


def write_file(stream: typing.TextIO, text: str) -> None:
    """Write the text of a file to a stream, in UTF-8 on any terminal."""
    if isinstance(stream, io.TextIOWrapper):
        stream.flush()
        stream.buffer.write(text.encode('utf-8'))
        stream.buffer.flush()
    else:
        stream.write(text)


class CommandFailed(errors.LinesError, exceptions.CommandError):
    """The error lines with which a command ends."""


#: Errors of keystoneauth when Keystone does not answer, or is not there.
_NO_ANSWER = (
    keystoneauth1.exceptions.ConnectionError,
    keystoneauth1.exceptions.DiscoveryFailure,
    keystoneauth1.exceptions.HttpServerError,
)


class StatusCommand(command.Command):
    """A command with the exit statuses of `exit_status`.

    cliff gives no exit status to commands that show something; `take_action`
    sets :attr:`exit_status` here.
    """

    exit_status = exit_status.OK
    #: OSC does not log in, because its failures have none of these statuses;
    #: `connect` does.
    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        refuse_dashes(parser)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command and return its exit status."""
        keep_encodable(self.app.stdout)
        try:
            return super().run(parsed_args) or self.exit_status
        except exceptions.CommandError as error:
            status = exit_status.of(error.__cause__)
            # OSC logs it, and exits with 1.
            if status == exit_status.ERROR or self.app.options.debug:
                raise
            self.log.error('%s', error)
            return status

    def warn(self, texts: collections.abc.Iterable[str]) -> None:
        """Log each text as a warning."""
        for each in texts:
            self.log.warning('%s', cells.printable(each))

    def ask(self, question: str) -> None:
        """Ask for confirmation at the terminal.

        :param question: question, such as `Begin?`.
        :raises errors.ActionFailed: the answer was not yes.
        """
        self.app.stderr.write(f'{question} [y/N] ')
        self.app.stderr.flush()
        with interruption.at_once():
            answer = self.app.stdin.readline()
        if answer.strip().lower() not in ('y', 'yes'):
            raise errors.ActionFailed(
                'Nothing was changed because the answer was not yes.'
            )


class StatusLister(StatusCommand, command.Lister):
    """A command that shows a table."""

    #: Lines to log below the table.
    notes: collections.abc.Iterable[str] = ()

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: collections.abc.Sequence[str],
        data: collections.abc.Iterable[cells.Row],
    ) -> int:
        """Show the table in the requested format, then the notes."""
        shown = super().produce_output(
            parsed_args,
            column_names,
            [cells.of_format(row, parsed_args.formatter) for row in data],
        )
        if self.notes:
            # Standard error is not buffered.
            self.app.stdout.flush()
            self.warn(self.notes)
        return shown


class TextFormatter(formatters.ListFormatter):
    """Shows the text of a command in place of its rows.

    If columns are chosen or sorted, a table is shown instead.
    """

    #: {columns of the terminal: lines}; set by the command.
    lines: collections.abc.Callable[[int], collections.abc.Iterable[str]]

    def __init__(self, *, fallback: formatters.ListFormatter) -> None:
        """Create the formatter; the command sets its lines later.

        :param fallback: formatter of the rows.
        """
        self._fallback = fallback

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no option; --max-width is that of the table."""

    def emit_list(
        self,
        column_names: collections.abc.Sequence[str],
        data: collections.abc.Iterable[collections.abc.Sequence[object]],
        stdout: typing.TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Write the text, or the table if columns are chosen or sorted."""
        if parsed_args.columns or parsed_args.sort_columns:
            self._fallback.emit_list(column_names, data, stdout, parsed_args)
            return
        width = parsed_args.max_width or text_width(stdout)
        for line in self.lines(width):
            stdout.write(f'{line}\n')


class DocumentFormatter(formatters.ListFormatter):
    """Shows a document without columns in place of rows."""

    #: Set by the command.
    text: str

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no option."""

    def emit_list(
        self,
        column_names: collections.abc.Sequence[str],
        data: collections.abc.Iterable[collections.abc.Sequence[object]],
        stdout: typing.TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Write the document.

        :raises exceptions.CommandError: columns were chosen or sorted.
        """
        if parsed_args.columns or parsed_args.sort_columns:
            raise CommandFailed(
                f'-f {parsed_args.formatter} has no columns; remove -c and '
                '--sort-column, or choose another format'
            )
        stdout.write(self.text)


def add_formats(
    loaded: stevedore.ExtensionManager,
    more: collections.abc.Mapping[str, formatters.ListFormatter],
) -> None:
    """Add output formats to one command.

    An entry point would add them to every command of OpenStackClient.

    :param loaded: formats of cliff, which are extended.
    :param more: {name: formatter}
    """
    loaded.extensions.extend(
        stevedore.extension.Extension(name, None, None, one)
        for name, one in more.items()
    )


def text_width(stream: typing.TextIO) -> int:
    """Return $COLUMNS or the width of the terminal, in columns.

    A stream that is not a terminal has WIDTH_OF_FILES without $COLUMNS.
    """
    if stream.isatty() or 'COLUMNS' in os.environ:
        return shutil.get_terminal_size((WIDTH_OF_FILES, 0)).columns
    return WIDTH_OF_FILES


class StatusShowOne(StatusCommand, command.ShowOne):
    """A command that shows one object."""

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: collections.abc.Sequence[str],
        data: cells.Row,
    ) -> int:
        """Show the object in the requested format."""
        if parsed_args.formatter == 'shell':
            data = cells.of_format(data, parsed_args.formatter)
        return super().produce_output(parsed_args, column_names, data)


class CatalogLister(StatusLister):
    """A command that takes a tiers file and shows a table."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_catalog(parser)
        return parser


class TextLister(CatalogLister):
    """A command that shows text by default, and a table on request."""

    #: Formatter of the text.
    text: TextFormatter

    @property
    def formatter_default(self) -> str:
        """Name of the default format."""
        return TEXT

    def _load_formatter_plugins(self) -> stevedore.ExtensionManager:
        loaded = super()._load_formatter_plugins()
        # Looking it up by name would freeze the list of formats.
        (table,) = (one.obj for one in loaded if one.name == 'table')
        self.text = TextFormatter(fallback=table)
        add_formats(loaded, {TEXT: self.text})
        return loaded


@contextlib.contextmanager
def user_errors() -> collections.abc.Iterator[None]:
    """Show expected failures as OSC does, without a traceback.

    :raises CommandFailed: replaces an errors.LinesError.
    """
    try:
        yield
    except CommandFailed:
        raise
    except errors.LinesError as error:
        raise CommandFailed(*errors.lines_of(error)) from error


def log_effects(
    log: logging.Logger,
    planned: collections.abc.Iterable[actions.Action],
    found: collections.abc.Mapping[actions.Key, effects.Effect],
) -> None:
    """Log a line for each action with an effect on data or free space.

    The line is an error if the action is refused or volumes would lose their
    backend, else a warning.

    :param planned: actions of one plan.
    :param found: effect of each action.
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
