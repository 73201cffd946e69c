# SPDX-License-Identifier: Apache-2.0

"""`openstack tier recommend`: which tier, by results on record."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command


class RecommendTier(results_command.ResultsLister):
    """Recommend a tier and its tag for a load, from measured results.

    The load is a fio job file, a pattern of the results, or what running
    volumes do. Looks for measured patterns that are similar to it, compares
    the tiers in them in pairs, and names the tier that is better than all
    others, or reports that there are too few repeats to tell. With --volumes
    or --diagnostics, lists which volumes are on the wrong tier, and what a
    move would gain; --out saves that for "tier repair". Changes nothing, reads
    only files and needs no credentials.
    """

    _epilog = """Exit status: 0 each load has a tier, and each volume is on the
right one or idle; 4 a volume is on a wrong tier; 3 something could not be
determined, and no volume is known to be on a wrong tier; 1 an error occurred;
2 a wrong argument.

Example: openstack tier recommend run.json --job database.fio --catalog
tiers.yaml
"""

    name = 'tier recommend'
    module = 'cinder_tiers.loop.recommend.recommend_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        base.add_catalog(parser)
        results.add_files(parser)
        wanted = parser.add_mutually_exclusive_group(required=True)
        base.add_name(
            wanted, '--job', '<file>', 'job file of fio with the load'
        )
        wanted.add_argument(
            '--pattern',
            metavar='<pattern>',
            type=base.not_empty,
            action='append',
            help=(
                'the load is this pattern of the profile of the results; '
                'where guests ran in steps, each step counts (may be repeated)'
            ),
        )
        base.add_name(
            wanted,
            '--volumes',
            '<file>',
            'the loads are those of volumes: output of "rbd perf image '
            'iostat --format json"; several of different times, one after '
            'another, tell more than one',
        )
        wanted.add_argument(
            '--diagnostics',
            metavar='<file>',
            type=base.not_empty,
            action='append',
            help=(
                'the loads are those of the disks of a server: its '
                'diagnostics from Nova as JSON, version 2.48 or later; named '
                'twice, what was done between the two counts, which is needed '
                'to call a disk idle'
            ),
        )
        base.add_name(
            parser,
            '--cluster',
            '<name>',
            'with --volumes: the Ceph cluster of the tiers file that they '
            'are in; needed for pools whose name is in several clusters',
        )
        base.add_name(
            parser,
            '--on',
            '<tier>',
            'with --diagnostics: the tier that the disks are on',
        )
        base.add_name(
            parser,
            '--out',
            '<file>',
            'with --volumes: save which volumes are on the wrong tier to '
            'this file, for "tier repair <file>"; an older one is '
            'replaced, and no other file',
        )
        results.add_quantities(parser, default='p99_ms')
        results.add_least_difference(
            parser,
            ': tiers that do not differ by more are as good',
            default=5.0,
        )
