# SPDX-License-Identifier: Apache-2.0

"""`openstack tier plan`: what apply would do."""

import argparse
import collections.abc

from cinder_tiers.cli import base
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan as render
from cinder_tiers.domain.plan import consent
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

NOTHING_TO_DO, ERROR, CHANGES = 0, 1, 2


class PlanTiers(base.CatalogLister):
    """Show the changes that would make Cinder and Ceph match the tiers file.

    Changes nothing. The table is empty if there is nothing to do. Estimates
    how much data each change moves, and how full the OSDs are afterwards. With
    --out, the plan is saved for review: "tier apply <plan>" carries out that
    plan, or does nothing if the cloud has changed since. A refused change is
    carried out only if --allow names its object.
    """

    _epilog = """Exit status: 0 nothing to do; 2 there are changes; 1 an error
occurred, or a change is refused because it would move or delete data or change
a resource that is not managed, and --allow does not name it.

Example: openstack tier plan --catalog tiers.yaml -f json -c Action -c Object
-c Effect -c "Bytes to move"
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--out',
            metavar='<plan>',
            help='save the plan to this file, for "tier apply <plan>"',
        )
        base.add_allow(parser)
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Observes, compares and shows.

        Expected failures end as CommandError of OSC.
        """
        connection = self.app.client_manager.sdk_connection
        with base.user_errors():
            text = reader.text_of(parsed_args.catalog)
            catalog = reader.read_text(text, file=parsed_args.catalog)
            planned = workflow.plan(
                connection=connection,
                catalog=catalog,
                allowed=parsed_args.allow,
            )
            plan = planned.plan
            if parsed_args.out and not plan.refused:
                workflow.save_plan(
                    parsed_args.out, planned, connection=connection, text=text
                )
        for action in plan.refused:
            self.log.error(
                '%s',
                cells.printable(
                    f'refused to {action.verb} {action.key}: '
                    f'{action.objection}'
                ),
            )
        base.log_effects(self.log, plan.actions, planned.effects)
        if parsed_args.out and plan.refused:
            self.log.error(
                '%s was not written because the plan has refused changes',
                parsed_args.out,
            )
        for name in consent.not_needed(plan, parsed_args.allow):
            self.log.warning(base.NOT_NEEDED, name)
        if not plan.actions and self.app.options.verbose_level:
            self.app.stderr.write(
                f'No changes: Cinder and Ceph match {parsed_args.catalog}.\n'
            )
        self.exit_status = (
            ERROR
            if plan.refused
            else CHANGES
            if plan.actions
            else NOTHING_TO_DO
        )
        return render.PLAN_COLUMNS, [
            render.plan_row(action, planned.effects[action.key])
            for action in plan.actions
        ]
