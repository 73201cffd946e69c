# SPDX-License-Identifier: Apache-2.0

"""Runs that have a single figure each."""

from cinder_tiers.figures.stats import between_runs


def difference(first, second, *, resolution):
    """Of two sides.

    :param first: a figure of each run
    :param second: likewise
    """
    return between_runs.of_runs(
        [[each] for each in first],
        [[each] for each in second],
        resolution=resolution,
    )
