# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier volumes`."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import volumes as render
from cinder_tiers.domain import errors
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud
from cinder_tiers import workflow


class ListVolumes(base.StatusLister):
    """List how many volumes of each tier a project has, or the volumes.

    Without a tier and without --wrong, shows a row for each tier and project.
    A volume is wrong if it has the retired type of a tier, if it lies on a
    backend that does not serve its tier, if its image now selects another
    tier, or if a tag of its image is nearly that of a tier. Needs Cinder's
    admin rights and changes nothing.
    """

    _epilog = """Exit status: 0 the volumes are listed; 4 with --wrong, at
least one volume is listed; 3 Glance did not answer, so a volume may be wrong;
1 an error occurred, Cinder does not show all volumes, or the tier is not
applied; 2 a wrong argument; 6 another service did not answer.

Example: openstack tier volumes --wrong -f csv -c Volume -c Remark
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'tier',
            metavar='<tier>',
            nargs='?',
            type=base.not_empty,
            help='list the volumes of this applied tier',
        )
        base.add_name(
            parser,
            '--project',
            '<project>',
            'only volumes of this project (name or ID; default: all)',
        )
        parser.add_argument(
            '--wrong',
            action='store_true',
            help='list only volumes that are wrong, or may be',
        )
        placement_policy.add_config_file(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        with base.user_errors():
            connection = base.connect(self)
            listed = list(
                workflow.list_volumes(
                    connection,
                    policy=placement_policy.read(parsed_args.config_file),
                    tier=parsed_args.tier,
                    project=parsed_args.project
                    and visible_cloud.find_project(
                        connection, parsed_args.project
                    ),
                )
            )
            unknown = {one.verdict.image_problem for one in listed} - {''}
            if parsed_args.wrong:
                listed = [one for one in listed if one.is_wrong]
            try:
                projects = keystone.all_names(connection)
            except errors.Unreachable as error:
                self.warn([f'{error}; projects are shown by ID'])
                projects = {}
        for reason in sorted(unknown):
            self.warn(
                [
                    'Which tiers the images of volumes select is unknown: '
                    f'{reason}'
                ]
            )
            self.exit_status = exit_status.UNKNOWN
        if parsed_args.wrong and listed:
            self.exit_status = exit_status.DIFFERENT
        if parsed_args.tier is None and not parsed_args.wrong:
            return render.SUM_COLUMNS, render.sum_rows(listed, projects)
        return render.VOLUME_COLUMNS, [
            render.volume_row(one, projects) for one in listed
        ]
