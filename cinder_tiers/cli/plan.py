# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier plan`."""

import argparse
import logging

import stevedore

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan as render
from cinder_tiers.cli.render import plan_fields
from cinder_tiers.cli.render import plan_markdown
from cinder_tiers.cli.render import plan_text
from cinder_tiers.cli.render import unserved
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

MARKDOWN = 'markdown'


class PlanTiers(base.TextLister):
    """Show the changes that would make Cinder and Ceph match the tiers file.

    Changes nothing. Shows each change, by tier (+ create, ~ update, - delete),
    with each value that it creates, changes or deletes, how much data it
    moves, how full the OSDs are afterwards, and why it is refused. With --out,
    the plan is saved for review: "tier apply <plan>" carries out that plan, or
    does nothing if the cloud has changed since. A refused change is carried
    out only if --allow names its object. -f markdown prints the plan as a
    comment for a merge request. Also warns of tiers that no backend serves at
    present; such a warning is not a change.
    """

    _epilog = """Exit status: 0 nothing to do; 4 there are changes; 5 a change
is refused because it would move or delete data, stop I/O, or change a resource
that is not managed, and --allow does not name it; 1 an error occurred; 2 a
wrong argument; 6 a service did not answer.

Example: openstack tier plan --catalog tiers.yaml -f json -c Action -c Object
-c Effect -c "Bytes to move" -c Refused -c Allow
"""

    def _load_formatter_plugins(self) -> stevedore.ExtensionManager:
        loaded = super()._load_formatter_plugins()
        self._markdown = base.DocumentFormatter()
        base.add_formats(loaded, {MARKDOWN: self._markdown})
        return loaded

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_name(
            parser,
            '--out',
            '<plan>',
            'save the plan to this file, for "tier apply <plan>"',
        )
        base.add_allow(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        with base.user_errors():
            connection = base.connect(self)
            read = reader.read(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            catalog = read.catalog
            planned = workflow.plan(
                connection=connection,
                catalog=catalog,
                allowed=parsed_args.allow,
            )
            plan = planned.plan
            projects = plan_fields.project_labels(
                planned.project_names, catalog
            )
            if parsed_args.out:
                workflow.save_plan(
                    parsed_args.out,
                    planned,
                    connection=connection,
                    text=read.text,
                )
        # The text shows it already to a reader at a terminal.
        if parsed_args.formatter != base.TEXT or not self.app.stdout.isatty():
            for action in plan.refused:
                self.log.error(
                    '%s',
                    cells.printable(
                        f'refused to {action.verb} {action.key}: '
                        + plan_fields.named(action.objection, projects)
                    ),
                )
            base.log_effects(self.log, plan.actions, planned.effects)
        caveats = self._say_caveats(planned)
        if parsed_args.out and plan.refused:
            self.log.warning(
                '%s contains refused changes, so "tier apply" would '
                'change nothing; save the plan again with --allow for '
                'each refused change',
                cells.printable(parsed_args.out),
            )
        for name in consent.not_needed(plan, parsed_args.allow):
            self.log.warning(base.NOT_NEEDED, cells.printable(name))
        if not plan.actions and self.app.options.verbose_level:
            self.app.stderr.write(
                'No changes: Cinder and Ceph match '
                f'{cells.printable(parsed_args.catalog)}.\n'
            )
        self.exit_status = (
            exit_status.REFUSED
            if plan.refused
            else exit_status.DIFFERENT
            if plan.actions
            else exit_status.OK
        )
        self.text.lines = lambda width: plan_text.lines(
            plan,
            catalog=catalog,
            found=planned.effects,
            width=width,
            projects=projects,
        )
        self._markdown.text = plan_markdown.text(
            plan,
            catalog=catalog,
            found=planned.effects,
            caveats=caveats,
            projects=projects,
        )
        is_for_people = parsed_args.formatter in ('table', base.TEXT)
        return (
            render.PLAN_COLUMNS
            + (() if is_for_people else render.REFUSAL_COLUMNS),
            [
                render.plan_row(
                    action,
                    planned.effects[action.key],
                    projects if is_for_people else {},
                )
                + (
                    ()
                    if is_for_people
                    else render.refusal_row(action, planned.project_names)
                )
                for action in plan.actions
            ],
        )

    def _say_caveats(self, planned: workflow.Planned) -> list[str]:
        """Log and return the warnings about backends."""
        if isinstance(planned.unserved_tiers, errors.TiersError):
            # A plan does not depend on the scheduler or on the right to ask
            # it; but administrators should know that no scheduler answers.
            self.log.log(
                logging.INFO
                if isinstance(planned.unserved_tiers, errors.NotVisible)
                else logging.WARNING,
                'Could not check whether backends serve the tiers: %s',
                cells.printable(str(planned.unserved_tiers)),
            )
            return []
        found = [
            *unserved.lines(planned.unserved_tiers),
            *(
                cells.printable(f'tier {one.tier}: {one.reason}; {one.remedy}')
                for one in planned.limits_not_set
            ),
        ]
        for line in found:
            self.log.warning('%s', line)
        return found
