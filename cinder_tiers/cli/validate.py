# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier validate`."""

import argparse
import collections.abc

import stevedore

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import findings as render_findings
from cinder_tiers.cli.render import tiers as render_tiers
from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import warnings
from cinder_tiers.files.tiers import reader

#: A file with more is not a tiers file, and its table would take a minute.
MAX_SHOWN = 1000
LINT = 'lint'
SARIF = 'sarif'
JUNIT = 'junit'


class ValidateCatalog(base.CatalogLister):
    """Check a tiers file.

    Shows all problems, each with its line, what was expected, and what to do.
    Reads only the file and needs neither a cloud nor credentials; "tier plan"
    checks the file against the clusters. The table is empty if the file is
    valid. A warning about a valid file goes to standard error and does not
    change the exit status. For CI systems there are -f lint (a line for each
    problem), -f sarif and -f junit, which have the warnings, too.
    """

    _epilog = """Exit status: 0 the file is valid; 1 the file is not valid, or
it cannot be read; 2 a wrong argument.

Example: openstack tier validate tiers.yaml -f json
"""

    auth_required = False
    #: Text to print instead of findings.
    _merged: str | None = None

    def _load_formatter_plugins(self) -> stevedore.ExtensionManager:
        loaded = super()._load_formatter_plugins()
        self._reports = {
            name: base.DocumentFormatter() for name in (LINT, SARIF, JUNIT)
        }
        base.add_formats(loaded, self._reports)
        return loaded

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'file',
            metavar='<file>',
            type=base.not_empty,
            nargs='?',
            help='tiers file (default: the one of --catalog)',
        )
        parser.add_argument(
            '--merged',
            action='store_true',
            help=(
                'if the file is valid, print it merged with the files that it '
                'includes; comments name the file and line of each part'
            ),
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        path = parsed_args.file or parsed_args.catalog
        problems: tuple[errors.Problem, ...] = ()
        warned: tuple[errors.Problem, ...] = ()
        try:
            read = reader.read(path, include_root=parsed_args.include_root)
        except errors.ProblemsFound as error:
            problems = error.problems
            self.exit_status = exit_status.ERROR
        else:
            if self.app.options.verbose_level:
                self.app.stderr.write(
                    f'{cells.printable(path)} is valid; tiers: '
                    f'{len(read.catalog.tiers)}\n'
                )
            warned = tuple(warnings.check(read.catalog))
            if parsed_args.merged:
                self._merged = read.text
        if len(problems) > MAX_SHOWN:
            self.log.error(
                '%d problems were found; the first %d are shown',
                len(problems),
                MAX_SHOWN,
            )
        if parsed_args.formatter in self._reports:
            self._report(path, problems, warned)
        else:
            self.warn(map(str, warned))
        return render_tiers.PROBLEM_COLUMNS, [
            render_tiers.problem_row(problem)
            for problem in problems[:MAX_SHOWN]
        ]

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: collections.abc.Sequence[str],
        data: collections.abc.Iterable[cells.Row],
    ) -> int:
        """Show the findings, or the merged file."""
        if self._merged is None:
            return super().produce_output(parsed_args, column_names, data)
        base.write_file(self.app.stdout, self._merged)
        return 0

    def _report(
        self,
        path: str,
        problems: collections.abc.Sequence[errors.Problem],
        warned: collections.abc.Sequence[errors.Problem],
    ) -> None:
        """Set the texts of the formats for CI systems."""
        findings = [
            render_findings.ReportedProblem(problem=problem, is_error=is_error)
            for is_error, found in ((True, problems), (False, warned))
            for problem in found[:MAX_SHOWN]
        ]
        self._reports[LINT].text = render_findings.lint(findings)
        self._reports[SARIF].text = render_findings.sarif(findings)
        self._reports[JUNIT].text = render_findings.junit(findings, file=path)
