# SPDX-License-Identifier: Apache-2.0
"""Runs the stages of ``up`` side by side, each after those that it needs.

A stage is a function and the names of the stages that must be done before it.
Knows nothing of what stages do.
"""

import concurrent.futures
import dataclasses
import time
from collections.abc import Callable, Sequence


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A step of the set-up.

    :param name: shown to the user.
    :param run: does the work; returns a remark for the user, or None.
    :param needs: names of the stages that must have ended well before.
    """

    name: str
    run: Callable[[], str | None]
    needs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageResult:
    """How a stage ended.

    :param seconds: wall-clock time that it took.
    :param problem: why it failed; None when it did not.
    """

    name: str
    seconds: float
    remark: str | None = None
    problem: Exception | None = None


class StagesFailed(Exception):
    """One or more stages failed.

    :ivar results: list of :class:`StageResult`, failed ones included.
    :ivar skipped: names of the stages that waited for a failed one.
    """

    def __init__(
        self, results: Sequence[StageResult], skipped: Sequence[str]
    ) -> None:
        self.results = list(results)
        self.skipped = list(skipped)
        super().__init__(
            '; '.join(
                f'{result.name}: {result.problem}'
                for result in self.results
                if result.problem
            )
        )


def needed_for(stages: Sequence[Stage], name: str) -> list[Stage]:
    """Return a stage and all that it needs, in the order given.

    :param name: of the stage.
    :raises KeyError: there is no such stage, or none that one of them needs.
    """
    by_name = {stage.name: stage for stage in stages}
    found: set[str] = set()
    missing = [name]
    while missing:
        one = missing.pop()
        if one not in found:
            found.add(one)
            missing += by_name[one].needs
    return [stage for stage in stages if stage.name in found]


def run(
    stages: Sequence[Stage],
    report: Callable[[StageResult], None],
    workers: int = 6,
) -> list[StageResult]:
    """Run all stages, as many side by side as their needs allow.

    After a failure nothing new starts, what runs is waited for.

    :param report: called with each result as it comes, from one thread.
    :returns: results in the order in which stages ended.
    :raises StagesFailed: one or more failed.
    :raises ValueError: a stage needs one that is not there, or a circle.
    """
    waiting = {stage.name: stage for stage in stages}
    for stage in stages:
        unknown = set(stage.needs) - set(waiting)
        if unknown:
            raise ValueError(
                f'stage {stage.name} needs {sorted(unknown)}, '
                'which is not a stage'
            )
    results: list[StageResult] = []
    done: set[str] = set()
    running: set[concurrent.futures.Future] = set()
    failed = False
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        while True:
            ready = [
                stage
                for stage in waiting.values()
                if done.issuperset(stage.needs) and not failed
            ]
            for stage in ready:
                del waiting[stage.name]
                running.add(pool.submit(_run_one, stage))
            if not running:
                break
            ended, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in ended:
                result = future.result()
                results.append(result)
                report(result)
                if result.problem:
                    failed = True
                else:
                    done.add(result.name)
    if failed:
        raise StagesFailed(results, list(waiting))
    if waiting:
        raise ValueError(f'stages wait for each other: {sorted(waiting)}')
    return results


def _run_one(stage: Stage) -> StageResult:
    started = time.monotonic()
    try:
        remark, problem = stage.run(), None
    except Exception as error:  # noqa: BLE001
        # Whatever it is, it is reported with the stage's name and fails
        # the run; the other stages must not lose their results by it.
        remark, problem = None, error
    return StageResult(
        name=stage.name,
        remark=remark,
        problem=problem,
        seconds=time.monotonic() - started,
    )
