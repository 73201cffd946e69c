# SPDX-License-Identifier: Apache-2.0

"""`openstack tier audit`: what is not, or not any more, as declared."""

import argparse
import collections.abc

from cinder_tiers.cli import base
from cinder_tiers.cli import explain
from cinder_tiers.cli.render import audit as render_audit
from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

#: {worst state: exit status}
STATUSES = {
    audit.State.COMPLIANT: 0,
    audit.State.NOT_APPLICABLE: 0,
    audit.State.UNKNOWN: 3,
    audit.State.OUT_OF_DATE: 2,
    audit.State.NON_COMPLIANT: 2,
}


class AuditTiers(base.CatalogLister):
    """Show what is not as the tiers file says, and what could not be told.

    Holds each tier against Cinder and Ceph: what makes "tier plan" plan an
    action makes its tier non-compliant. A service that does not answer makes
    what it would tell unknown, and the rest is audited. With --volumes the
    volumes of all projects are held against their tiers as well: each that is
    not compliant is named, all are counted. Changes nothing.
    """

    _epilog = """Exit status: 0 all is compliant or not applicable; 2 something
is non-compliant or out of date; 3 something is unknown, and nothing worse;
1 an error.

Example: openstack tier audit --tier database -f json -c Object -c State
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--tier',
            metavar='<tier>',
            action='append',
            default=[],
            dest='tiers',
            help='audit this tier only (may be repeated; default: all, and '
            'what carries our mark and is of none)',
        )
        parser.add_argument(
            '--volumes',
            action='store_true',
            help='audit the volumes of all projects, too',
        )
        parser.add_argument(
            '--residency',
            action='store_true',
            help='with --volumes: name each copy-on-write clone, too, which '
            'reads what was never written from the pool of images and '
            'not from its tier; it is unknown how much that is',
        )
        parser.add_argument(
            '--config-file',
            metavar='<file>',
            action='append',
            default=[],
            help='with --volumes: cinder.conf of the doors, for '
            '[cinder_tiers] trust_tags_of and on_no_access (default: '
            'the defaults of these options are assumed; may be '
            'repeated)',
        )
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Observes, compares and shows.

        Expected failures end as CommandError of OSC.
        """
        with base.user_errors():
            policy = explain.read_policy(parsed_args.config_file)
            findings = workflow.audit(
                connection=self.app.client_manager.sdk_connection,
                catalog=reader.read_file(parsed_args.catalog),
                tiers=parsed_args.tiers,
                volumes_by=policy if parsed_args.volumes else None,
                with_residency=parsed_args.residency,
            )
        self.exit_status = STATUSES[audit.worst(findings)]
        return render_audit.COLUMNS, [
            render_audit.row(finding) for finding in findings
        ]
