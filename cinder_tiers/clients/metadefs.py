# SPDX-License-Identifier: Apache-2.0

"""Paths of Glance's metadata definitions, for reads and writes."""

#: Below the endpoint of Glance.
NAMESPACES = '/metadefs/namespaces'
#: The type of resource that images are (etc/metadefs of Glance).
IMAGE = 'OS::Glance::Image'


def path_of(namespace: str) -> str:
    """Where a namespace is, below the endpoint of Glance.

    :param namespace: a name of ours, never a text of a user.
    """
    return f'{NAMESPACES}/{namespace}'
