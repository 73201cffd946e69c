# SPDX-License-Identifier: Apache-2.0

"""Interruption of a command that writes, at a point of consistency."""

import collections.abc
import contextlib
import os
import signal
import threading
import types
import typing

_STDERR = 2
#: Signals that end a command of hours after it restored everything: Ctrl-C, a
#: request to end, and a closed terminal or ssh connection.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Type of the handlers of `signal.signal`.
_Handler: typing.TypeAlias = (
    collections.abc.Callable[[int, types.FrameType | None], object]
    | int
    | signal.Handlers
    | None
)


class Interrupt:
    """Records a signal, so that the command can stop at a safe point.

    A second signal ends the process immediately. A second SIGHUP is ignored,
    because a closing terminal may send two within a millisecond. A SIGHUP that
    was ignored before, as by nohup, stays ignored.

    :param stops: reaction of the command, for the message, such as `it stops
        now`.
    :param signals: signals to record.
    :param left: end of the message: what a second signal leaves undone.
    """

    def __init__(
        self,
        stops: str,
        signals: collections.abc.Sequence[signal.Signals] = (signal.SIGINT,),
        *,
        left: str = '',
    ) -> None:
        self.came = False
        self._stops = stops
        self._left = left
        self._signals = signals
        self._before: dict[signal.Signals, _Handler] = {}

    def __enter__(self) -> typing.Self:
        # Python allows it only in the main thread, where commands run.
        if threading.current_thread() is threading.main_thread():
            for one in self._signals:
                if (one, signal.getsignal(one)) != (
                    signal.SIGHUP,
                    signal.SIG_IGN,
                ):
                    self._before[one] = signal.signal(one, self._note)
        return self

    def __exit__(self, *unused: object) -> None:
        self._put_back()

    def _put_back(self) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    def _note(self, number: int, *unused: object) -> None:
        self.came = True
        self._put_back()
        if number == signal.SIGHUP:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        # A handler may interrupt a write to standard error, which must not be
        # entered again.
        with contextlib.suppress(OSError):
            os.write(
                _STDERR,
                f'interrupted: {self._stops}; press Ctrl-C again to stop at '
                f'once{self._left}\n'.encode(),
            )


@contextlib.contextmanager
def at_once() -> collections.abc.Iterator[None]:
    """Let signals end the process immediately while a question is open.

    Python resumes a read after a signal that is only recorded, so the question
    would stay open until it is answered.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for one in ENDING:
            if signal.getsignal(one) is not signal.SIG_IGN:
                before[one] = signal.signal(
                    one,
                    signal.default_int_handler
                    if one is signal.SIGINT
                    else signal.SIG_DFL,
                )
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
