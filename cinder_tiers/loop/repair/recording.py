# SPDX-License-Identifier: Apache-2.0

"""Keeps what a repair does, for the way back.

The file is written before the first step, with how each volume is, and again
when the repair ends, with what came of it: who kills the command in between
finds the former.
"""

import collections.abc
import contextlib

from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair

_Note = collections.abc.Callable[[carry_out.StepResult], None]


@contextlib.contextmanager
def recorded(
    path: str,
    *,
    cloud: str,
    steps: collections.abc.Iterable[repair.RepairStep],
    tell: collections.abc.Callable[[str], object],
) -> collections.abc.Iterator[_Note]:
    """Write a record of the steps that are not refused.

    :param path: path of a file that does not exist yet.
    :param cloud: identity of the cloud.
    :param steps: steps to be executed.
    :param tell: called with a message if the results cannot be written at the
        end; the steps are done then.
    :returns: a function to call with each result.
    :raises errors.TiersError: the file exists, or cannot be written, before
        the first step.
    """
    to_do = [one for one in steps if not one.refusal]
    results: dict[str, carry_out.StepResult] = {}

    def write(*, replace: bool) -> None:
        recorded = [
            (step, results.get(step.volume.volume_id)) for step in to_do
        ]
        order_file.write(
            path,
            order.Orders(
                origin=order.Origin.RECORD,
                cloud=cloud,
                steps=tuple(
                    order.of_step(
                        step,
                        outcome=result.outcome if result else None,
                        host=result.host if result else None,
                    )
                    for step, result in recorded
                ),
            ),
            replace=replace,
        )

    def note(result: carry_out.StepResult) -> None:
        results[result.step.volume.volume_id] = result

    write(replace=False)
    try:
        yield note
    finally:
        try:
            write(replace=True)
        except errors.TiersError as error:
            tell(
                f'{error}. It has how each volume was, but not what came of '
                'it; keep it: --undo takes back what is as the repair would '
                'have left it'
            )
