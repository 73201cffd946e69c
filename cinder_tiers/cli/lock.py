# SPDX-License-Identifier: Apache-2.0

"""The arguments of the lock under which `tier apply` works."""

import argparse
import contextlib
import os

import openstack.connection

from cinder_tiers.execute import lock as apply_lock
from cinder_tiers.observe import cloud_id as cloud

_URL = 'CINDER_TIERS_COORDINATION_URL'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --coordination-url and --wait."""
    parser.add_argument(
        '--coordination-url',
        metavar='<url>',
        default=os.environ.get(_URL),
        help=f'what keeps two applies from running at once: the URL of a tooz '
        f'driver, such as etcd3+http://HOST:2379 or '
        f'mysql://USER:PASSWORD@HOST/DB (default: ${_URL}, else a file '
        f'that the users of this host share)',
    )
    parser.add_argument(
        '--wait',
        metavar='<seconds>',
        type=_seconds,
        default=0.0,
        help='wait so long for another apply to end (default: 0, refuse at '
        'once)',
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number of seconds, 0 or more'
        )
    return value


def held(
    parsed_args: argparse.Namespace,
    connection: openstack.connection.Connection,
) -> contextlib.AbstractContextManager[None]:
    """Holds the lock of a cloud while the context lasts.

    :param parsed_args: of a parser with `add_arguments`.
    :raises errors.TiersError: when another apply holds it, or there is none
        to be had.
    """
    return apply_lock.held(
        url=parsed_args.coordination_url,
        cloud=cloud.identity_of(connection),
        wait_s=parsed_args.wait,
    )
