# SPDX-License-Identifier: Apache-2.0

"""The one place where texts are passed to Rally.

Rally writes outputs, errors and details of SLAs as JSON into a script of its
HTML reports, where ``</script>`` in a string ends the script and the rest is
markup (``rally/task/processing/plot.py``, ``ui/templates/task/report.html``).
Texts of a result come from guests, consoles and clouds; what a report, an
error or an SLA is made of is cleaned here, and not by who makes it.  Result
files keep texts as they came.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import re
import traceback
from typing import Any

from rally_openstack.task import scenario

from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins import servers

# All that a browser may take for the end of a script, or for a comment in it.
# Not every "<": tracebacks have "<lambda>" and "<frozen importlib>".
_MARKUP = re.compile(r'<(?:[/!]|script)', re.IGNORECASE)


def cleaned(value: Any) -> Any:
    """An output, or a part of it, whose texts cannot be markup.

    >>> cleaned({'data': [['</b>', 1]]})
    {'data': [['?/b>', 1]]}

    :param value: texts, numbers, and lists, tuples and mappings of them
    :returns: the same with ``frames.harmless`` of each text
    """
    if isinstance(value, str):
        return frames.harmless(value)
    if isinstance(value, Mapping):
        return {cleaned(key): cleaned(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(each) for each in value]
    return value


def _chain(error: BaseException) -> list[BaseException]:
    """An error and all that it came from, each once."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is not None and each not in found:
            found.append(each)
            todo += [each.__cause__, each.__context__]
    return found


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Clean the messages of an error that leaves a scenario.

    Rally keeps the error's message and its traceback, which has the messages
    of the errors that it came from.

    :raises servers.FleetError: an error whose message is not made of its
        arguments; others keep their class
    """
    try:
        yield
    except Exception as error:
        for each in _chain(error):
            each.args = tuple(
                frames.harmless(arg) if isinstance(arg, str) else arg
                for arg in each.args
            )
        if _MARKUP.search(''.join(traceback.format_exception(error))):
            raise servers.FleetError(
                frames.harmless(f'{type(error).__name__}: {error}')
            ) from None
        raise


class Scenario(scenario.OpenStackScenario):
    """Base of the scenarios: what they output is cleaned."""

    def add_output(
        self, additive: Mapping | None = None, complete: Mapping | None = None
    ) -> None:
        """Add an output like Rally, with texts that cannot be markup.

        :param additive: an output to follow over iterations
        :param complete: an output of this iteration
        """
        super().add_output(
            additive=cleaned(additive), complete=cleaned(complete)
        )
