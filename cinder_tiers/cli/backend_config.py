# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier backend-config`."""

import argparse
import json
import os

from osc_lib.command import command

from cinder_tiers.cli import base
from cinder_tiers.cli.render import ceph_access
from cinder_tiers.cli.render import owner_fragments
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import backend_config
from cinder_tiers.files.tiers import reader

_CINDER = 'cinder.conf'


class ShowBackendConfig(command.Command):
    """Print the sections of cinder.conf that serve the tiers.

    With --for, prints what another tool needs instead. Reads only the tiers
    file, so no service has to be running.
    """

    _epilog = """Merge the output into cinder.conf by hand: its
enabled_backends names the tiers only. For a tier with both rbd and backend,
whose section exists already, only a comment is printed. Without a fallback
tier, no default_volume_type that follows the image is printed.

--for ceph-reader prints the command that creates a read-only cephx user for
plan, audit and export; --for ceph-writer, a cephx user for apply; --for
ceph-watcher, a cephx user for watch only; --for ceph-repairer, one for repair
of limits only.
--for rook, cephadm, kolla-ansible or openstack-ansible prints the tiers as a
fragment of the configuration files of that tool.

Exit status: 0 the configuration is printed; 1 the tiers file is not valid, or
it cannot be read; 2 a wrong argument.

Example: openstack tier backend-config > tiers.conf
"""

    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_catalog(parser)
        parser.add_argument(
            '--for',
            dest='target',
            choices=(_CINDER, *ceph_access.TARGETS, *owner_fragments.TARGETS),
            default=_CINDER,
            help='file, cephx user or tool to print the configuration for '
            '(default: cinder.conf)',
        )
        parser.add_argument(
            '--rbd-secret-uuid',
            metavar='<uuid>',
            type=base.not_empty,
            default=os.environ.get('CINDER_TIERS_RBD_SECRET_UUID') or None,
            help='rbd_secret_uuid of clusters without secret_uuid in the '
            'tiers file (default: $CINDER_TIERS_RBD_SECRET_UUID, else none)',
        )
        parser.add_argument(
            '--ceph-conf',
            metavar='<file>',
            type=base.not_empty,
            default=os.environ.get('CEPH_CONF', '/etc/ceph/ceph.conf'),
            help='rbd_ceph_conf of clusters without conf in the tiers file '
            '(default: $CEPH_CONF, else /etc/ceph/ceph.conf)',
        )
        parser.add_argument(
            '--driver',
            choices=tuple(one.value for one in backend_config.Driver),
            default=backend_config.Driver.RBD.value,
            help='rbd: a section for each tier, with the driver of Cinder; '
            'tiered: one for all tiers of a cluster, whose volumes change '
            'their tier in place (default: rbd)',
        )
        parser.add_argument(
            '-f',
            '--format',
            choices=('ini', 'json'),
            default='ini',
            help='output format: json, or ini for the native format of '
            'what --for names (default: ini)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with base.user_errors():
            catalog = reader.read_file(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            text = _text(parsed_args, catalog)
        base.write_file(self.app.stdout, text)


def _text(parsed_args: argparse.Namespace, catalog: catalogs.Catalog) -> str:
    as_json = parsed_args.format == 'json'
    driver = backend_config.Driver(parsed_args.driver)
    if (
        parsed_args.target in owner_fragments.TARGETS
        and driver is not backend_config.Driver.RBD
    ):
        raise errors.TiersError(
            f'--for {parsed_args.target} has a backend for each tier; '
            f'--driver {driver.value} is for cinder.conf only.',
            'Leave one of the two arguments out.',
        )
    if parsed_args.target in ceph_access.TARGETS:
        return (
            _json(ceph_access.values(catalog, parsed_args.target))
            if as_json
            else ceph_access.commands(catalog, parsed_args.target)
        )
    if parsed_args.target in owner_fragments.TARGETS:
        return (
            _json(owner_fragments.values(catalog, parsed_args.target))
            if as_json
            else owner_fragments.text(catalog, parsed_args.target)
        )
    return _cinder_conf(
        catalog,
        secret_uuid=parsed_args.rbd_secret_uuid,
        default_conf=parsed_args.ceph_conf,
        driver=driver,
        as_json=as_json,
    )


def _cinder_conf(
    catalog: catalogs.Catalog,
    *,
    secret_uuid: str | None,
    default_conf: str,
    driver: backend_config.Driver,
    as_json: bool,
) -> str:
    sections = backend_config.backends(
        catalog,
        secret_uuid=secret_uuid,
        default_conf=default_conf,
        driver=driver,
    )
    if as_json:
        return _json(sections)
    return (
        backend_config.caps_comments(catalog)
        + backend_config.service_comments(catalog, secret_uuid=secret_uuid)
        + backend_config.backend_comments(catalog)
        + (
            backend_config.geometry_comments(catalog)
            if driver is backend_config.Driver.RBD
            else ''
        )
        + backend_config.default_type_comments(catalog)
        + backend_config.cinder_conf(sections)
    )


def _json(values: object) -> str:
    return json.dumps(values, indent=2) + '\n'
