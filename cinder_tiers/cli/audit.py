# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier audit`."""

import argparse
import collections.abc

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import audit as render_audit
from cinder_tiers.cli.render import audit_text
from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

#: {worst state: exit status}
STATUSES = {
    audit.State.COMPLIANT: exit_status.OK,
    audit.State.NOT_APPLICABLE: exit_status.OK,
    audit.State.WARNING: exit_status.OK,
    audit.State.UNKNOWN: exit_status.UNKNOWN,
    audit.State.OUT_OF_DATE: exit_status.DIFFERENT,
    audit.State.NON_COMPLIANT: exit_status.DIFFERENT,
}


def status_of(
    findings: collections.abc.Sequence[audit.Finding],
    *,
    strict: bool,
    openstack_error: errors.TiersError | None = None,
) -> int:
    """Return the exit status of an audit.

    :param strict: whether a warning counts as a difference.
    :param openstack_error: reason why Cinder or the projects of Keystone could
        not be read; None if they were read.
    """
    if strict and any(one.state is audit.State.WARNING for one in findings):
        return exit_status.DIFFERENT
    status = STATUSES[audit.worst(findings)]
    if openstack_error and status != exit_status.DIFFERENT:
        # A job that accepts unknown states must fail when its user lost the
        # rights, or a service is down.
        return exit_status.of(openstack_error)
    return status


class AuditTiers(base.TextLister):
    """Report where the cloud differs from the tiers file.

    Also reports what could not be checked. A tier is non-compliant if "tier
    plan" would change anything for it. If a service does not respond, the
    affected checks are unknown and the audit continues. With --volumes, also
    checks the volumes of all projects: lists each volume that is not compliant
    and counts all volumes. Known bad practice is a warning, which does not
    make a tier non-compliant. The first line counts what was found; below it
    is a block for each finding, the worst first. Changes nothing.
    """

    _epilog = """Exit status: 0 everything is compliant or not applicable, or
there are only warnings; 4 something is non-compliant or out of date, or with
--strict there is a warning; 3 something is unknown, but nothing is known to be
wrong; 1 an error occurred, or Cinder refused to show its state; 2 a wrong
argument; 6 Cinder or Keystone did not answer.

Example: openstack tier audit --tier database -f json -c Object -c State
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_names(
            parser,
            '--tier',
            '<tier>',
            'audit only this tier, and the options of hosts of its '
            'cluster (may be repeated; default: all tiers, and managed '
            'resources that belong to no tier)',
            dest='tiers',
        )
        parser.add_argument(
            '--volumes',
            action='store_true',
            help='also audit the volumes of all projects',
        )
        parser.add_argument(
            '--residency',
            action='store_true',
            help=(
                'with --volumes: also list volumes that are copy-on-write '
                'clones of images; blocks that were never written are read '
                'from the images pool, not from the tier'
            ),
        )
        parser.add_argument(
            '--limits',
            action='store_true',
            help=(
                'with --volumes: also compare the limits that RBD images and '
                'servers have for the volumes of tiers with those of their '
                'volume types; Cinder does not update them when a QoS spec '
                'changes'
            ),
        )
        parser.add_argument(
            '--strict',
            action='store_true',
            help='exit with status 4, as for a difference, if there is a '
            'warning',
        )
        placement_policy.add_config_file(parser, only_with='--volumes')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        with base.user_errors():
            for name in ('residency', 'limits'):
                if getattr(parsed_args, name) and not parsed_args.volumes:
                    raise errors.WrongArguments(
                        f'--{name} was given without --volumes, so no '
                        'volume would be audited; give both or neither'
                    )
            policy = placement_policy.read(parsed_args.config_file)
            audited = workflow.audit(
                connection=base.connect(self),
                catalog=reader.read_file(
                    parsed_args.catalog, include_root=parsed_args.include_root
                ),
                tiers=parsed_args.tiers,
                volumes_by=policy if parsed_args.volumes else None,
                with_residency=parsed_args.residency,
                with_limits=parsed_args.limits,
            )
        self.exit_status = status_of(
            audited.findings,
            strict=parsed_args.strict,
            openstack_error=audited.openstack_error,
        )
        self.text.lines = lambda width: audit_text.lines(
            audited.findings, width=width
        )
        return render_audit.COLUMNS, [
            render_audit.row(finding) for finding in audited.findings
        ]
