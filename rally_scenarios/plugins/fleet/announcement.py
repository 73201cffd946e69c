# SPDX-License-Identifier: Apache-2.0

"""Announcement of the time when the load of a fleet begins.

``openstack tier fault`` counts from it, and names the file in the environment.
"""

import os
import pathlib

from oslo_log import log as logging

from rally_scenarios.guest import orders

LOG = logging.getLogger(__name__)

VARIABLE = 'CINDER_TIERS_SWEEP_BEGIN'


def announce(fleet_orders: orders.FleetOrders) -> None:
    """Write the time into the file, if the environment names one.

    If one command measures several fleets, the first one counts.

    :param fleet_orders: orders of the guests
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return
    if fleet_orders.clock is None:
        LOG.warning(
            'The beginning of the load is not announced to %s because guests'
            ' start by a volume; start them by wall time, start: {"by":'
            ' "clock"}',
            path,
        )
        return
    try:
        with pathlib.Path(path).open('x', encoding='utf-8') as file:
            file.write(f'{fleet_orders.clock.at}\n')
    except FileExistsError:
        return
    except OSError as error:
        LOG.warning('%s cannot be written: %s', path, error)
