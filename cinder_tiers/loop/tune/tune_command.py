# SPDX-License-Identifier: Apache-2.0

"""`openstack tier tune`: searches better options of a tier, with a budget."""

import argparse
import contextlib
import os

from cinder_tiers.cli import base
from cinder_tiers.cli import interruption
from cinder_tiers.cli import lock
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values as arguments
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.sweep import sweep_command


class TuneTier(sweep_command.SweepingLister):
    """Search for better options of a tier within a time, and confirm them.

    The factors of the sweep file are the options and the values to try. Each
    block measures the default and some candidates with the command that
    follows "--"; they are applied, checked and restored as by "tier sweep".
    What looks best is confirmed on fresh blocks. Ends with options for the
    tiers file, in the folder of --out, or with "nothing better than the
    default was found"; changes no tiers file. Run again with the same
    arguments, it resumes the search. After a kill, "tier sweep --restore"
    restores what is still changed.
    """

    _epilog = """Exit status: 0 the search is over: something better is
confirmed, or nothing better was found; 3 the budget was too small to confirm
anything; 4 some value is not as before; 1 an error occurred; 2 a wrong
argument; 5 a value is refused, and nothing was changed; 6 a service did not
answer; 130 interrupted, and everything is as before. With --dry-run: 0, or 3
if the budget is too small for any search.

Example: openstack tier tune database space.yaml --goal p99_ms --budget 4h --
sh measure.sh
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        lock.add(parser)
        parser.add_argument('tier', metavar='<tier>', help='tier to tune')
        parser.add_argument(
            'file',
            metavar='<file>',
            help='sweep file with factors: the options and values to try',
        )
        base.add_measuring_command(parser)
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help=(
                'show what each value changes, and how much the budget '
                'allows; change nothing, and start no search'
            ),
        )
        parser.add_argument(
            '--goal',
            metavar='<quantity>',
            type=_goal,
            default='p99_ms',
            help=(
                'the quantity to improve, over all patterns of the result '
                f'together: {expectations.QUANTITIES_EXPECTED} (default: '
                'p99_ms)'
            ),
        )
        parser.add_argument(
            '--budget',
            metavar='<time>',
            type=arguments.duration_s,
            required=True,
            help=f'time for all slots, such as {arguments.DURATIONS}',
        )
        parser.add_argument(
            '--least-difference',
            metavar='<percent>',
            type=arguments.percent,
            default=0.0,
            help=(
                'a smaller gain does not count (default: 0; of a percentile '
                'at least 1.6, the width of a bucket of fio)'
            ),
        )
        parser.add_argument(
            '--wanted-difference',
            metavar='<percent>',
            type=arguments.percent,
            default=10.0,
            help=(
                'the gain that the confirmation should be able to show; a '
                'smaller one needs more blocks (default: 10)'
            ),
        )
        base.add_name(
            parser,
            '--out',
            '<folder>',
            'folder for the results of blocks and the proposal (default: '
            'tune-TIER in the working directory)',
        )
        base.add_state(
            parser, 'the journals, which must outlive a crash of the host'
        )
        base.add_yes(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Searches, confirms and shows.

        Expected failures end as CommandError of OSC.
        """
        run_tune = results_command.load(
            'cinder_tiers.loop.tune.run_tune',
            command='tier tune',
            extra='tune',
        )
        if parsed_args.dry_run:
            with base.user_errors():
                return run_tune.TuningRun(self, parsed_args).preview()
        studies = results_command.load(
            'cinder_tiers.loop.tune.study', command='tier tune', extra='tune'
        )
        with base.user_errors():
            tuning = run_tune.TuningRun(self, parsed_args)
            tuning.check_command()
            path = tuning.journal()
            with contextlib.ExitStack() as stack:
                try:
                    storage = stack.enter_context(studies.opened(path))
                    # Its name must be on the disk, as its lines are.
                    write_atomic.keep_names(os.path.dirname(path))
                    study = studies.Study(storage, tuning.terms(studies))
                except studies.StudyInUseError as error:
                    raise base.CommandFailed(
                        f'{path}: {error}: a tuning of this tier is '
                        'running; wait until it ends'
                    ) from error
                except (studies.StudyError, OSError) as error:
                    raise base.CommandFailed(
                        f'{path}: {error}; remove the file to start a '
                        'new search'
                    ) from error
                tuning.claim_folder(study)
                with interruption.Interrupt(
                    sweep_command.STOPS,
                    interruption.ENDING,
                    left=sweep_command.LEFT,
                ) as interrupt:
                    self.exit_status = tuning.carry_on(study, interrupt)
                return tuning.conclude(study)


def _goal(text: str) -> str:
    if expectations.find_quantity(text) is None:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not one of {expectations.QUANTITIES_EXPECTED}'
        )
    return text
