# SPDX-License-Identifier: Apache-2.0

"""Asks the monitors of a cluster."""

import errno
import json

from cinder import exception


def ask(cluster: object, prefix: str, **arguments: str) -> object:
    """Let the monitors answer a command.

    :param cluster: connected, of the module rados.
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
    return json.loads(answer)
