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

#: What is said of a name of --allow that changed nothing.
NOT_NEEDED = '--allow %r has no effect: no refused change has that name'
#: Name of the format of `TextFormatter`.
TEXT = 'text'
#: Columns of a text that no terminal shows.
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
    """Adds --catalog and --include-root.

    :param meaning: meaning of a tiers file that a command can do without,
        for the help; None: it needs one.
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
    """The type of an argument that names something.

    A shell makes an empty one of `"$PLAN"` where PLAN is not set, which must
    not mean the same as no argument.

    :raises argparse.ArgumentTypeError: it is empty.
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
    """Adds an option that names something.

    :param parser: or a group of its arguments.
    :param meaning: meaning of it, for the help.
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
    """Adds an option that names something, and may be repeated.

    :param dest: name of the list; None: that of the option.
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
    """Makes ANSWER_TIMEOUT_S the default of `api_timeout` in clouds.yaml.

    :param config: the configuration of the shell; OpenStackClient sets no
        limit itself.
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
    """Logs in to Keystone, the first time, and returns the connection.

    :raises errors.Unreachable: when Keystone does not answer; if it refuses,
        OSC shows that.
    :raises exceptions.CommandError: no cloud is chosen, or something is
        missing that is needed to log in.
    """
    if not shown.auth_required:
        from openstack import exceptions as sdk_exceptions

        limit_wait(shown.app.cloud_config)
        # The shell looked before, and did not log in.
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
    """Adds --state, a folder that outlives the command.

    :param holds: what is in it.
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
    """Adds all that follows "--" as `command`, wherever options are.

    argparse gives an argument that takes any number of words those that come
    with the positional argument before it, which may be none, and then knows
    no place for words after an option: "FILE --out FOLDER -- COMMAND" would
    be an error.
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
    # Its subclasses are made elsewhere; nobody gives another namespace, for
    # which typeshed has an overload.
    parser.parse_known_args = parse  # type: ignore[assignment,method-assign]


def refuse_dashes(parser: argparse.ArgumentParser) -> None:
    """Refuses "--" as the value of an option, such as --out=--.

    argparse of Python before 3.13 takes it for no value, does not read it as
    the option's type, and gives an empty list in place of one.
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
    """Adds --yes.

    :param unasked: when a command asks nothing, for the end of the help.
    """
    parser.add_argument(
        '-y',
        '--yes',
        action='store_true',
        help=f'do not ask for confirmation{unasked}',
    )


def _state_folder() -> str:
    """Of this user, and not emptied when the host starts."""
    return os.path.join(
        os.environ.get('XDG_STATE_HOME')
        or os.path.expanduser('~/.local/state'),
        'cinder-tiers',
    )


def add_allow(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
) -> None:
    """Adds --allow.

    :param parser: or a group of its arguments.
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
    """Path of the tiers file when none is named."""
    return os.environ.get('CINDER_TIERS_CATALOG') or DEFAULT_CATALOG


def keep_encodable(stream: typing.TextIO) -> None:
    r"""Has a stream show as `\xe9` what its encoding lacks.

    Names in Cinder and Ceph are any text, and terminals with LC_ALL=C or
    PYTHONIOENCODING=ascii take little of it. Standard error of Python is so
    from the start.

    :param stream: one that is not a stream of bytes is left as it is.
    """
    if isinstance(stream, io.TextIOWrapper) and stream.errors == 'strict':
        stream.reconfigure(errors='backslashreplace')


def write_file(stream: typing.TextIO, text: str) -> None:
    """Writes the text of a file to a stream.

    Such files are of UTF-8, whatever the terminal is.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.flush()
        stream.buffer.write(text.encode('utf-8'))
        stream.buffer.flush()
    else:
        stream.write(text)


class CommandFailed(errors.LinesError, exceptions.CommandError):
    """The lines with which a command ends."""


#: What keystoneauth raises when Keystone does not answer, or is not there.
_NO_ANSWER = (
    keystoneauth1.exceptions.ConnectionError,
    keystoneauth1.exceptions.DiscoveryFailure,
    keystoneauth1.exceptions.HttpServerError,
)


class StatusCommand(command.Command):
    """A command with the exit statuses of `exit_status`.

    cliff's commands that show something have none of their own; that of this
    one is :attr:`exit_status`, which `take_action` may set.
    """

    exit_status = exit_status.OK
    #: OSC does not log in, as a failure would have none of these statuses;
    #: `connect` does.
    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        refuse_dashes(parser)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Runs the command.

        :returns: the exit status.
        """
        keep_encodable(self.app.stdout)
        try:
            return super().run(parsed_args) or self.exit_status
        except exceptions.CommandError as error:
            status = exit_status.of(error.__cause__)
            # OSC shows it, and exits with 1.
            if status == exit_status.ERROR or self.app.options.debug:
                raise
            self.log.error('%s', error)
            return status

    def warn(self, texts: collections.abc.Iterable[str]) -> None:
        """Says what to know of what is shown, each in a line."""
        for each in texts:
            self.log.warning('%s', cells.printable(each))

    def ask(self, question: str) -> None:
        """Asks a person who sees the question, and can answer.

        :param question: such as `Begin?`.
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

    #: What to know of the table, said below it, each in a line.
    notes: collections.abc.Iterable[str] = ()

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: collections.abc.Sequence[str],
        data: collections.abc.Iterable[cells.Row],
    ) -> int:
        """Shows the table in the format that is asked for, and the notes."""
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
    """Shows text of its own in place of rows.

    Where columns are chosen or sorted, the rows are meant: a table is shown.
    """

    #: {columns of the terminal: lines}; set by the command.
    lines: collections.abc.Callable[[int], collections.abc.Iterable[str]]

    def __init__(self, *, fallback: formatters.ListFormatter) -> None:
        """Nothing to show yet.

        :param fallback: shows the rows.
        """
        self._fallback = fallback

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """It has no options; --max-width is that of the table."""

    def emit_list(
        self,
        column_names: collections.abc.Sequence[str],
        data: collections.abc.Iterable[collections.abc.Sequence[object]],
        stdout: typing.TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Write the text."""
        if parsed_args.columns or parsed_args.sort_columns:
            self._fallback.emit_list(column_names, data, stdout, parsed_args)
            return
        width = parsed_args.max_width or text_width(stdout)
        for line in self.lines(width):
            stdout.write(f'{line}\n')


class DocumentFormatter(formatters.ListFormatter):
    """Shows a document in place of rows; it has no columns."""

    #: Set by the command.
    text: str

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """It has no options."""

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
    """Adds formats to those that a command has.

    An entry point would add them to every command of OpenStackClient.

    :param loaded: those of cliff.
    :param more: {name: formatter}
    """
    loaded.extensions.extend(
        stevedore.extension.Extension(name, None, None, one)
        for name, one in more.items()
    )


def text_width(stream: typing.TextIO) -> int:
    """Columns of the terminal that a stream leads to, or of $COLUMNS.

    A file or a pipe has WIDTH_OF_FILES.
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
        """Shows the object in the format that is asked for."""
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
    """A command that shows text to people, and a table where it is asked."""

    #: What shows the text.
    text: TextFormatter

    @property
    def formatter_default(self) -> str:
        """Text for people; cliff's others show rows."""
        return TEXT

    def _load_formatter_plugins(self) -> stevedore.ExtensionManager:
        loaded = super()._load_formatter_plugins()
        # To look one up by name would fix what names there are.
        (table,) = (one.obj for one in loaded if one.name == 'table')
        self.text = TextFormatter(fallback=table)
        add_formats(loaded, {TEXT: self.text})
        return loaded


@contextlib.contextmanager
def user_errors() -> collections.abc.Iterator[None]:
    """Shows expected failures as OSC does, without a traceback.

    :raises CommandFailed: in place of an errors.LinesError.
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
    """Logs one line for each action that has an effect on data or room.

    An error when the action is refused, or when volumes would stop being
    served; else a warning.

    :param planned: actions of one plan.
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
