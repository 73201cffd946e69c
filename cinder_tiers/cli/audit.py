# SPDX-License-Identifier: Apache-2.0

"""`openstack tier audit`: what is not, or not any more, as declared."""

import argparse
import collections.abc

import openstack.connection

from cinder_tiers.cli import base as arguments
from cinder_tiers.cli import explain
from cinder_tiers.cli.render import audit as render_audit
from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import decision
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.cinder import volumes
from cinder_tiers.observe import for_audit as survey
from cinder_tiers.observe import visible_cloud as placement

#: {worst state: exit status}
STATUSES = {
    audit.State.COMPLIANT: 0,
    audit.State.NOT_APPLICABLE: 0,
    audit.State.UNKNOWN: 3,
    audit.State.OUT_OF_DATE: 2,
    audit.State.NON_COMPLIANT: 2,
}


class AuditTiers(arguments.CatalogLister):
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
        connection = self.app.client_manager.sdk_connection
        with arguments.user_errors():
            policy = explain.read_policy(parsed_args.config_file)
            catalog = reader.read_file(parsed_args.catalog)
            tiers = chosen(catalog, parsed_args.tiers)
            clusters = {tier.rbd.cluster for tier in tiers if tier.rbd}
            with survey.sessions(catalog, clusters) as sessions:
                findings = [
                    one
                    for one in audit.audit(
                        catalog=catalog,
                        observed=survey.observe(
                            catalog=catalog,
                            connection=connection,
                            clusters=sessions,
                        ),
                    )
                    if not parsed_args.tiers or one.tier in parsed_args.tiers
                ]
                if parsed_args.volumes:
                    findings.extend(
                        of_volumes(
                            connection,
                            policy=policy,
                            residency=(
                                volumes.residency(catalog, sessions)
                                if parsed_args.residency
                                else None
                            ),
                            tiers=parsed_args.tiers or None,
                        )
                    )
        self.exit_status = STATUSES[audit.worst(findings)]
        return render_audit.COLUMNS, [
            render_audit.row(finding) for finding in findings
        ]


def of_volumes(
    connection: openstack.connection.Connection,
    *,
    policy: decision.Policy,
    residency: audit_volumes.Residency | None,
    tiers: list[str] | None,
) -> collections.abc.Iterator[audit.Finding]:
    """Findings on the volumes of all projects.

    :param connection: of an administrator.
    :param policy: the operator's choices.
    :param residency: which volumes are clones of images; None: it is not
        audited.
    :param tiers: names of the tiers to audit; None: all.
    :returns: one unknown finding when the volumes cannot be audited.
    """
    known = survey.attempt(lambda: placement.observe(connection))
    if not isinstance(known, audit.Unread) and not known.is_admin:
        known = audit.Unread(
            reason=(
                'Cinder shows the volumes of all projects, and the backends, '
                'to '
                'an administrator of block storage only'
            )
        )
    if isinstance(known, audit.Unread):
        yield audit.Finding(
            object_name='volumes',
            tier=None,
            state=audit.State.UNKNOWN,
            aspect=audit_volumes.PLACEMENT,
            reason=known.reason,
        )
        return
    yield from audit_volumes.audit_volumes(
        volumes=volumes.volumes(connection, known),
        known=known,
        find_image=volumes.Images(connection).find,
        policy=policy,
        residency=residency,
        tiers=tiers,
    )


def chosen(
    catalog: catalogs.Catalog, names: list[str]
) -> tuple[catalogs.Tier, ...]:
    """The tiers to audit.

    :param names: of tiers; none: all.
    :raises errors.ProblemsFound: the catalog lacks some of them.
    """
    have = ', '.join(tier.name for tier in catalog.tiers)
    missing = [
        errors.Problem(
            where=catalog.source.file,
            found=f'no tier {name!r}',
            expected=f'one of {have}',
            remedy='correct --tier',
        )
        for name in names
        if catalog.tier(name) is None
    ]
    if missing:
        raise errors.ProblemsFound(missing)
    return tuple(
        tier for tier in catalog.tiers if not names or tier.name in names
    )
