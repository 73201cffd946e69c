# SPDX-License-Identifier: Apache-2.0

"""Asks the monitors of a cluster."""

import errno
import json
import typing

from cinder import exception
from cinder.volume.drivers import rbd

from cinder_tiers.domain import record


def ask(
    cluster: 'rbd.rados.Rados', prefix: str, **arguments: str
) -> typing.Any:
    """Let the monitors answer a command.

    :param cluster: connected.
    :returns: the parsed JSON of the answer.
    :raises exception.VolumeBackendAPIException: they refuse.
    """
    code, answer, text = cluster.mon_command(
        json.dumps({'prefix': prefix, 'format': 'json', **arguments}), b''
    )
    if code:
        raise exception.VolumeBackendAPIException(
            data=f'The monitors refused "{prefix}" '
            f'({errno.errorcode.get(abs(code), code)}): {text}.'
        )
    return record.parsed(answer)
