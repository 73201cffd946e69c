# SPDX-License-Identifier: Apache-2.0

"""Metrics of Prometheus in a file for the textfile collector.

node_exporter's textfile collector also reads the files of `metrics_directory`.
"""

import argparse
import os
import typing

from cinder_tiers.cli import base
from cinder_tiers.domain import errors
from cinder_tiers.files import write_atomic

if typing.TYPE_CHECKING:
    from prometheus_client import registry


def add_metrics(parser: argparse.ArgumentParser, *, when: str = '') -> None:
    """Add --metrics.

    :param when: begin of the help, such as 'after each window, '.
    """
    base.add_name(
        parser,
        '--metrics',
        '<file>',
        f'{when}write metrics for the textfile collector of '
        'node_exporter to this file, which should end with .prom',
    )


class MetricsFile:
    """A metrics file that is replaced as a whole.

    :param path: path of the file, which should end with .prom.
    :raises errors.TiersError: prometheus_client is not installed.
    """

    def __init__(self, path: str) -> None:
        try:
            import prometheus_client
        except ImportError as error:
            raise errors.TiersError(
                f'--metrics needs the Python client of Prometheus: {error}; '
                'install cinder-tiers[metrics], or python3-prometheus-client '
                'of the distribution'
            ) from error
        self._client = prometheus_client
        self._path = path

    def write(self, collector: 'registry.Collector') -> None:
        """Replace the file; a reader sees the old or the new one.

        :param collector: collector of the metrics to write.
        :raises errors.TiersError: the file cannot be written.
        """
        registry = self._client.CollectorRegistry()
        registry.register(collector)
        try:
            # /dev/stdout is one, and root could replace it. If links were
            # followed, other users who can write in the folder could choose
            # the file.
            if os.path.islink(self._path):
                raise errors.TiersError(
                    f'{self._path} cannot be written: it is a symbolic link'
                )
            write_atomic.write(
                self._path,
                self._client.generate_latest(registry),
                replace=True,
                # For node_exporter to read.
                mode=0o644,
                is_exact=True,
                follows=False,
            )
        except errors.TiersError as error:
            raise errors.TiersError(
                f'{error}; name another file with --metrics'
            ) from error
