# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""`openstack tier audit`: what is not, or not any more, as declared."""

import argparse
import collections.abc

from cinder_tiers.cli import arguments
from cinder_tiers.domain import audit
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.observe import survey
from cinder_tiers import render
from cinder_tiers import render_audit
from cinder_tiers.tiersfile import reader

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
    what it would tell unknown, and the rest is audited. Changes nothing.
    """

    _epilog = '''Exit status: 0 all is compliant or not applicable; 2 something
is non-compliant or out of date; 3 something is unknown, and nothing worse;
1 an error.

Example: openstack tier audit --tier database -f json -c Object -c State
'''

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--tier', metavar='<tier>', action='append', default=[],
            dest='tiers',
            help='audit this tier only (may be repeated; default: all, and '
                 'what carries our mark and is of none)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...],
                               collections.abc.Iterable[render.Row]]:
        """Observes, compares and shows.

        Expected failures end as CommandError of OSC.
        """
        connection = self.app.client_manager.sdk_connection
        with arguments.user_errors():
            catalog = reader.read_file(parsed_args.catalog)
            tiers = chosen(catalog, parsed_args.tiers)
            clusters = {tier.rbd.cluster for tier in tiers if tier.rbd}
            with survey.sessions(catalog, clusters) as sessions:
                findings = list(audit.audit(
                    catalog=catalog, observed=survey.observe(
                        catalog=catalog, connection=connection,
                        clusters=sessions)))
        if parsed_args.tiers:
            findings = [one for one in findings
                        if one.tier in parsed_args.tiers]
        self.exit_status = STATUSES[audit.worst(findings)]
        return render_audit.COLUMNS, [render_audit.row(finding)
                                      for finding in findings]


def chosen(catalog: catalogs.Catalog,
           names: list[str]) -> tuple[catalogs.Tier, ...]:
    """The tiers to audit.

    :param names: of tiers; none: all.
    :raises errors.ProblemsFound: the catalog lacks some of them.
    """
    have = ', '.join(tier.name for tier in catalog.tiers)
    missing = [errors.Problem(
        where=catalog.source.file, found=f'no tier {name!r}',
        expected=f'one of {have}', remedy='correct --tier')
        for name in names if catalog.tier(name) is None]
    if missing:
        raise errors.ProblemsFound(missing)
    return tuple(tier for tier in catalog.tiers
                 if not names or tier.name in names)
