# SPDX-License-Identifier: Apache-2.0

"""Many requests of which none waits for another one, some at the same time.

As many as a cloud is assumed to boot at once.  Sessions keep as many
connections (10, requests.adapters.DEFAULT_POOLSIZE).
"""

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures

from cinder_tiers.figures.fleet import duration


def ask_all(
    asks: Sequence[Callable[[], None]],
    *,
    hear_done: Callable[[int], None] = lambda number: None,
) -> None:
    """Send all requests.

    When one raises, or this thread is interrupted, those that were not begun
    are not; what is under way is waited for.

    :param asks: each is called in a thread, where no interruption reaches it
    :param hear_done: is told, in this thread, of each that was answered: how
        many were before
    :raises Exception: what the first one to fail raised
    """
    with futures.ThreadPoolExecutor(duration.BOOTS_AT_ONCE) as pool:
        asked: list[futures.Future[None]] = []
        try:
            for ask in asks:
                asked.append(pool.submit(ask))
            for number, answered in enumerate(futures.as_completed(asked)):
                answered.result()
                hear_done(number)
        finally:
            for each in asked:
                each.cancel()


def make_all(
    makers: Sequence[Callable[[], str]],
    made: list[str],
    *,
    hear_done: Callable[[int], None] = lambda number: None,
) -> list[str]:
    """Have many things made.

    :param makers: each returns the id of what it has made
    :param made: gets each id at once, so that all that is there can be
        deleted when another one is refused, or this is interrupted; in the
        order of the makers if all are made
    :param hear_done: see ``ask_all``
    :returns: the ids, in that order
    :raises Exception: see ``ask_all``
    """
    ids: dict[int, str] = {}
    before = len(made)

    def ask(number: int) -> Callable[[], None]:
        def asked() -> None:
            ids[number] = makers[number]()
            made.append(ids[number])

        return asked

    ask_all(
        [ask(number) for number in range(len(makers))], hear_done=hear_done
    )
    made[before:] = [ids[number] for number in range(len(makers))]
    return made[before:]
