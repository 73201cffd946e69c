# SPDX-License-Identifier: Apache-2.0

"""Arguments of the lock that commands hold while they write."""

import argparse
import os

from cinder_tiers.cli import base
from cinder_tiers import workflow

_URL = 'CINDER_TIERS_COORDINATION_URL'


def of(parsed_args: argparse.Namespace) -> workflow.Lock:
    """Return the lock that the arguments name."""
    return workflow.Lock(
        url=parsed_args.coordination_url, wait_s=parsed_args.wait
    )


def add(parser: argparse.ArgumentParser) -> None:
    """Add --coordination-url and --wait."""
    parser.add_argument(
        '--coordination-url',
        metavar='<url>',
        type=base.not_empty,
        default=os.environ.get(_URL) or None,
        help=(
            'URL of a tooz driver whose lock keeps two commands that write '
            'from running at once, such as etcd3+http://HOST:2379 or '
            f'mysql://USER:PASSWORD@HOST/DB (default: ${_URL}, else a file '
            'that the users of this host share)'
        ),
    )
    parser.add_argument(
        '--wait',
        metavar='<seconds>',
        type=_seconds,
        default=0.0,
        help=(
            'seconds to wait until another command that writes has finished '
            '(default: 0, which refuses at once)'
        ),
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number of seconds, 0 or more'
        )
    return value
