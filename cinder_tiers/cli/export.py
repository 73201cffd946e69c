# SPDX-License-Identifier: Apache-2.0
"""The command `openstack tier export`."""

import argparse
import collections.abc
import os

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.files.tiers import reader
from cinder_tiers.files import write_atomic
from cinder_tiers import workflow


class ExportTiers(base.StatusCommand):
    """Write a tiers file that describes the existing cloud, to take it over.

    Changes nothing. A managed volume type becomes a tier; every other volume
    type becomes a tier with "take_over: false", which plan and apply leave
    alone. "tier plan" with this file has nothing to do. Anything that a tiers
    file cannot express is in its comments, with the reason.
    """

    _epilog = """Exit status: 0 the file describes the cloud; 3 the file is
written, but lacks what could not be read, which standard error lists; 4 the
file is written, but "tier plan" would still change what the file and standard
error list, and parts may be missing, too; 1 an error occurred, and nothing is
written; 2 a wrong argument; 6 a service did not answer, and nothing is
written. An existing file is never replaced by one that lacks what could not be
read.

Example: openstack tier export --out tiers.yaml --cluster
ceph=/etc/ceph/ceph.conf:admin
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--cluster',
            metavar='<name>=<conf>[:<user>]',
            action='append',
            type=parse_cluster,
            dest='clusters',
            default=[],
            help=(
                'Ceph cluster of backends: its name in the tiers file, its '
                'ceph.conf (empty: the one that Ceph finds by default), and '
                'the cephx user to connect as (default: admin); may be '
                'repeated (default: ceph=, if it can be reached)'
            ),
        )
        base.add_name(
            parser,
            '--out',
            '<file>',
            'write to this file instead of standard output; an existing '
            'file is not replaced',
        )
        parser.add_argument(
            '--force',
            action='store_true',
            help=(
                'replace an existing file of --out, unless the new one '
                'would lack something that could not be read'
            ),
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with base.user_errors():
            made = workflow.export(
                connection=base.connect(self),
                clusters=named_once(parsed_args.clusters)
                or [catalogs.Cluster(name='ceph')],
                file=parsed_args.out or 'the export',
            )
            missing = _missing(made, has_named=bool(parsed_args.clusters))
            if parsed_args.out:
                may_replace = parsed_args.force and not missing
                if parsed_args.force:
                    _check_loses_nothing(parsed_args.out, made, missing)
                write_atomic.write(
                    parsed_args.out,
                    made.text,
                    replace=may_replace,
                    remedy='name another file, or use --force',
                )
            else:
                base.write_file(self.app.stdout, made.text)
        for text in missing:
            self.log.error('%s', text)
        if missing:
            self.exit_status = exit_status.UNKNOWN
        self._conclude(made.exported)

    def _conclude(self, exported: export.Exported) -> None:
        """Log the caveats of the exported file."""
        for text in exported.leftover:
            self.log.error(
                '"openstack tier plan" would change something: %s',
                cells.printable(text),
            )
        if exported.leftover:
            self.exit_status = exit_status.DIFFERENT
        if self.app.options.verbose_level:
            tiers = exported.catalog.tiers
            self.app.stderr.write(
                f'tiers: {len(tiers)}, not taken '
                f'over: {len(tiers) - len(exported.catalog.ours)}, '
                f'comments: {len(exported.remarks)}\n'
            )


def _missing(made: workflow.Export, *, has_named: bool) -> list[str]:
    """Return the parts that the file lacks because they were not read.

    :param has_named: whether the user named the clusters. If not, a cloud
        without Ceph needs no warning about it.
    """
    clusters = (
        sorted(made.inventory.unreached.items())
        if has_named
        or any(map(rbd_location.location_of, made.inventory.backends))
        else []
    )
    return [
        *(
            f'Cluster {name} is left out: {cells.printable(why)}'
            for name, why in clusters
        ),
        *_lacking(made, {tier.name for tier in made.exported.catalog.ours}),
    ]


def _lacking(
    made: workflow.Export, tiers: collections.abc.Container[str]
) -> list[str]:
    """Return the parts that tiers lack because they were not read."""
    return [
        f'Tier {cells.printable(name)} lacks {cells.printable(text)}'
        for name, text in made.exported.undetermined.items()
        if name in tiers
    ]


def _check_loses_nothing(
    path: str, made: workflow.Export, missing: list[str]
) -> None:
    """Refuse to replace an existing file by an incomplete one.

    An incomplete tier that is not taken over counts only if the existing file
    has it with rbd.

    :raises errors.Unreachable: the file exists, and something is missing.
    """
    if not os.path.lexists(path):
        return
    try:
        before = reader.read_file(path)
    except errors.TiersError:
        had = set()
    else:
        had = {tier.name for tier in before.ceph_tiers}
    missing = list(dict.fromkeys((*missing, *_lacking(made, had))))
    if missing:
        raise errors.Unreachable(
            f'{path} is not replaced, as the new file would have less than '
            'what exists: ' + '; '.join(missing) + '; try again when it can '
            'be read, or write to another file'
        )


def parse_cluster(text: str) -> catalogs.Cluster:
    """Return the cluster of an argument NAME=CONF[:USER].

    >>> parse_cluster('ceph=/etc/ceph/a.conf:cinder').user
    'cinder'

    :param text: the argument; a relative CONF starts at the working directory.
    :raises argparse.ArgumentTypeError: the argument has another form.
    """
    name, equals, rest = text.partition('=')
    conf, colon, user = (
        rest.rpartition(':') if ':' in rest else (rest, '', 'admin')
    )
    if not (equals and limits.NAME.fits(name) and limits.USER.fits(user)):
        raise argparse.ArgumentTypeError(
            f'{text!r} does not have the form NAME=CONF[:USER]; NAME may '
            'have letters, digits, ".", "_" and "-", and USER must not '
            'begin with "client."'
        )
    if not conf.isprintable():
        raise argparse.ArgumentTypeError(
            f'{conf!r} is not the path of a ceph.conf'
        )
    return catalogs.Cluster(
        name=name, user=user, conf=os.path.abspath(conf) if conf else None
    )


def named_once(clusters: list[catalogs.Cluster]) -> list[catalogs.Cluster]:
    """Return the clusters if their names differ.

    :raises errors.TiersError: two clusters have the same name.
    """
    names = [one.name for one in clusters]
    for name in names:
        if names.count(name) > 1:
            raise errors.TiersError(
                f'--cluster names {name} twice; give each cluster a '
                'different name'
            )
    return clusters
