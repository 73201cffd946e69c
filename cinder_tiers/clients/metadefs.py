# SPDX-License-Identifier: Apache-2.0

"""Paths of Glance's metadata definitions, for reads and writes."""

#: Below the endpoint of Glance.
NAMESPACES = '/metadefs/namespaces'
#: The type of resource that images are (etc/metadefs of Glance).
IMAGE = 'OS::Glance::Image'


def path_of(namespace: str) -> str:
    """Return the path of a namespace below the endpoint of Glance.

    :param namespace: a name of ours, never text of a user.
    """
    return f'{NAMESPACES}/{namespace}'
