# SPDX-License-Identifier: Apache-2.0

"""`openstack tier backend-config`: the tiers as sections of cinder.conf."""

import argparse
import json
import os

from osc_lib.command import command

from cinder_tiers.cli import base
from cinder_tiers.domain.plan import backend_config
from cinder_tiers.files.tiers import reader


class ShowBackendConfig(command.Command):
    """Print the sections of cinder.conf that serve the tiers.

    Reads only the tiers file, so no service has to be running.
    """

    _epilog = """Environment: CINDER_TIERS_RBD_SECRET_UUID is the
rbd_secret_uuid of clusters without secret_uuid; CEPH_CONF is the rbd_ceph_conf
of clusters without conf.

Merge the output into cinder.conf by hand: its enabled_backends names the tiers
only. A tier with both rbd and backend already has a section, and is named in a
comment. Without a fallback tier, no default_volume_type that follows the image
is printed.

Example: openstack tier backend-config > tiers.conf
"""

    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.add_catalog(parser)
        parser.add_argument(
            '-f',
            '--format',
            choices=('ini', 'json'),
            default='ini',
            help='output format (default: ini)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Prints the sections.

        Expected failures end as CommandError of OSC.
        """
        with base.user_errors():
            catalog = reader.read_file(parsed_args.catalog)
        secret_uuid = os.environ.get('CINDER_TIERS_RBD_SECRET_UUID')
        sections = backend_config.backends(
            catalog,
            secret_uuid=secret_uuid,
            default_conf=os.environ.get('CEPH_CONF', '/etc/ceph/ceph.conf'),
        )
        if parsed_args.format == 'json':
            text = json.dumps(sections, indent=2) + '\n'
        else:
            text = (
                backend_config.caps_comments(catalog)
                + backend_config.service_comments(
                    catalog, secret_uuid=secret_uuid
                )
                + backend_config.backend_comments(catalog)
                + backend_config.default_type_comments(catalog)
                + backend_config.cinder_conf(sections)
            )
        base.write_file(self.app.stdout, text)
