# SPDX-License-Identifier: Apache-2.0

"""`openstack tier validate`: whether a tiers file is sound."""

import argparse
import collections.abc

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import tiers as render_tiers
from cinder_tiers.domain.catalog import fio_patterns
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import qos_spec
from cinder_tiers.domain.validation import fallback as fallback_rules
from cinder_tiers.files.tiers import reader

#: A file with more is no tiers file, and its table would take a minute.
MAX_SHOWN = 1000


class ValidateCatalog(base.CatalogLister):
    """Check a tiers file.

    Shows all problems, each with its line, what was expected, and what to do.
    Reads only the file and needs neither a cloud nor credentials; "tier plan"
    checks the file against the clusters. The table is empty if the file is
    valid. A warning about a valid file goes to standard error and does not
    change the exit status.
    """

    _epilog = """Exit status: 0 the file is valid; 1 the file is not valid, or
it cannot be read.

Example: openstack tier validate tiers.yaml -f json
"""

    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'file',
            metavar='<file>',
            nargs='?',
            help='tiers file (default: the one of --catalog)',
        )
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Reads the file and shows what is wrong with it."""
        path = parsed_args.file or parsed_args.catalog
        problems: tuple[errors.Problem, ...] = ()
        try:
            catalog = reader.read_file(path)
        except errors.ProblemsFound as error:
            problems = error.problems
            self.exit_status = exit_status.ERROR
        else:
            if self.app.options.verbose_level:
                self.app.stderr.write(
                    f'{cells.printable(path)} is valid; tiers: '
                    f'{len(catalog.tiers)}\n'
                )
            for problem in (
                *qos_spec.misspelled(catalog),
                *osd_options.unknown_names(catalog),
                *fio_patterns.unknown(catalog),
            ):
                self.log.warning('%s', cells.printable(str(problem)))
            if fallback_rules.has_open_default(catalog):
                self.log.warning(
                    (
                        '%s: no tier is the fallback, so blank volumes and '
                        'volumes from untagged images that have a type in '
                        'follow_image_types (%s) go to any backend that the '
                        'project may use; do not set such a type as '
                        'default_volume_type before a tier with fallback: '
                        'true is applied'
                    ),
                    cells.printable(path),
                    cells.printable(', '.join(catalog.follow_image_types)),
                )
        if len(problems) > MAX_SHOWN:
            self.log.error(
                '%d problems were found; the first %d are shown',
                len(problems),
                MAX_SHOWN,
            )
        return render_tiers.PROBLEM_COLUMNS, [
            render_tiers.problem_row(problem)
            for problem in problems[:MAX_SHOWN]
        ]
