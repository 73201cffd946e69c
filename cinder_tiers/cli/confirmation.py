# SPDX-License-Identifier: Apache-2.0
"""The question before a plan is carried out, for people at a terminal.

Must not know where the plan came from. Streams come from outside.
"""

import typing

from cinder_tiers.cli.render import plan as render
from cinder_tiers.domain.plan import plan as plans


def agreed(
    plan: plans.Plan, *, stdin: typing.TextIO | None, stderr: typing.TextIO
) -> bool:
    """Whether a plan may be carried out.

    Where a person is at both ends, each action is shown in a line, and the
    person is asked; else nothing is, and the answer is yes.

    :param plan: without refused actions; nobody is asked about an empty one.
    :param stdin: what answers; None where there is no standard input.
    :param stderr: where the question goes.
    """
    if (
        not plan.actions
        or stdin is None
        or not (stdin.isatty() and stderr.isatty())
    ):
        return True
    for action in plan.actions:
        stderr.write(f'{render.plan_line(action)}\n')
    count = len(plan.actions)
    stderr.write(f'Apply {count} change{"" if count == 1 else "s"}? [y/N] ')
    stderr.flush()
    return stdin.readline().strip().lower() in ('y', 'yes')
