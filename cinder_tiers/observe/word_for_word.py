# SPDX-License-Identifier: Apache-2.0

"""Reads the values of objects as a service keeps them. Writes nothing.

A plan compares what is in effect. Who is to bring a value back must know what
was told to the service instead, and whether anything was: an option of OSDs
that the monitors do not have is in effect all the same.
"""

import collections.abc

import openstack.connection

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.resources import osd_options as osd_options_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference
from cinder_tiers.observe.ceph.osd import osd_options
from cinder_tiers.observe import for_plan


def reader(
    *,
    connection: openstack.connection.Connection,
    clusters: dict[str, ceph_session.Session],
) -> collections.abc.Callable[[actions.Key], dict[str, str | None] | None]:
    """A function that reads the values of one object.

    :param clusters: {name of the cluster: session}.
    :returns: it takes a key, and returns {field: value} with fields as
        `difference.fields_of` names them; None for what does not exist.
    """
    read = for_plan.reader(connection=connection, clusters=clusters)

    def kept(key: actions.Key) -> dict[str, str | None] | None:
        mask = osd_options_kind.MASKS.get(key.kind)
        if mask is not None:
            configured = osd_options.configured_options(
                clusters[key.of_cluster]
            )
            return {
                f'values.{name}': value
                for name, value in configured.get(
                    f'{mask}:{key.name}', {}
                ).items()
            }
        found = read(key)
        return None if found is None else difference.texts_of(found)

    return kept
