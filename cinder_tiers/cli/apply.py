# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier apply`."""

import argparse
import os

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli import lock
from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan as render
from cinder_tiers.cli.render import plan_fields
from cinder_tiers.cli.render import plan_text
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain import text as escaping
from cinder_tiers.files import saved_plan
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

_STOPS = 'apply stops after the action that is running'


class ApplyTiers(base.CatalogLister):
    """Make Cinder and Ceph match the tiers file.

    Carries out what "tier plan" shows and nothing else. Reads each object
    back, for at most 30 s until the change is in effect, and shows what was
    done. Does nothing at all if the plan has refused changes that --allow does
    not name. At a terminal, asks before it changes anything. Can be repeated
    at any time. Refuses to start while another apply to the same cloud is
    running; if administrators work on several hosts, --coordination-url must
    name a service that all of them reach.
    """

    #: Set when standard error has no reader any more.
    _is_unread = False

    _epilog = """Exit status: 0 the cloud matches the tiers file; 1 an error
occurred, an action failed, or you did not confirm; 2 a wrong argument; 5 a
change is refused, and nothing was changed; 6 a service did not answer; 130
interrupted by Ctrl-C, after the action that was running.

Example: openstack tier apply --catalog tiers.yaml --wait 600
--coordination-url etcd3+http://controller:2379
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        lock.add(parser)
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            'plan',
            metavar='<plan>',
            nargs='?',
            type=base.not_empty,
            help=(
                'apply the plan that "tier plan --out" saved in this file, '
                'with the tiers file and the --allow options that it '
                'contains; refused for another cloud, and if this cloud has '
                'changed since; does not ask for confirmation'
            ),
        )
        base.add_allow(group)
        base.add_yes(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        with (
            base.user_errors(),
            interruption.Interrupt(_STOPS, interruption.ENDING) as interrupt,
        ):
            saved = (
                None
                if parsed_args.plan is None
                else saved_plan.read(parsed_args.plan)
            )
            results = workflow.apply(
                connection=base.connect(self),
                wanted=saved
                or reader.read_file(
                    parsed_args.catalog, include_root=parsed_args.include_root
                ),
                allowed=parsed_args.allow,
                lock=lock.of(parsed_args),
                agree=lambda planned: self._agree(planned, parsed_args),
                report=self._report,
                is_to_stop=lambda: interrupt.came,
                report_progress=self._report_progress,
            )
        self._conclude(results, is_interrupted=interrupt.came)
        return render.RESULT_COLUMNS, [
            render.result_row(result) for result in results
        ]

    def _agree(
        self, planned: workflow.Planned, parsed_args: argparse.Namespace
    ) -> None:
        """Show the plan and, at a terminal, ask for confirmation.

        A saved plan was reviewed before and needs no confirmation.

        :raises errors.TiersError: the answer was not yes, or the plan cannot
            be shown.
        """
        plan = planned.plan
        asks = (
            not (parsed_args.plan or parsed_args.yes or plan.refused)
            and bool(plan.actions)
            and self.app.stdin is not None
            and self.app.stdin.isatty()
        )
        if not asks:
            base.log_effects(self.log, plan.actions, planned.effects)
        if parsed_args.plan:
            return
        for name in consent.not_needed(plan, parsed_args.allow):
            self.log.warning(base.NOT_NEEDED, cells.printable(name))
        if asks:
            self._show(planned)
            count = len(plan.actions)
            self.ask(f'Apply {count} change{"" if count == 1 else "s"}?')

    def _show(self, planned: workflow.Planned) -> None:
        """Show the planned changes on standard error.

        :param planned: plan without refused actions.
        :raises errors.ActionFailed: standard error is not a terminal.
        """
        stderr = self.app.stderr
        if not stderr.isatty():
            raise errors.ActionFailed(
                'Nothing was changed because standard input is a terminal, '
                'but standard error, where the question would be, is not; '
                'add --yes if the plan is right'
            )
        for line in plan_text.lines(
            planned.plan,
            catalog=planned.catalog,
            found=planned.effects,
            width=base.text_width(stderr),
            projects=plan_fields.project_labels(
                planned.project_names, planned.catalog
            ),
        ):
            stderr.write(f'{line}\n')

    def _report(self, result: actions.Result) -> None:
        """Log a failure; write a line for a success unless --quiet."""
        text = cells.printable(
            f'{result.action.verb} {result.action.key}: {result.outcome.value}'
        )
        if result.reason:
            self.log.error(
                '%s: %s', text, escaping.printable_lines(result.reason)
            )
        else:
            note = render.result_note(result)
            self._report_progress(f'{text}; {note}' if note else text)

    def _report_progress(self, line: str) -> None:
        """Write a line to standard error, unless --quiet."""
        if not self.app.options.verbose_level or self._is_unread:
            return
        try:
            self.app.stderr.write(f'{cells.printable(line)}\n')
        except BrokenPipeError:
            # A reader that closed the pipe did not ask to stop half way. What
            # is buffered would fail again when Python ends, with status 120.
            self._is_unread = True
            with open(os.devnull, 'w') as nowhere:
                os.dup2(nowhere.fileno(), self.app.stderr.fileno())

    def _conclude(
        self, results: tuple[actions.Result, ...], *, is_interrupted: bool
    ) -> None:
        done = sum(
            result.outcome is actions.Outcome.DONE for result in results
        )
        if done < len(results):
            self.exit_status = (
                exit_status.INTERRUPTED
                if is_interrupted
                else exit_status.ERROR
            )
            self.log.error(
                (
                    '%d of %d actions were done; fix the cause and rerun '
                    '"openstack tier apply"; it resumes where it stopped'
                ),
                done,
                len(results),
            )
