# SPDX-License-Identifier: Apache-2.0

"""The usage of tiers, as metrics of Prometheus.

Of what there is now: what Prometheus integrates over time has deleted volumes
and changed sizes in it, which Cinder's records lack. Names of projects are
texts of others, and escaped.
"""

import collections.abc
import time
import typing

from cinder_tiers.cli.render import cells
from cinder_tiers.loop.usage import usage
from cinder_tiers.loop.usage import usage_rows

if typing.TYPE_CHECKING:
    from prometheus_client import metrics_core

#: CloudKitty looks for `project_id` (its option `scope_key`).
_LABELS = ('tier', 'volume_type', 'project_id', 'project_name')
_GIB = 2**30


class Collector:
    """Metrics in the classes of prometheus_client.

    :param found: usage to show.
    :param table: columns that give names and prices.
    """

    def __init__(
        self,
        found: collections.abc.Sequence[usage.Usage],
        table: usage_rows.UsageColumns,
    ) -> None:
        self._found = found
        self._table = table

    def collect(self) -> 'collections.abc.Iterator[metrics_core.Metric]':
        """Return the metrics (called by prometheus_client)."""
        from prometheus_client import core

        def family(
            name: str, text: str, *labels: str
        ) -> core.GaugeMetricFamily:
            return core.GaugeMetricFamily(
                f'cinder_tiers_usage_{name}', text, labels=(*_LABELS, *labels)
            )

        volumes = family('volumes', 'Volumes that exist.')
        size = family('size_bytes', 'Size of the volumes that exist.')
        iops = family(
            'iops_limit',
            'I/Os in a second that the volumes may do at once; absent if one '
            'has no limit.',
        )
        price = family(
            'price_per_month',
            'Price of what exists, for a month of 730 hours; absent if it is '
            'not known.',
            'currency',
        )
        for one in self._found:
            labels = [
                cells.printable(one.tier or ''),
                cells.printable(one.volume_type or ''),
                cells.printable(one.project),
                self._table.name_of(one.project),
            ]
            volumes.add_metric(labels, one.volumes)
            size.add_metric(labels, one.size_gib * _GIB)
            if one.iops[None] is not None:
                iops.add_metric(labels, one.iops[None])
            month = self._table.month_price(one)
            cost = self._table.cost_of(one)
            if cost is not None and month is not None:
                price.add_metric(
                    [*labels, cells.printable(cost.currency)], float(month)
                )
        yield from (volumes, size, iops, price)
        yield core.GaugeMetricFamily(
            'cinder_tiers_usage_timestamp_seconds',
            'When this was read from Cinder.',
            value=time.time(),
        )
