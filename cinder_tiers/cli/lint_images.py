# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier lint-images`."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers import workflow

_COLUMNS = ('Image', 'Name', 'Project', 'Tag', 'Meant', 'Tier')


class LintImages(base.StatusLister):
    """List images with a tag that is nearly that of a tier, such as databse.

    Such an image counts as untagged. Lists the images of your project, or
    with --all of all projects. The tags of tiers are read from Cinder or, if
    it does not show them to you, from the Glance namespace
    CinderTiers::StorageTiers; then the column Tier is empty. Changes nothing.
    """

    _epilog = """Exit status: 0 no such image was found; 4 one or more were;
1 an error occurred, the tags of tiers are not published, or --all is not
permitted; 2 a wrong argument; 6 a service did not answer.

Example: openstack tier lint-images -f json
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--all',
            action='store_true',
            dest='all_projects',
            help='list the images of all projects (administrators only)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        with base.user_errors():
            found = list(
                workflow.lint_images(
                    base.connect(self), all_projects=parsed_args.all_projects
                )
            )
        if found:
            self.exit_status = exit_status.DIFFERENT
        return _COLUMNS, [
            (
                cells.printable(one.image_id),
                cells.printable(one.name or ''),
                cells.printable(one.project or ''),
                cells.printable(one.near.tag),
                cells.printable(one.near.meant),
                cells.Optional(one.tier),
            )
            for one in found
        ]
